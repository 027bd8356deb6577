//! Longformer: RoBERTa whose tokens see those around them, and a few that all see.
//!
//! Beltagy et al., Longformer: The Long-Document Transformer (2020). A token sees `attention_window` / 2 tokens to either side. Tokens at
//! the start or the end of a text may see all and be seen by all, with queries, keys and values of their own; which, the reference's classes
//! say, and so does this: the first token for a classifier, the question for question answering, a choice behind what it is measured against, none
//! for the rest and for vectors. So the graph has the layers four times, over the same weights. The reference fills texts up to whole windows, which changes no answer.

use serde_json::Value;

use super::bert::BERT;
use super::config::Fields;
use super::heads::{Kind, Row};
use super::loader::Loader;
use super::postnorm::{self, BUFFERS, Builder, Family, Layer, Linear, Positions};
use super::roberta;
use super::trunk::Trunk;
use crate::engine::graph::{Attention, Far, Span, Start, ValueId};
use crate::error::Result;

const LONGFORMER: &Family = &Family {
    name: "longformer",
    prefix: "longformer.",
    positions: Positions::AfterPadding { stated: Some("pad_token_id"), id: 1 },
    heads: HEADS,
    ..BERT
};

/// The heads of its classes in `transformers`: RoBERTa's.
pub(super) const HEADS: &[Row] = roberta::HEADS;

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    let mut trunk = Builder::new(LONGFORMER, config, loader)?;
    let windows = windows(config, trunk.sizes.layers)?;
    let separator = config.id_or("sep_token_id", 2)?;
    let (tokens, embedded) = trunk.embeddings()?;
    let mut layers = Vec::new();
    for (name, span) in postnorm::own_layers(config, &trunk.sizes)?.iter().zip(windows) {
        let own = ["query_global", "key_global", "value_global"].map(|part| format!("{name}attention.self.{part}"));
        let hidden = trunk.sizes.hidden;
        layers.push((trunk.load(name)?, trunk.linear(&own, hidden, 3 * hidden, true)?, span));
    }
    let hidden_states = states(&mut trunk, &layers, embedded, Far::None);
    let mut last = |far| states(&mut trunk, &layers, embedded, far)[layers.len()];
    let of_heads = vec![
        (Kind::Classify, last(Far::Start(Start::First))),
        (Kind::Extract, last(Far::Start(Start::Before(separator)))),
        (Kind::MultipleChoice, last(Far::End(separator))),
    ];
    Ok(Trunk { of_heads, ..trunk.finish(tokens, hidden_states, |name| BUFFERS.contains(&name))? })
}

/// All hidden states, with `far` seen and seeing.
fn states(trunk: &mut Builder<'_, '_>, layers: &[(Layer, Linear, Span)], embedded: ValueId, far: Far) -> Vec<ValueId> {
    let mut states = vec![embedded];
    for (i, (layer, own, span)) in layers.iter().enumerate() {
        let attention = Attention { span: *span, far, ..trunk.plain() };
        let own = (far != Far::None).then_some(own);
        states.push(trunk.append_looking(layer, attention, own, states[i]));
    }
    states
}

/// What the tokens of each layer see: `attention_window`, for all layers or one by one.
fn windows(config: &Fields<'_>, layers: usize) -> Result<Vec<Span>> {
    const FIELD: &str = "attention_window";
    const EXPECTED: &str = "an even number above 0, or one for each layer";
    let span = |value: &Value| match value.as_u64() {
        Some(window @ 2..=0xff_ffff) if window % 2 == 0 => Ok(Span { before: window as usize / 2, after: window as usize / 2 }),
        _ => config.wrong(FIELD, EXPECTED),
    };
    match config.get(FIELD) {
        None => Ok(vec![Span { before: 256, after: 256 }; layers]),
        Some(Value::Array(windows)) if windows.len() == layers => windows.iter().map(span).collect(),
        Some(Value::Array(_)) => config.wrong(FIELD, EXPECTED),
        Some(window) => Ok(vec![span(window)?; layers]),
    }
}
