//! BERT: config.json -> graph.
//!
//! Devlin et al., BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding (2018): the sum of token,
//! position and segment embeddings, normalised; then layers of self-attention and feed-forward, each followed by a residual
//! norm (post-norm). Chinese BERT, MiniLM, BioBERT and others are the same graph with other sizes and vocabularies.

use serde_json::json;

use super::config::Fields;
use super::heads::{self, Activates, Ground, Input, Kind, LayerRow, Row, Width};
use super::loader::Loader;
use super::trunk::{Sizes, Trunk};
use crate::engine::Graph;
use crate::engine::graph::{Activation, Index, Lookup, Norm, ValueId, WeightId};
use crate::error::{ErrorKind, Result, fail};

/// Tensors of a checkpoint that nothing is computed with.
const BUFFERS: &[&str] = &["embeddings.position_ids", "embeddings.token_type_ids"];

/// A head of one linear layer.
const fn linear(name: &'static str, width: Width) -> LayerRow {
    LayerRow::Linear { name, width, activation: Activates::With(Activation::Identity) }
}

/// The heads of BERT's classes in `transformers`. Where several have the same tensors, see `heads::take`.
const HEADS: &[Row] = &[
    Row {
        kind: Kind::Classify,
        classes: &["ForSequenceClassification"],
        tensors: "classifier.",
        input: Input::Pooler,
        crf: None,
        layers: &[linear("classifier", Width::Labels)],
    },
    Row {
        kind: Kind::NextSentence,
        classes: &["ForNextSentencePrediction", "ForPreTraining"],
        tensors: "cls.seq_relationship.",
        input: Input::Pooler,
        crf: None,
        layers: &[linear("cls.seq_relationship", Width::Fixed(2))],
    },
    Row {
        kind: Kind::Tag,
        classes: &["ForTokenClassification"],
        tensors: "classifier.",
        input: Input::Tokens,
        crf: Some("crf."),
        layers: &[linear("classifier", Width::Labels)],
    },
    Row {
        kind: Kind::Extract,
        classes: &["ForQuestionAnswering"],
        tensors: "qa_outputs.",
        input: Input::Tokens,
        crf: None,
        layers: &[linear("qa_outputs", Width::Fixed(2))],
    },
    Row {
        kind: Kind::FillMask,
        classes: &["ForMaskedLM", "ForPreTraining"],
        tensors: "cls.predictions.",
        input: Input::Picked,
        crf: None,
        layers: &[
            LayerRow::Linear { name: "cls.predictions.transform.dense", width: Width::Embedding, activation: Activates::As("hidden_act") },
            LayerRow::Norm { name: "cls.predictions.transform.LayerNorm" },
            LayerRow::Decoder {
                weight: "cls.predictions.decoder.weight",
                biases: &["cls.predictions.decoder.bias", "cls.predictions.bias"],
            },
        ],
    },
    Row {
        kind: Kind::MultipleChoice,
        classes: &["ForMultipleChoice"],
        tensors: "classifier.",
        input: Input::Pooler,
        crf: None,
        layers: &[],
    },
];

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    refuse_variants(config)?;
    let sizes = sizes(config)?;
    let activation = config.activation("hidden_act")?;
    let epsilon = config.epsilon_or("layer_norm_eps", 1e-12)?;
    loader.set_prefix("bert.");
    let mut family = Bert { loader, graph: Graph::new(), sizes, epsilon, activation };
    let (tokens, embedded) = family.embeddings()?;
    let mut hidden_states = vec![embedded];
    for layer in 0..family.sizes.layers {
        let input = hidden_states[layer];
        hidden_states.push(family.layer(layer, input)?);
    }
    let pooler = family.pooler()?;
    let Bert { graph, sizes, loader, .. } = family;
    let ground = Ground { hidden: sizes.hidden, pooler: pooler.is_some(), tokens, epsilon };
    let heads::Found { heads, unanswered } = heads::take(HEADS, config, loader, &ground)?;
    loader.refuse_leftovers(|name| {
        let bare = name.strip_prefix("bert.").unwrap_or(name);
        BUFFERS.contains(&bare) || unanswered.iter().any(|head| name.starts_with(head))
    })?;
    Ok(Trunk { family: "bert", sizes, graph, hidden_states, pooler, heads })
}

/// Options that change what BERT computes and that this graph does not have.
fn refuse_variants(config: &Fields<'_>) -> Result<()> {
    config.only("position_embedding_type", &json!("absolute"))?;
    config.only("is_decoder", &json!(false))?;
    config.only("add_cross_attention", &json!(false))
}

