//! DeBERTa, versions 2 and 3: BERT whose attention sees what a token is and where it stands apart.
//!
//! He et al., DeBERTa: Decoding-enhanced BERT with Disentangled Attention (2021); He et al., DeBERTaV3 (2023). Positions are not added to
//! the embeddings (unless config.json says so): attention meets the distance of two tokens as a row of a table, which all layers share
//! and each projects in its own way, or with its queries' and keys' own weights (`share_att_key`). Distances are told apart one by one
//! when small, then by their logarithm (`position_buckets`). Version 2 has a convolution beside its first layer. The projected rows are
//! the same for every text, so they are computed when the model is opened ([`Table::projected`]).

use std::sync::Arc;

use serde_json::{Value, json};

use super::bert::{BERT, EXTRACT, PREDICTIONS, TAG, choose, linear};
use super::config::Fields;
use super::heads::{Activates, Input, Kind, LayerRow, Row, Width};
use super::loader::Loader;
use super::postnorm::{self, BUFFERS, Builder, Family, Layer, LayerNames, Settings};
use super::trunk::{Sizes, Trunk};
use crate::engine::graph::{Activation, Bias, Disentangled, Index, Lookup, Norm, ValueId, WeightId};
use crate::engine::{Batch, Control, Engine, Graph, Role, Weight};
use crate::error::{Error, ErrorKind, Result, fail};

const DEBERTA: &Family = &Family {
    name: "deberta-v2",
    prefix: "deberta.",
    settings: Settings { segments: 0, ..BERT.settings },
    names: LayerNames {
        query: "attention.self.query_proj",
        key: "attention.self.key_proj",
        value: "attention.self.value_proj",
        ..BERT.names
    },
    pooler: None,
    heads: HEADS,
    ..BERT
};

/// The layer between the first token and a classifier.
const CONTEXT: LayerRow =
    LayerRow::Linear { name: "pooler.dense", width: Width::Hidden, activation: Activates::AsOr("pooler_hidden_act", Activation::Gelu) };

pub(super) const HEADS: &[Row] = &[
    Row {
        kind: Kind::Classify,
        classes: &["ForSequenceClassification"],
        tensors: "classifier.",
        input: Input::First,
        crf: None,
        layers: &[CONTEXT, linear("classifier", Width::Labels)],
    },
    TAG,
    EXTRACT,
    Row {
        kind: Kind::FillMask,
        classes: &["ForMaskedLM"],
        tensors: "cls.predictions.",
        input: Input::Picked,
        crf: None,
        layers: PREDICTIONS,
    },
    // Where config.json says `legacy` = false, and in the checkpoints of the authors.
    Row {
        kind: Kind::FillMask,
        classes: &["ForMaskedLM"],
        tensors: "lm_predictions.",
        input: Input::Picked,
        crf: None,
        layers: &[
            LayerRow::Linear { name: "lm_predictions.lm_head.dense", width: Width::Hidden, activation: Activates::As("hidden_act") },
            LayerRow::Norm { name: "lm_predictions.lm_head.LayerNorm" },
            LayerRow::OwnDecoder { bias: "lm_predictions.lm_head.bias" },
        ],
    },
    // Of the authors' discriminators; `transformers` has no class for it.
    Row { kind: Kind::Replaced, classes: &[], tensors: "mask_predictions.", input: Input::Tokens, crf: None, layers: &[] },
    choose("classifier.", Input::First),
    choose("pooler.", Input::First),
];

/// The epsilon of norms where config.json states none.
const EPSILON: f32 = 1e-7;

/// Texts as long as this take more places than any model has; tables by distance stay small.
const LONGEST: usize = 1 << 16;

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    let mut trunk = Builder::new(DEBERTA, config, loader)?;
    trunk.epsilon = config.epsilon_or("layer_norm_eps", EPSILON)?;
    let positions = Positions::read(config, &trunk.sizes)?;
    let (tokens, embedded) = embeddings(&mut trunk)?;
    let mut table = positions.as_ref().map(|p| Table::take(p, &mut trunk)).transpose()?;
    let mut hidden_states = vec![embedded];
    for (i, name) in postnorm::own_layers(config, &trunk.sizes)?.iter().enumerate() {
        let layer = trunk.load(name)?;
        let bias = match (&positions, &mut table) {
            (Some(positions), Some(table)) => positions.bias(table, &layer, name, &mut trunk)?,
            _ => Bias::None,
        };
        let output = trunk.append(&layer, &bias, hidden_states[i]);
        hidden_states.push(if i == 0 { convolution(&mut trunk, embedded, output)? } else { output });
    }
    let without_positions = !position_biased(config)?;
    let buffers: Vec<&str> = BUFFERS.iter().copied().chain(without_positions.then_some("embeddings.position_embeddings.weight")).collect();
    trunk.finish(tokens, hidden_states, &buffers)
}

