//! DeBERTa, versions 2 and 3: BERT whose attention sees what a token is and where it stands apart.
//!
//! He et al., DeBERTa: Decoding-enhanced BERT with Disentangled Attention (2021); He et al., DeBERTaV3 (2023). Positions are not added to
//! the embeddings (unless config.json says so): attention meets the distance of two tokens as a row of a table, which all layers share
//! and each projects in its own way, or with its queries' and keys' own weights (`share_att_key`). Distances are told apart one by one
//! when small, then by their logarithm (`position_buckets`). Version 2 has a convolution beside its first layer. The projected rows are
//! the same for every text, so they are computed when the model is opened ([`positions`]). Version 1 is in [`version1`].

mod positions;
mod version1;

use std::sync::Arc;

use serde_json::json;

use positions::{Positions, Projection, Table};
pub(super) use version1::{HEADS as HEADS_OF_VERSION_1, build as build_version_1};

use super::bert::{self, BERT, CHOICE, EXTRACT, PREDICTIONS, TAG, linear};
use super::config::Fields;
use super::heads::{Activates, Input, Kind, LayerRow, Row, Width};
use super::loader::Loader;
use super::postnorm::{self, BUFFERS, Builder, Family, Layer, LayerNames, Settings};
use super::trunk::Trunk;
use crate::engine::graph::{Activation, Bias, Disentangled, Index, Lookup, Met, ValueId, WeightId};
use crate::error::Result;

const DEBERTA: Family = Family {
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

const CLASSIFY: Row = Row {
    kind: Kind::Classify,
    classes: &["ForSequenceClassification"],
    tensors: "classifier.",
    input: Input::First,
    crf: None,
    layers: &[CONTEXT, linear("classifier", Width::Labels)],
};

const LEGACY_FILL_MASK: Row = Row {
    kind: Kind::FillMask,
    classes: &["ForMaskedLM"],
    tensors: "cls.predictions.",
    input: Input::Picked,
    crf: None,
    layers: PREDICTIONS,
};

/// Where config.json says `legacy` = false, and in the checkpoints of the authors.
const FILL_MASK: Row = Row {
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
};

/// Of the authors' discriminators; `transformers` has no class for it.
const REPLACED: Row =
    Row { kind: Kind::Replaced, classes: &[], tensors: "mask_predictions.", input: Input::Tokens, crf: None, layers: &[] };

/// The layer of [`CONTEXT`] where nothing stands behind it.
const CONTEXT_ALONE: Row = Row { tensors: "pooler.", layers: &[], ..CLASSIFY };

const CHOOSE: Row = Row { input: Input::First, layers: &[CONTEXT, CHOICE], ..bert::CHOOSE };

pub(super) const HEADS: &[Row] = &[CLASSIFY, TAG, EXTRACT, LEGACY_FILL_MASK, FILL_MASK, REPLACED, CHOOSE, CONTEXT_ALONE];

/// The epsilon of norms where config.json states none.
const EPSILON: f32 = 1e-7;

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    let mut trunk = Builder::new(const { &DEBERTA }, config, loader)?;
    trunk.epsilon = config.epsilon_or("layer_norm_eps", EPSILON)?;
    let positions = Positions::read(config, &trunk.sizes)?;
    let (tokens, embedded) = embeddings(&mut trunk)?;
    let mut table = positions.as_ref().map(|p| Table::take(p, &mut trunk)).transpose()?;
    let mut hidden_states = vec![embedded];
    for (i, name) in postnorm::own_layers(config, &trunk.sizes)?.iter().enumerate() {
        let layer = trunk.load(name)?;
        let bias = match (&positions, &mut table) {
            (Some(positions), Some(table)) => bias(positions, table, &layer, name, &mut trunk)?,
            _ => Bias::None,
        };
        let output = trunk.append(&layer, &bias, hidden_states[i]);
        hidden_states.push(if i == 0 { convolution(&mut trunk, embedded, output)? } else { output });
    }
    finish(trunk, tokens, hidden_states)
}

/// Takes what is left; a table of positions that nothing reads is harmless.
fn finish(trunk: Builder<'_, '_>, tokens: WeightId, hidden_states: Vec<ValueId>) -> Result<Trunk> {
    let without_positions = !position_biased(trunk.config)?;
    trunk.finish(tokens, hidden_states, |name| {
        BUFFERS.contains(&name) || (without_positions && name == "embeddings.position_embeddings.weight")
    })
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
        add(trunk.loader, "token_type_embeddings", sizes.segments, postnorm::of_segments(sizes.segments))?;
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

/// The bias of the layer `name`, whose own weights are `layer`'s.
fn bias(positions: &Positions, table: &mut Table, layer: &Layer, name: &str, trunk: &mut Builder<'_, '_>) -> Result<Bias> {
    let mut met = |wanted: bool, part: usize, own: &str| match wanted {
        true if positions.shared => table.met(Projection::Shared(&layer.qkv, part), trunk),
        true => table.met(Projection::Own(format!("{name}attention.self.{own}"), true), trunk),
        false => Ok(Met::Nothing),
    };
    // Queries meet what keys are made of, and keys what queries are made of.
    let keys = met(positions.keys, 1, "pos_key_proj")?;
    let queries = met(positions.queries, 0, "pos_query_proj")?;
    Ok(Bias::Disentangled(Disentangled { keys, queries, places: Arc::clone(&positions.places) }))
}
