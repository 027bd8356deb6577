//! What do BERT and the encoders after it share?
//!
//! Embeddings are looked up, summed and normalised; then come layers of self-attention and feed-forward, each followed by a residual
//! norm (post-norm). A [`Family`] says the rest as data: names of tensors and of settings, and where it departs. [`BERT`] is the
//! departure's origin: a family's file states its difference from it, and [`build`] turns any of them into a [`Trunk`].
//!
//! [`BERT`]: super::bert::BERT

use std::collections::HashMap;

use serde_json::json;

use super::config::Fields;
use super::heads::{self, Ground, Input, Row};
use super::languages::Languages;
use super::loader::Loader;
use super::trunk::{Pooler, Sizes, Trunk};
use crate::engine::graph::{Activation, Attention, Bias, Half, Index, Lookup, Norm, Rotary, ValueId, WeightId};
use crate::engine::{Graph, Weight};
use crate::error::{ErrorKind, Result, fail};

/// One family of post-norm encoders.
pub(super) struct Family {
    /// Its name in descriptions.
    pub name: &'static str,
    /// What the trunk's tensors begin with in checkpoints of whole models.
    pub prefix: &'static str,
    /// Fields of config.json.
    pub settings: Settings,
    /// What is summed, in this order; words come first.
    pub tables: &'static [Table],
    /// Which row of the position table the first token has.
    pub positions: Positions,
    /// The norm of the sum.
    pub embedding_norm: &'static str,
    /// Embeddings of a width of their own, and the linear layer that brings them to the layers'.
    pub projection: Option<Projection>,
    /// What the names of each layer's tensors begin with, first layer to last. Layers of the same name share their weights.
    pub layers: fn(&Fields<'_>, &Sizes) -> Result<Vec<String>>,
    /// The tensors of a layer.
    pub names: LayerNames,
    /// Queries, keys and values as one layer, where they are not three.
    pub fused: Option<&'static str>,
    /// The layers in place of `up`, one above the other, where the feed-forward part has a gate, and the half that is activated.
    pub gated: Option<(&'static [&'static str], Half)>,
    pub biases: Biases,
    /// Rotary positions, where the family has them.
    pub rotary: fn(&Fields<'_>, &Sizes) -> Result<Option<Rotary>>,
    /// What `position_embedding_type` says, where it is stated.
    pub position_kind: &'static str,
    /// What config.json calls the number of positions.
    pub length: &'static str,
    /// The activation, where config.json does not choose it.
    pub activation: Option<Activation>,
    /// What attention adds to its scores, in all layers.
    pub bias: fn(&Fields<'_>, &mut Loader, &Sizes) -> Result<Bias>,
    /// What says in config.json that the norms stand before the parts of a layer, where the family has such models.
    pub norms_first: Option<&'static str>,
    /// The linear layer on the first token, with tanh, where the family has one.
    pub pooler: Option<&'static str>,
    /// Its heads.
    pub heads: &'static [Row],
}

/// Which linear layers of the trunk have a bias.
#[derive(Clone, Copy)]
pub(super) struct Biases {
    /// Queries, keys, values and the layer behind attention.
    pub attention: bool,
    /// The first layer of the feed-forward part.
    pub up: bool,
    /// The second.
    pub down: bool,
}

/// What config.json calls the sizes.
pub(super) struct Settings {
    pub hidden: &'static str,
    pub layers: &'static str,
    pub heads: &'static str,
    pub intermediate: &'static str,
    pub activation: &'static str,
    /// The epsilon of norms; where there is no such field it is 1e-12.
    pub epsilon: Option<&'static str>,
    /// How many segments there are where `type_vocab_size` does not say; 0 where a model may have none.
    pub segments: u32,
}

/// A table of embeddings by its tensor's name.
pub(super) enum Table {
    Words(&'static str),
    Segments(&'static str),
    Positions(&'static str),
    /// Types of tasks (ERNIE), where config.json says `use_task_id`: every token has type 0, as where a caller of the reference
    /// gives none.
    Tasks(&'static str),
    /// Languages (XLM), where config.json has several and says `use_lang_emb`. A token's segment is its language's number from 1, or 0 for
    /// none, to which nothing is added.
    Languages(&'static str),
}

/// Which row of the position table the first token has.
#[derive(Clone, Copy)]
pub(super) enum Positions {
    /// The first.
    FromZero,
    /// The one after the padding id, which config.json states or else is this; padding tokens take no place.
    AfterPadding { stated: Option<&'static str>, id: u32 },
}

/// Embeddings of width `embedding_size` (128 where config.json does not say), then a linear layer.
pub(super) struct Projection {
    pub name: &'static str,
    /// Whether it is there when the widths are the same, too.
    pub always: bool,
}

/// The tensors of a layer, without what the layer's names begin with.
pub(super) struct LayerNames {
    pub query: &'static str,
    pub key: &'static str,
    pub value: &'static str,
    /// The linear layer behind attention, and the norm behind that.
    pub mixed: &'static str,
    pub mixed_norm: &'static str,
    /// The two linear layers of the feed-forward part, and the norm behind them.
    pub up: &'static str,
    pub down: &'static str,
    pub norm: &'static str,
}

/// Which row of a table of so many segments a token has: one row leaves nothing to choose.
pub(super) fn of_segments(rows: usize) -> Index {
    if rows == 1 { Index::Always(0) } else { Index::Segment }
}

/// `encoder.layer.0.`, `encoder.layer.1.` ...: a set of weights for each layer.
pub(super) fn own_layers(_: &Fields<'_>, sizes: &Sizes) -> Result<Vec<String>> {
    Ok((0..sizes.layers).map(|layer| format!("encoder.layer.{layer}.")).collect())
}

/// The name of a layer's tensor: the layer's own stands before it, or where it says `{}`.
fn place(layer: &str, part: &str) -> String {
    if part.contains("{}") { part.replace("{}", layer) } else { format!("{layer}{part}") }
}

/// Attention by queries and keys alone.
pub(super) fn no_bias(_: &Fields<'_>, _: &mut Loader, _: &Sizes) -> Result<Bias> {
    Ok(Bias::None)
}

/// Positions that turn nothing.
pub(super) fn no_rotary(_: &Fields<'_>, _: &Sizes) -> Result<Option<Rotary>> {
    Ok(None)
}

/// Builds the trunk of a model of `family`.
///
/// # Errors
/// `Unsupported` or `InvalidFile` for what config.json says, `InvalidTensor` for a checkpoint that does not have what it says.
pub(super) fn build(family: &'static Family, config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    let mut trunk = Builder::new(family, config, loader)?;
    let bias = (family.bias)(config, trunk.loader, &trunk.sizes)?;
    let (tokens, embedded) = trunk.embeddings()?;
    let mut hidden_states = vec![embedded];
    let mut shared: HashMap<String, Layer> = HashMap::new();
    for name in (family.layers)(config, &trunk.sizes)? {
        let layer = match shared.get(&name) {
            Some(layer) => layer,
            None => &*shared.entry(name.clone()).or_insert(trunk.load(&name)?),
        };
        hidden_states.push(trunk.append(layer, &bias, hidden_states[hidden_states.len() - 1]));
    }
    trunk.finish(tokens, hidden_states, |name| BUFFERS.contains(&name))
}

/// The epsilon of norms where config.json states none.
const EPSILON: f32 = 1e-12;

/// Tensors of a checkpoint that nothing is computed with.
pub(super) const BUFFERS: &[&str] = &["embeddings.position_ids", "embeddings.token_type_ids"];

/// Options that change what is computed and that no graph here has.
fn refuse_variants(family: &Family, config: &Fields<'_>) -> Result<()> {
    config.only("position_embedding_type", &json!(family.position_kind))?;
    config.only("is_decoder", &json!(false))?;
    config.only("add_cross_attention", &json!(false))
}

/// The sizes, and the row of the position table that the first token has.
fn sizes(family: &Family, config: &Fields<'_>) -> Result<(Sizes, usize)> {
    let names = &family.settings;
    let rows = config.size(family.length)?;
    let offset = match family.positions {
        Positions::FromZero => 0,
        Positions::AfterPadding { .. } => padding(family, config)?.map_or(0, |id| id as usize + 1),
    };
    let Some(positions) = rows.checked_sub(offset).filter(|n| *n > 0) else {
        let told = format!("config.json: max_position_embeddings {rows} leaves no position after the {offset} up to the padding id");
        return fail(ErrorKind::InvalidFile, told);
    };
    let sizes = Sizes {
        vocabulary: config.size("vocab_size")?,
        hidden: config.size(names.hidden)?,
        layers: config.size(names.layers)?,
        heads: config.size(names.heads)?,
        intermediate: config.size(names.intermediate)?,
        positions,
        segments: config.id_or("type_vocab_size", names.segments)? as usize,
    };
    if !sizes.hidden.is_multiple_of(sizes.heads) {
        let told = format!("config.json: {} {} is not a multiple of {} {}", names.hidden, sizes.hidden, names.heads, sizes.heads);
        return fail(ErrorKind::InvalidFile, told);
    }
    if sizes.layers > 1024 {
        return fail(ErrorKind::InvalidFile, format!("config.json: {} {} is above 1024", names.layers, sizes.layers));
    }
    Ok((sizes, offset))
}

/// The id of the padding token, where positions depend on it.
fn padding(family: &Family, config: &Fields<'_>) -> Result<Option<u32>> {
    match family.positions {
        Positions::FromZero => Ok(None),
        Positions::AfterPadding { stated: Some(field), id } => config.id_or(field, id).map(Some),
        Positions::AfterPadding { stated: None, id } => Ok(Some(id)),
    }
}

/// A trunk in the making.
pub(super) struct Builder<'a, 'c> {
    pub family: &'static Family,
    pub config: &'a Fields<'c>,
    pub loader: &'a mut Loader,
    pub graph: Graph,
    pub sizes: Sizes,
    /// The row of the position table that the first token has.
    offset: usize,
    pub epsilon: f32,
    pub activation: Activation,
    rotary: Option<Rotary>,
    /// Whether the pooler is the first token's row as it is.
    pub pools_first: bool,
    /// Whether a layer's norms stand before attention and before the feed-forward part (FlauBERT's larger models), not behind them.
    norms_first: bool,
    languages: Languages,
}

/// A linear layer's weights and its number of outputs.
pub(super) struct Linear(pub WeightId, pub Option<WeightId>, pub usize);

impl Linear {
    /// Part `part` of the layers that were stacked: its weight and its bias.
    pub(super) fn part(&self, loader: &Loader, part: usize) -> (Weight, Option<Weight>) {
        (loader.part(self.0, part), self.1.map(|bias| loader.part(bias, part)))
    }
}

/// The weights of a layer.
pub(super) struct Layer {
    pub qkv: Linear,
    mixed: Linear,
    mixed_norm: Norm,
    up: Linear,
    down: Linear,
    norm: Norm,
}

impl<'a, 'c> Builder<'a, 'c> {
    /// Reads the sizes of a model of `family`.
    pub(super) fn new(family: &'static Family, config: &'a Fields<'c>, loader: &'a mut Loader) -> Result<Self> {
        refuse_variants(family, config)?;
        let (sizes, offset) = sizes(family, config)?;
        let epsilon = family.settings.epsilon.map_or(Ok(EPSILON), |field| config.epsilon_or(field, EPSILON))?;
        let activation = family.activation.map_or_else(|| config.activation(family.settings.activation), Ok)?;
        let rotary = (family.rotary)(config, &sizes)?;
        let norms_first = family.norms_first.map_or(Ok(false), |field| config.flag_or(field, false))?;
        loader.set_prefix(family.prefix);
        Ok(Builder {
            family,
            config,
            loader,
            graph: Graph::new(),
            sizes,
            offset,
            epsilon,
            activation,
            rotary,
            pools_first: false,
            norms_first,
            languages: Languages::default(),
        })
    }

    /// Takes the pooler and the heads, and refuses tensors that are left, aside from those of the trunk that `spare` says are harmless.
    pub(super) fn finish(mut self, tokens: WeightId, hidden_states: Vec<ValueId>, spare: impl Fn(&str) -> bool) -> Result<Trunk> {
        let pooler = self.pooler()?;
        let Builder { family, config, loader, graph, mut sizes, epsilon, languages, .. } = self;
        sizes.layers = hidden_states.len() - 1;
        let ground = Ground { hidden: sizes.hidden, pooler: pooler.is_some(), tokens, epsilon, norm_bias: true };
        let heads::Found { heads, unanswered } = heads::take(family.heads, config, loader, &ground)?;
        loader.refuse_leftovers(|name| {
            let bare = name.strip_prefix(family.prefix).unwrap_or(name);
            spare(bare) || unanswered.iter().any(|head| name.starts_with(head))
        })?;
        Ok(Trunk { family: family.name, sizes, graph, hidden_states, of_heads: Vec::new(), pooler, heads, languages })
    }

    /// The token table, and the first hidden state.
    pub(super) fn embeddings(&mut self) -> Result<(WeightId, ValueId)> {
        let offset = self.offset;
        let hidden = self.sizes.hidden;
        let width = if self.family.projection.is_some() { self.config.size_or("embedding_size", 128)? } else { hidden };
        let padding = padding(self.family, self.config)?;
        let mut lookups = Vec::new();
        for table in self.family.tables {
            let (name, rows, index) = match *table {
                Table::Languages(name) => {
                    lookups.extend(self.languages(name, width)?);
                    continue;
                }
                Table::Words(name) => (name, self.sizes.vocabulary, Index::Token),
                Table::Segments(_) if self.sizes.segments == 0 => continue,
                Table::Segments(name) => (name, self.sizes.segments, of_segments(self.sizes.segments)),
                Table::Positions(name) => (name, self.sizes.positions + offset, Index::Position { offset, padding }),
                Table::Tasks(_) if !self.config.flag_or("use_task_id", false)? => continue,
                Table::Tasks(name) => (name, self.config.size_or("task_type_vocab_size", 3)?, Index::Always(0)),
            };
            lookups.push(Lookup { table: self.loader.table(&format!("{name}.weight"), rows, width)?, index });
        }
        let tokens = lookups[0].table;
        let norm = self.norm(self.family.embedding_norm, width)?;
        let embedded = self.graph.embed(lookups, Some(norm), width);
        match &self.family.projection {
            Some(projection) if projection.always || width != hidden => {
                let linear = self.linear(&[projection.name.to_owned()], width, hidden, true)?;
                Ok((tokens, self.apply(&linear, embedded, Activation::Identity)))
            }
            _ => Ok((tokens, embedded)),
        }
    }

    /// The table of languages, with a row of zeros before them; `None` for a model that has none.
    fn languages(&mut self, name: &str, width: usize) -> Result<Option<Lookup>> {
        self.languages = Languages::read(self.config)?;
        let count = self.languages.count();
        if count == 0 {
            return Ok(None);
        }
        let table = self.loader.table_behind_zeros(&format!("{name}.weight"), count, width)?;
        Ok(Some(Lookup { table, index: Index::Segment }))
    }

    /// Takes the weights of the layer whose tensors' names begin with `layer`.
    pub(super) fn load(&mut self, layer: &str) -> Result<Layer> {
        let hidden = self.sizes.hidden;
        let Family { names, fused, biases, .. } = self.family;
        let at = |part: &str| place(layer, part);
        let qkv = match fused {
            Some(name) => self.linear(&[at(name)], hidden, 3 * hidden, biases.attention)?,
            None => self.linear(&[names.query, names.key, names.value].map(at), hidden, 3 * hidden, biases.attention)?,
        };
        self.load_behind(layer, qkv)
    }

    /// As [`Builder::load`], of a layer whose queries, keys and values are these.
    pub(super) fn load_behind(&mut self, layer: &str, qkv: Linear) -> Result<Layer> {
        let Sizes { hidden, intermediate, .. } = self.sizes;
        let Family { names, gated, biases, .. } = self.family;
        let at = |part: &str| place(layer, part);
        Ok(Layer {
            qkv,
            mixed: self.linear(&[at(names.mixed)], hidden, hidden, biases.attention)?,
            mixed_norm: self.norm(&at(names.mixed_norm), hidden)?,
            up: match gated {
                Some((layers, _)) => {
                    let layers: Vec<String> = layers.iter().copied().map(at).collect();
                    self.linear(&layers, hidden, 2 * intermediate, biases.up)?
                }
                None => self.linear(&[at(names.up)], hidden, intermediate, biases.up)?,
            },
            down: self.linear(&[at(names.down)], intermediate, hidden, biases.down)?,
            norm: self.norm(&at(names.norm), hidden)?,
        })
    }

    /// Appends a layer with this bias on its attention.
    pub(super) fn append(&mut self, layer: &Layer, bias: &Bias, input: ValueId) -> ValueId {
        let attention = Attention { bias: bias.clone(), ..self.plain() };
        self.append_looking(layer, attention, None, input)
    }

    /// Attention of a layer of the model, as plain as it can be.
    pub(super) fn plain(&self) -> Attention {
        Attention::plain(self.sizes.heads, self.sizes.hidden / self.sizes.heads)
    }

    /// Appends a layer with this attention; `start` makes the queries, keys and values of tokens that see all.
    pub(super) fn append_looking(&mut self, layer: &Layer, attention: Attention, start: Option<&Linear>, input: ValueId) -> ValueId {
        let seen = self.before(input, layer.mixed_norm);
        let mut qkv = self.apply(&layer.qkv, seen, Activation::Identity);
        if let Some(rotary) = &self.rotary {
            qkv = self.graph.rotate(qkv, rotary.clone());
        }
        let start = start.map(|linear| self.apply(linear, seen, Activation::Identity));
        let mixed = self.graph.attention_from(qkv, start, attention);
        let projected = self.apply(&layer.mixed, mixed, Activation::Identity);
        let attended = self.behind(projected, input, layer.mixed_norm);
        let fed = self.before(attended, layer.norm);
        let wide = match self.family.gated {
            Some((_, activated)) => {
                let both = self.apply(&layer.up, fed, Activation::Identity);
                self.graph.gate(both, self.activation, activated)
            }
            None => self.apply(&layer.up, fed, self.activation),
        };
        let narrow = self.apply(&layer.down, wide, Activation::Identity);
        self.behind(narrow, attended, layer.norm)
    }

    /// What a part of a layer reads.
    fn before(&mut self, input: ValueId, norm: Norm) -> ValueId {
        if self.norms_first { self.graph.norm(input, norm) } else { input }
    }

    /// What a part of a layer gives, with what it read.
    fn behind(&mut self, output: ValueId, input: ValueId, norm: Norm) -> ValueId {
        if self.norms_first { self.graph.add(output, input) } else { self.graph.add_norm(output, input, norm) }
    }

    /// Appends a linear layer.
    pub(super) fn apply(&mut self, linear: &Linear, input: ValueId, activation: Activation) -> ValueId {
        self.graph.linear(input, linear.0, linear.1, activation, linear.2)
    }

    /// Takes the linear layers `names`, stacked.
    pub(super) fn linear(&mut self, names: &[String], inputs: usize, outputs: usize, has_bias: bool) -> Result<Linear> {
        let named = |suffix: &str| names.iter().map(|n| format!("{n}.{suffix}")).collect::<Vec<_>>();
        let weight = self.loader.matrix(&named("weight"), outputs, inputs)?;
        let bias = has_bias.then(|| self.loader.vector(&named("bias"), outputs)).transpose()?;
        Ok(Linear(weight, bias, outputs))
    }

    /// Takes a norm.
    pub(super) fn norm(&mut self, name: &str, width: usize) -> Result<Norm> {
        let mut vector = |part| self.loader.vector(&[format!("{name}.{part}")], width);
        Ok(Norm { weight: vector("weight")?, bias: Some(vector("bias")?), epsilon: self.epsilon })
    }

    fn pooler(&mut self) -> Result<Option<Pooler>> {
        if self.pools_first {
            return Ok(Some(Pooler::First));
        }
        let wanted = self.family.heads.iter().any(|row| row.input == Input::Pooler && self.loader.wants(row.kind));
        if !wanted && let Some(name) = self.family.pooler {
            self.loader.drop_idle(name);
        }
        let is_there = |name: &&str| wanted || self.loader.has(&format!("{name}.weight"));
        let Some(name) = self.family.pooler.filter(is_there) else { return Ok(None) };
        let hidden = self.sizes.hidden;
        let weight = self.loader.head(&format!("{name}.weight"), hidden, hidden)?;
        let bias = self.loader.vector(&[format!("{name}.bias")], hidden)?;
        Ok(Some(Pooler::Dense { weight, bias }))
    }
}