fn sizes(config: &Fields<'_>) -> Result<Sizes> {
    let sizes = Sizes {
        vocabulary: config.size("vocab_size")?,
        hidden: config.size("hidden_size")?,
        layers: config.size("num_hidden_layers")?,
        heads: config.size("num_attention_heads")?,
        intermediate: config.size("intermediate_size")?,
        positions: config.size("max_position_embeddings")?,
        segments: config.size_or("type_vocab_size", 2)?,
    };
    if !sizes.hidden.is_multiple_of(sizes.heads) {
        let told = format!("config.json: hidden_size {} is not a multiple of num_attention_heads {}", sizes.hidden, sizes.heads);
        return fail(ErrorKind::InvalidFile, told);
    }
    if sizes.layers > 1024 {
        return fail(ErrorKind::InvalidFile, format!("config.json: num_hidden_layers {} is above 1024", sizes.layers));
    }
    Ok(sizes)
}

struct Bert<'a> {
    loader: &'a mut Loader,
    graph: Graph,
    sizes: Sizes,
    epsilon: f32,
    activation: Activation,
}

impl Bert<'_> {
    /// The token table, and the first hidden state.
    fn embeddings(&mut self) -> Result<(WeightId, ValueId)> {
        let Sizes { vocabulary, hidden, positions, segments, .. } = self.sizes;
        let mut lookup = |name: &str, rows, index| -> Result<Lookup> {
            Ok(Lookup { table: self.loader.table(&format!("embeddings.{name}_embeddings.weight"), rows, hidden)?, index })
        };
        let lookups = vec![
            lookup("word", vocabulary, Index::Token)?,
            lookup("token_type", segments, Index::Segment)?,
            lookup("position", positions, Index::Position { offset: 0 })?,
        ];
        let tokens = lookups[0].table;
        let norm = self.norm("embeddings.LayerNorm")?;
        Ok((tokens, self.graph.embed(lookups, Some(norm), hidden)))
    }

    fn layer(&mut self, layer: usize, input: ValueId) -> Result<ValueId> {
        let Sizes { hidden, heads, intermediate, .. } = self.sizes;
        let at = |part: &str| format!("encoder.layer.{layer}.{part}");
        let parts = ["query", "key", "value"].map(|p| at(&format!("attention.self.{p}")));
        let qkv = self.linear(&parts, input, hidden, 3 * hidden, Activation::Identity)?;
        let mixed = self.graph.attention(qkv, heads, hidden / heads);
        let projected = self.linear(&[at("attention.output.dense")], mixed, hidden, hidden, Activation::Identity)?;
        let attended = self.add_norm(&at("attention.output.LayerNorm"), projected, input)?;
        let wide = self.linear(&[at("intermediate.dense")], attended, hidden, intermediate, self.activation)?;
        let narrow = self.linear(&[at("output.dense")], wide, intermediate, hidden, Activation::Identity)?;
        self.add_norm(&at("output.LayerNorm"), narrow, attended)
    }

    fn linear(&mut self, names: &[String], input: ValueId, inputs: usize, outputs: usize, activation: Activation) -> Result<ValueId> {
        let named = |suffix: &str| names.iter().map(|n| format!("{n}.{suffix}")).collect::<Vec<_>>();
        let weight = self.loader.matrix(&named("weight"), outputs, inputs)?;
        let bias = self.loader.vector(&named("bias"), outputs)?;
        Ok(self.graph.linear(input, weight, Some(bias), activation, outputs))
    }

    fn norm(&mut self, name: &str) -> Result<Norm> {
        let hidden = self.sizes.hidden;
        let mut vector = |part| self.loader.vector(&[format!("{name}.{part}")], hidden);
        Ok(Norm { weight: vector("weight")?, bias: vector("bias")?, epsilon: self.epsilon })
    }

    fn add_norm(&mut self, name: &str, input: ValueId, residual: ValueId) -> Result<ValueId> {
        let norm = self.norm(name)?;
        Ok(self.graph.add_norm(input, residual, norm))
    }

    fn pooler(&mut self) -> Result<Option<(WeightId, WeightId)>> {
        if !self.loader.has("pooler.dense.weight") {
            return Ok(None);
        }
        let hidden = self.sizes.hidden;
        let weight = self.loader.head("pooler.dense.weight", hidden, hidden)?;
        let bias = self.loader.vector(&["pooler.dense.bias".to_owned()], hidden)?;
        Ok(Some((weight, bias)))
    }
}
