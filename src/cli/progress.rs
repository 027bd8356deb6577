//! How far is long work?
//!
//! A line on standard error, shown after a second and only where a person looks at it.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Of a stream of texts, whose end is not known.
const TEXTS: &str = "{spinner} {human_pos} texts, {per_sec}, {elapsed}";
/// Of bytes that are counted beforehand.
const BYTES: &str = "{msg} {bar:30} {bytes} of {total_bytes}, {elapsed}";

pub(super) struct Progress {
    started: Instant,
    wanted: bool,
    form: &'static str,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// For texts: shown where their answers do not go to the same terminal.
    pub fn texts() -> Progress {
        Self::new(TEXTS, std::io::stderr().is_terminal() && !std::io::stdout().is_terminal())
    }

    /// For files.
    pub fn bytes() -> Progress {
        Self::new(BYTES, std::io::stderr().is_terminal())
    }

    fn new(form: &'static str, wanted: bool) -> Progress {
        Progress { started: Instant::now(), wanted, form, bar: None }
    }

    /// What begins now; shown at once, since it may not report for long.
    pub fn say(&mut self, message: &'static str) {
        if self.wanted {
            self.show().set_message(message);
        }
    }

    /// `count` texts are done in all.
    pub fn at(&mut self, count: usize) {
        self.of(count, 0);
    }

    /// `done` of `all` are done.
    pub fn of(&mut self, done: usize, all: usize) {
        if self.wanted && (self.bar.is_some() || self.started.elapsed() > Duration::from_secs(1)) {
            let bar = self.show();
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        }
    }

    fn show(&mut self) -> &ProgressBar {
        let (form, started) = (self.form, self.started);
        self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_elapsed(started.elapsed());
            match ProgressStyle::with_template(form) {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
