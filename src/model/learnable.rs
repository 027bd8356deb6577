//! A model before any engine packs it: what the trainer changes and saves.
//!
//! The same trunk, heads and weights as an [`Encoder`](super::Encoder)'s, built by the same families; missing weights are made
//! ([`Fresh`]), all of them for a model from nothing. The graph of some heads goes to `engine::gradient`, the weights to a learner, and what it
//! learned comes back as tensors under the names of a checkpoint. Two models may learn together and share weights.

use std::ops::Range;

use serde_json::Value;

use super::config;
use super::crf::Crf;
use super::fresh::Fresh;
use super::heads::Kind;
use super::loader::Loader;
use super::parts::Part;
use super::pooling::Pooling;
use super::trunk::{Sizes, Trunk};
use crate::engine::cpu::Learner;
use crate::engine::gradient::Adapter;
use crate::engine::graph::{Own, ValueId, WeightId};
use crate::engine::{Graph, Role, Weight};
use crate::error::{ErrorKind, Result, fail};
use crate::formats::Weights;
use crate::quant::{Bytes, Dtype, Tensor};

/// A model that can learn.
pub struct Learnable {
    trunk: Trunk,
    /// By the model's own ids: the weight's place in `weights`, which another model may share.
    places: Vec<WeightId>,
    weights: Vec<Weight>,
    parts: Vec<Vec<Part>>,
    fixed: Vec<(WeightId, Range<usize>)>,
    made: Vec<String>,
    adapters: Vec<Adapter>,
    /// Weights of a judge, and how many times as fast as the rest they learn.
    quick: (Own, f32),
}

impl Learnable {
    /// The model that `config` describes, of `tensors` as far as they go; what is missing, and the heads of `fresh`, are made.
    ///
    /// # Errors
    /// As [`Encoder::new`](super::Encoder::new); `Unsupported` for a family without one of the heads, or whose weights are changed as they are loaded.
    pub fn new(config: &Value, tensors: Weights, fresh: Fresh) -> Result<Learnable> {
        let mut loader = Loader::new(tensors, None);
        let heads = fresh.heads.clone();
        if fresh.alone {
            config::tensors_of_others(config, &heads).into_iter().for_each(|beginning| loader.drop_all(beginning));
        }
        loader.make_missing(fresh);
        let trunk = config::build(config, &mut loader)?;
        if let Some(kind) = heads.iter().find(|kind| trunk.heads.iter().all(|head| head.kind != **kind)) {
            let told = format!("models of family {} have no head for {}", trunk.family, kind.name());
            return fail(ErrorKind::Unsupported, told);
        }
        // What is made of other weights cannot be written back, unless it stays as it is.
        let stays = |at: usize| loader.fixed().iter().any(|(id, rows)| id.0 == at && *rows == (0..loader.count(*id)));
        if let Some(at) = (0..loader.parts().len()).find(|at| loader.parts()[*at].is_empty() && !stays(*at)) {
            let (weights, family) = (loader.into_weights(), trunk.family);
            let told = format!("models of family {family} do not learn yet: {} is changed when a model is opened", weights[at].name);
            return fail(ErrorKind::Unsupported, told);
        }
        let (parts, fixed, made) = (loader.parts().to_vec(), loader.fixed().to_vec(), loader.invented().to_vec());
        let places = (0..parts.len()).map(WeightId).collect();
        Ok(Learnable { trunk, places, weights: loader.into_weights(), parts, fixed, made, adapters: Vec::new(), quick: Default::default() })
    }

    /// A learner of the weights on up to `threads` threads and the instruction set called `isa`.
    ///
    /// # Errors
    /// As [`Learner::new`].
    pub fn learner(&self, isa: Option<&str>, threads: usize) -> Result<Learner> {
        let mut learner = Learner::new(&self.weights, isa, threads)?;
        self.fixed.iter().for_each(|(id, rows)| learner.hold(*id, rows.clone()));
        Ok(learner)
    }

