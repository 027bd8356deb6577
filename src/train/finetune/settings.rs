//! How is a model fine-tuned? Its own options, each as one row, for flags and files alike; the others are every run's.

use super::judges::RankLoss;
use super::vectors::VectorLoss;
use crate::error::{ErrorKind, Result, fail};
use crate::tasks::Setting;
use crate::tasks::settings::{BOOLEAN, choice, number, set};
use crate::train::run::RunSettings;
use crate::train::run::settings::{count, real, within};

/// How classes weigh.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ClassWeights {
    /// Alike.
    #[default]
    None,
    /// The rarer, the more: examples over classes times examples of the class, as scikit-learn's `balanced`.
    Balanced,
    /// So much, by the class's number.
    Given(Vec<f32>),
}

/// How a model is fine-tuned.
#[derive(Clone, Debug)]
pub struct FinetuneSettings {
    /// How often each example is seen.
    pub epochs: f64,
    /// Steps, in place of epochs.
    pub steps: Option<u64>,
    /// Evaluations an epoch.
    pub evaluations: usize,
    /// Tokens of a sequence at most; none: as many as the model takes.
    pub max_length: Option<usize>,
    /// Tokens that neighbouring windows of a long text share.
    pub overlap: usize,
    /// Rows of the small matrices that learn in place of the trunk's; 0: the trunk learns itself.
    pub lora_rank: usize,
    /// What their product is multiplied by, times the rank.
    pub lora_alpha: f64,
    /// How classes weigh.
    pub class_weights: ClassWeights,
    /// Whether a tagger learns how tags follow each other; none: as the checkpoint does.
    pub crf: Option<bool>,
    /// How many times as fast as the rest that is learned.
    pub crf_factor: f64,
    /// How much of the cost is a teacher's, and how much its answers are softened.
    pub teacher_share: f64,
    /// See `teacher_share`.
    pub temperature: f64,
    /// What a wrong score of a document costs.
    pub rank_loss: RankLoss,
    /// Texts that do not belong to one, or documents that are worse, at most.
    pub negatives: usize,
    /// What is asked of vectors.
    pub vector_loss: VectorLoss,
    /// What cosines are multiplied by in a softmax.
    pub scale: f64,
    /// How far apart the distances of a triplet should be.
    pub margin: f64,
    /// How many of the first numbers of vectors are asked for themselves; none: all alone.
    pub lengths: Vec<usize>,
    /// How the run goes.
    pub run: RunSettings,
}

impl Default for FinetuneSettings {
    fn default() -> Self {
        FinetuneSettings {
            epochs: 3.0,
            steps: None,
            evaluations: 1,
            max_length: None,
            overlap: 64,
            lora_rank: 0,
            lora_alpha: 16.0,
            class_weights: ClassWeights::None,
            crf: None,
            crf_factor: 100.0,
            teacher_share: 0.5,
            temperature: 2.0,
            rank_loss: RankLoss::Pointwise,
            negatives: 4,
            vector_loss: VectorLoss::Cosine,
            scale: 20.0,
            margin: 5.0,
            lengths: Vec::new(),
            run: RunSettings { rate: 3e-5, epsilon: 1e-8, ..RunSettings::default() },
        }
    }
}

