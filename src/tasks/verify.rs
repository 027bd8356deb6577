//! Does this model still give the answers that its file promises?
//!
//! [`Model::verify`] first asks whether the model's file is as it was written, by its checksums, and whether all of its numbers are
//! finite. Then it asks the golden [`Probes`] again and compares: cosine and largest difference of each vector, and whether each
//! probe still has the same nearest neighbours among the others.

use std::cmp::Ordering;

use serde::Serialize;

use super::cosine::dot;
use super::{Description, Model, Probes, Tolerance, probes::ask, tolerance};
use crate::error::{ErrorKind, Result, fail};
use crate::formats::checksums::Integrity;
use crate::formats::gguf::Reader;

/// Neighbours that are compared, where there are so many probes.
const NEIGHBOURS: usize = 5;

/// Characters of a text that a report shows.
const SHOWN: usize = 60;

/// How near a model's answers are to those stored in its file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verification {
    /// Whether nothing is damaged and every probe keeps to what is allowed.
    pub passed: bool,
    /// How many checksums the file has; `None` for a file without, which is judged by its probes alone.
    pub checksums: Option<usize>,
    /// What is not as it was written, or not finite, by name.
    pub damaged: Vec<String>,
    /// The lowest cosine of a probe with its stored vector.
    pub worst_cosine: f64,
    /// The mean cosine.
    pub mean_cosine: f64,
    /// The largest difference of a value, as a share of the stored vector's length.
    pub worst_error: f64,
    /// Rank agreement: the mean share of nearest neighbours that stayed.
    pub neighbours: f64,
    /// What is allowed.
    pub allowed: Tolerance,
    /// Values of a vector.
    pub dimensions: usize,
    /// Arithmetic of the encoder.
    pub precision: String,
    /// Instruction set of the kernels.
    pub isa: String,
    /// One entry a probe.
    pub probes: Vec<ProbeReport>,
}

/// How near one answer is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbeReport {
    /// The beginning of its text.
    pub text: String,
    /// Whether it keeps to what is allowed.
    pub passed: bool,
    /// Cosine with the stored vector.
    pub cosine: f64,
    /// The largest difference of a value, as a share of the stored vector's length.
    pub error: f64,
    /// How many of the nearest neighbours among the other probes stayed.
    pub neighbours: usize,
    /// Of how many.
    pub neighbours_of: usize,
}

impl Model {
    /// Compares the model's file with its checksums, and computes its golden probes again, with the model as it was opened. A model that computes in eight bits
    /// may differ by what these cost, whatever its file allows.
    ///
    /// That answers differ is no error here: see [`Verification::passed`] and [`Verification::check`].
    ///
    /// # Errors
    /// `InvalidArgument` for a model without probes; `InvalidFile` when they are damaged; `NonFinite` when an answer is not finite.
    pub fn verify(&self) -> Result<Verification> {
        let integrity = self.integrity()?;
        match self.ask_probes() {
            Ok(report) => Ok(report.with(integrity)),
            // What is damaged may be the probes themselves.
            Err(_) if !integrity.damaged.is_empty() => Ok(Verification::without_probes(self).with(integrity)),
            Err(e) => Err(e),
        }
    }

    fn integrity(&self) -> Result<Integrity> {
        let Some(file) = self.file() else { return Ok(Integrity { checksums: None, damaged: Vec::new() }) };
        Ok(Integrity::of(&Reader::open(file)?))
    }

    fn ask_probes(&self) -> Result<Verification> {
        let Some(probes) = self.probes()? else {
            let told = "the model has no golden probes to verify by; `cloze convert -m MODEL -o NAME.gguf` writes a file that has";
            return fail(ErrorKind::InvalidArgument, told);
        };
        let (vectors, dimensions) = ask(self, &probes.texts).map_err(|e| e.within("golden probes"))?;
        if dimensions != probes.dimensions {
            let told = format!("the probes have {} values, the model's vectors {dimensions}; convert the model again", probes.dimensions);
            return fail(ErrorKind::InvalidFile, told);
        }
        let description = self.describe();
        let allowed = match description.precision.as_str() {
            "f32" => probes.tolerance,
            _ => probes.tolerance.looser(tolerance::INT8),
        };
        let mut report = compare(probes, &vectors, allowed);
        (report.precision, report.isa) = (description.precision.clone(), description.isa.clone());
        Ok(report)
    }
}

