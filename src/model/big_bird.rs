//! BigBird: BERT whose tokens see blocks of others.
//!
//! Zaheer et al., Big Bird: Transformers for Longer Sequences (2020). A text is cut into blocks of `block_size` tokens. Those of the first
//! block and of the last see all; the others see their own block, its neighbours, the first and the last, and `num_random_blocks`
//! drawn at random when a model is trained. Where it answers, `BigBirdModel` of `transformers` draws none (in its code: `During inference
//! (eval) no randomness`) and puts the first block in their place: it counts once more for each of them, and here too. Short texts, and
//! all texts of `attention_type` `original_full`, are seen whole. The reference fills texts up to whole blocks, which changes no answer.
//!
//! Its tokenizer gives no segments, so that both texts of a pair have segment 0, except in question answering, whose class makes its own.

use serde_json::json;

use super::bert::{self, BERT, CHOOSE, TAG, linear};
use super::config::Fields;
use super::heads::{Activates, Input, Kind, LayerRow, Row, Width};
use super::loader::Loader;
use super::postnorm::{self, BUFFERS, Builder, Family, Layer};
use super::trunk::{Sizes, Trunk};
use crate::engine::graph::{Activation, Attention, Blocks, Far, Index, Lookup, ValueId};
use crate::error::Result;

const BIG_BIRD: &Family = &Family { name: "big_bird", pooler: Some("pooler"), heads: HEADS, ..BERT };

const fn dense(name: &'static str, width: Width, activation: Activates) -> LayerRow {
    LayerRow::Linear { name, width, activation }
}

/// The heads of its classes in `transformers`.
pub(super) const HEADS: &[Row] = &[
    Row {
        kind: Kind::Classify,
        classes: &["ForSequenceClassification"],
        tensors: "classifier.",
        input: Input::First,
        crf: None,
        layers: &[dense("classifier.dense", Width::Hidden, Activates::As("hidden_act")), linear("classifier.out_proj", Width::Labels)],
    },
    bert::NEXT_SENTENCE,
    TAG,
    Row {
        kind: Kind::Extract,
        classes: &["ForQuestionAnswering"],
        tensors: "qa_classifier.",
        input: Input::Tokens,
        crf: None,
        layers: &[
            dense("qa_classifier.intermediate.dense", Width::Own, Activates::As("hidden_act")),
            dense("qa_classifier.output.dense", Width::Hidden, Activates::With(Activation::Identity)),
            LayerRow::AddNorm { name: "qa_classifier.output.LayerNorm" },
            linear("qa_classifier.qa_outputs", Width::Fixed(2)),
        ],
    },
    bert::FILL_MASK,
    CHOOSE,
];

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    config.only("use_bias", &json!(true))?;
    config.only("rescale_embeddings", &json!(false))?;
    let mut trunk = Builder::new(BIG_BIRD, config, loader)?;
    let attention = Attention { far: far(config)?, ..trunk.plain() };
    let Sizes { vocabulary, hidden, positions, segments, .. } = trunk.sizes;
    let mut table = |name: &str, rows| trunk.loader.table(&format!("embeddings.{name}.weight"), rows, hidden);
    let (words, types) = (table("word_embeddings", vocabulary)?, table("token_type_embeddings", segments)?);
    let places = table("position_embeddings", positions)?;
    let norm = trunk.norm("embeddings.LayerNorm", hidden)?;
    let names = postnorm::own_layers(config, &trunk.sizes)?;
    let layers = names.iter().map(|name| trunk.load(name)).collect::<Result<Vec<_>>>()?;
    let mut states = |segment| {
        let place = Index::Position { offset: 0, padding: None };
        let lookups = [(words, Index::Token), (types, segment), (places, place)].map(|(table, index)| Lookup { table, index });
        let embedded = trunk.graph.embed(lookups.to_vec(), Some(norm), hidden);
        self::states(&mut trunk, &layers, &attention, embedded)
    };
    let hidden_states = states(Index::Always(0));
    let of_heads = if segments > 1 { vec![(Kind::Extract, states(Index::Segment)[layers.len()])] } else { Vec::new() };
    Ok(Trunk { of_heads, ..trunk.finish(words, hidden_states, |name| BUFFERS.contains(&name))? })
}

/// All hidden states.
fn states(trunk: &mut Builder<'_, '_>, layers: &[Layer], attention: &Attention, embedded: ValueId) -> Vec<ValueId> {
    let mut states = vec![embedded];
    for (i, layer) in layers.iter().enumerate() {
        states.push(trunk.append_looking(layer, attention.clone(), None, states[i]));
    }
    states
}

/// Which blocks are seen.
fn far(config: &Fields<'_>) -> Result<Far> {
    match config.get("attention_type").map(|kind| kind.as_str()) {
        Some(Some("original_full")) => return Ok(Far::None),
        None | Some(Some("block_sparse")) => {}
        Some(_) => return config.wrong("attention_type", "\"block_sparse\" or \"original_full\""),
    }
    let (size, random) = (config.size_or("block_size", 64)?, config.size_or("num_random_blocks", 3)?);
    // The blocks at both ends, three around a query, and twice those drawn.
    let whole = (5 + 2 * random).saturating_mul(size);
    Ok(Far::Blocks(Blocks { size, whole, times: 1.0 + random as f32 }))
}
