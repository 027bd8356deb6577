//! MPNet: RoBERTa without segments, whose attention adds a bias by distance.
//!
//! Song et al., MPNet: Masked and Permuted Pre-training for Language Understanding (2020). One table of biases, (buckets, heads),
//! serves all layers; buckets are T5's: distances are told apart one by one when small, then by their logarithm, up to
//! [`FARTHEST`]. Positions are RoBERTa's, with a padding id of 1 whatever config.json says.

use serde_json::json;

use super::bert::BERT;
use super::config::Fields;
use super::loader::Loader;
use super::postnorm::{self, Family, LayerNames, Positions, Table};
use super::roberta;
use super::trunk::{Sizes, Trunk};
use crate::engine::graph::{Bias, Relative};
use crate::error::Result;

const MPNET: &Family = &Family {
    name: "mpnet",
    prefix: "mpnet.",
    tables: &[Table::Words("embeddings.word_embeddings"), Table::Positions("embeddings.position_embeddings")],
    positions: Positions::AfterPadding { stated: None, id: 1 },
    names: LayerNames {
        query: "attention.attn.q",
        key: "attention.attn.k",
        value: "attention.attn.v",
        mixed: "attention.attn.o",
        mixed_norm: "attention.LayerNorm",
        ..BERT.names
    },
    bias,
    heads: roberta::HEADS,
    ..BERT
};

/// Buckets, half of them for keys behind the query. The reference computes with this number, whatever config.json says.
const BUCKETS: usize = 32;
/// The distance from which on all are alike.
const FARTHEST: usize = 128;

fn bias(config: &Fields<'_>, loader: &mut Loader, sizes: &Sizes) -> Result<Bias> {
    config.only("relative_attention_num_buckets", &json!(BUCKETS))?;
    let table = loader.whole_table("encoder.relative_attention_bias.weight", BUCKETS, sizes.heads)?;
    let reach = FARTHEST as isize;
    Ok(Bias::Relative(Relative { table, buckets: (-reach..=reach).map(bucket).collect() }))
}

/// The bucket of a distance, key minus query.
fn bucket(distance: isize) -> u32 {
    const HALF: usize = BUCKETS / 2;
    const EXACT: usize = HALF / 2;
    let (side, size) = (if distance > 0 { HALF } else { 0 }, distance.unsigned_abs());
    if size < EXACT {
        return (side + size) as u32;
    }
    // In f32 and in this order, as in the reference: a product on the edge of two buckets falls as it does there.
    let share = (size as f32 / EXACT as f32).ln() / ((FARTHEST as f64 / EXACT as f64).ln() as f32) * (HALF - EXACT) as f32;
    (side + (EXACT + share as usize).min(HALF - 1)) as u32
}

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    postnorm::build(MPNET, config, loader)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where MPNetEncoder.relative_position_bucket of transformers 5.24 changes its answer, from distance -200 to 200.
    const EDGES: &[(isize, u32)] = &[
        (-200, 15),
        (-90, 14),
        (-63, 13),
        (-45, 12),
        (-31, 11),
        (-22, 10),
        (-15, 9),
        (-11, 8),
        (-7, 7),
        (-6, 6),
        (-5, 5),
        (-4, 4),
        (-3, 3),
        (-2, 2),
        (-1, 1),
        (0, 0),
        (1, 17),
        (2, 18),
        (3, 19),
        (4, 20),
        (5, 21),
        (6, 22),
        (7, 23),
        (8, 24),
        (12, 25),
        (16, 26),
        (23, 27),
        (32, 28),
        (46, 29),
        (64, 30),
        (91, 31),
    ];

    #[test]
    fn buckets_are_those_of_the_reference() {
        for distance in -200..=200 {
            let expected = EDGES.iter().rev().find(|(from, _)| *from <= distance).unwrap().1;
            assert_eq!(bucket(distance), expected, "{distance}");
        }
    }
}
