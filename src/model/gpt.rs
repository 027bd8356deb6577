//! GPT-2 and GPT: tokens that see what stands before them, read as an encoder.
//!
//! Radford et al., Language Models are Unsupervised Multitask Learners (2019): norms stand in front, one more behind the last layer.
//! Radford et al., Improving Language Understanding by Generative Pre-Training (2018): norms stand behind, as BERT's. Both store linear
//! layers as (inputs, outputs). Positions are learned; no token is special, so vectors are usually made of the last token, which
//! alone sees all of the text, and a classifier reads that token. As `GPT2Model` and `OpenAIGPTModel` of `transformers`.

use serde_json::{Value, json};

use super::bert::{BERT, EXTRACT, TAG, linear};
use super::config::Fields;
use super::heads::{Input, Kind, LayerRow, Row, Width};
use super::loader::Loader;
use super::postnorm::{Builder, Family, Settings};
use super::trunk::{Sizes, Trunk};
use crate::engine::graph::{Activation, Attention, Index, Lookup, Norm, Span, ValueId, WeightId};
use crate::error::Result;

const SETTINGS: Settings = Settings {
    hidden: "n_embd",
    layers: "n_layer",
    heads: "n_head",
    intermediate: "n_inner",
    activation: "activation_function",
    epsilon: Some("layer_norm_epsilon"),
    segments: 0,
};

const GPT2: Family =
    Family { name: "gpt2", prefix: "transformer.", settings: SETTINGS, length: "n_positions", pooler: None, heads: HEADS, ..BERT };

const GPT: Family = Family { name: "openai-gpt", ..GPT2 };

/// The heads of their classes in `transformers`.
pub(super) const HEADS: &[Row] = &[
    Row {
        kind: Kind::Classify,
        classes: &["ForSequenceClassification"],
        tensors: "score.",
        input: Input::Last,
        crf: None,
        layers: &[LayerRow::Plain { name: "score", width: Width::Labels }],
    },
    TAG,
    EXTRACT,
    Row {
        kind: Kind::MultipleChoice,
        classes: &["DoubleHeadsModel"],
        tensors: "multiple_choice_head.",
        input: Input::Last,
        crf: None,
        layers: &[linear("multiple_choice_head.summary", Width::Fixed(1))],
    },
    Row {
        kind: Kind::NextToken,
        classes: &["LMHeadModel"],
        tensors: "lm_head.",
        input: Input::Picked,
        crf: None,
        layers: &[LayerRow::Decoder { weight: "lm_head.weight", biases: &[] }],
    },
];

/// The table of the next token's scores.
const HEAD: &str = "lm_head.weight";

/// The epsilon of norms where config.json states none.
const EPSILON: f32 = 1e-5;

/// Builds the trunk of GPT-2.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    config.only("scale_attn_weights", &json!(true))?;
    config.only("scale_attn_by_inverse_layer_idx", &json!(false))?;
    let config = completed(config, "gelu_new")?;
    let config = Fields::new("config.json", &config)?;
    let mut making = Making::new(const { &GPT2 }, &config, loader)?;
    let (tokens, embedded) = making.embeddings(["wte.weight", "wpe.weight"])?;
    let mut hidden_states = vec![embedded];
    for layer in 0..making.trunk.sizes.layers {
        hidden_states.push(making.layer_behind_norms(layer, hidden_states[layer])?);
    }
    // As in the reference, the last hidden state is the normalised one.
    let norm = making.norm("ln_f")?;
    let last = hidden_states.len() - 1;
    hidden_states[last] = making.trunk.graph.norm(hidden_states[last], norm);
    making.finish(tokens, hidden_states)
}

/// Builds the trunk of GPT.
pub(super) fn build_first(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    // Its "gelu" is the approximation.
    let activation = match config.get("afn").map(Value::as_str) {
        None | Some(Some("gelu")) => "gelu_new",
        Some(Some(said @ ("relu" | "silu" | "swish"))) => said,
        Some(_) => return config.wrong("afn", "\"gelu\", \"relu\", \"silu\" or \"swish\""),
    };
    let config = completed(config, activation)?;
    let config = Fields::new("config.json", &config)?;
    let mut making = Making::new(const { &GPT }, &config, loader)?;
    let (tokens, embedded) = making.embeddings(["tokens_embed.weight", "positions_embed.weight"])?;
    let mut hidden_states = vec![embedded];
    for layer in 0..making.trunk.sizes.layers {
        hidden_states.push(making.layer_before_norms(layer, hidden_states[layer])?);
    }
    making.finish(tokens, hidden_states)
}

/// config.json with what it need not state: the width of the feed-forward layers, four times that of the rows, and their activation.
fn completed(config: &Fields<'_>, activation: &str) -> Result<Value> {
    let mut object = config.object();
    if config.get(SETTINGS.intermediate).is_none() {
        object.insert(SETTINGS.intermediate.to_owned(), json!(4 * config.size(SETTINGS.hidden)?));
    }
    if config.get(SETTINGS.activation).is_none() {
        object.insert(SETTINGS.activation.to_owned(), json!(activation));
    }
    Ok(Value::Object(object))
}

