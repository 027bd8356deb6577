//! DeBERTa, version 1: every distance has a row of its own, and queries, keys and values come out of one matrix.
//!
//! He et al., DeBERTa: Decoding-enhanced BERT with Disentangled Attention (2021). The matrix holds each head's queries, keys and values one
//! after another, without a bias; queries and values get theirs behind it. Distances are not put in buckets, their rows are never
//! normalised, and each layer projects them with weights of its own. As `DebertaModel` of `transformers`.

use std::sync::Arc;

use serde_json::json;

use super::positions::{Positions, Projection, Table};
use super::{DEBERTA, EPSILON, embeddings, finish};
use crate::engine::Role;
use crate::engine::graph::{Bias, Disentangled, Met};
use crate::error::Result;
use crate::model::bert::{EXTRACT, TAG};
use crate::model::config::Fields;
use crate::model::heads::Row;
use crate::model::loader::Loader;
use crate::model::parts::{Form, Part};
use crate::model::postnorm::{self, Builder, Family, Linear};
use crate::model::trunk::{Sizes, Trunk};
use crate::quant::{Bytes, Dtype, Tensor};

const FIRST: Family = Family { name: "deberta", heads: HEADS, ..DEBERTA };

/// The heads of its classes in `transformers`.
pub(in crate::model) const HEADS: &[Row] =
    &[super::CLASSIFY, TAG, EXTRACT, super::LEGACY_FILL_MASK, super::FILL_MASK, super::REPLACED, super::CONTEXT_ALONE];

/// Builds the trunk.
pub(in crate::model) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    config.only("talking_head", &json!(false))?;
    config.only("share_att_key", &json!(false))?;
    config.only("position_buckets", &json!(-1))?;
    config.only("norm_rel_ebd", &json!("none"))?;
    let mut trunk = Builder::new(const { &FIRST }, config, loader)?;
    trunk.epsilon = config.epsilon_or("layer_norm_eps", EPSILON)?;
    let positions = Positions::read(config, &trunk.sizes)?;
    let (tokens, embedded) = embeddings(&mut trunk)?;
    let mut table = positions.as_ref().map(|p| Table::take(p, &mut trunk)).transpose()?;
    let mut hidden_states = vec![embedded];
    for (i, name) in postnorm::own_layers(config, &trunk.sizes)?.iter().enumerate() {
        let qkv = queries(&mut trunk, &format!("{name}attention.self."))?;
        let layer = trunk.load_behind(name, qkv)?;
        let bias = match (&positions, &mut table) {
            (Some(positions), Some(table)) => bias(positions, table, &format!("{name}attention.self."), &mut trunk)?,
            _ => Bias::None,
        };
        hidden_states.push(trunk.append(&layer, &bias, hidden_states[i]));
    }
    finish(trunk, tokens, hidden_states)
}

/// The rows of the matrix, all heads' queries first, and the biases that there are.
fn queries(trunk: &mut Builder<'_, '_>, at: &str) -> Result<Linear> {
    let Sizes { hidden, heads, .. } = trunk.sizes;
    let size = hidden / heads;
    let matrix = format!("{at}in_proj.weight");
    let packed = trunk.loader.source(Role::Matrix, &matrix, &[3 * hidden, hidden])?;
    let of_head = |part: usize, head: usize| {
        let first = (3 * head + part) * size;
        packed.tensors[0].rows_of(first..first + size).unwrap_or_else(|| unreachable!("its shape was checked"))
    };
    let rows = (0..3).flat_map(|part| (0..heads).map(move |head| (part, head))).map(|(part, head)| of_head(part, head)).collect();
    // Where the stored rows stand here.
    let order = (0..heads).flat_map(|head| (0..3).flat_map(move |part| (0..size).map(move |row| part * hidden + head * size + row)));
    let plain = Part::plain(trunk.loader.full(&matrix), &[3 * hidden, hidden], 0);
    let part = Part { form: Form::OrderedRows(order.collect()), ..plain };
    let mut shift = |name: &str| trunk.loader.source(Role::Vector, &format!("{at}{name}"), &[hidden]);
    let (query, value) = (shift("q_bias")?, shift("v_bias")?);
    let zeros = Tensor::new(Dtype::F32, vec![hidden], Bytes::owned(vec![0u8; 4 * hidden]));
    let zeros = zeros.unwrap_or_else(|| unreachable!("as many bytes as numbers take"));
    let biases = [query.tensors, vec![zeros], value.tensors].concat();
    let shifts = [("q_bias", 0), ("v_bias", 2)];
    let shifts = shifts.map(|(name, part)| Part::plain(trunk.loader.full(&format!("{at}{name}")), &[hidden], part * hidden));
    let weight = trunk.loader.stacked(Role::Matrix, packed.name, rows, vec![part]);
    let bias = trunk.loader.stacked(Role::Vector, format!("{} + {}", query.name, value.name), biases, shifts.to_vec());
    trunk.loader.fix(bias, hidden..2 * hidden);
    Ok(Linear(weight, Some(bias), 3 * hidden))
}

/// The rows that a layer's queries and keys meet.
fn bias(positions: &Positions, table: &mut Table, at: &str, trunk: &mut Builder<'_, '_>) -> Result<Bias> {
    let mut met = |wanted: bool, name: &str, shifts: bool| match wanted {
        true => table.met(Projection::Own(format!("{at}{name}"), shifts), trunk),
        false => Ok(Met::Nothing),
    };
    let keys = met(positions.keys, "pos_proj", false)?;
    let queries = met(positions.queries, "pos_q_proj", true)?;
    Ok(Bias::Disentangled(Disentangled { keys, queries, places: Arc::clone(&positions.places) }))
}
