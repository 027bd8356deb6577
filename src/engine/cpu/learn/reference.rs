//! The definition of what [`super::kernels`] lists: each formula one number at a time, in double precision.

use super::super::gemm::PANEL;
use super::super::reference::erfc;
use super::kernels::Kernels;
use super::product::Product;
use super::rows::{Adam, NormBack, hash};
use crate::engine::graph::Activation;

pub(in super::super) const LEARN: Kernels =
    Kernels { product, activate_back, norm_back, drop_row, softmax_back, column_sums, largest_and_sum, probabilities, adam, squares };

unsafe fn product(p: &Product) {
    for row in 0..p.rows {
        for column in 0..PANEL {
            // SAFETY: the caller's contract is `Product`'s.
            unsafe {
                let at = p.c.add(row * p.c_stride + column);
                let start = if p.adds { f64::from(*at) } else { 0.0 };
                let term = |k: usize| f64::from(*p.a.add(row * p.a_row + k * p.a_step)) * f64::from(*p.b.add(k * p.b_step + column));
                *at = (start + (0..p.depth).map(term).sum::<f64>()) as f32;
            }
        }
    }
}

/// The derivative, by its formula.
pub(super) fn derivative(which: Activation, x: f64) -> f64 {
    match which {
        Activation::Identity => 1.0,
        Activation::Relu => f64::from(u8::from(x > 0.0)),
        Activation::Tanh => 1.0 - x.tanh().powi(2),
        Activation::Silu => {
            let s = 1.0 / (1.0 + (-x).exp());
            s * (1.0 + x * (1.0 - s))
        }
        Activation::Gelu => {
            let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
            0.5 * erfc(-x * std::f64::consts::FRAC_1_SQRT_2) + x * density
        }
        Activation::GeluTanh => {
            let c = (2.0 / std::f64::consts::PI).sqrt();
            let t = (c * (x + 0.044715 * x.powi(3))).tanh();
            0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * c * (1.0 + 3.0 * 0.044715 * x * x)
        }
    }
}

unsafe fn activate_back(which: Activation, gradient: *const f32, x: *const f32, out: *mut f32, n: usize) {
    for i in 0..n {
        // SAFETY: the caller gives `n` numbers each.
        unsafe { *out.add(i) = (f64::from(*gradient.add(i)) * derivative(which, f64::from(*x.add(i)))) as f32 };
    }
}

unsafe fn norm_back(row: &NormBack) {
    let n = row.width;
    // SAFETY: the caller gives rows of `width` numbers, and twice as many sums.
    unsafe {
        let numbers = |p: *const f32| -> Vec<f64> { (0..n).map(|i| f64::from(*p.add(i))).collect() };
        let (d, x, w) = (numbers(row.gradient), numbers(row.x), numbers(row.weight));
        let mean = x.iter().sum::<f64>() / n as f64;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        let deviation = (variance + f64::from(row.epsilon)).sqrt();
        let normal: Vec<f64> = x.iter().map(|x| (x - mean) / deviation).collect();
        let plain = (0..n).map(|i| d[i] * w[i]).sum::<f64>() / n as f64;
        let scaled = (0..n).map(|i| d[i] * w[i] * normal[i]).sum::<f64>() / n as f64;
        for i in 0..n {
            *row.out.add(i) = ((d[i] * w[i] - plain - normal[i] * scaled) / deviation) as f32;
            if !row.sums.is_null() {
                let (weight, bias) = (row.sums.add(i), row.sums.add(n + i));
                *weight = (f64::from(*weight) + d[i] * normal[i]) as f32;
                *bias = (f64::from(*bias) + d[i]) as f32;
            }
        }
    }
}

unsafe fn drop_row(x: *const f32, out: *mut f32, n: usize, key: u32, threshold: u32, scale: f32) {
    for i in 0..n {
        // SAFETY: the caller gives `n` numbers each.
        unsafe { *out.add(i) = if hash(key, i as u32) < threshold { 0.0 } else { *x.add(i) * scale } };
    }
}

unsafe fn softmax_back(weights: *const f32, gradient: *mut f32, n: usize, scale: f32) {
    // SAFETY: the caller gives `n` numbers each.
    unsafe {
        let pair = |i: usize| (f64::from(*weights.add(i)), f64::from(*gradient.add(i)));
        let sum: f64 = (0..n).map(|i| pair(i).0 * pair(i).1).sum();
        let back: Vec<f64> = (0..n).map(|i| pair(i).0 * (pair(i).1 - sum) * f64::from(scale)).collect();
        back.iter().enumerate().for_each(|(i, b)| *gradient.add(i) = *b as f32);
    }
}

unsafe fn column_sums(x: *const f32, stride: usize, rows: usize, columns: usize, sums: *mut f32) {
    for i in 0..columns {
        // SAFETY: the caller gives `rows` rows and `columns` sums.
        unsafe {
            let sum: f64 = (0..rows).map(|row| f64::from(*x.add(row * stride + i))).sum();
            *sums.add(i) = (f64::from(*sums.add(i)) + sum) as f32;
        }
    }
}

unsafe fn largest_and_sum(scores: *mut f32, stride: usize, rows: usize, columns: usize, bias: *const f32, out: *mut f32) {
    for i in 0..columns {
        // SAFETY: the caller gives `rows` rows and twice as many results as columns.
        unsafe {
            (0..rows).for_each(|row| *scores.add(row * stride + i) += *bias.add(row));
            let score = |row: usize| *scores.add(row * stride + i);
            let largest = (0..rows).map(score).fold(f32::NEG_INFINITY, f32::max);
            *out.add(i) = largest;
            *out.add(columns + i) = (0..rows).map(|row| (f64::from(score(row)) - f64::from(largest)).exp()).sum::<f64>() as f32;
        }
    }
}

unsafe fn probabilities(scores: *mut f32, columns: usize, total: *const f32, factors: *const f32) -> f32 {
    let mut sum = 0.0;
    for i in 0..columns {
        // SAFETY: the caller gives `columns` numbers each.
        unsafe {
            let p = (f64::from(*scores.add(i)) - f64::from(*total.add(i))).exp() * f64::from(*factors.add(i));
            *scores.add(i) = p as f32;
            sum += p;
        }
    }
    sum as f32
}

unsafe fn adam(step: &Adam) {
    for i in 0..step.n {
        // SAFETY: the caller gives `n` numbers each.
        unsafe {
            let (p, g, m, v) = (step.numbers.add(i), step.gradients.add(i), step.means.add(i), step.squares.add(i));
            let gradient = f64::from(*g) * f64::from(step.clip);
            let mix = |beta: f32, old: f32, new: f64| f64::from(beta) * f64::from(old) + (1.0 - f64::from(beta)) * new;
            let (mean, square) = (mix(step.beta1, *m, gradient), mix(step.beta2, *v, gradient * gradient));
            let moved = mean / f64::from(step.correction1) / ((square / f64::from(step.correction2)).sqrt() + f64::from(step.epsilon));
            *p = (f64::from(*p) * (1.0 - f64::from(step.decay)) - f64::from(step.rate) * moved) as f32;
            (*m, *v, *g) = (mean as f32, square as f32, 0.0);
        }
    }
}

unsafe fn squares(x: *const f32, n: usize) -> f64 {
    // SAFETY: the caller gives `n` numbers.
    (0..n).map(|i| unsafe { f64::from(*x.add(i)) }.powi(2)).sum()
}