impl FinetuneSettings {
    /// The options of fine-tuning; those of [`RunSettings::SETTINGS`] are options too.
    pub const SETTINGS: &'static [Setting<FinetuneSettings>] = &[
        real!(epochs in epochs, 0.001..=10_000.0, "a number above 0", "How often each example is seen; 3 if not given"),
        Setting {
            name: "steps",
            values: "a number of steps",
            help: "Steps of the run, in place of epochs",
            apply: |s, v| {
                s.steps = Some(number(v, 1)? as u64);
                Ok(())
            },
        },
        count!(batch in run.batch, 1, "a number of examples", "Examples of a step; 32 if not given"),
        real!(rate in run.rate, 0.0..=1.0, "a number from 0 to 1", "The highest learning rate; 3e-5 if not given"),
        count!(evaluations in evaluations, 1, "a number", "Evaluations and checkpoints an epoch; 1 if not given"),
        Setting {
            name: "max_length",
            values: "a number of tokens",
            help: "Tokens of a sequence at most; as many as the model takes if not given",
            apply: |s, v| {
                s.max_length = Some(number(v, 3)?);
                Ok(())
            },
        },
        count!(overlap in overlap, 0, "a number of tokens", "Tokens that neighbouring windows of a long text share (extract); 64 if not given"),
        count!(lora_rank in lora_rank, 0, "a number", "LoRA: small matrices of this rank learn beside the layers' own, which stay, and are added to them in what is written; 0 and if not given: the layers learn"),
        real!(lora_alpha in lora_alpha, 0.001..=10_000.0, "a number above 0", "LoRA: what their product is multiplied by, times the rank; 16 if not given"),
        Setting {
            name: "class_weights",
            values: "none, balanced, or numbers with commas between them",
            help: "How much classes weigh, in their order",
            apply: |s, v| {
                s.class_weights = match v {
                    "none" => ClassWeights::None,
                    "balanced" => ClassWeights::Balanced,
                    _ => ClassWeights::Given(v.split(',').map(|w| Ok(within(w.trim(), 0.0..=1e6)? as f32)).collect::<Result<_>>()?),
                };
                Ok(())
            },
        },
        Setting {
            name: "crf",
            values: "model, true or false",
            help: "tag: learn, too, which tags follow each other (a conditional random field), and serve the likeliest sequence",
            apply: |s, v| {
                s.crf = if v == "model" { None } else { Some(choice(v, BOOLEAN)?) };
                Ok(())
            },
        },
        real!(crf_factor in crf_factor, 0.001..=10_000.0, "a number above 0", "tag with crf: how many times as fast as the rest that is learned; 100 if not given"),
        real!(teacher_share in teacher_share, 0.0..=1.0, "a share from 0 to 1", "How much of the cost is a teacher's; 0.5 if not given"),
        real!(temperature in temperature, 0.1..=100.0, "a number above 0", "How much a teacher's answers are softened; 2 if not given"),
        Setting {
            name: "rank_loss",
            values: "pointwise, pairwise or margin",
            help: "rerank: each document by itself, pairs of a better and a worse one, or how far apart these are; pointwise if not given",
            apply: |s, v| {
                s.rank_loss = choice(v, RankLoss::ALL)?;
                Ok(())
            },
        },
        count!(most_negatives in negatives, 1, "a number", "rerank, encode: worse documents for each relevant one, texts that do not belong to one, at most; 4 if not given"),
        Setting {
            name: "vector_loss",
            values: "cosine, contrast, triplet or relation",
            help: "encode: a number for two texts, texts that belong together among all of a batch, one nearer than another, or a label for two texts that their vectors should tell (entailment and the like); cosine if not given",
            apply: |s, v| {
                s.vector_loss = choice(v, VectorLoss::ALL)?;
                Ok(())
            },
        },
        real!(scale in scale, 0.01..=1000.0, "a number above 0", "encode, contrast: what cosines are multiplied by; 20 if not given"),
        real!(margin in margin, 0.0..=1000.0, "a number", "encode, triplet: how far apart distances should be; 5 if not given"),
        Setting {
            name: "lengths",
            values: "numbers with commas between them",
            help: "encode: how many of the first numbers of vectors are asked for themselves (Matryoshka)",
            apply: |s, v| {
                s.lengths = v.split(',').map(|n| number(n.trim(), 1)).collect::<Result<_>>()?;
                Ok(())
            },
        },
    ];

    /// Sets the option called `name`.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is in neither table and for a value that its row does not take.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        if RunSettings::SETTINGS.iter().any(|row| row.name == name) {
            return self.run.set(name, value);
        }
        set(Self::SETTINGS, self, name, value)
    }

    /// The run of so many examples.
    ///
    /// # Errors
    /// `InvalidArgument` without examples.
    pub(super) fn run_of(&self, examples: usize) -> Result<RunSettings> {
        if examples == 0 {
            return fail(ErrorKind::InvalidArgument, "there is no example to learn from");
        }
        let epoch = examples.div_ceil(self.run.batch) as u64;
        let steps = self.steps.unwrap_or(((epoch as f64 * self.epochs).round() as u64).max(1));
        let every = (epoch / self.evaluations as u64).max(1);
        Ok(RunSettings { steps, evaluate_every: every, save_every: every, ..self.run.clone() })
    }
}