    /// Puts an adapter of `rank` beside every matrix of the trunk's layers, in place of which it learns; `fresh` makes its numbers, which add nothing at
    /// first.
    pub fn adapt(&mut self, rank: usize, factor: f32, fresh: &Fresh) {
        for id in (0..self.weights.len()).map(WeightId) {
            let Weight { name, role: Role::Matrix, tensors } = &self.weights[id.0] else { continue };
            let (name, outputs, inputs) = (name.clone(), self.weights[id.0].rows(), tensors[0].row_len());
            let numbers = Fresh { deviation: 1.0 / (inputs as f32).sqrt(), ..fresh.clone() };
            let down = numbers.tensor(&format!("{name}.down.weight"), &[rank, inputs]);
            let up = Fresh { deviation: 0.0, ..fresh.clone() }.tensor(&format!("{name}.up.weight"), &[outputs, rank]);
            let (Some(down), Some(up)) = (down, up) else { continue };
            let first = self.weights.len();
            for (end, tensor) in [("down", down), ("up", up)] {
                self.weights.push(Weight { name: format!("{name}.{end}"), role: Role::Matrix, tensors: vec![tensor] });
                self.parts.push(Vec::new());
            }
            self.adapters.push(Adapter { weight: id, down: WeightId(first), up: WeightId(first + 1), rank, factor });
        }
    }

    /// Puts weights beside the model that only a judge reads, and that learn `factor` times as fast as the rest: vectors and small matrices by
    /// name and shape. Those that are `saved` are tensors of the checkpoint.
    ///
    /// # Errors
    /// `InvalidArgument` for numbers that do not fill their shapes.
    pub fn put_beside(&mut self, tensors: &[(String, Vec<usize>, &[f32])], factor: f32, saved: bool) -> Result<Own> {
        let own = Own { first: self.weights.len(), count: tensors.len() };
        for (name, shape, numbers) in tensors {
            let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
            let Some(tensor) = Tensor::new(Dtype::F32, shape.clone(), Bytes::owned(bytes)) else {
                return fail(ErrorKind::InvalidArgument, format!("{name}: {} numbers do not fill {shape:?}", numbers.len()));
            };
            self.weights.push(Weight { name: name.clone(), role: Role::Vector, tensors: vec![tensor] });
            self.parts.push(if saved { vec![Part::plain(name.clone(), shape, 0)] } else { Vec::new() });
        }
        self.quick = (own, factor);
        Ok(own)
    }

    /// Whether the checkpoint says how labels of tokens follow each other.
    pub fn has_crf(&self) -> bool {
        self.trunk.heads.iter().any(|head| head.crf.is_some())
    }

    /// Puts the transitions between labels of tokens beside the model: the checkpoint's, or such as say nothing.
    ///
    /// # Errors
    /// As [`Learnable::put_beside`].
    pub fn put_crf_beside(&mut self, factor: f32) -> Result<Own> {
        let tagger = self.trunk.heads.iter().find(|head| head.kind == Kind::Tag);
        let labels = tagger.map_or(0, |head| head.outputs);
        let crf = tagger.and_then(|head| head.crf.clone()).unwrap_or_else(|| Crf::nothing(labels));
        self.put_beside(&crf.tensors(), factor, true)
    }

    /// The weights of a judge, and how many times as fast as the rest they learn.
    pub fn quick(&self) -> (Own, f32) {
        self.quick
    }

    /// What stands beside matrices.
    pub fn adapters(&self) -> &[Adapter] {
        &self.adapters
    }

    /// The rows `rows` of a weight as a learner has it, with what its adapter adds.
    pub fn learned(&self, learner: &Learner, id: WeightId, rows: Range<usize>) -> Vec<f32> {
        let mut numbers = learner.weight(id, rows.clone());
        if let Some(Adapter { down, up, rank, factor, .. }) = self.adapters.iter().find(|adapter| adapter.weight == id) {
            let (down, up) = (learner.weight(*down, 0..*rank), learner.weight(*up, rows));
            let inputs = down.len() / rank;
            for (row, up) in numbers.chunks_exact_mut(inputs).zip(up.chunks_exact(*rank)) {
                for (share, down) in up.iter().zip(down.chunks_exact(inputs)) {
                    row.iter_mut().zip(down).for_each(|(x, d)| *x += factor * share * d);
                }
            }
        }
        numbers
    }

    /// The graph of these heads over one trunk, and what each gives.
    ///
    /// # Errors
    /// `InvalidArgument` for a head that the model lacks.
    pub fn graph(&self, kinds: &[Kind]) -> Result<(Graph, Vec<ValueId>)> {
        let mut graph = self.trunk.graph.clone();
        let mut values = Vec::new();
        for kind in kinds {
            let Some(head) = self.trunk.heads.iter().find(|head| head.kind == *kind) else {
                return fail(ErrorKind::InvalidArgument, format!("the model has no head for {}", kind.name()));
            };
            values.push(self.trunk.append_head(&mut graph, head)?);
        }
        Ok((graph.over_weights(|id| self.places[id.0]), values))
    }

