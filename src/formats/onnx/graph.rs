//! Which constants and operations does an ONNX file have?

use std::collections::BTreeMap;

use super::constant::Constant;
use super::invalid;
use crate::error::Result;
use crate::quant::Bytes;
use crate::quant::protobuf::{Message, Value};

const LFS_POINTER: &[u8] = b"version https://git-lfs";

/// The graph of a file.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) constants: BTreeMap<String, Constant>,
    pub(super) nodes: Vec<Node>,
    /// Bytes of the file.
    pub(super) len: usize,
}

/// An operation (`NodeProto`).
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) op: String,
    /// Empty for ONNX's own operations.
    pub(super) domain: String,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    /// Of `Gemm`: whether it turns its matrix.
    pub(super) turns: bool,
}

impl Graph {
    pub(super) fn read(file: &Bytes) -> Result<Graph> {
        if file.starts_with(LFS_POINTER) {
            return Err(invalid("this is a Git LFS pointer, not the file itself; run `git lfs pull` in the folder"));
        }
        let mut found = None;
        for field in Message::new(file.clone()) {
            if let (7, graph) = field? {
                found = Some(graph.message()?);
            }
        }
        let message = found.ok_or_else(|| invalid("the file holds no graph; not an ONNX model, or damaged"))?;
        let mut graph = Graph { constants: BTreeMap::new(), nodes: Vec::new(), len: file.len() };
        for field in message {
            match field? {
                (1, node) => graph.nodes.push(Node::read(node.message()?)?),
                (5, constant) => {
                    let (name, constant) = Constant::read(constant.message()?)?;
                    if graph.constants.insert(name.clone(), constant).is_some() {
                        return Err(invalid(format!("tensor {name:?} occurs twice")));
                    }
                }
                _ => {}
            }
        }
        Ok(graph)
    }
}

impl Node {
    fn read(message: Message) -> Result<Node> {
        let mut node = Node::default();
        for field in message {
            match field? {
                (1, name) => node.inputs.push(name.text()?),
                (2, name) => node.outputs.push(name.text()?),
                (4, op) => node.op = op.text()?,
                (5, attribute) => node.turns |= turns(attribute.message()?)?,
                (7, domain) => node.domain = domain.text()?,
                _ => {}
            }
        }
        Ok(node)
    }
}

/// Whether an attribute says transB = 1.
fn turns(attribute: Message) -> Result<bool> {
    let (mut is_it, mut on) = (false, false);
    for field in attribute {
        match field? {
            (1, name) => is_it = &**name.bytes()? == b"transB",
            (3, Value::Number(number)) => on = number == 1,
            _ => {}
        }
    }
    Ok(is_it && on)
}
