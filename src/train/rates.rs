//! Which layers of a model learn, and how fast?
//!
//! Lower layers know what all tasks need, so that they may move less, or not at all. The rate falls by a factor from each layer to the one below
//! (Howard and Ruder, Universal Language Model Fine-tuning for Text Classification, 2018; as in ELECTRA, 2020); frozen layers have no
//! gradient, and nothing is carried back into them. Which layer a weight belongs to is read off the family's graph.

use crate::engine::graph::WeightId;
use crate::error::{ErrorKind, Result, fail};
use crate::model::Learnable;

/// The factor of the rate of each weight.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerRates {
    factors: Vec<f32>,
}

impl LayerRates {
    /// Of `model`: heads learn at the rate itself, each layer below at `decay` times that of the one above, embeddings the slowest. `frozen`: how many
    /// of the lowest layers stay as they are, embeddings with them; 0 for embeddings alone, none for nothing.
    ///
    /// # Errors
    /// `InvalidArgument` for more layers than there are.
    pub fn new(model: &Learnable, decay: f64, frozen: Option<usize>) -> Result<LayerRates> {
        let layers = model.layers();
        let count = model.sizes().layers;
        if let Some(frozen) = frozen.filter(|frozen| *frozen > count) {
            return fail(ErrorKind::InvalidArgument, format!("freeze {frozen}: the model has {count} layers"));
        }
        let still = |layer: usize| frozen.is_some_and(|frozen| layer <= frozen);
        let factor = |layer: usize| if still(layer) { 0.0 } else { decay.powi((count + 1).saturating_sub(layer) as i32) as f32 };
        let (own, times) = model.quick();
        let quick = |mut factors: Vec<f32>| {
            own.ids().for_each(|id| factors[id.0] = times);
            LayerRates { factors }
        };
        if model.adapters().is_empty() {
            return Ok(quick(layers.into_iter().map(factor).collect()));
        }
        // Heads alone learn beside adapters, which learn at the rate of the layer of their matrix.
        let mut factors: Vec<f32> = layers.iter().map(|layer| if *layer > count { 1.0 } else { 0.0 }).collect();
        for adapter in model.adapters() {
            let rate = factor(layers[adapter.weight.0]);
            (factors[adapter.down.0], factors[adapter.up.0]) = (rate, rate);
        }
        Ok(quick(factors))
    }

    /// The factor of a weight; 0 for one that stays.
    pub fn of(&self, id: WeightId) -> f32 {
        self.factors[id.0]
    }

    /// Whether a weight moves.
    pub fn learns(&self, id: WeightId) -> bool {
        self.of(id) > 0.0
    }
}
