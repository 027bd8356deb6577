//! How far is long work?
//!
//! A line on standard error, shown after a second and only where a person looks at standard error while results go elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub(super) struct Progress {
    started: Instant,
    wanted: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub fn new() -> Progress {
        let wanted = std::io::stderr().is_terminal() && !std::io::stdout().is_terminal();
        Progress { started: Instant::now(), wanted, bar: None }
    }

    /// `count` texts are done in all.
    pub fn at(&mut self, count: usize) {
        if self.wanted && self.bar.is_none() && self.started.elapsed() > Duration::from_secs(1) {
            self.bar = Some(line().with_elapsed(self.started.elapsed()));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(count as u64);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn line() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("{spinner} {human_pos} texts, {per_sec}, {elapsed}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