    /// The last hidden state in every graph of the model: (tokens, hidden).
    pub fn hidden(&self) -> ValueId {
        self.trunk.hidden_states[self.trunk.sizes.layers]
    }

    /// Whether the model has a head of this kind.
    pub fn has(&self, kind: Kind) -> bool {
        self.trunk.heads.iter().any(|head| head.kind == kind)
    }

    /// Lets two models learn together: both get the weights of both, and `other` takes those that are made of tensors whose names begin with
    /// `shared` from this one. A learner of either has both.
    ///
    /// # Errors
    /// `InvalidArgument` for a shared tensor that this model lacks or that has another shape here.
    pub fn join(&mut self, other: &mut Learnable, shared: &str) -> Result<()> {
        let mut together = self.weights.clone();
        let mut places = Vec::new();
        for (weight, parts) in other.weights.iter().zip(&other.parts) {
            if parts.is_empty() || !parts.iter().all(|part| part.name.starts_with(shared)) {
                places.push(WeightId(together.len()));
                together.push(weight.clone());
                continue;
            }
            let Some(at) = self.parts.iter().position(|own| own == parts) else {
                let told =
                    format!("tensor {:?} of {:?} has no counterpart in the model that it is shared with", parts[0].name, parts[0].shape);
                return fail(ErrorKind::InvalidArgument, told);
            };
            places.push(WeightId(at));
        }
        let mut parts = vec![Vec::new(); together.len()];
        for (own, place) in other.parts.drain(..).zip(&places) {
            parts[place.0] = own;
        }
        self.parts.resize(together.len(), Vec::new());
        self.fixed.extend(other.fixed.iter().map(|(id, rows)| (places[id.0], rows.clone())));
        *other = Learnable {
            trunk: other.trunk.clone(),
            places,
            weights: together.clone(),
            parts,
            fixed: self.fixed.clone(),
            made: std::mem::take(&mut other.made),
            adapters: Vec::new(),
            quick: Default::default(),
        };
        self.weights = together;
        Ok(())
    }

    /// The embeddings' output, then each layer's, in every graph of [`Learnable::graph`] and [`Learnable::vectors`].
    pub fn hidden_states(&self) -> &[ValueId] {
        &self.trunk.hidden_states
    }

    /// The graph of one vector a text, pooled by all of `modes`.
    ///
    /// # Errors
    /// `InvalidArgument` for a pooler that the model lacks.
    pub fn vectors(&self, modes: &[Pooling]) -> Result<(Graph, ValueId)> {
        let mut graph = self.trunk.graph.clone();
        let hidden = self.trunk.last_hidden_state();
        let pooled = modes.iter().map(|mode| self.trunk.append_pooling(&mut graph, hidden, *mode)).collect::<Result<_>>()?;
        let all = graph.concat(pooled);
        Ok((graph.over_weights(|id| self.places[id.0]), all))
    }

    /// The family's name.
    pub fn family(&self) -> &'static str {
        self.trunk.family
    }

    /// The model's sizes.
    pub fn sizes(&self) -> &Sizes {
        &self.trunk.sizes
    }

    /// The weights in the order of their ids.
    pub fn weights(&self) -> &[Weight] {
        &self.weights
    }

    /// The tensors that a weight is made of.
    pub fn parts(&self, id: WeightId) -> &[Part] {
        &self.parts[id.0]
    }

    /// The layer of each weight: 0 of embeddings, from 1 of the trunk's layers, one more than they are of heads. A weight that several layers share,
    /// or a head and an embedding, is the lowest one's.
    pub fn layers(&self) -> Vec<usize> {
        let states = &self.trunk.hidden_states;
        let mut layers = vec![states.len(); self.weights.len()];
        for (value, node) in self.trunk.graph.values().zip(self.trunk.graph.nodes()) {
            let layer = states.iter().position(|state| value <= *state).unwrap_or(states.len());
            let own = node.op.weights().into_iter().map(|id| self.places[id.0].0);
            own.for_each(|at| layers[at] = layers[at].min(layer));
        }
        layers
    }

    /// The names of tensors that the checkpoint lacked and that were made.
    pub fn made(&self) -> &[String] {
        &self.made
    }
}
