//! MobileBERT: BERT, narrow inside its layers and deep.
//!
//! Sun et al., MobileBERT: a Compact Task-Agnostic BERT for Resource-Limited Devices (2020). Rows between layers are `hidden_size` wide; a
//! layer brings them to `intra_bottleneck_size`, attends, has several feed-forward parts one after another, and brings them back.
//! Queries and keys read a second bottleneck, values the wide row. An embedding is made of a token and its two neighbours. In place of
//! norms stand a scale and a shift of each column, unless `normalization_type` is `layer_norm`. As `MobileBertModel` of `transformers`.

use super::bert::{BERT, CHOOSE, CLASSIFY, EXTRACT, NEXT_SENTENCE, TAG};
use super::config::Fields;
use super::heads::{Activates, Input, Kind, LayerRow, Row, Width};
use super::loader::Loader;
use super::postnorm::{self, BUFFERS, Builder, Family, of_segments};
use super::trunk::{Sizes, Trunk};
use crate::engine::graph::{Activation, Attention, Index, Lookup, Norm, ValueId, WeightId};
use crate::error::{ErrorKind, Result, fail};

const MOBILEBERT: &Family = &Family { name: "mobilebert", prefix: "mobilebert.", heads: HEADS, ..BERT };

pub(super) const HEADS: &[Row] = &[
    CLASSIFY,
    NEXT_SENTENCE,
    TAG,
    EXTRACT,
    Row {
        kind: Kind::FillMask,
        classes: &["ForMaskedLM", "ForPreTraining"],
        tensors: "cls.predictions.",
        input: Input::Picked,
        crf: None,
        layers: &[
            LayerRow::Linear { name: "cls.predictions.transform.dense", width: Width::Hidden, activation: Activates::As("hidden_act") },
            LayerRow::Norm { name: "cls.predictions.transform.LayerNorm" },
            LayerRow::WideDecoder {
                weight: "cls.predictions.decoder.weight",
                rest: "cls.predictions.dense.weight",
                biases: &["cls.predictions.decoder.bias", "cls.predictions.bias"],
            },
        ],
    },
    CHOOSE,
];

/// The epsilon of the two kinds of norms that the reference gives none.
const UNSTATED: f32 = 1e-5;

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    let mut trunk = Builder::new(MOBILEBERT, config, loader)?;
    trunk.pools_first = !config.flag_or("classifier_activation", true)?;
    let options = Options::read(config, &trunk.sizes)?;
    let mut making = Making { options, trunk };
    let (tokens, embedded) = making.embeddings()?;
    let mut hidden_states = vec![embedded];
    for (i, name) in postnorm::own_layers(config, &making.trunk.sizes)?.iter().enumerate() {
        hidden_states.push(making.layer(name, hidden_states[i])?);
    }
    let Making { options, trunk } = making;
    trunk.finish(tokens, hidden_states, |name| BUFFERS.contains(&name) || options.is_spare(name))
}