impl Verification {
    /// Of a model whose probes cannot be asked.
    fn without_probes(model: &Model) -> Verification {
        let Description { dimensions, precision, isa, .. } = model.describe();
        Verification {
            passed: false,
            checksums: None,
            damaged: Vec::new(),
            worst_cosine: 0.0,
            mean_cosine: 0.0,
            worst_error: 1.0,
            neighbours: 0.0,
            allowed: Tolerance::of_types([]),
            dimensions: *dimensions,
            precision: precision.clone(),
            isa: isa.clone(),
            probes: Vec::new(),
        }
    }

    fn with(self, Integrity { checksums, damaged }: Integrity) -> Verification {
        Verification { passed: self.passed && damaged.is_empty(), checksums, damaged, ..self }
    }

    /// An error that names what is damaged and the worst probe, unless all passed.
    ///
    /// # Errors
    /// `VerificationFailed`.
    pub fn check(&self) -> Result<()> {
        let damage = Integrity { checksums: self.checksums, damaged: self.damaged.clone() }.told();
        match (damage, self.check_probes()) {
            (None, probes) => probes,
            (Some(damage), Ok(())) => fail(ErrorKind::VerificationFailed, damage),
            (Some(damage), Err(probes)) => fail(ErrorKind::VerificationFailed, format!("{damage}; {}", probes.message())),
        }
    }

    fn check_probes(&self) -> Result<()> {
        let failed = || self.probes.iter().enumerate().filter(|(_, probe)| !probe.passed);
        let worst = failed().min_by(|(_, a), (_, b)| a.cosine.total_cmp(&b.cosine));
        let Some((index, ProbeReport { text, cosine, error, .. })) = worst else { return Ok(()) };
        let Tolerance { lowest_cosine, largest_error } = self.allowed;
        let told = format!(
            "{} of {} probes failed, the worst is probe {index} ({text:?}): cosine {cosine:.6}, error {error:.6}; allowed are a cosine of at \
             least {lowest_cosine} and an error of at most {largest_error}: the file is damaged, or computed otherwise than it was made for",
            failed().count(),
            self.probes.len(),
        );
        fail(ErrorKind::VerificationFailed, told)
    }
}

/// Compares answers with the stored vectors; both (texts, dimensions).
fn compare(probes: &Probes, answers: &[f32], allowed: Tolerance) -> Verification {
    let d = probes.dimensions;
    let (stored, given): (Vec<&[f32]>, Vec<&[f32]>) = (probes.vectors.chunks(d).collect(), answers.chunks(d).collect());
    let count = stored.len().min(given.len());
    let most = NEIGHBOURS.min(count.saturating_sub(1));
    let report = |i: usize| {
        let (cosine, error) = (cosine(stored[i], given[i]), error(stored[i], given[i]));
        let (before, after) = (nearest(&stored, i, most), nearest(&given, i, most));
        ProbeReport {
            text: probes.texts[i].chars().take(SHOWN).collect(),
            passed: allowed.allows(cosine, error),
            cosine: rounded(cosine),
            error: rounded(error),
            neighbours: before.iter().filter(|j| after.contains(j)).count(),
            neighbours_of: most,
        }
    };
    let reports: Vec<ProbeReport> = (0..count).map(report).collect();
    let mean = |of: fn(&ProbeReport) -> f64| reports.iter().map(of).sum::<f64>() / count.max(1) as f64;
    Verification {
        checksums: None,
        damaged: Vec::new(),
        passed: count == probes.len() && reports.iter().all(|probe| probe.passed),
        worst_cosine: reports.iter().map(|probe| probe.cosine).fold(1.0, f64::min),
        mean_cosine: rounded(mean(|probe| probe.cosine)),
        worst_error: reports.iter().map(|probe| probe.error).fold(0.0, f64::max),
        neighbours: rounded(mean(|probe| probe.neighbours as f64 / probe.neighbours_of.max(1) as f64)),
        allowed,
        dimensions: d,
        precision: String::new(),
        isa: String::new(),
        probes: reports,
    }
}

