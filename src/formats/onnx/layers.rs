//! Which layer does each constant of a graph belong to, and how does it lie?
//!
//! Exporters keep the names of parameters but for the matrices of linear layers, which they turn when they fold constants and call
//! `onnx::MatMul_317` or `val_49`. The bias that is added to a product keeps its name, and tells the matrix'. Whether a matrix lies turned,
//! (inputs, outputs), follows from its use and never from its name or shape: as the second factor of `MatMul`, or of a `Gemm` that
//! does not turn it, it does; any other use takes it as it is.

use std::collections::{BTreeMap, BTreeSet};

use super::constant::{Constant, Kind};
use super::graph::{Graph, Node};
use super::invalid;
use crate::error::{ErrorKind, Result, fail};

/// What the names of parameters end with.
const PARAMETERS: &[&str] = &[".weight", ".bias"];

/// Biases whose matrix stands elsewhere than beside them.
const APART: &[(&str, &str)] = &[("cls.predictions.bias", "cls.predictions.decoder.weight"), ("lm_head.bias", "lm_head.decoder.weight")];

/// Parameters that share their numbers with the token embedding, of which exporters keep one name: what looks tokens up is the embedding.
const TIED: &[(&str, &str)] = &[("cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight")];

/// A parameter of the model.
#[derive(Debug)]
pub(super) struct Layer<'a> {
    pub(super) name: String,
    pub(super) constant: &'a str,
    /// Whether it lies (inputs, outputs).
    pub(super) turned: bool,
}

/// The constants of a graph.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub(super) layers: Vec<Layer<'a>>,
    /// Numbers that say how the graph is computed.
    pub(super) passed_over: Vec<&'a str>,
    /// Matrices whose layer is not told.
    pub(super) unknown: Vec<&'a str>,
}

/// Finds the layer of every constant.
///
/// # Errors
/// `InvalidFile` where a matrix is used both turned and not, `Unsupported` for quantised weights.
pub(super) fn find(graph: &Graph) -> Result<Found<'_>> {
    let uses = Uses::of(graph);
    let mut names: Vec<(String, &str, bool)> = Vec::new();
    let (mut passed_over, mut unknown) = (Vec::new(), Vec::new());
    for (name, constant) in &graph.constants {
        let matrix = constant.shape.iter().filter(|d| **d > 1).count() > 1;
        match constant.kind {
            Kind::Byte if matrix => {
                let told = format!("tensor {name:?} is quantised; take the graph that is not (model.onnx), or the model's own weights");
                return fail(ErrorKind::Unsupported, told);
            }
            Kind::Float(_) if is_parameter(name) => {
                let turned = uses.turned(name)?;
                names.extend(uses.aliases(name).into_iter().map(|alias| (alias.to_owned(), name.as_str(), turned)));
                names.extend(uses.embedding(name).map(|tied| (tied, name.as_str(), turned)));
            }
            Kind::Float(_) if matrix => {
                let layers = uses.layers(graph, name, constant)?;
                if layers.is_empty() {
                    unknown.push(name.as_str());
                }
                names.extend(layers.into_iter().map(|(layer, turned)| (layer, name.as_str(), turned)));
            }
            _ => passed_over.push(name.as_str()),
        }
    }
    let wrapper = wrapper(names.iter().map(|(name, ..)| name));
    let layers = names.into_iter().map(|(name, constant, turned)| Layer { name: name[wrapper..].to_owned(), constant, turned });
    Ok(Found { layers: layers.collect(), passed_over, unknown })
}

fn is_parameter(name: &str) -> bool {
    PARAMETERS.iter().any(|end| name.ends_with(end))
}

/// The length of what all names begin with, up to a dot: modules that wrap the model.
fn wrapper<'a>(names: impl Iterator<Item = &'a String> + Clone) -> usize {
    let mut len = 0;
    while let Some(first) = names.clone().next()
        && let Some(dot) = first[len..].find('.')
        && names.clone().count() > 1
        && names.clone().all(|name| name.starts_with(&first[..=len + dot]) && name.len() > len + dot + 1)
    {
        len += dot + 1;
    }
    len
}

/// Which operations use what.
struct Uses<'a> {
    of: BTreeMap<&'a str, Vec<&'a Node>>,
}

