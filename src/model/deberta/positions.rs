//! What do queries and keys meet at a distance?
//!
//! [`Positions`] is what config.json says; [`Table`] holds the rows of distances that all layers share, and makes of them, through a layer's
//! matrix, the rows that the layer's queries or keys meet. They are the same for every text, so they are computed when a model is opened; where it
//! learns they are a part of its graph, since they change with it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::graph::{Activation, Met, Norm, ValueId, WeightId};
use crate::engine::{Batch, Control, Engine, Graph, Role, Weight};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::model::config::Fields;
use crate::model::postnorm::{Builder, Linear};
use crate::model::trunk::Sizes;

/// Texts as long as this take more places than any model has; tables by distance stay small.
const LONGEST: usize = 1 << 16;

/// What config.json says of distances.
pub(super) struct Positions {
    /// Rows of the table on either side of the distance 0.
    span: usize,
    /// The row of each distance, query minus key.
    pub places: Arc<[u32]>,
    /// Whether the queries' and keys' own weights project the table.
    pub shared: bool,
    /// Whether queries meet the distance (content to position), and whether keys do.
    pub keys: bool,
    pub queries: bool,
    /// Whether the table is normalised.
    norm: bool,
}

impl Positions {
    /// `None` for attention by queries and keys alone.
    pub(super) fn read(config: &Fields<'_>, sizes: &Sizes) -> Result<Option<Positions>> {
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
pub(super) struct Table {
    rows: usize,
    made: Made,
}

/// Where the rows are projected.
enum Made {
    /// Here, once, out of these weights: the table, and its norm where it has one.
    Ahead(Vec<Weight>, f32),
    /// In the graph, out of this value: a model that learns changes them. With the last projection by a layer that both sides share.
    InGraph(ValueId, Option<(WeightId, ValueId)>),
}

/// What projects the rows.
pub(super) enum Projection<'a> {
    /// A part of the layer that makes queries, keys and values.
    Shared(&'a Linear, usize),
    /// A linear layer of its own, with a bias or without.
    Own(String, bool),
}

impl Table {
    pub(super) fn take(positions: &Positions, trunk: &mut Builder<'_, '_>) -> Result<Table> {
        const TABLE: &str = "encoder.rel_embeddings.weight";
        let (rows, hidden) = (2 * positions.span, trunk.sizes.hidden);
        if trunk.loader.learns() {
            let table = trunk.loader.table(TABLE, rows, hidden)?;
            let norm = if positions.norm { Some(trunk.norm("encoder.LayerNorm", hidden)?) } else { None };
            let value = append_rows(&mut trunk.graph, table, (rows, hidden), norm);
            return Ok(Table { rows, made: Made::InGraph(value, None) });
        }
        let mut weights = vec![trunk.loader.source(Role::Table, TABLE, &[rows, hidden])?];
        if positions.norm {
            for part in ["weight", "bias"] {
                weights.push(trunk.loader.source(Role::Vector, &format!("encoder.LayerNorm.{part}"), &[hidden])?);
            }
        }
        Ok(Table { rows, made: Made::Ahead(weights, trunk.epsilon) })
    }

    /// The rows through `by`, as one side of an attention meets them.
    pub(super) fn met(&mut self, by: Projection<'_>, trunk: &mut Builder<'_, '_>) -> Result<Met> {
        let hidden = trunk.sizes.hidden;
        match (&mut self.made, by) {
            (Made::InGraph(rows, last), Projection::Shared(linear, part)) => {
                let value = match *last {
                    Some((weight, value)) if weight == linear.0 => value,
                    _ => trunk.apply(linear, *rows, Activation::Identity),
                };
                *last = Some((linear.0, value));
                Ok(Met::Rows { value, from: part * hidden })
            }
            (Made::InGraph(rows, _), Projection::Own(name, shifts)) => {
                let linear = trunk.linear(&[name], hidden, hidden, shifts)?;
                Ok(Met::Rows { value: trunk.apply(&linear, *rows, Activation::Identity), from: 0 })
            }
            (Made::Ahead(..), Projection::Shared(linear, part)) => {
                let (weight, bias) = linear.part(trunk.loader, part);
                self.projected(weight, bias, trunk)
            }
            (Made::Ahead(..), Projection::Own(name, shifts)) => {
                let weight = trunk.loader.source(Role::Matrix, &format!("{name}.weight"), &[hidden, hidden])?;
                let bias = shifts.then(|| trunk.loader.source(Role::Vector, &format!("{name}.bias"), &[hidden])).transpose()?;
                self.projected(weight, bias, trunk)
            }
        }
    }

    /// The rows times a layer's matrix, cut into heads: one weight a head, (rows, head_size). Always in f32 arithmetic.
    fn projected(&self, weight: Weight, bias: Option<Weight>, trunk: &mut Builder<'_, '_>) -> Result<Met> {
        let Made::Ahead(own, epsilon) = &self.made else { unreachable!("only where the rows are made ahead") };
        let Sizes { hidden, heads, .. } = trunk.sizes;
        let name = format!("{} through {}", own[0].name, weight.name);
        let norm = (own.len() == 3).then_some(Norm { weight: WeightId(1), bias: Some(WeightId(2)), epsilon: *epsilon });
        let mut graph = Graph::new();
        let rows = append_rows(&mut graph, WeightId(0), (self.rows, hidden), norm);
        let matrix = own.len();
        let shift = bias.is_some().then_some(WeightId(matrix + 1));
        graph.linear(rows, WeightId(matrix), shift, Activation::Identity, hidden);
        let weights: Vec<Weight> = own.iter().cloned().chain([weight]).chain(bias).collect();
        let mut batch = Batch::default();
        batch.push(&[0], &[0], 0);
        let engine = Engine::new(&weights, trunk.loader.isa(), None)?;
        let Some(numbers) = engine.run(&Arc::new(graph), &Arc::new(batch), 1, &Control::default())? else {
            return Err(Error::new(ErrorKind::Cancelled, "the positions were not computed"));
        };
        let size = hidden / heads;
        let of_head = |head: usize| numbers.chunks_exact(hidden).flat_map(move |row| &row[head * size..(head + 1) * size]).copied();
        let made = (0..heads)
            .map(|head| trunk.loader.made(Role::Head, format!("{name}, head {head}"), self.rows, &of_head(head).collect::<Vec<f32>>()));
        Ok(Met::Made(made.collect::<Result<_>>()?))
    }
}

/// All rows of the table, normalised where that is said.
fn append_rows(graph: &mut Graph, table: WeightId, (rows, width): (usize, usize), norm: Option<Norm>) -> ValueId {
    let whole = graph.whole(table, rows, width);
    norm.map_or(whole, |norm| graph.norm(whole, norm))
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