/// Whether positions are added to the embeddings, too.
fn position_biased(config: &Fields<'_>) -> Result<bool> {
    config.flag_or("position_biased_input", true)
}

/// The token table, and the first hidden state: the sum, brought to the layers' width, then normalised.
fn embeddings(trunk: &mut Builder<'_, '_>) -> Result<(WeightId, ValueId)> {
    let (config, sizes) = (trunk.config, trunk.sizes.clone());
    let width = config.size_or("embedding_size", sizes.hidden)?;
    let mut lookups = Vec::new();
    let mut add = |loader: &mut Loader, name: &str, rows, index| -> Result<()> {
        lookups.push(Lookup { table: loader.table(&format!("embeddings.{name}.weight"), rows, width)?, index });
        Ok(())
    };
    add(trunk.loader, "word_embeddings", sizes.vocabulary, Index::Token)?;
    if position_biased(config)? {
        add(trunk.loader, "position_embeddings", sizes.positions, Index::Position { offset: 0, padding: None })?;
    }
    if sizes.segments > 0 {
        let index = if sizes.segments == 1 { Index::Always(0) } else { Index::Segment };
        add(trunk.loader, "token_type_embeddings", sizes.segments, index)?;
    }
    let (tokens, norm) = (lookups[0].table, trunk.norm("embeddings.LayerNorm", sizes.hidden)?);
    if width == sizes.hidden {
        return Ok((tokens, trunk.graph.embed(lookups, Some(norm), width)));
    }
    let projection = trunk.loader.matrix(&["embeddings.embed_proj.weight".to_owned()], sizes.hidden, width)?;
    let sum = trunk.graph.embed(lookups, None, width);
    let wide = trunk.graph.linear(sum, projection, None, Activation::Identity, sizes.hidden);
    Ok((tokens, trunk.graph.norm(wide, norm)))
}

/// Version 2: what the first layer gives, and a convolution over what it read.
fn convolution(trunk: &mut Builder<'_, '_>, read: ValueId, output: ValueId) -> Result<ValueId> {
    let (config, hidden) = (trunk.config, trunk.sizes.hidden);
    let size = config.id_or("conv_kernel_size", 0)? as usize;
    if size == 0 {
        return Ok(output);
    }
    if size.is_multiple_of(2) || size > 255 {
        return config.wrong("conv_kernel_size", "an odd number up to 255, or 0");
    }
    config.only("conv_groups", &json!(1))?;
    let activation = config.activation_or("conv_act", Activation::Tanh)?;
    let weight = trunk.loader.convolution("encoder.conv.conv.weight", hidden, hidden, size)?;
    let bias = trunk.loader.vector(&["encoder.conv.conv.bias".to_owned()], hidden)?;
    let norm = trunk.norm("encoder.conv.LayerNorm", hidden)?;
    let around = trunk.graph.neighbours(read, size);
    let out = trunk.graph.linear(around, weight, Some(bias), activation, hidden);
    Ok(trunk.graph.add_norm(output, out, norm))
}

/// What config.json says of distances.
struct Positions {
    /// Rows of the table on either side of the distance 0.
    span: usize,
    /// The row of each distance, query minus key.
    places: Arc<[u32]>,
    /// Whether the queries' and keys' own weights project the table.
    shared: bool,
    /// Whether queries meet the distance (content to position), and whether keys do.
    keys: bool,
    queries: bool,
    /// Whether the table is normalised.
    norm: bool,
}