impl<'a> Uses<'a> {
    fn of(graph: &'a Graph) -> Uses<'a> {
        let mut of: BTreeMap<&str, Vec<&Node>> = BTreeMap::new();
        for node in &graph.nodes {
            for input in node.inputs.iter().collect::<BTreeSet<_>>() {
                of.entry(input).or_default().push(node);
            }
        }
        Uses { of }
    }

    fn nodes(&self, name: &str) -> &[&'a Node] {
        self.of.get(name).map_or(&[], Vec::as_slice)
    }

    /// The constant's name, and those that parameters with the same numbers have: exporters keep one of them.
    fn aliases(&self, name: &'a str) -> Vec<&'a str> {
        let copies = self.nodes(name).iter().filter(|node| node.op == "Identity").flat_map(|node| &node.outputs);
        [name].into_iter().chain(copies.map(String::as_str).filter(|copy| is_parameter(copy))).collect()
    }

    /// The token embedding, where a parameter that shares its numbers kept its own name.
    fn embedding(&self, name: &str) -> Option<String> {
        let (tied, embedding) = TIED.iter().find(|(tied, _)| name.ends_with(tied))?;
        let looks_up = self.nodes(name).iter().any(|node| node.op == "Gather" && node.inputs.first().is_some_and(|table| table == name));
        looks_up.then(|| format!("{}{embedding}", &name[..name.len() - tied.len()]))
    }

    /// Whether a constant lies (inputs, outputs) where it is used, by any of its names.
    fn turned(&self, name: &'a str) -> Result<bool> {
        let uses: BTreeSet<bool> =
            self.aliases(name).iter().flat_map(|name| self.nodes(name).iter().filter_map(|node| orientation(node, name))).collect();
        if uses.len() > 1 {
            return Err(invalid(format!("tensor {name:?} is used both as (inputs, outputs) and as (outputs, inputs)")));
        }
        Ok(uses.contains(&true))
    }

    /// The layers of a matrix without a name, and whether it lies turned there.
    fn layers(&self, graph: &Graph, name: &str, constant: &Constant) -> Result<Vec<(String, bool)>> {
        let mut found = Vec::new();
        for node in self.nodes(name) {
            let turned = match (node.op.as_str(), orientation(node, name)) {
                ("MatMul" | "Gemm", Some(turned)) => turned,
                _ => continue,
            };
            let [rows, columns] = constant.shape[..] else { continue };
            let outputs = if turned { columns } else { rows };
            let Some(bias) = self.bias(node).filter(|bias| graph_shape(graph, self.original(graph, bias)) == Some(&[outputs])) else {
                continue;
            };
            let apart = APART.iter().find(|(of, _)| bias.ends_with(of)).map(|(of, to)| format!("{}{to}", &bias[..bias.len() - of.len()]));
            found.extend(apart.or_else(|| Some(format!("{}.weight", bias.strip_suffix(".bias")?))).map(|layer| (layer, turned)));
        }
        Ok(found)
    }

    /// The bias that is added to the product of `node`.
    fn bias(&self, node: &'a Node) -> Option<&'a str> {
        if node.op == "Gemm" {
            return node.inputs.get(2).map(String::as_str).filter(|name| name.ends_with(".bias"));
        }
        let [product] = node.outputs.as_slice() else { return None };
        let [sum] = self.nodes(product) else { return None };
        let other = sum.inputs.iter().find(|input| *input != product)?;
        (sum.op == "Add" && other.ends_with(".bias")).then_some(other)
    }

    /// The constant that has a parameter's numbers.
    fn original(&self, graph: &'a Graph, name: &'a str) -> &'a str {
        let copied = || graph.nodes.iter().find(|node| node.op == "Identity" && node.outputs.iter().any(|out| out == name));
        if graph.constants.contains_key(name) { name } else { copied().and_then(|node| node.inputs.first()).map_or(name, String::as_str) }
    }
}

fn graph_shape<'a>(graph: &'a Graph, name: &str) -> Option<&'a [usize]> {
    graph.constants.get(name).map(|constant| constant.shape.as_slice())
}

/// Whether `node` takes the matrix `name` as (inputs, outputs); `None` where it is no product's second factor.
fn orientation(node: &Node, name: &str) -> Option<bool> {
    let factor = node.inputs.get(1).is_some_and(|input| input == name);
    match node.op.as_str() {
        "MatMul" if factor => Some(true),
        "Gemm" if factor => Some(!node.turns),
        "Transpose" | "Gather" => Some(false),
        _ => None,
    }
}
