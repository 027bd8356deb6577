//! How far is long work?
//!
//! A line on standard error, shown after a second and only where a person looks at it.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Of a stream of texts, whose end is not known.
const TEXTS: &str = "{spinner} {human_pos} texts, {per_sec}, {elapsed}";
/// Of the steps of a run.
#[cfg(feature = "train")]
const STEPS: &str = "{bar:30} {pos}/{len} {msg}, {eta} left";
/// Of what cannot tell how far it is.
const STAGE: &str = "{spinner} {msg}";
/// Of bytes whose end is not known.
#[cfg(feature = "train")]
const AMOUNT: &str = "{spinner} {bytes}, {bytes_per_sec}, {elapsed}";
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

    /// For text in files that are not measured beforehand.
    #[cfg(feature = "train")]
    pub fn amount() -> Progress {
        Self::new(AMOUNT, std::io::stderr().is_terminal())
    }

    /// For the steps of a run.
    #[cfg(feature = "train")]
    pub fn steps() -> Progress {
        Self::new(STEPS, std::io::stderr().is_terminal())
    }

    /// Step `done` of `all` is done; what else there is to say.
    #[cfg(feature = "train")]
    pub fn run(&mut self, done: u64, all: u64, message: &str) {
        self.of(usize::try_from(done).unwrap_or(usize::MAX), usize::try_from(all).unwrap_or(usize::MAX));
        if let Some(bar) = &self.bar {
            bar.set_message(message.to_owned());
        }
    }

    fn new(form: &'static str, wanted: bool) -> Progress {
        Progress { started: Instant::now(), wanted, form, bar: None }
    }

    /// What begins now; shown at once, since it may not report for long.
    pub fn say(&mut self, message: &'static str) {
        if self.wanted {
            let bar = self.show();
            bar.set_style(style(STAGE));
            bar.set_message(message);
        }
    }

    /// `count` texts are done in all.
    pub fn at(&mut self, count: usize) {
        self.of(count, 0);
    }

    /// `done` of `all` are done.
    pub fn of(&mut self, done: usize, all: usize) {
        if self.wanted && (self.bar.is_some() || self.started.elapsed() > Duration::from_secs(1)) {
            let form = self.form;
            let bar = self.show();
            if bar.length() != Some(all as u64) {
                bar.set_style(style(form));
                bar.set_length(all as u64);
            }
            bar.set_position(done as u64);
        }
    }

    fn show(&mut self) -> &ProgressBar {
        let (form, started) = (self.form, self.started);
        self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.with_elapsed(started.elapsed()).with_style(style(form))
        })
    }
}

fn style(form: &str) -> ProgressStyle {
    ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