impl Positions {
    /// `None` for attention by queries and keys alone.
    fn read(config: &Fields<'_>, sizes: &Sizes) -> Result<Option<Positions>> {
        config.only("attention_head_size", &json!(sizes.hidden / sizes.heads))?;
        let terms = terms(config)?;
        let (keys, queries) = (terms.contains(&"c2p".to_owned()), terms.contains(&"p2c".to_owned()));
        if config.flag_or("relative_attention", false)? != (keys || queries) {
            let told = "config.json: relative_attention and pos_att_type contradict each other: the former must be true where the latter \
                        has c2p or p2c, and false otherwise";
            return fail(ErrorKind::Unsupported, told);
        }
        if !keys && !queries {
            return Ok(None);
        }
        if sizes.positions > LONGEST {
            return config.wrong("max_position_embeddings", "at most 65536");
        }
        let farthest = positive(config, "max_relative_positions")?.unwrap_or(sizes.positions);
        let buckets = positive(config, "position_buckets")?;
        if buckets.is_some_and(|n| n < 2 || farthest - 1 <= n / 2) {
            let told = "2 or more, and their half below max_relative_positions - 1 (or max_position_embeddings - 1), or -1";
            return config.wrong("position_buckets", told);
        }
        let norm = match config.get("norm_rel_ebd").map(Value::as_str) {
            None => false,
            Some(Some(said)) if said.to_lowercase().split('|').all(|s| matches!(s.trim(), "none" | "layer_norm")) => {
                said.to_lowercase().contains("layer_norm")
            }
            Some(_) => return config.wrong("norm_rel_ebd", "\"none\" or \"layer_norm\""),
        };
        let span = buckets.unwrap_or(farthest);
        let reach = sizes.positions as isize - 1;
        let places = (-reach..=reach).map(|d| place(d, buckets, farthest, span)).collect();
        Ok(Some(Positions { span, places, shared: config.flag_or("share_att_key", false)?, keys, queries, norm }))
    }

    /// The bias of the layer `name`, whose own weights are `layer`'s.
    fn bias(&self, table: &mut Table, layer: &Layer, name: &str, trunk: &mut Builder<'_, '_>) -> Result<Bias> {
        let hidden = trunk.sizes.hidden;
        let mut rows = |wanted: bool, part: usize, own: &str| -> Result<Vec<WeightId>> {
            if !wanted {
                return Ok(Vec::new());
            }
            let (weight, bias) = if self.shared {
                layer.qkv.part(trunk.loader, part)
            } else {
                let named = |end: &str| format!("{name}attention.self.{own}.{end}");
                let weight = trunk.loader.source(Role::Matrix, &named("weight"), &[hidden, hidden])?;
                (weight, Some(trunk.loader.source(Role::Vector, &named("bias"), &[hidden])?))
            };
            table.projected(weight, bias, trunk)
        };
        // Queries meet what keys are made of, and keys what queries are made of.
        let keys = rows(self.keys, 1, "pos_key_proj")?;
        let queries = rows(self.queries, 0, "pos_query_proj")?;
        Ok(Bias::Disentangled(Disentangled { keys, queries, places: Arc::clone(&self.places) }))
    }
}

/// `pos_att_type`: a list, or its words between bars.
fn terms(config: &Fields<'_>) -> Result<Vec<String>> {
    let wrong = || config.wrong("pos_att_type", "c2p, p2c or both, as a list or as \"c2p|p2c\"");
    let words: Vec<&str> = match config.get("pos_att_type") {
        None => Vec::new(),
        Some(Value::String(said)) => said.split('|').collect(),
        Some(Value::Array(said)) => match said.iter().map(Value::as_str).collect() {
            Some(words) => words,
            None => return wrong(),
        },
        Some(_) => return wrong(),
    };
    let words: Vec<String> = words.iter().map(|word| word.trim().to_lowercase()).collect();
    if words.iter().all(|word| matches!(word.as_str(), "c2p" | "p2c")) { Ok(words) } else { wrong() }
}

/// A size that may be absent, or negative for none.
fn positive(config: &Fields<'_>, name: &str) -> Result<Option<usize>> {
    match config.get(name).map(Value::as_i64) {
        None | Some(Some(..=0)) => Ok(None),
        Some(Some(_)) => config.size(name).map(Some),
        Some(None) => config.wrong(name, "a whole number, -1 for none"),
    }
}

/// The row of a distance, query minus key, in a table of `2 * span` rows.
fn place(distance: isize, buckets: Option<usize>, farthest: usize, span: usize) -> u32 {
    let signed = match buckets {
        Some(buckets) => bucket(distance, buckets, farthest),
        None => distance,
    };
    (signed + span as isize).clamp(0, 2 * span as isize - 1) as u32
}

/// Half of the buckets on each side are for distances one by one, the rest for their logarithm up to `farthest`.
fn bucket(distance: isize, buckets: usize, farthest: usize) -> isize {
    let (middle, size) = ((buckets / 2) as isize, distance.abs());
    if size <= middle {
        return distance;
    }
    // In f32 and in this order, as in the reference: a distance on the edge of two buckets falls as it does there.
    let share = (size as f32 / middle as f32).ln() / (((farthest as f64 - 1.0) / middle as f64) as f32).ln() * (middle - 1) as f32;
    (share.ceil() as isize + middle) * distance.signum()
}

