//! A model before any engine packs it: what the trainer changes and saves.
//!
//! The same trunk, heads and weights as an [`Encoder`](super::Encoder)'s, built by the same families; missing weights are made
//! ([`Fresh`]), all of them for a model from nothing. The graph of some heads goes to `engine::gradient`, the weights to a learner, and what it
//! learned comes back as tensors under the names of a checkpoint.

use serde_json::Value;

use super::config;
use super::fresh::Fresh;
use super::heads::Kind;
use super::loader::{Loader, Part};
use super::pooling::Pooling;
use super::trunk::{Sizes, Trunk};
use crate::engine::graph::{Bias, Op, ValueId, WeightId};
use crate::engine::{Graph, Weight};
use crate::error::{ErrorKind, Result, fail};
use crate::formats::Weights;

/// A model that can learn.
pub struct Learnable {
    trunk: Trunk,
    weights: Vec<Weight>,
    parts: Vec<Vec<Part>>,
    made: Vec<String>,
}

impl Learnable {
    /// The model that `config` describes, of `tensors` as far as they go; what is missing, and the heads of `fresh`, are made.
    ///
    /// # Errors
    /// As [`Encoder::new`](super::Encoder::new); `Unsupported` for families whose weights are changed as they are loaded.
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
        let disentangled = |op: &Op| matches!(op, Op::Attention { attention, .. } if matches!(attention.bias, Bias::Disentangled(_)));
        if trunk.graph.nodes().iter().any(|node| disentangled(&node.op)) {
            let told = format!("models of family {} do not learn yet: their positions are computed when a model is opened", trunk.family);
            return fail(ErrorKind::Unsupported, told);
        }
        // What is made of other weights cannot be written back.
        if let Some(at) = loader.parts().iter().position(Vec::is_empty) {
            let (weights, family) = (loader.into_weights(), trunk.family);
            let told = format!("models of family {family} do not learn yet: {} is changed when a model is opened", weights[at].name);
            return fail(ErrorKind::Unsupported, told);
        }
        let (parts, made) = (loader.parts().to_vec(), loader.invented().to_vec());
        Ok(Learnable { trunk, weights: loader.into_weights(), parts, made })
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
        Ok((graph, values))
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
        Ok((graph, all))
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

    /// The tensors that a weight is made of, one above the other.
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
            node.op.weights().into_iter().for_each(|id| layers[id.0] = layers[id.0].min(layer));
        }
        layers
    }

    /// The names of tensors that the checkpoint lacked and that were made.
    pub fn made(&self) -> &[String] {
        &self.made
    }
}
