//! By which angles do rotary positions turn, as config.json says?
//!
//! Families state a base (theta) under names of their own; [`frequencies`] makes the angles of it. Variants that stretch positions
//! beyond the trained length are errors that name their field: an angle that is not the author's gives other vectors without a word.

use std::sync::Arc;

use serde_json::json;

use super::config::Fields;
use super::trunk::Sizes;
use crate::engine::graph::Rotary;
use crate::error::{ErrorKind, Result, fail};

/// The base that `field` states, or else `default`.
pub(super) fn base(config: &Fields<'_>, field: &str, default: f64) -> Result<f64> {
    match config.get(field).map(serde_json::Value::as_f64) {
        None if config.names().any(|name| name == field) => config.wrong(field, "a number above 1"),
        None => Ok(default),
        Some(Some(base)) if base > 1.0 && base <= 1e12 => Ok(base),
        Some(_) => config.wrong(field, "a number above 1"),
    }
}

/// The base in `rope_parameters` of `transformers` 5, of the kind `default`; `None` where it is not stated.
pub(super) fn stated(parameters: &Fields<'_>) -> Result<Option<f64>> {
    parameters.only("rope_type", &json!("default"))?;
    parameters.only("partial_rotary_factor", &json!(1.0))?;
    parameters.get("rope_theta").map(|_| base(parameters, "rope_theta", 0.0)).transpose()
}

/// The base of a family whose layers are alike: in `rope_parameters`, or `rope_theta`, or else `default`.
pub(super) fn of(config: &Fields<'_>, default: f64) -> Result<f64> {
    config.only("rope_scaling", &serde_json::Value::Null)?;
    let older = base(config, "rope_theta", default)?;
    match config.get("rope_parameters") {
        None => Ok(older),
        Some(value) => Ok(stated(&Fields::new("config.json: rope_parameters", value)?)?.unwrap_or(older)),
    }
}

/// Positions that turn all pairs of a head.
pub(super) fn whole_heads(sizes: &Sizes, base: f64) -> Result<Rotary> {
    let head_size = sizes.hidden / sizes.heads;
    if !head_size.is_multiple_of(2) {
        let told = format!("config.json: {} numbers of each of {} heads are no pairs", head_size, sizes.heads);
        return fail(ErrorKind::InvalidFile, told);
    }
    Ok(Rotary { head_size, frequencies: frequencies(base, head_size) })
}

/// The angle of each pair from one place to the next: `1 / base^(2i / dimensions)`, in f32 and rounded where the reference rounds.
pub(super) fn frequencies(base: f64, dimensions: usize) -> Arc<[f32]> {
    let exponent = |i: usize| (2 * i) as f32 / dimensions as f32;
    (0..dimensions / 2).map(|i| 1.0 / (f64::from(base as f32).powf(f64::from(exponent(i))) as f32)).collect()
}

/// The angles of positions that `rope_scaling` of type `ntk` stretches by a factor, whatever the length of a text: the base grows with the
/// factor, and the angles shrink by its `dimensions / 2`-th root (Su Jianlin, kexue.fm/archives/9706, 2023). Without it, those of
/// `rope_theta`, or else of `default`.
pub(super) fn stretched(config: &Fields<'_>, default: f64, dimensions: usize) -> Result<Arc<[f32]>> {
    let base = base(config, "rope_theta", default)?;
    let Some(scaling) = config.get("rope_scaling") else { return Ok(frequencies(base, dimensions)) };
    let scaling = Fields::new("config.json: rope_scaling", scaling)?;
    scaling.only("type", &json!("ntk"))?;
    scaling.only("mixed_b", &serde_json::Value::Null)?;
    scaling.text("type")?;
    let factor = match scaling.get("factor").and_then(serde_json::Value::as_f64) {
        Some(factor) if (1.0..=1e6).contains(&factor) => factor,
        _ => return scaling.wrong("factor", "a number from 1 to 1000000"),
    };
    let shrink = factor.powf(2.0 / dimensions as f64) as f32;
    Ok(frequencies(base * factor, dimensions).iter().map(|angle| angle / shrink).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretched_positions_end_at_the_angle_of_the_first_over_the_factor() {
        let config = json!({"rope_theta": 500.0, "rope_scaling": {"type": "ntk", "factor": 4.0}});
        let angles = stretched(&Fields::new("config.json", &config).unwrap(), 1.0, 8).unwrap();
        let plain = frequencies(500.0, 8);
        let root = 4f32.sqrt().sqrt();
        for (i, (angle, plain)) in angles.iter().zip(plain.iter()).enumerate() {
            let want = plain / root.powi(i as i32 + 1);
            assert!((angle - want).abs() <= want * 1e-6, "{i}: {angle} and {want}");
        }
        for scaling in [
            json!({"type": "yarn"}),
            json!({"factor": 2.0}),
            json!({"type": "ntk", "factor": 0.5}),
            json!(3),
            json!({"type": "ntk", "factor": 2.0, "mixed_b": 0.7}),
        ] {
            let config = json!({ "rope_scaling": scaling });
            let e = stretched(&Fields::new("config.json", &config).unwrap(), 1e4, 8).unwrap_err();
            assert!(e.message().contains("rope_scaling"), "{e}");
        }
    }

    #[test]
    fn angles_fall_from_one_to_the_inverse_of_the_base() {
        let angles = frequencies(10_000.0, 8);
        assert_eq!(angles.len(), 4);
        for (angle, want) in angles.iter().zip([1.0, 0.1, 0.01, 0.001]) {
            assert!((angle - want).abs() <= want * 1e-6, "{angle} and {want}");
        }
    }

    #[test]
    fn what_is_not_computed_is_named() {
        for (value, told) in [
            (json!({"rope_type": "yarn", "rope_theta": 1e4}), "rope_type"),
            (json!({"partial_rotary_factor": 0.5, "rope_theta": 1e4}), "partial_rotary_factor"),
            (json!({"rope_theta": -3}), "rope_theta"),
            (json!({"rope_theta": "x"}), "rope_theta"),
        ] {
            let e = stated(&Fields::new("config.json: rope_parameters", &value).unwrap()).unwrap_err();
            assert!(e.message().contains(told) && e.message().contains("rope_parameters"), "{e}");
        }
        let null = json!({"local_rope_theta": null});
        assert!(base(&Fields::new("config.json", &null).unwrap(), "local_rope_theta", 1e4).is_err());
    }
}