/// A trunk in the making.
struct Making<'a, 'c> {
    trunk: Builder<'a, 'c>,
    attention: Attention,
}

impl<'a, 'c> Making<'a, 'c> {
    fn new(family: &'static Family, config: &'a Fields<'c>, loader: &'a mut Loader) -> Result<Self> {
        let mut trunk = Builder::new(family, config, loader)?;
        trunk.epsilon = config.epsilon_or("layer_norm_epsilon", EPSILON)?;
        let Sizes { hidden, heads, .. } = trunk.sizes;
        let attention = Attention { span: Span { before: usize::MAX, after: 0 }, ..Attention::plain(heads, hidden / heads) };
        Ok(Making { trunk, attention })
    }

    /// The token table, and the first hidden state.
    fn embeddings(&mut self, [tokens, positions]: [&str; 2]) -> Result<(WeightId, ValueId)> {
        let Sizes { vocabulary, hidden, positions: rows, .. } = self.trunk.sizes;
        let tokens = self.words(tokens, vocabulary, hidden)?;
        let positions = self.trunk.loader.table(positions, rows, hidden)?;
        let places = Lookup { table: positions, index: Index::Position { offset: 0, padding: None } };
        Ok((tokens, self.trunk.graph.embed(vec![Lookup { table: tokens, index: Index::Token }, places], None, hidden)))
    }

    /// The token table. `transformers` stores tied tables once: GPT's under the name of its head.
    fn words(&mut self, name: &str, rows: usize, width: usize) -> Result<WeightId> {
        let Builder { loader, family, .. } = &mut self.trunk;
        if loader.has(name) {
            return loader.table(name, rows, width);
        }
        loader.set_prefix("");
        let tied = loader.has(HEAD).then(|| loader.table(HEAD, rows, width));
        loader.set_prefix(family.prefix);
        tied.unwrap_or_else(|| loader.table(name, rows, width))
    }

    fn layer_behind_norms(&mut self, layer: usize, input: ValueId) -> Result<ValueId> {
        let norm = self.norm(&format!("h.{layer}.ln_1"))?;
        let normed = self.trunk.graph.norm(input, norm);
        let mixed = self.attend(layer, normed)?;
        let attended = self.trunk.graph.add(mixed, input);
        let norm = self.norm(&format!("h.{layer}.ln_2"))?;
        let normed = self.trunk.graph.norm(attended, norm);
        let narrow = self.feed_forward(layer, normed)?;
        Ok(self.trunk.graph.add(narrow, attended))
    }

    fn layer_before_norms(&mut self, layer: usize, input: ValueId) -> Result<ValueId> {
        let mixed = self.attend(layer, input)?;
        let norm = self.norm(&format!("h.{layer}.ln_1"))?;
        let attended = self.trunk.graph.add_norm(mixed, input, norm);
        let narrow = self.feed_forward(layer, attended)?;
        let norm = self.norm(&format!("h.{layer}.ln_2"))?;
        Ok(self.trunk.graph.add_norm(narrow, attended, norm))
    }

    fn attend(&mut self, layer: usize, input: ValueId) -> Result<ValueId> {
        let hidden = self.trunk.sizes.hidden;
        let qkv = self.linear(&format!("h.{layer}.attn.c_attn"), input, 3 * hidden, Activation::Identity)?;
        let mixed = self.trunk.graph.attention(qkv, self.attention.clone());
        self.linear(&format!("h.{layer}.attn.c_proj"), mixed, hidden, Activation::Identity)
    }

    fn feed_forward(&mut self, layer: usize, input: ValueId) -> Result<ValueId> {
        let (Sizes { hidden, intermediate, .. }, activation) = (self.trunk.sizes.clone(), self.trunk.activation);
        let wide = self.linear(&format!("h.{layer}.mlp.c_fc"), input, intermediate, activation)?;
        self.linear(&format!("h.{layer}.mlp.c_proj"), wide, hidden, Activation::Identity)
    }

    fn linear(&mut self, name: &str, input: ValueId, outputs: usize, activation: Activation) -> Result<ValueId> {
        let inputs = self.trunk.graph.node(input).width;
        let weight = self.trunk.loader.turned(&format!("{name}.weight"), outputs, inputs)?;
        let bias = self.trunk.loader.vector(&[format!("{name}.bias")], outputs)?;
        Ok(self.trunk.graph.linear(input, weight, Some(bias), activation, outputs))
    }

    fn norm(&mut self, name: &str) -> Result<Norm> {
        self.trunk.norm(name, self.trunk.sizes.hidden)
    }

    fn finish(self, tokens: WeightId, hidden_states: Vec<ValueId>) -> Result<Trunk> {
        // Masks that older versions of `transformers` stored.
        let is_mask = |name: &str| name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
        self.trunk.finish(tokens, hidden_states, is_mask)
    }
}
