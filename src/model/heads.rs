//! Which heads does a checkpoint have, and what do their outputs mean?
//!
//! A family lists its heads as [`Row`]s: which tensors a head has, which classes of `transformers` they belong to, and the
//! linear layers between hidden states and answer. [`take`] finds those that a checkpoint has, loads them, and says which tensors
//! belong to a head that this version does not answer; the [`Encoder`](super::Encoder) appends a head's layers to the trunk's
//! graph, and one task a [`Kind`] shapes the answers.

use serde_json::Value;

use super::config::Fields;
use super::labels::Meaning;
use super::loader::Loader;
use super::trunk::Sizes;
use crate::engine::graph::{Activation, WeightId};
use crate::error::{ErrorKind, Result, fail};

/// What a head is for; each is the ground of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// One number a label, for a text or a pair: classify, rerank.
    Classify,
    /// Whether the second text follows the first.
    NextSentence,
    /// One number a label, for each token.
    Tag,
    /// Where an answer starts and ends.
    Extract,
    /// Which word a blank stands for.
    FillMask,
    /// Which of several texts fits; no task of this version.
    MultipleChoice,
}

impl Kind {
    /// Every kind with the name that descriptions and messages use.
    pub const ALL: &'static [(&'static str, Kind)] = &[
        ("classify", Kind::Classify),
        ("next_sentence", Kind::NextSentence),
        ("tag", Kind::Tag),
        ("extract", Kind::Extract),
        ("fill_mask", Kind::FillMask),
        ("multiple_choice", Kind::MultipleChoice),
    ];

    /// The name that descriptions and messages use.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// What a head's first layer reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// BERT's pooler: one row a sequence.
    Pooler,
    /// The last hidden state: one row a token.
    Tokens,
}

/// One linear layer of a head, `name.weight` and `name.bias`.
pub(super) struct LayerRow {
    pub name: &'static str,
    pub width: Width,
    pub activation: Activation,
}

/// How many outputs a layer has.
#[derive(Clone, Copy)]
pub(super) enum Width {
    /// As many as its matrix has rows: one a label.
    Labels,
    /// So many.
    Fixed(usize),
}

/// One head of a family.
pub(super) struct Row {
    pub kind: Kind,
    /// What its class in `architectures` ends with.
    pub classes: &'static [&'static str],
    /// What the names of its tensors begin with.
    pub tensors: &'static str,
    pub input: Input,
    /// First to last. None: the head is known, so that its checkpoints open, but no task of this version answers it.
    pub layers: &'static [LayerRow],
}

/// A loaded layer.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub weight: WeightId,
    pub bias: Option<WeightId>,
    pub activation: Activation,
    pub width: usize,
}

/// A loaded head.
#[derive(Clone, Debug)]
pub struct Head {
    /// What it is for.
    pub kind: Kind,
    /// Numbers that it gives, a sequence or a token.
    pub outputs: usize,
    /// What these numbers mean.
    pub meaning: Meaning,
    pub(super) input: Input,
    pub(super) layers: Vec<Layer>,
}

/// The heads of a checkpoint, and the prefixes of tensors that belong to heads without a task.
pub(super) struct Found {
    pub heads: Vec<Head>,
    pub unanswered: Vec<&'static str>,
}

/// Loads the heads of `rows` that the checkpoint has. `pooler` says whether it has BERT's pooler.
///
/// # Errors
/// `InvalidTensor` for a head that lacks a part, `InvalidFile` for labels that do not fit it.
pub(super) fn take(rows: &[Row], config: &Fields<'_>, loader: &mut Loader, sizes: &Sizes, pooler: bool) -> Result<Found> {
    // Heads stand beside the trunk, without its prefix.
    loader.set_prefix("");
    let mut found = Found { heads: Vec::new(), unanswered: Vec::new() };
    for row in rows {
        if !loader.has_any(row.tensors) || !is_meant(row, rows, config, pooler)? {
            continue;
        }
        if row.layers.is_empty() {
            found.unanswered.push(row.tensors);
        } else {
            found.heads.push(load(row, config, loader, sizes, pooler)?);
        }
    }
    Ok(found)
}

/// Whether the tensors are this row's: several classes call theirs `classifier`. The class that config.json names decides; where
/// it names none of them, the pooler does, which only heads of whole texts read.
fn is_meant(row: &Row, rows: &[Row], config: &Fields<'_>, pooler: bool) -> Result<bool> {
    let named = classes(config)?;
    let is_named = |row: &Row| named.iter().any(|class| row.classes.iter().any(|end| class.ends_with(end)));
    let rivals = || rows.iter().filter(|other| other.tensors == row.tensors);
    if rivals().any(is_named) {
        return Ok(is_named(row));
    }
    Ok(rivals().find(|other| (other.input == Input::Pooler) == pooler).is_none_or(|first| first.kind == row.kind))
}

/// `architectures`, where it is stated.
fn classes<'a>(config: &Fields<'a>) -> Result<Vec<&'a str>> {
    match config.get("architectures") {
        None => Ok(Vec::new()),
        Some(Value::Array(names)) => {
            names.iter().map(|n| n.as_str().map_or_else(|| config.wrong("architectures", "a list of names"), Ok)).collect()
        }
        Some(_) => config.wrong("architectures", "a list of names"),
    }
}

fn load(row: &Row, config: &Fields<'_>, loader: &mut Loader, sizes: &Sizes, pooler: bool) -> Result<Head> {
    if row.input == Input::Pooler && !pooler {
        let told = format!("tensor \"pooler.dense.weight\" is missing from the checkpoint; its head {}* reads the pooler", row.tensors);
        return fail(ErrorKind::InvalidTensor, told);
    }
    let (mut layers, mut width) = (Vec::new(), sizes.hidden);
    for LayerRow { name, width: wanted, activation } in row.layers {
        let weight = format!("{name}.weight");
        let outputs = match wanted {
            Width::Fixed(n) => *n,
            Width::Labels => loader.rows(&weight).unwrap_or(0),
        };
        let matrix = loader.head(&weight, outputs, width)?;
        let bias = loader.vector(&[format!("{name}.bias")], outputs)?;
        layers.push(Layer { weight: matrix, bias: Some(bias), activation: *activation, width: outputs });
        width = outputs;
    }
    let meaning = match row.layers.last().map(|layer| layer.width) {
        Some(Width::Labels) => Meaning::read(config, width)?,
        _ => Meaning::default(),
    };
    Ok(Head { kind: row.kind, outputs: width, meaning, input: row.input, layers })
}
