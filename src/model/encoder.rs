//! Trunk + layer choice + pooling + dense layers: the whole model, and the graph for what a call asks.

use std::sync::Arc;

use serde_json::Value;

use super::config;
use super::dense::{self, Dense};
use super::heads::{Head, Kind, Layer};
use super::labels;
use super::languages::Languages;
use super::loader::Loader;
use super::pooling::{LayerChoice, Pooling, PoolingModule};
use super::sparse::SparseModule;
use super::trunk::{Sizes, Trunk};
use crate::engine::graph::{Op, ValueId};
use crate::engine::{Batch, Calibration, Engine, Graph, Precision};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::formats::{SentenceModules, Weights};

/// What a call wants from the encoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Hidden states of every token.
    Tokens(LayerChoice),
    /// One vector a sequence: pooled (modes side by side), then through the model's dense layers.
    Pooled(LayerChoice, Vec<Pooling>),
    /// What a head of the checkpoint gives.
    Head(Kind),
    /// Hidden states of every token through the dense layers of a late-interaction model.
    Late,
    /// One weight for each token of the vocabulary, a sequence: the scores of the fill_mask head for all tokens, reduced.
    Terms,
    /// All hidden states, then what each attention reads, side by side: a row a token.
    Inside,
}

/// How the engine is made.
pub struct Setup<'a> {
    /// The instruction set, `None` for the best one.
    pub isa: Option<&'a str>,
    /// Arithmetic of the trunk; `None` = int8 if the files hold its matrices in blocks, f32 otherwise.
    pub precision: Option<Precision>,
    /// Token ids of some texts, to find the inputs that int8 must leave in f32; ids beyond the vocabulary are left out.
    pub sample: &'a dyn Fn() -> Result<Vec<Vec<u32>>>,
}

/// An opened model: its graph, its packed weights and what its files say about pooling.
pub struct Encoder {
    trunk: Trunk,
    dense: Vec<Dense>,
    pooling: PoolingModule,
    sparse: SparseModule,
    /// Whether the dense layers work on tokens: a late-interaction model.
    late: bool,
    engine: Engine,
    parameters: usize,
}

impl Encoder {
    /// Builds the model that `config` describes from `tensors` and packs it as `setup` says.
    ///
    /// # Errors
    /// Whatever [`config::build`] and the engine refuse: unsupported options, missing, unknown or damaged tensors.
    pub fn new(config: &Value, mut tensors: Weights, sentence: &mut SentenceModules, setup: &Setup<'_>) -> Result<Encoder> {
        let late = sentence.late.is_some();
        if late && sentence.dense.is_empty() {
            sentence.dense.push(dense::of_colbert(&mut tensors)?);
        }
        let mut loader = Loader::new(tensors, setup.isa);
        let mut trunk = config::build(config, &mut loader)?;
        if let Some(class) = sentence.activation.as_ref().filter(|_| !trunk.heads.is_empty()) {
            // As in sentence-transformers, before what config.json says.
            let declared = labels::declared(class)?;
            trunk.heads.iter_mut().for_each(|head| head.meaning.declared = Some(declared));
        }
        let pooling = PoolingModule::read(sentence.pooling.as_ref(), trunk.sizes.hidden)?;
        let sparse = SparseModule::read(sentence.splade.as_ref(), trunk.sizes.vocabulary)?;
        let dense = std::mem::take(&mut sentence.dense).into_iter().map(|m| Dense::new(m, &mut loader)).collect::<Result<_>>()?;
        let (parameters, in_blocks) = (loader.parameters(), loader.in_blocks());
        let weights = loader.into_weights();
        let int8 = match setup.precision {
            Some(precision) => precision == Precision::Int8,
            None => in_blocks,
        };
        let calibration = if int8 { Some(calibration(&trunk, &(setup.sample)()?)) } else { None };
        let engine = Engine::new(&weights, setup.isa, calibration.as_ref())?;
        let encoder = Encoder { trunk, dense, pooling, sparse, late, engine, parameters };
        // The model's own use must work, so that a contradiction shows when opening.
        let own_use = encoder.graph(&Output::Pooled(LayerChoice::Last, encoder.pooling.modes.clone()));
        let own_use = if encoder.sparse.declared { own_use.and_then(|_| encoder.graph(&Output::Terms)) } else { own_use };
        let own_use = if late { own_use.and_then(|_| encoder.graph(&Output::Late)) } else { own_use };
        own_use.map_err(|e| Error::new(ErrorKind::InvalidFile, format!("the model's modules do not fit together: {}", e.message())))?;
        Ok(encoder)
    }

