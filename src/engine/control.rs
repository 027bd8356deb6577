//! When must a run stop?

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::error::ErrorKind;

/// What can stop a call's runs between two operations. A clone watches the same deadline and the same flag.
#[derive(Clone, Default)]
pub struct Control {
    deadline: Option<Instant>,
    cancelled: Option<Flag>,
    reason: Arc<OnceLock<ErrorKind>>,
}

/// Says whether the caller wants the call to stop.
pub type Flag = Arc<dyn Fn() -> bool + Send + Sync>;

impl Control {
    /// Stop when the clock passes `deadline`, or when `cancelled`, asked once an operation, says so.
    pub fn new(deadline: Option<Instant>, cancelled: Option<Flag>) -> Control {
        Control { deadline, cancelled, reason: Arc::default() }
    }

    /// Why the call must stop, if it must. Once it must, it stays so, even if the flag is lowered. A cancellation is named before
    /// a deadline.
    pub fn stopped(&self) -> Option<ErrorKind> {
        if let Some(reason) = self.reason.get() {
            return Some(*reason);
        }
        let cancelled = self.cancelled.as_ref().is_some_and(|flag| flag());
        let late = || self.deadline.is_some_and(|d| Instant::now() >= d);
        let reason = if cancelled { ErrorKind::Cancelled } else { late().then_some(ErrorKind::DeadlineExceeded)? };
        Some(*self.reason.get_or_init(|| reason))
    }
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("deadline", &self.deadline).field("stopped", &self.stopped()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    #[test]
    fn a_passed_deadline_and_a_raised_flag_stop() {
        assert_eq!(Control::default().stopped(), None);
        let past = Some(Instant::now());
        assert_eq!(Control::new(past, None).stopped(), Some(ErrorKind::DeadlineExceeded));
        let later = Instant::now() + Duration::from_secs(3600);
        assert_eq!(Control::new(Some(later), None).stopped(), None);
        assert_eq!(Control::new(past, Some(Arc::new(|| true))).stopped(), Some(ErrorKind::Cancelled));
    }

    #[test]
    fn a_stop_is_not_forgotten_when_the_flag_is_lowered() {
        let flag = Arc::new(AtomicBool::new(true));
        let watched = Arc::clone(&flag);
        let control = Control::new(None, Some(Arc::new(move || watched.load(Ordering::Relaxed))));
        assert_eq!(control.clone().stopped(), Some(ErrorKind::Cancelled));
        flag.store(false, Ordering::Relaxed);
        assert_eq!(control.stopped(), Some(ErrorKind::Cancelled));
    }
}
