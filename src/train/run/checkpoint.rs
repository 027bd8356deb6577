//! How does a run go on where it was?
//!
//! A checkpoint is a folder with the learner's numbers and run.json: the step, and the settings that decide what comes next. The order of
//! examples, their texts, what is hidden and what is dropped follow from seed and step, so that there is no other state. The folder appears when
//! it is whole; a run takes up the last one.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::folder::bytes_of;
use crate::engine::cpu::{Learner, LearningState};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::formats::atomic::{AtomicFile, AtomicFolder};
use crate::formats::{Source, TensorPlan, huggingface, safetensors};
use crate::quant::{Bytes, Dtype};

/// What a run keeps beside the numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Steps done.
    pub step: u64,
    /// Tokens seen.
    pub tokens: u64,
    /// Steps skipped in all, and in a row up to now.
    pub skipped: u64,
    pub skipped_in_a_row: usize,
    /// The merit of the best evaluation so far.
    pub best: Option<f64>,
    /// Evaluations since then.
    #[serde(default)]
    pub without_gain: u64,
    /// The step of the last one.
    #[serde(default)]
    pub evaluated: u64,
    /// The settings that decide the run.
    pub settings: String,
}

const STATE: &str = "model.safetensors";
const RUN: &str = "run.json";

/// The folder of the checkpoint of a step.
fn folder_of(out: &Path, step: u64) -> PathBuf {
    out.join("checkpoints").join(format!("step-{step:08}"))
}

/// The steps that have a checkpoint, first to last.
pub(super) fn steps(out: &Path) -> Vec<u64> {
    let entries = std::fs::read_dir(out.join("checkpoints")).into_iter().flatten().flatten();
    let named = |name: String| name.strip_prefix("step-").and_then(|n| n.parse().ok());
    let mut steps: Vec<u64> = entries.filter_map(|e| e.file_name().into_string().ok().and_then(named)).collect();
    steps.sort_unstable();
    steps
}

/// Writes the checkpoint of a step, and removes all but the last `keep`.
pub(super) fn save(out: &Path, progress: &Progress, learner: &Learner, keep: usize) -> Result<()> {
    let refused = |path: &Path, e: std::io::Error| Error::new(ErrorKind::Io, format!("{}: {e}", path.display()));
    let target = folder_of(out, progress.step);
    std::fs::create_dir_all(out.join("checkpoints")).map_err(|e| refused(&target, e))?;
    if target.is_dir() {
        // A run that was taken up at an earlier step comes by again.
        std::fs::remove_dir_all(&target).map_err(|e| refused(&target, e))?;
    }
    let folder = AtomicFolder::create(&target)?;
    let state = learner.state();
    let parts = [("means", state.means), ("numbers", state.numbers), ("squares", state.squares)];
    let plan = |(name, numbers): &(&str, &[f32])| TensorPlan { name: (*name).to_owned(), dtype: Dtype::F32, shape: vec![numbers.len()] };
    let plans: Vec<TensorPlan> = parts.iter().map(plan).collect();
    let mut file = folder.file(STATE)?;
    let bytes = |plan: &TensorPlan| {
        let numbers = parts.iter().find(|(name, _)| *name == plan.name).map_or(&[][..], |(_, numbers)| numbers);
        Ok(Bytes::owned(bytes_of(numbers)))
    };
    safetensors::write(&mut file, &plans, bytes, |_| {}).map_err(|e| e.within(target.join(STATE).display()))?;
    file.commit()?;
    let mut file = folder.file(RUN)?;
    let text = serde_json::to_vec_pretty(progress).map_err(|e| Error::new(ErrorKind::InvalidArgument, e.to_string()))?;
    file.write_all(&text).map_err(|e| refused(&target, e))?;
    file.commit()?;
    folder.commit()?;
    let steps = steps(out);
    for old in steps.iter().take(steps.len().saturating_sub(keep)) {
        let path = folder_of(out, *old);
        std::fs::remove_dir_all(&path).map_err(|e| refused(&path, e))?;
    }
    Ok(())
}

/// Notes in the checkpoint of a step what has become known since it was written.
pub(super) fn note(out: &Path, progress: &Progress) -> Result<()> {
    let path = folder_of(out, progress.step).join(RUN);
    let text = serde_json::to_vec_pretty(progress).map_err(|e| Error::new(ErrorKind::InvalidArgument, e.to_string()))?;
    let mut file = AtomicFile::replacing(&path)?;
    file.write_all(&text).map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", path.display())))?;
    file.commit()
}

/// Takes up the last checkpoint of the run in `out`.
///
/// # Errors
/// `InvalidArgument` where there is none, or it is of a run with other settings; `InvalidFile` for one that is damaged.
pub(super) fn load(out: &Path, settings: &str, learner: &mut Learner) -> Result<Progress> {
    let Some(step) = steps(out).last().copied() else {
        return fail(ErrorKind::InvalidArgument, format!("{} has no checkpoint to resume from", out.display()));
    };
    let path = folder_of(out, step);
    let named = |e: Error| e.within(path.display());
    let text = std::fs::read(path.join(RUN)).map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", path.join(RUN).display())))?;
    let progress: Progress =
        serde_json::from_slice(&text).map_err(|e| Error::new(ErrorKind::InvalidFile, format!("{}: {e}", path.join(RUN).display())))?;
    if progress.settings != settings {
        let differ = differences(&progress.settings, settings);
        let told =
            format!("the run in {} has other settings ({differ}); resume with its own, or begin another in a new folder", out.display());
        return fail(ErrorKind::InvalidArgument, told);
    }
    let weights = huggingface::weights(&Source::open(&path)?).map_err(named)?;
    let numbers = |name: &str| match weights.get(name) {
        Some(tensor) if tensor.dtype() == Dtype::F32 => Ok(tensor.to_f32()),
        _ => fail(ErrorKind::InvalidFile, format!("{}: no numbers {name:?} of f32", path.join(STATE).display())),
    };
    let (now, means, squares) = (numbers("numbers")?, numbers("means")?, numbers("squares")?);
    learner.restore(&LearningState { numbers: &now, means: &means, squares: &squares }).map_err(named)?;
    Ok(progress)
}

/// The lines of the settings that are not the same.
fn differences(kept: &str, given: &str) -> String {
    let pairs = kept.lines().zip(given.lines()).filter(|(a, b)| a != b);
    pairs.map(|(a, b)| format!("it has {a}, given is {b}")).collect::<Vec<_>>().join("; ")
}