    /// The graph that computes `output`.
    ///
    /// # Errors
    /// `InvalidArgument` for layers that the model lacks, a pooler where it has none, or pooling that its dense layers do not
    /// take.
    pub fn graph(&self, output: &Output) -> Result<Arc<Graph>> {
        let mut graph = self.trunk.graph.clone();
        let last = match output {
            Output::Tokens(layers) => self.layers(&mut graph, *layers)?,
            Output::Late => {
                let hidden = self.layers(&mut graph, LayerChoice::Last)?;
                self.dense.iter().try_fold(hidden, |value, dense| dense.append(&mut graph, value))?
            }
            Output::Pooled(layers, modes) => {
                let hidden = self.layers(&mut graph, *layers)?;
                let pooled = modes.iter().map(|m| self.trunk.append_pooling(&mut graph, hidden, *m)).collect::<Result<_>>()?;
                let all = graph.concat(pooled);
                let dense = if self.late { &[][..] } else { &self.dense[..] };
                dense.iter().try_fold(all, |value, dense| dense.append(&mut graph, value))?
            }
            Output::Inside => {
                let read = self.attentions().flat_map(|(op, _)| op.inputs());
                let all: Vec<ValueId> = self.trunk.hidden_states.iter().copied().chain(read).collect();
                graph.concat(all)
            }
            Output::Terms => self.append_terms(&mut graph)?,
            Output::Head(kind) => self.trunk.append_head(&mut graph, self.head(*kind)?)?,
        };
        Ok(Arc::new(graph.ending_in(last)))
    }

    /// The attentions of the trunk, first layer first, and the width of what each reads.
    pub fn attentions(&self) -> impl Iterator<Item = (&Op, usize)> {
        let last = self.trunk.hidden_states[self.trunk.sizes.layers];
        let attentions = self.trunk.graph.behind(last).filter(|op| matches!(op, Op::Attention { .. }));
        attentions.map(|op| (op, op.inputs().iter().map(|v| self.trunk.graph.node(*v).width).sum()))
    }

    /// The head for a task.
    ///
    /// # Errors
    /// `InvalidArgument`, saying which heads the checkpoint has.
    pub fn head(&self, kind: Kind) -> Result<&Head> {
        if let Some(head) = self.trunk.heads.iter().find(|head| head.kind == kind) {
            return Ok(head);
        }
        let names: Vec<_> = self.trunk.heads.iter().map(|head| head.kind.name()).collect();
        let has = if names.is_empty() { "none, only vectors".to_owned() } else { names.join(", ") };
        let told = format!("the model has no head for {}; it has {has}: open a checkpoint that was trained for it", kind.name());
        fail(ErrorKind::InvalidArgument, told)
    }

    /// The heads of the checkpoint.
    pub fn heads(&self) -> &[Head] {
        &self.trunk.heads
    }

    /// The layers of the fill_mask head over every token, its decoder reduced to one row a sequence.
    fn append_terms(&self, graph: &mut Graph) -> Result<ValueId> {
        let head = self.head(Kind::FillMask).map_err(|e| e.within("sparse weights are made of the scores of a fill_mask head"))?;
        let hidden = self.layers(graph, LayerChoice::Last)?;
        let Some((Layer::Decoder { table, bias, width }, before)) = head.layers.split_last() else {
            return fail(ErrorKind::InvalidArgument, "the model's fill_mask head has no decoder to make sparse weights of");
        };
        let rows = before.iter().fold(hidden, |value, layer| layer.append(graph, value, hidden));
        Ok(graph.terms(rows, (*table, *bias), self.sparse.terms, *width))
    }

    fn layers(&self, graph: &mut Graph, choice: LayerChoice) -> Result<ValueId> {
        let chosen = choice.resolve(self.trunk.sizes.layers)?;
        let states: Vec<ValueId> = chosen.iter().map(|i| self.trunk.hidden_states[*i]).collect();
        Ok(match choice {
            LayerChoice::Mean(_) => graph.mean(states),
            LayerChoice::Last | LayerChoice::One(_) | LayerChoice::Concat(_) => graph.concat(states),
        })
    }

    /// The family's name.
    pub fn family(&self) -> &'static str {
        self.trunk.family
    }

    /// The languages that a text may be said to be in.
    pub fn languages(&self) -> &Languages {
        &self.trunk.languages
    }

    /// The model's sizes.
    pub fn sizes(&self) -> &Sizes {
        &self.trunk.sizes
    }

    /// What the model's files say about pooling.
    pub fn pooling(&self) -> &PoolingModule {
        &self.pooling
    }

    /// Whether it is a late-interaction model.
    pub fn is_late(&self) -> bool {
        self.late
    }

    /// How the model's files make sparse weights.
    pub fn sparse(&self) -> &SparseModule {
        &self.sparse
    }

    /// Whether the checkpoint has BERT's pooler.
    pub fn has_pooler(&self) -> bool {
        self.trunk.pooler.is_some()
    }

    /// Numbers in the weights.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// Runs graphs.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}

/// The trunk over the sample's tokens, in sequences that fit its positions.
fn calibration(trunk: &Trunk, sample: &[Vec<u32>]) -> Calibration {
    let mut batch = Batch::default();
    for ids in sample {
        let known: Vec<u32> = ids.iter().copied().filter(|id| (*id as usize) < trunk.sizes.vocabulary).collect();
        known.chunks(trunk.sizes.positions.max(1)).for_each(|ids| batch.push(ids, &vec![0; ids.len()], 0));
    }
    Calibration { graph: Arc::new(trunk.graph.ending_in(trunk.of_all_weights())), batch: Arc::new(batch) }
}
