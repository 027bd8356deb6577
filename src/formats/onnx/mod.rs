//! ONNX: the weights of an exported encoder.
//!
//! An ONNX file is a graph of operations with its constants. Only the constants are taken; what is computed is what config.json says,
//! as for any other checkpoint. `graph` reads the file, `layers` finds the name and the orientation of each constant from the
//! operations that use it, `constant` reads its numbers.
//!
//! Source of the format: `onnx/onnx.proto`; of the names: what `torch.onnx.export` writes with either exporter.

mod constant;
mod graph;
mod layers;

use super::checkpoint::join;
use super::nearest::told;
use super::tensorflow::transposed;
use super::{Source, Weights};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::Tensor;
use constant::{Files, Kind};
use graph::Graph;
use layers::Found;

fn invalid(sentence: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidFile, sentence)
}

/// Every weight of the graph in the file `name` of the folder `dir`.
///
/// # Errors
/// `InvalidFile` when the file is damaged, `InvalidTensor` for a matrix that no operation tells the layer of, `Unsupported` for graphs that
/// were optimised or quantised.
pub(super) fn read(source: &Source, dir: &str, name: &str) -> Result<Weights> {
    let path = join(dir, name);
    let within = |e: Error| e.within(source.label(&path));
    let graph = Graph::read(&source.require_mapped(&path)?).map_err(within)?;
    weights(source, path.rsplit_once('/').map_or("", |(dir, _)| dir), &graph).map_err(within)
}

fn weights(source: &Source, dir: &str, graph: &Graph) -> Result<Weights> {
    if let Some(node) = graph.nodes.iter().find(|node| !matches!(node.domain.as_str(), "" | "ai.onnx")) {
        let told = format!(
            "operation {} of {}: the graph was optimised or quantised; export it again without, or take the model's own weights",
            node.op, node.domain
        );
        return fail(ErrorKind::Unsupported, told);
    }
    let Found { layers, passed_over, unknown } = layers::find(graph)?;
    if !unknown.is_empty() {
        let biases: Vec<String> = graph.constants.keys().filter(|name| name.contains('.')).cloned().collect();
        let what = "is a matrix of the graph, and no operation tells its layer (a bias added to its product would); export the model again \
                    with a range of lengths (dynamic axes), or take the model's own weights";
        return told(what, &unknown, |_| biases.clone());
    }
    let mut weights = Weights::default();
    let mut files = Files::of(source, dir);
    let mut taken = 0usize;
    for layer in layers {
        let constant = &graph.constants[layer.constant];
        let within = |e: Error| e.within(format!("tensor {:?}", layer.constant));
        let Kind::Float(dtype) = constant.kind else { continue };
        let bytes = constant.bytes(&mut files).map_err(within)?;
        taken = taken.saturating_add(bytes.len());
        // Constants may share a range, and layers a constant: as often as models do.
        if taken > (graph.len + files.len()).saturating_mul(4) {
            return Err(within(invalid("its layers together are many times as large as its files")));
        }
        let (bytes, shape) = match (layer.turned, constant.shape.as_slice()) {
            (true, [rows, columns]) => (transposed(&bytes, *rows, *columns, dtype.block_bytes()), vec![*columns, *rows]),
            (_, shape) => (bytes, shape.to_vec()),
        };
        let tensor = Tensor::new(dtype, shape, bytes).ok_or_else(|| within(invalid("its shape does not fit its bytes")))?;
        // A tied matrix may be there twice, as it is and turned.
        match weights.get(&layer.name) {
            Some(other) if (other.shape(), &**other.bytes()) == (tensor.shape(), &**tensor.bytes()) => {}
            _ => weights.insert_as(layer.name, layer.constant, tensor)?,
        }
    }
    passed_over.iter().for_each(|name| weights.skip((*name).to_owned()));
    Ok(weights)
}
