//! Which options does a task read?
//!
//! A row an option that not every run reads: what for, and by which. What would pass without effect is an error that names it.

use super::judges::RankLoss;
use super::settings::FinetuneSettings;
use super::task::{Problem, Task};
use super::vectors::VectorLoss;

/// A run or an evaluation, as far as it decides which options are read.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// What is learned.
    pub task: &'a Task,
    /// How.
    pub settings: &'a FinetuneSettings,
    /// Whether there is a teacher.
    pub teacher: bool,
    /// Whether there are examples to choose the best model by.
    pub held_out: bool,
    /// Whether [`FinetuneSettings::steps`] was given, in place of epochs.
    pub steps: bool,
}

impl Plan<'_> {
    fn is(&self, problems: &[Problem]) -> bool {
        problems.contains(&self.task.problem)
    }

    fn compares(&self, loss: VectorLoss) -> bool {
        self.is(&[Problem::Embed]) && self.settings.vector_loss == loss
    }
}

/// An option, who reads it, and whether a run does.
type Row = (&'static str, &'static str, fn(&Plan<'_>) -> bool);

use Problem::{Choose, Classify, Embed, Extract, MultiLabel, Rank, Tag};

/// Options of files and of runs that not every run reads.
const ROWS: &[Row] = &[
    ("text", "tasks whose examples are texts or words", |p| !p.is(&[Extract])),
    ("pair", "tasks with two texts", |p| !p.is(&[Extract, Tag])),
    ("label", "tasks with a label or a number", |p| !p.is(&[Extract])),
    ("id", "tasks whose examples are rows", |p| !p.is(&[Extract])),
    ("choices", "task multiple_choice", |p| p.is(&[Choose])),
    ("negatives", "task encode", |p| p.is(&[Embed])),
    ("label_delimiter", "task multi_label", |p| p.is(&[MultiLabel])),
    ("header", "tasks whose examples are rows", |p| !p.is(&[Extract])),
    ("delimiter", "tasks whose examples are rows", |p| !p.is(&[Extract])),
    ("quoting", "tasks whose examples are rows of cells", |p| !p.is(&[Extract, Tag])),
    ("ragged", "tasks whose examples are rows", |p| !p.is(&[Extract])),
    ("epochs", "a run without `steps`", |p| !p.steps),
    ("patience", "a run with --dev", |p| p.held_out),
    ("overlap", "task extract", |p| p.is(&[Extract])),
    ("lora_alpha", "a run with `lora_rank`", |p| p.settings.lora_rank > 0),
    ("crf", "task tag", |p| p.is(&[Tag])),
    ("crf_factor", "task tag with a crf", |p| p.is(&[Tag]) && p.settings.crf != Some(false)),
    ("class_weights", "tasks with one label of a text (classify, GLUE's)", |p| p.is(&[Classify])),
    ("teacher_share", "a run with --teacher", |p| p.teacher),
    ("temperature", "a run with --teacher", |p| p.teacher),
    ("rank_loss", "task rerank", |p| p.is(&[Rank])),
    ("most_negatives", "task rerank, and encode with `vector_loss = contrast`", |p| p.is(&[Rank]) || p.compares(VectorLoss::Contrast)),
    ("vector_loss", "task encode", |p| p.is(&[Embed])),
    ("scale", "task encode with `vector_loss = contrast`", |p| p.compares(VectorLoss::Contrast)),
    ("margin", "task encode with `vector_loss = triplet`", |p| p.compares(VectorLoss::Triplet)),
    ("lengths", "task encode, but for `vector_loss = relation`,", |p| p.is(&[Embed]) && !p.compares(VectorLoss::Relation)),
];

/// What is wrong with giving the options that `given` says were, for people: one that the run would not read.
pub fn unread(plan: &Plan<'_>, given: impl Fn(&str) -> bool) -> Option<String> {
    let (name, readers, _) = ROWS.iter().find(|(name, _, reads)| given(name) && !reads(plan))?;
    // A loss is easily taken for the option of its name.
    let rank = plan.is(&[Rank]) && *name == "margin" && plan.settings.rank_loss != RankLoss::Margin;
    let meant = if rank { "; `rank_loss = margin` asks how far scores are apart" } else { "" };
    Some(format!("`{name}`: only {readers} reads it, and task {} as it is asked does not; leave it out{meant}", plan.task.name))
}

#[cfg(test)]
mod tests {
    use super::super::TASKS;
    use super::*;
    use crate::train::labelled::ReadSettings;

    fn told(task: &str, set: &[(&str, &str)]) -> Option<String> {
        let task = TASKS.iter().find(|row| row.name == task).unwrap();
        let mut settings = FinetuneSettings::default();
        set.iter().for_each(|(name, value)| settings.set(name, value).unwrap());
        let given = |name: &str| set.iter().any(|(known, _)| *known == name);
        unread(&Plan { task, settings: &settings, teacher: false, held_out: false, steps: given("steps") }, given)
    }

    #[test]
    fn every_row_is_an_option() {
        let known = |name: &str| {
            FinetuneSettings::SETTINGS.iter().any(|row| row.name == name)
                || ReadSettings::SETTINGS.iter().any(|row| row.name == name)
                || crate::train::run::RunSettings::SETTINGS.iter().any(|row| row.name == name)
        };
        ROWS.iter().for_each(|(name, ..)| assert!(known(name), "{name}"));
    }

    #[test]
    fn an_option_without_effect_is_named() {
        for (task, set) in [
            ("regression", &[("class_weights", "balanced")][..]),
            ("classify", &[("margin", "2")]),
            ("encode", &[("margin", "2")]),
            ("encode", &[("scale", "2")]),
            ("sst2", &[("temperature", "2")]),
            ("tag", &[("patience", "2")]),
            ("classify", &[("epochs", "2"), ("steps", "10")]),
            ("classify", &[("lora_alpha", "8")]),
        ] {
            let told = told(task, set).unwrap_or_else(|| panic!("{task} {set:?}"));
            assert!(told.starts_with(&format!("`{}`: only", set[0].0)), "{told}");
        }
        for (task, set) in [
            ("encode", &[("vector_loss", "triplet"), ("margin", "2")][..]),
            ("mrpc", &[("class_weights", "balanced")]),
            ("rerank", &[("rank_loss", "margin"), ("most_negatives", "2")]),
            ("classify", &[("lora_rank", "4"), ("lora_alpha", "8"), ("steps", "3")]),
        ] {
            assert_eq!(told(task, set), None, "{task} {set:?}");
        }
    }
}