/// What config.json says.
struct Options {
    embedding: usize,
    /// Width inside a layer.
    narrow: usize,
    trigrams: bool,
    bottleneck: bool,
    /// What queries, keys and values read, where there is a bottleneck.
    reads: Reads,
    feed_forwards: usize,
    /// A scale and a shift in place of norms.
    affine: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Reads {
    /// The row that the layer's other parts read, all of them.
    Narrow,
    /// Queries and keys a bottleneck of their own, values the wide row.
    Shared,
    /// The wide row, all of them.
    Wide,
}

impl Options {
    fn read(config: &Fields<'_>, sizes: &Sizes) -> Result<Options> {
        let bottleneck = config.flag_or("use_bottleneck", true)?;
        let narrow = if bottleneck { config.size_or("intra_bottleneck_size", 128)? } else { sizes.hidden };
        if !narrow.is_multiple_of(sizes.heads) {
            let told = format!("config.json: intra_bottleneck_size {narrow} is not a multiple of num_attention_heads {}", sizes.heads);
            return fail(ErrorKind::InvalidFile, told);
        }
        let shared = config.flag_or("key_query_shared_bottleneck", true)?;
        let reads = match (config.flag_or("use_bottleneck_attention", false)?, shared) {
            (true, _) => Reads::Narrow,
            (false, true) => Reads::Shared,
            (false, false) => Reads::Wide,
        };
        if bottleneck && reads == Reads::Wide && narrow != sizes.hidden {
            let told = "config.json: key_query_shared_bottleneck = false needs use_bottleneck_attention, or an intra_bottleneck_size of \
                        hidden_size: queries read rows of that width";
            return fail(ErrorKind::InvalidFile, told);
        }
        let feed_forwards = config.size_or("num_feedforward_networks", 4)?;
        if feed_forwards > 1024 {
            return config.wrong("num_feedforward_networks", "at most 1024");
        }
        let affine = match config.get("normalization_type").map(|said| said.as_str()) {
            None | Some(Some("no_norm")) => true,
            Some(Some("layer_norm")) => false,
            Some(_) => return config.wrong("normalization_type", "\"no_norm\" or \"layer_norm\""),
        };
        let trigrams = config.flag_or("trigram_input", true)?;
        Ok(Options { embedding: config.size_or("embedding_size", 128)?, narrow, trigrams, bottleneck, reads, feed_forwards, affine })
    }

    /// Tensors that the reference has and never reads.
    fn is_spare(&self, name: &str) -> bool {
        let queries = self.bottleneck && self.reads == Reads::Narrow && name.contains(".bottleneck.attention.");
        queries || name.starts_with("embeddings.embedding_transformation.")
    }
}

/// A trunk in the making.
struct Making<'a, 'c> {
    options: Options,
    trunk: Builder<'a, 'c>,
}

impl Making<'_, '_> {
    /// The token table, and the first hidden state.
    fn embeddings(&mut self) -> Result<(WeightId, ValueId)> {
        let Sizes { vocabulary, hidden, positions, segments, .. } = self.trunk.sizes;
        let embedding = self.options.embedding;
        let tokens = self.trunk.loader.table("embeddings.word_embeddings.weight", vocabulary, embedding)?;
        let mut words = self.trunk.graph.embed(vec![Lookup { table: tokens, index: Index::Token }], None, embedding);
        let (transformation, bias) =
            ("embeddings.embedding_transformation.weight", ["embeddings.embedding_transformation.bias".to_owned()]);
        let matrix = if self.options.trigrams {
            words = self.trunk.graph.neighbours(words, 3);
            // Stored: all columns of the token behind, then the token's own, then those of the one before.
            let order = [2, 1, 0].into_iter().flat_map(|place| (0..embedding).map(move |column| 3 * column + place)).collect();
            Some(self.trunk.loader.reordered(transformation, hidden, order)?)
        } else if embedding != hidden {
            Some(self.trunk.loader.matrix(&[transformation.to_owned()], hidden, embedding)?)
        } else {
            None
        };
        if let Some(matrix) = matrix {
            let bias = self.trunk.loader.vector(&bias, hidden)?;
            words = self.trunk.graph.linear(words, matrix, Some(bias), Activation::Identity, hidden);
        }
        let mut table = |name: &str, rows, index| -> Result<Lookup> {
            Ok(Lookup { table: self.trunk.loader.table(&format!("embeddings.{name}.weight"), rows, hidden)?, index })
        };
        let places = table("position_embeddings", positions, Index::Position { offset: 0, padding: None })?;
        let kinds = table("token_type_embeddings", segments, of_segments(segments))?;
        let rest = self.trunk.graph.embed(vec![places, kinds], None, hidden);
        Ok((tokens, self.norm("embeddings.LayerNorm", words, Some(rest), UNSTATED)?))
    }

