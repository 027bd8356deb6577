//! How large is the learning rate at a step?
//!
//! It rises in a line over the warm-up and then follows a [`Course`] to the end of the run (Devlin et al., BERT, 2018: linear).

/// How the rate goes on after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Course {
    /// In a line to 0.
    #[default]
    Linear,
    /// Along half a cosine to 0.
    Cosine,
    /// As it is.
    Constant,
}

impl Course {
    /// Every course by its name.
    pub const ALL: &'static [(&'static str, Course)] =
        &[("linear", Course::Linear), ("cosine", Course::Cosine), ("constant", Course::Constant)];

    /// What the rate is multiplied by at step `step` (from 1) of `steps`, the first `warmup` of which warm up.
    pub fn factor(self, step: u64, warmup: u64, steps: u64) -> f64 {
        if step <= warmup {
            return step as f64 / warmup as f64;
        }
        let left = (steps.saturating_sub(step) as f64 / steps.saturating_sub(warmup).max(1) as f64).clamp(0.0, 1.0);
        match self {
            Course::Linear => left,
            Course::Cosine => 0.5 * (1.0 - (std::f64::consts::PI * left).cos()),
            Course::Constant => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_rise_over_the_warm_up_and_fall_to_nothing() {
        let at = |course: Course| [1, 5, 10, 55, 100].map(|step| course.factor(step, 10, 100));
        assert_eq!(at(Course::Linear), [0.1, 0.5, 1.0, 0.5, 0.0]);
        assert!(at(Course::Cosine).iter().zip([0.1, 0.5, 1.0, 0.5, 0.0]).all(|(a, b)| (a - b).abs() < 1e-12));
        assert_eq!(at(Course::Constant), [0.1, 0.5, 1.0, 1.0, 1.0]);
        assert_eq!(Course::Linear.factor(1, 0, 100), 0.99, "without a warm-up the first step is already on the course");
    }
}