/// The table of distances, before a layer projects it.
struct Table {
    rows: usize,
    weights: Vec<Weight>,
    epsilon: f32,
}

impl Table {
    fn take(positions: &Positions, trunk: &mut Builder<'_, '_>) -> Result<Table> {
        let (rows, hidden) = (2 * positions.span, trunk.sizes.hidden);
        let mut weights = vec![trunk.loader.source(Role::Table, "encoder.rel_embeddings.weight", &[rows, hidden])?];
        if positions.norm {
            for part in ["weight", "bias"] {
                weights.push(trunk.loader.source(Role::Vector, &format!("encoder.LayerNorm.{part}"), &[hidden])?);
            }
        }
        Ok(Table { rows, weights, epsilon: trunk.epsilon })
    }

    /// The rows times a layer's matrix, cut into heads: one weight a head, (rows, head_size). Always in f32 arithmetic.
    fn projected(&self, weight: Weight, bias: Option<Weight>, trunk: &mut Builder<'_, '_>) -> Result<Vec<WeightId>> {
        let Sizes { hidden, heads, .. } = trunk.sizes;
        let name = format!("{} through {}", self.weights[0].name, weight.name);
        let norm = (self.weights.len() == 3).then_some(Norm { weight: WeightId(1), bias: Some(WeightId(2)), epsilon: self.epsilon });
        let lookup = Lookup { table: WeightId(0), index: Index::Position { offset: 0, padding: None } };
        let mut graph = Graph::new();
        let rows = graph.embed(vec![lookup], norm, hidden);
        let matrix = self.weights.len();
        let shift = bias.is_some().then_some(WeightId(matrix + 1));
        graph.linear(rows, WeightId(matrix), shift, Activation::Identity, hidden);
        let weights: Vec<Weight> = self.weights.iter().cloned().chain([weight]).chain(bias).collect();
        let mut batch = Batch::default();
        batch.push(&vec![0; self.rows], &vec![0; self.rows], 0);
        let engine = Engine::new(&weights, trunk.loader.isa(), None)?;
        let Some(numbers) = engine.run(&Arc::new(graph), &Arc::new(batch), 1, &Control::default())? else {
            return Err(Error::new(ErrorKind::Cancelled, "the positions were not computed"));
        };
        let size = hidden / heads;
        let of_head = |head: usize| numbers.chunks_exact(hidden).flat_map(move |row| &row[head * size..(head + 1) * size]).copied();
        (0..heads)
            .map(|head| trunk.loader.made(Role::Head, format!("{name}, head {head}"), self.rows, &of_head(head).collect::<Vec<f32>>()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of distances from -600 to 600, numbered from 0 and each times its number, summed: position_buckets, max_relative_positions and
    /// the sum, of `make_log_bucket_position` of transformers 5.24, clamped as `disentangled_attention_bias` does.
    const SUMS: &[(usize, usize, u64)] =
        &[(256, 512, 264_620_950), (12, 120, 12_492_136), (6, 20, 5_958_034), (7, 30, 7_077_025), (2, 9, 1_801_800)];

    /// Where the second of them changes its answer.
    const EDGES: &[(isize, u32)] = &[
        (-600, 0),
        (-119, 1),
        (-65, 2),
        (-36, 3),
        (-19, 4),
        (-10, 5),
        (-6, 6),
        (-5, 7),
        (-4, 8),
        (-3, 9),
        (-2, 10),
        (-1, 11),
        (0, 12),
        (1, 13),
        (2, 14),
        (3, 15),
        (4, 16),
        (5, 17),
        (6, 18),
        (7, 19),
        (11, 20),
        (20, 21),
        (37, 22),
        (66, 23),
    ];

    #[test]
    fn rows_of_distances_are_those_of_the_reference() {
        for (buckets, farthest, expected) in SUMS {
            let row = |i: u64| u64::from(place(i as isize - 600, Some(*buckets), *farthest, *buckets));
            assert_eq!((0..=1200).map(|i| i * row(i)).sum::<u64>(), *expected, "{buckets} {farthest}");
        }
        for distance in -600..=600 {
            let expected = EDGES.iter().rev().find(|(from, _)| *from <= distance).unwrap().1;
            assert_eq!(place(distance, Some(12), 120, 12), expected, "{distance}");
        }
    }

    #[test]
    fn without_buckets_distances_are_told_apart_one_by_one() {
        let rows: Vec<u32> = (-5..=5).map(|d| place(d, None, 3, 3)).collect();
        assert_eq!(rows, [0, 0, 0, 1, 2, 3, 4, 5, 5, 5, 5]);
    }
}