/// The `count` vectors nearest to the one with number `i`, itself left out.
fn nearest(vectors: &[&[f32]], i: usize, count: usize) -> Vec<usize> {
    let mut others: Vec<(usize, f64)> = (0..vectors.len()).filter(|j| *j != i).map(|j| (j, cosine(vectors[i], vectors[j]))).collect();
    others.sort_by(|(a, x), (b, y)| y.partial_cmp(x).unwrap_or(Ordering::Equal).then(a.cmp(b)));
    others.into_iter().take(count).map(|(j, _)| j).collect()
}

/// The cosine of two vectors; two that are zero are alike.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let lengths = length(a) * length(b);
    if lengths > 0.0 { dot(a, b) / lengths } else { f64::from(u8::from(length(a) == length(b))) }
}

/// The largest difference, as a share of the length of `stored` (of 1, where that is 0).
fn error(stored: &[f32], given: &[f32]) -> f64 {
    let largest = stored.iter().zip(given).map(|(s, g)| (f64::from(*s) - f64::from(*g)).abs()).fold(0.0, f64::max);
    let length = length(stored);
    largest / if length > 0.0 { length } else { 1.0 }
}

fn length(v: &[f32]) -> f64 {
    dot(v, v).sqrt()
}

/// More digits would be noise.
fn rounded(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probes(vectors: &[[f32; 2]]) -> Probes {
        let texts = (0..vectors.len()).map(|i| format!("text {i}")).collect();
        Probes { texts, vectors: vectors.concat(), dimensions: 2, tolerance: Tolerance { lowest_cosine: 0.9, largest_error: 0.5 } }
    }

    #[test]
    fn the_same_answers_pass_and_keep_their_neighbours() {
        let stored = probes(&[[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]]);
        let report = compare(&stored, &stored.vectors, stored.tolerance);
        assert!(report.passed && report.check().is_ok());
        assert_eq!((report.worst_cosine, report.mean_cosine, report.worst_error, report.neighbours), (1.0, 1.0, 0.0, 1.0));
        assert_eq!(report.probes[0].neighbours_of, 2);
    }

    #[test]
    fn the_worst_probe_is_named() {
        let stored = probes(&[[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]]);
        let report = compare(&stored, &[1.0, 0.0, 1.0, 0.0, 1.0, 1.9], stored.tolerance);
        assert_eq!(report.probes.iter().map(|p| p.passed).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!((report.worst_cosine, report.worst_error, report.probes[2].error), (0.0, 1.0, 0.5));
        let e = report.check().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::VerificationFailed);
        assert!(e.message().contains("2 of 3 probes failed") && e.message().contains("probe 1 (\"text 1\")"), "{e}");
    }

    #[test]
    fn an_error_past_its_limit_fails_a_probe_whose_cosine_is_right() {
        let stored = probes(&[[1.0, 0.0]]);
        let report = compare(&stored, &[2.0, 0.0], stored.tolerance);
        assert_eq!((report.passed, report.worst_cosine, report.worst_error), (false, 1.0, 1.0));
        assert!(report.check().is_err());
        assert!(!compare(&stored, &[], stored.tolerance).passed, "no answer is no pass");
    }

    #[test]
    fn neighbours_that_changed_are_counted() {
        // Of probe 0: [1, 2] and [2, 1] are its nearest; of five others all are compared.
        let at = |degrees: f32| [degrees.to_radians().cos(), degrees.to_radians().sin()];
        let stored = probes(&[0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0].map(at));
        let moved = [0.0f32, 10.0, 20.0, 30.0, 40.0, 90.0, 60.0].map(at).concat();
        let report = compare(&stored, &moved, stored.tolerance);
        assert_eq!((report.probes[0].neighbours, report.probes[0].neighbours_of), (4, 5));
        assert!(report.neighbours < 1.0);
    }
}
