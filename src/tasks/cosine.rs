//! How alike are two vectors?
//!
//! One definition for the ranking by vectors, the golden probes and the command line.

/// The cosine of `a` and `b`, 0 where one of them is zero. The sums are in double precision.
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 { (dot(a, b) / lengths).clamp(-1.0, 1.0) as f32 } else { 0.0 }
}

/// The sum of the products.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
}
