//! Which heads does a checkpoint have, and what do their outputs mean?
//!
//! A family lists its heads as [`Row`]s: which tensors a head has, which classes of `transformers` they belong to, and the
//! layers between hidden states and answer. [`take`] finds those that a checkpoint has, loads them, and says which tensors
//! belong to a head that this version does not answer; the [`Encoder`](super::Encoder) appends a head's layers to the trunk's
//! graph, and one task a [`Kind`] shapes the answers.

use serde_json::Value;

use super::config::Fields;
use super::crf::Crf;
use super::labels::Meaning;
use super::loader::Loader;
use crate::engine::graph::{Activation, Norm, ValueId, WeightId};
use crate::engine::{Graph, Role};
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
    /// Whether a token was put in another's place (ELECTRA's discriminator): one number a token, above 0 where it seems so; no task
    /// of this version.
    Replaced,
    /// How well a text fits behind another: of several, the best is chosen (rerank).
    MultipleChoice,
    /// Which token comes next (GPT); no task of this version.
    NextToken,
    /// Which token stands at a place of a span, by the tokens at its borders: what SpanBERT learns from; no task.
    SpanBoundary,
}

impl Kind {
    /// Every kind with the name that descriptions and messages use.
    pub const ALL: &'static [(&'static str, Kind)] = &[
        ("classify", Kind::Classify),
        ("next_sentence", Kind::NextSentence),
        ("tag", Kind::Tag),
        ("extract", Kind::Extract),
        ("fill_mask", Kind::FillMask),
        ("replaced", Kind::Replaced),
        ("multiple_choice", Kind::MultipleChoice),
        ("next_token", Kind::NextToken),
        ("span_boundary", Kind::SpanBoundary),
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
    /// The last hidden state of the first token: one row a sequence.
    First,
    /// The last hidden state of the last token: one row a sequence.
    Last,
    /// The last hidden state: one row a token.
    Tokens,
    /// The last hidden state of the tokens that the batch picks: a row for each of them alone.
    Picked,
    /// The last hidden states of the tokens in front of the span that a picked token is in, and behind it, and the row of a table for its
    /// place there: a row for each picked token. The table's tensor.
    Borders(&'static str),
    /// The mean of the last hidden state over all tokens: one row a sequence.
    Mean,
    /// [`First`](Input::First) or [`Mean`](Input::Mean), as this field of config.json says, `cls` or `mean`; `cls` where it says nothing.
    Stated(&'static str),
}

impl Input {
    /// What is read in this model.
    fn resolve(self, config: &Fields<'_>) -> Result<Input> {
        let Input::Stated(field) = self else { return Ok(self) };
        match config.get(field).map(|said| said.as_str()) {
            None | Some(Some("cls")) => Ok(Input::First),
            Some(Some("mean")) => Ok(Input::Mean),
            Some(_) => config.wrong(field, "\"cls\" or \"mean\""),
        }
    }
}

/// One layer of a head.
pub(super) enum LayerRow {
    /// A linear layer, `name.weight` and `name.bias`.
    Linear { name: &'static str, width: Width, activation: Activates },
    /// A linear layer as wide as the hidden states, whose bias is there if the field of config.json is true.
    Dense { name: &'static str, bias: &'static str, activation: Activates },
    /// A linear layer without a bias.
    Plain { name: &'static str, width: Width },
    /// A norm, `name.weight` and `name.bias`, with the trunk's epsilon; the bias where the trunk's norms have one.
    Norm { name: &'static str },
    /// As [`LayerRow::Norm`], of the layer's input and what the head reads together.
    AddNorm { name: &'static str },
    /// One number a token of the vocabulary: each row of a table times the layer's input, and a bias. The table is the tensor
    /// `weight` where the checkpoint has it, else the trunk's own token embedding; the bias is the first of `biases` that the
    /// checkpoint has. As in `transformers`, which ties what is missing or equal and nothing else.
    Decoder { weight: &'static str, biases: &'static [&'static str] },
    /// A decoder whose table is the one of [`LayerRow::Decoder`] with further columns, which lie in `rest` as rows: embeddings are narrower
    /// than what is compared with them (MobileBERT).
    WideDecoder { weight: &'static str, rest: &'static str, biases: &'static [&'static str] },
    /// A decoder over the trunk's own token embedding, whatever else the checkpoint or config.json has.
    OwnDecoder { bias: &'static str },
}

impl LayerRow {
    /// Whether the checkpoint has the layer. A decoder may be the trunk's own table.
    fn is_in(&self, loader: &Loader) -> bool {
        match self {
            LayerRow::Linear { name, .. }
            | LayerRow::Dense { name, .. }
            | LayerRow::Plain { name, .. }
            | LayerRow::Norm { name }
            | LayerRow::AddNorm { name } => loader.has(&format!("{name}.weight")),
            LayerRow::Decoder { .. } | LayerRow::WideDecoder { .. } | LayerRow::OwnDecoder { .. } => true,
        }
    }
}

/// How many outputs a layer has.
#[derive(Clone, Copy)]
pub(super) enum Width {
    /// As many as its matrix has rows: one a label.
    Labels,
    /// As many as its matrix has rows; `intermediate_size` of one that is made.
    Own,
    /// So many.
    Fixed(usize),
    /// As many as the hidden states are wide.
    Hidden,
    /// As many as the token embedding has columns.
    Embedding,
}

impl Width {
    /// The outputs of the layer whose matrix is `weight`.
    fn of(self, weight: &str, config: &Fields<'_>, loader: &Loader, ground: &Ground) -> Result<usize> {
        Ok(match self {
            Width::Fixed(n) => n,
            Width::Hidden => ground.hidden,
            Width::Labels => loader.rows(weight).unwrap_or(loader.labels()),
            Width::Own => match loader.rows(weight) {
                Some(rows) => rows,
                None => config.size("intermediate_size")?,
            },
            Width::Embedding => loader.width(ground.tokens),
        })
    }
}

/// Which activation a layer has.
#[derive(Clone, Copy)]
pub(super) enum Activates {
    /// This one.
    With(Activation),
    /// The one that this field of config.json names.
    As(&'static str),
    /// The same, and this one where there is no such field.
    AsOr(&'static str, Activation),
}

impl Activates {
    fn read(self, config: &Fields<'_>) -> Result<Activation> {
        match self {
            Activates::With(activation) => Ok(activation),
            Activates::As(field) => config.activation(field),
            Activates::AsOr(field, otherwise) => config.activation_or(field, otherwise),
        }
    }
}

/// What heads need to know of the trunk that they stand on.
pub(super) struct Ground {
    pub hidden: usize,
    /// Whether there is BERT's pooler.
    pub pooler: bool,
    /// The token embedding.
    pub tokens: WeightId,
    /// The epsilon of norms, and whether they shift.
    pub epsilon: f32,
    pub norm_bias: bool,
}

/// One head of a family.
pub(super) struct Row {
    pub kind: Kind,
    /// What its class in `architectures` ends with.
    pub classes: &'static [&'static str],
    /// What the names of its tensors begin with.
    pub tensors: &'static str,
    pub input: Input,
    /// What the names of its transitions between labels begin with, where it may have some; they tell it from its rivals.
    pub crf: Option<&'static str>,
    /// First to last. None: the head is known, so that its checkpoints open, but no task of this version answers it.
    pub layers: &'static [LayerRow],
}

/// A loaded layer.
#[derive(Clone, Debug)]
pub(super) enum Layer {
    Linear { weight: WeightId, bias: Option<WeightId>, activation: Activation, width: usize },
    Norm(Norm),
    AddNorm(Norm),
    Decoder { table: WeightId, bias: WeightId, width: usize },
}

impl Layer {
    /// Appends the layer to a graph; `read` is what the head's first layer reads.
    pub(super) fn append(&self, graph: &mut Graph, input: ValueId, read: ValueId) -> ValueId {
        match *self {
            Layer::Linear { weight, bias, activation, width } => graph.linear(input, weight, bias, activation, width),
            Layer::Norm(norm) => graph.norm(input, norm),
            Layer::AddNorm(norm) => graph.add_norm(input, read, norm),
            Layer::Decoder { table, bias, width } => graph.scores(input, table, bias, width),
        }
    }
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
    /// How labels follow each other, where the checkpoint says it.
    pub crf: Option<Crf>,
    pub(super) input: Input,
    /// Of [`Input::Borders`]: the table, its rows and its columns.
    pub(super) places: Option<(WeightId, usize, usize)>,
    pub(super) layers: Vec<Layer>,
}

/// What a model of any family may have learned from beside its own objectives. Joshi et al., SpanBERT: Improving Pre-training by Representing
/// and Predicting Spans (2020): two layers, each with GELU and a norm, over the borders of a span and a place in it.
const FOR_ALL: &[Row] = &[Row {
    kind: Kind::SpanBoundary,
    classes: &[],
    tensors: "span_boundary.",
    input: Input::Borders("span_boundary.position_embeddings.weight"),
    crf: None,
    layers: &[
        LayerRow::Linear { name: "span_boundary.dense1", width: Width::Hidden, activation: Activates::With(Activation::Gelu) },
        LayerRow::Norm { name: "span_boundary.norm1" },
        LayerRow::Linear { name: "span_boundary.dense2", width: Width::Embedding, activation: Activates::With(Activation::Gelu) },
        LayerRow::Norm { name: "span_boundary.norm2" },
        LayerRow::OwnDecoder { bias: "span_boundary.bias" },
    ],
}];

/// The table of places in spans that is made where there is none: SpanBERT's.
const PLACES: [usize; 2] = [20, 200];

/// The heads of a checkpoint, and the prefixes of tensors that belong to heads without a task.
pub(super) struct Found {
    pub heads: Vec<Head>,
    pub unanswered: Vec<&'static str>,
}

/// Loads the heads of `rows` that the checkpoint has.
///
/// # Errors
/// `InvalidTensor` for a head that lacks a part, `InvalidFile` for labels that do not fit it.
pub(super) fn take(rows: &[Row], config: &Fields<'_>, loader: &mut Loader, ground: &Ground) -> Result<Found> {
    // Heads stand beside the trunk, without its prefix.
    loader.set_prefix("");
    let mut found = Found { heads: Vec::new(), unanswered: Vec::new() };
    let all: Vec<&Row> = rows.iter().chain(FOR_ALL).collect();
    let is_present = |row: &Row, loader: &Loader| Ok(loader.has_any(row.tensors) && is_meant(row, rows, config, loader, ground.pooler)?);
    let present = all.iter().map(|row| is_present(row, loader)).collect::<Result<Vec<bool>>>()?;
    for (i, row) in all.iter().enumerate() {
        // Of several rows of a kind that is missing the first is made.
        let rivals = || all.iter().enumerate().filter(|(_, other)| other.kind == row.kind && !other.layers.is_empty()).map(|(at, _)| at);
        let made = loader.wants(row.kind) && !rivals().any(|at| present[at]) && rivals().next() == Some(i);
        // An earlier row may have taken its tensors.
        if !(made || present[i] && loader.has_any(row.tensors)) {
            continue;
        }
        if row.layers.is_empty() {
            found.unanswered.push(row.tensors);
        } else {
            found.heads.push(load(row, config, loader, ground)?);
        }
    }
    Ok(found)
}

/// Whether the tensors are this row's: several classes call theirs `classifier`. The class that config.json names decides; where
/// it names none of them, transitions between labels do, which only a tagger has, and then the layers that the checkpoint has: those on
/// the pooler where there is one.
fn is_meant(row: &Row, rows: &[Row], config: &Fields<'_>, loader: &Loader, pooler: bool) -> Result<bool> {
    let named = classes(config)?;
    let is_named = |row: &Row| named.iter().any(|class| row.classes.iter().any(|end| class.ends_with(end)));
    let rivals = || rows.iter().filter(|other| other.tensors == row.tensors);
    if rivals().any(is_named) {
        return Ok(is_named(row));
    }
    if let Some(tagger) = rivals().find(|other| other.crf.is_some_and(|prefix| loader.has_any(prefix))) {
        return Ok(tagger.kind == row.kind);
    }
    let whole = |row: &&Row| row.layers.iter().all(|layer| layer.is_in(loader));
    let likely = rivals().filter(whole).find(|other| (other.input == Input::Pooler) == pooler).or_else(|| rivals().find(whole));
    Ok(likely.is_none_or(|first| first.kind == row.kind))
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

fn load(row: &Row, config: &Fields<'_>, loader: &mut Loader, ground: &Ground) -> Result<Head> {
    if row.input == Input::Pooler && !ground.pooler {
        let told = format!("tensor \"pooler.dense.weight\" is missing from the checkpoint; its head {}* reads the pooler", row.tensors);
        return fail(ErrorKind::InvalidTensor, told);
    }
    let (mut layers, mut width, mut places) = (Vec::new(), ground.hidden, None);
    if let Input::Borders(table) = row.input {
        let [rows, columns] = loader.sizes(table).unwrap_or(PLACES);
        places = Some((loader.table(table, rows, columns)?, rows, columns));
        width = 2 * ground.hidden + columns;
    }
    for layer in row.layers {
        let (loaded, outputs) = load_layer(layer, width, config, loader, ground)?;
        layers.push(loaded);
        width = outputs;
    }
    let meaning = match row.layers.last() {
        Some(LayerRow::Linear { width: Width::Labels, .. } | LayerRow::Plain { width: Width::Labels, .. }) => Meaning::read(config, width)?,
        _ => Meaning::default(),
    };
    if let Some(prefix) = row.crf {
        loader.drop_other_transitions(prefix);
    }
    let crf = row.crf.filter(|prefix| loader.has_any(prefix)).map(|prefix| Crf::load(loader, prefix, width)).transpose()?;
    Ok(Head { kind: row.kind, outputs: width, meaning, crf, input: row.input.resolve(config)?, places, layers })
}

/// A layer that reads rows of `inputs` numbers, and how many it gives.
fn load_layer(row: &LayerRow, inputs: usize, config: &Fields<'_>, loader: &mut Loader, ground: &Ground) -> Result<(Layer, usize)> {
    match row {
        LayerRow::Linear { name, width, activation } => {
            if matches!(width, Width::Labels) {
                loader.drop_other_labels(name);
            }
            let weight = format!("{name}.weight");
            let outputs = width.of(&weight, config, loader, ground)?;
            let activation = activation.read(config)?;
            let weight = loader.head(&weight, outputs, inputs)?;
            let bias = Some(loader.vector(&[format!("{name}.bias")], outputs)?);
            Ok((Layer::Linear { weight, bias, activation, width: outputs }, outputs))
        }
        LayerRow::Plain { name, width } => {
            if matches!(width, Width::Labels) {
                loader.drop_other_labels(name);
            }
            let weight = format!("{name}.weight");
            let outputs = width.of(&weight, config, loader, ground)?;
            let weight = loader.head(&weight, outputs, inputs)?;
            Ok((Layer::Linear { weight, bias: None, activation: Activation::Identity, width: outputs }, outputs))
        }
        LayerRow::Dense { name, bias, activation } => {
            let weight = loader.head(&format!("{name}.weight"), ground.hidden, inputs)?;
            let has_bias = config.flag_or(bias, false)?;
            let bias = has_bias.then(|| loader.vector(&[format!("{name}.bias")], ground.hidden)).transpose()?;
            Ok((Layer::Linear { weight, bias, activation: activation.read(config)?, width: ground.hidden }, ground.hidden))
        }
        LayerRow::Norm { name } => Ok((Layer::Norm(load_norm(name, inputs, loader, ground)?), inputs)),
        LayerRow::AddNorm { name } => {
            // What the head reads is as wide as the hidden states.
            if inputs != ground.hidden {
                let told = format!("the layer in front of {name:?} gives {inputs} numbers, and hidden states have {}", ground.hidden);
                return fail(ErrorKind::InvalidTensor, told);
            }
            Ok((Layer::AddNorm(load_norm(name, inputs, loader, ground)?), inputs))
        }
        LayerRow::OwnDecoder { bias } => {
            let width = vocabulary_of(inputs, loader, ground)?;
            let bias = loader.vector(&[(*bias).to_owned()], width)?;
            Ok((Layer::Decoder { table: ground.tokens, bias, width }, width))
        }
        LayerRow::Decoder { weight, biases } => {
            let width = vocabulary_of(inputs, loader, ground)?;
            let table = decoder_table(weight, config, loader, ground)?;
            let bias = decoder_bias(biases, width, loader)?;
            Ok((Layer::Decoder { table, bias, width }, width))
        }
        LayerRow::WideDecoder { weight, rest, biases } => {
            let width = loader.count(ground.tokens);
            let table = decoder_table(weight, config, loader, ground)?;
            widen(table, rest, inputs, loader)?;
            let bias = decoder_bias(biases, width, loader)?;
            Ok((Layer::Decoder { table, bias, width }, width))
        }
    }
}

fn load_norm(name: &str, width: usize, loader: &mut Loader, ground: &Ground) -> Result<Norm> {
    let mut vector = |part| loader.vector(&[format!("{name}.{part}")], width);
    let (weight, bias) = (vector("weight")?, ground.norm_bias.then(|| vector("bias")).transpose()?);
    Ok(Norm { weight, bias, epsilon: ground.epsilon })
}

/// The table called `weight` where the checkpoint has it, else the token embedding.
fn decoder_table(weight: &str, config: &Fields<'_>, loader: &mut Loader, ground: &Ground) -> Result<WeightId> {
    if loader.has(weight) {
        return loader.table(weight, loader.count(ground.tokens), loader.width(ground.tokens));
    }
    if config.flag_or("tie_word_embeddings", true)? {
        return Ok(ground.tokens);
    }
    let told = format!("tensor {weight:?} is missing from the checkpoint; its config.json says tie_word_embeddings = false");
    fail(ErrorKind::InvalidTensor, told)
}

/// The first of `biases` that the checkpoint has; others are copies of it. Zeros for a decoder that has none.
fn decoder_bias(biases: &[&str], width: usize, loader: &mut Loader) -> Result<WeightId> {
    if biases.is_empty() {
        return loader.zeros(width);
    }
    let mut found = biases.iter().filter(|name| loader.has(name)).map(|name| (*name).to_owned()).collect::<Vec<_>>();
    // One that is made has the last name, which stands for all.
    let missing = || biases[if loader.wants(Kind::FillMask) { biases.len() - 1 } else { 0 }].to_owned();
    let used = if found.is_empty() { missing() } else { found.remove(0) };
    let bias = loader.vector(&[used], width)?;
    found.iter().try_for_each(|name| loader.drop_copy(name, width))?;
    Ok(bias)
}

/// Gives `table` the columns that a decoder of rows of `width` needs: those that it has, then those that lie in the tensor `rest` as rows.
fn widen(table: WeightId, rest: &str, width: usize, loader: &mut Loader) -> Result<()> {
    let (columns, rows) = (loader.width(table), loader.count(table));
    let Some(missing) = width.checked_sub(columns) else {
        let told = format!("the token embedding has {columns} columns, and its decoder reads only {width}");
        return fail(ErrorKind::InvalidTensor, told);
    };
    if missing > 0 {
        return loader.widen(table, rest, missing);
    }
    // A matrix without rows may be there all the same.
    if loader.has(rest) {
        loader.source(Role::Head, rest, &[0, rows])?;
    }
    Ok(())
}

/// The rows of the token embedding, whose columns a decoder reads.
fn vocabulary_of(inputs: usize, loader: &Loader, ground: &Ground) -> Result<usize> {
    let columns = loader.width(ground.tokens);
    if columns != inputs {
        let told = format!("the token embedding has {columns} columns, and its decoder reads {inputs}");
        return fail(ErrorKind::InvalidTensor, told);
    }
    Ok(loader.count(ground.tokens))
}
