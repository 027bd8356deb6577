//! When must a run stop?

use std::time::Instant;

use crate::error::ErrorKind;

/// What can stop a run between two operations. A clone watches the same deadline and the same flag.
#[derive(Clone, Default)]
pub struct Control {
    /// Stop when the clock passes this.
    pub deadline: Option<Instant>,
    /// Stop when this says so; asked once an operation.
    pub cancelled: Option<std::sync::Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl Control {
    /// Why the run must stop now, if it must. A cancellation is named before a deadline.
    pub fn stopped(&self) -> Option<ErrorKind> {
        if self.cancelled.as_ref().is_some_and(|flag| flag()) {
            return Some(ErrorKind::Cancelled);
        }
        self.deadline.is_some_and(|d| Instant::now() >= d).then_some(ErrorKind::DeadlineExceeded)
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
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn a_passed_deadline_and_a_raised_flag_stop() {
        assert_eq!(Control::default().stopped(), None);
        let past = Control { deadline: Some(Instant::now()), ..Control::default() };
        assert_eq!(past.stopped(), Some(ErrorKind::DeadlineExceeded));
        let later = Control { deadline: Some(Instant::now() + Duration::from_secs(3600)), ..Control::default() };
        assert_eq!(later.stopped(), None);
        let both = Control { cancelled: Some(Arc::new(|| true)), ..past };
        assert_eq!(both.stopped(), Some(ErrorKind::Cancelled));
    }
}
