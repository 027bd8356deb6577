//! Which dense layers come after pooling (sentence-transformers' `Dense` modules)?

use serde_json::json;

use super::config::Fields;
use super::loader::Loader;
use crate::engine::Graph;
use crate::engine::graph::{Activation, ValueId, WeightId};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::formats::{DenseModule, Weights};

/// One dense layer: `activation(x W^T + b)`.
pub(super) struct Dense {
    name: String,
    weight: WeightId,
    bias: Option<WeightId>,
    activation: Activation,
    inputs: usize,
    outputs: usize,
}

/// The last part of the class names that sentence-transformers writes.
const ACTIVATIONS: &[(&str, Activation)] =
    &[("Identity", Activation::Identity), ("Tanh", Activation::Tanh), ("ReLU", Activation::Relu), ("GELU", Activation::Gelu)];

impl Dense {
    /// Loads the module's weights.
    pub(super) fn new(module: DenseModule, loader: &mut Loader) -> Result<Dense> {
        let DenseModule { name, config, weights } = module;
        let file = format!("{name}/config.json").trim_start_matches('/').to_owned();
        let fields = Fields::new(&file, &config)?;
        let (inputs, outputs) = (fields.size("in_features")?, fields.size("out_features")?);
        let activation = activation(&fields).map_err(|e| e.within(&file))?;
        let rest = loader.exchange(weights);
        let loaded = (|| {
            let weight = loader.head("linear.weight", outputs, inputs)?;
            let bias = if fields.flag_or("bias", true)? { Some(loader.vector(&["linear.bias".to_owned()], outputs)?) } else { None };
            loader.refuse_leftovers(|_| false)?;
            Ok((weight, bias))
        })();
        loader.exchange(rest);
        let (weight, bias) = loaded.map_err(|e: Error| e.within(&name))?;
        Ok(Dense { name, weight, bias, activation, inputs, outputs })
    }

    /// Appends the layer.
    ///
    /// # Errors
    /// `InvalidArgument` when the value is not as wide as the layer's input: the request chose another pooling or other layers.
    pub(super) fn append(&self, graph: &mut Graph, input: ValueId) -> Result<ValueId> {
        let width = graph.node(input).width;
        if width != self.inputs {
            let told = format!(
                "{} takes {} values and pooling gives {width}; choose pooling and layers that give as many",
                self.name, self.inputs
            );
            return fail(ErrorKind::InvalidArgument, told);
        }
        Ok(graph.linear(input, self.weight, self.bias, self.activation, self.outputs))
    }
}

/// The projection of colbert-ir's checkpoints, which stands among the encoder's tensors and has no bias.
///
/// # Errors
/// `InvalidTensor` where it is missing or no matrix.
pub(super) fn of_colbert(tensors: &mut Weights) -> Result<DenseModule> {
    let name = "linear.weight";
    let Some(tensor) = tensors.take(name) else {
        return fail(ErrorKind::InvalidTensor, format!("tensor {name:?} is missing from the checkpoint; config.json says HF_ColBERT"));
    };
    let &[outputs, inputs] = tensor.shape() else {
        return fail(ErrorKind::InvalidTensor, format!("tensor {name:?} has shape {:?}; expected a matrix", tensor.shape()));
    };
    let config = json!({"in_features": inputs, "out_features": outputs, "bias": false, "activation_function": "torch.nn.Identity"});
    let mut weights = Weights::default();
    weights.insert(name.to_owned(), tensor)?;
    Ok(DenseModule { name: "the projection".to_owned(), config, weights })
}

/// `activation_function` is the path of a PyTorch class; absent means tanh.
fn activation(fields: &Fields<'_>) -> Result<Activation> {
    if fields.get("activation_function").is_none() {
        return Ok(Activation::Tanh);
    }
    let class = fields.text("activation_function")?;
    let name = class.rsplit('.').next().unwrap_or(class);
    match ACTIVATIONS.iter().find(|(n, _)| *n == name) {
        Some((_, activation)) => Ok(*activation),
        None => {
            let told = format!(
                "a dense layer with activation_function {class:?} is not supported; supported: Identity, Tanh, ReLU, GELU of torch.nn"
            );
            fail(ErrorKind::Unsupported, told)
        }
    }
}