    /// Appends the layer whose tensors' names begin with `name`.
    fn layer(&mut self, name: &str, wide: ValueId) -> Result<ValueId> {
        let Options { narrow, bottleneck, feed_forwards, .. } = self.options;
        let epsilon = self.trunk.epsilon;
        let heads = self.trunk.sizes.heads;
        let at = |part: &str| format!("{name}{part}");
        let input = if bottleneck { self.narrowed(&at("bottleneck.input"), wide)? } else { wide };
        let qkv = self.queries(name, wide, input)?;
        let mixed = self.trunk.graph.attention(qkv, Attention::plain(heads, narrow / heads));
        let projected = self.linear(&[at("attention.output.dense")], mixed, narrow, Activation::Identity)?;
        let mut value = self.norm(&at("attention.output.LayerNorm"), projected, Some(input), epsilon)?;
        for part in 0..feed_forwards - 1 {
            value = self.feed_forward(&format!("{name}ffn.{part}."), value, epsilon)?;
        }
        value = self.feed_forward(name, value, UNSTATED)?;
        if !bottleneck {
            return Ok(value);
        }
        let back = self.linear(&[at("output.bottleneck.dense")], value, self.trunk.sizes.hidden, Activation::Identity)?;
        self.norm(&at("output.bottleneck.LayerNorm"), back, Some(wide), epsilon)
    }

    /// Queries, keys and values of a layer that reads the row `wide`, or `input`, which is narrow.
    fn queries(&mut self, name: &str, wide: ValueId, input: ValueId) -> Result<ValueId> {
        let narrow = self.options.narrow;
        let [query, key, value] = ["query", "key", "value"].map(|part| format!("{name}attention.self.{part}"));
        if !self.options.bottleneck || self.options.reads != Reads::Shared {
            let read = if self.options.reads == Reads::Narrow { input } else { wide };
            return self.linear(&[query, key, value], read, 3 * narrow, Activation::Identity);
        }
        let shared = self.narrowed(&format!("{name}bottleneck.attention"), wide)?;
        let queries = self.linear(&[query, key], shared, 2 * narrow, Activation::Identity)?;
        let values = self.linear(&[value], wide, narrow, Activation::Identity)?;
        Ok(self.trunk.graph.concat(vec![queries, values]))
    }

    fn narrowed(&mut self, name: &str, wide: ValueId) -> Result<ValueId> {
        let dense = self.linear(&[format!("{name}.dense")], wide, self.options.narrow, Activation::Identity)?;
        self.norm(&format!("{name}.LayerNorm"), dense, None, self.trunk.epsilon)
    }

    fn feed_forward(&mut self, name: &str, input: ValueId, epsilon: f32) -> Result<ValueId> {
        let (intermediate, activation) = (self.trunk.sizes.intermediate, self.trunk.activation);
        let up = self.linear(&[format!("{name}intermediate.dense")], input, intermediate, activation)?;
        let down = self.linear(&[format!("{name}output.dense")], up, self.options.narrow, Activation::Identity)?;
        self.norm(&format!("{name}output.LayerNorm"), down, Some(input), epsilon)
    }

    fn linear(&mut self, names: &[String], input: ValueId, outputs: usize, activation: Activation) -> Result<ValueId> {
        let inputs = self.trunk.graph.node(input).width;
        let linear = self.trunk.linear(names, inputs, outputs, true)?;
        Ok(self.trunk.apply(&linear, input, activation))
    }

    /// The norm `name` of the sum, or the scale and the shift in its place.
    fn norm(&mut self, name: &str, input: ValueId, residual: Option<ValueId>, epsilon: f32) -> Result<ValueId> {
        let width = self.trunk.graph.node(input).width;
        let mut vector = |part| self.trunk.loader.vector(&[format!("{name}.{part}")], width);
        let (weight, bias) = (vector("weight")?, vector("bias")?);
        let norm = Norm { weight, bias: Some(bias), epsilon };
        Ok(match residual {
            _ if self.options.affine => self.trunk.graph.affine(input, residual, (weight, bias)),
            Some(residual) => self.trunk.graph.add_norm(input, residual, norm),
            None => self.trunk.graph.norm(input, norm),
        })
    }
}
