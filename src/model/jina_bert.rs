//! JinaBERT, version 2: BERT whose attention falls off with the distance, and whose feed-forward layers have a gate.
//!
//! Günther et al., Jina Embeddings 2: 8192-Token General-Purpose Text Embeddings for Long Documents (2023). Positions are not added to
//! the embeddings: a score loses a number for each token of distance, another one in each head (Press et al., Train Short, Test Long:
//! Attention with Linear Biases, 2022, to both sides). Checkpoints call themselves `bert`; `position_embedding_type` `alibi` tells them apart. The
//! model's code comes with its checkpoints; this follows its description and the graph `jina-bert-v2` of llama.cpp.

use super::bert::BERT;
use super::config::Fields;
use super::loader::Loader;
use super::postnorm::{self, Biases, Family, LayerNames, Table};
use super::trunk::{Sizes, Trunk};
use crate::engine::graph::{Activation, Bias, Half};
use crate::error::Result;

/// What `position_embedding_type` says of such a model.
pub(super) const ALIBI: &str = "alibi";

/// With BERT's feed-forward layers (`feed_forward_type` `original`).
const ORIGINAL: Family = Family {
    name: "jina_bert",
    tables: &[Table::Words("embeddings.word_embeddings"), Table::Segments("embeddings.token_type_embeddings")],
    position_kind: ALIBI,
    bias: falling_off,
    ..BERT
};

/// With a gate, as all published models: the first half of the matrix's rows is activated.
const GEGLU: Family = Family {
    names: LayerNames { down: "mlp.wo", norm: "mlp.layernorm", ..BERT.names },
    gated: Some((&["mlp.gated_layers"], Half::First)),
    biases: Biases { attention: true, up: false, down: true },
    activation: Some(Activation::Gelu),
    ..ORIGINAL
};

const REGLU: Family = Family { activation: Some(Activation::Relu), ..GEGLU };

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    let family = match config.get("feed_forward_type").map(|kind| kind.as_str()) {
        None | Some(Some("original")) => const { &ORIGINAL },
        Some(Some("geglu")) => const { &GEGLU },
        Some(Some("reglu")) => const { &REGLU },
        Some(_) => return config.wrong("feed_forward_type", "\"original\", \"geglu\" or \"reglu\""),
    };
    postnorm::build(family, config, loader)
}

fn falling_off(_: &Fields<'_>, _: &mut Loader, sizes: &Sizes) -> Result<Bias> {
    Ok(Bias::Slopes(slopes(sizes.heads).into()))
}

/// What each head takes off for a token of distance: powers of `2^(-8 / heads)` from the first on. Where the heads are no power of two,
/// those beyond the power below have every other number of twice as many heads.
fn slopes(heads: usize) -> Vec<f32> {
    let whole = if heads.is_power_of_two() { heads } else { heads.next_power_of_two() / 2 };
    let power = |of: usize, number: usize| 2f64.powf(-8.0 * number as f64 / of as f64) as f32;
    let beyond = (0..heads - whole).map(|i| power(2 * whole, 2 * i + 1));
    (1..=whole).map(|number| power(whole, number)).chain(beyond).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_those_of_the_paper_and_of_heads_that_are_no_power_of_two() {
        assert_eq!(slopes(8), [0.5, 0.25, 0.125, 0.0625, 0.031_25, 0.015_625, 0.007_812_5, 0.003_906_25]);
        let twelve = slopes(12);
        assert_eq!(twelve[..8], slopes(8));
        assert_eq!(twelve[8..], [0.5f32.sqrt(), 0.125f32.sqrt(), 0.031_25f32.sqrt(), 0.007_812_5f32.sqrt()]);
        assert_eq!(slopes(1), [0.003_906_25]);
    }
}
