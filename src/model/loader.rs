//! Which tensors does a model take, and is every one of the checkpoint accounted for?
//!
//! A family asks for each weight by name and shape; what nobody asked for at the end is an error that names it.

#[cfg(feature = "train")]
use super::fresh::Fresh;
use super::heads::Kind;
use super::parts::{Form, Part};
use crate::engine::graph::WeightId;
use crate::engine::{Role, Weight};
use crate::error::{ErrorKind, Result, fail};
use crate::formats::{Weights, nearest};
use crate::quant::{Bytes, Dtype, Tensor};
use std::ops::Range;

/// Takes tensors out of a checkpoint and lists them for the engine.
pub(super) struct Loader {
    tensors: Weights,
    prefix: String,
    weights: Vec<Weight>,
    /// Every name that was asked for.
    asked: Vec<String>,
    parameters: usize,
    /// Whether a matrix of the trunk is stored in blocks of few bits.
    in_blocks: bool,
    isa: Option<String>,
    /// What whole checkpoints of the family put before the trunk's names.
    canonical: String,
    /// By weight: the tensors that it is made of, as a checkpoint has them.
    parts: Vec<Vec<Part>>,
    /// Rows of weights that stay as they are when a model learns.
    fixed: Vec<(WeightId, Range<usize>)>,
    /// What is made where the checkpoint lacks it.
    #[cfg(feature = "train")]
    fresh: Option<Fresh>,
    #[cfg(feature = "train")]
    invented: Vec<String>,
    /// Heads that are made, too.
    wanted: Vec<Kind>,
    /// How many labels they tell apart, and whether the checkpoint's are others.
    labels: usize,
    anew: bool,
    /// Whether what no wanted head reads is left out.
    alone: bool,
}

/// Old names of a parameter (TensorFlow's), and the name that checkpoints use today.
const OLD_NAMES: &[(&str, &str)] = &[("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta")];

impl Loader {
    /// A loader of `tensors`, whose names may all begin with `prefix` or none.
    /// What is made of weights as they are loaded is computed on the instruction set `isa`.
    pub(super) fn new(tensors: Weights, isa: Option<&str>) -> Loader {
        let (prefix, weights, asked) = (String::new(), Vec::new(), Vec::new());
        Loader {
            tensors,
            prefix,
            weights,
            asked,
            parameters: 0,
            in_blocks: false,
            isa: isa.map(str::to_owned),
            canonical: String::new(),
            parts: Vec::new(),
            fixed: Vec::new(),
            #[cfg(feature = "train")]
            fresh: None,
            #[cfg(feature = "train")]
            invented: Vec::new(),
            wanted: Vec::new(),
            labels: 0,
            anew: false,
            alone: false,
        }
    }

    /// From here on, what the checkpoint lacks is made.
    #[cfg(feature = "train")]
    pub(super) fn make_missing(&mut self, fresh: Fresh) {
        self.wanted.clone_from(&fresh.heads);
        (self.labels, self.anew, self.alone) = (fresh.labels, fresh.anew, fresh.alone);
        self.fresh = Some(fresh);
    }

    /// Whether the model is to learn: what is made of weights must then be made anew at each step.
    pub(super) fn learns(&self) -> bool {
        #[cfg(feature = "train")]
        return self.fresh.is_some();
        #[cfg(not(feature = "train"))]
        false
    }

    /// Keeps these rows of a weight as they are when a model learns: no checkpoint has them, or none may change them.
    pub(super) fn fix(&mut self, id: WeightId, rows: Range<usize>) {
        self.fixed.push((id, rows));
    }

    /// Rows of weights that stay as they are.
    #[cfg(feature = "train")]
    pub(super) fn fixed(&self) -> &[(WeightId, Range<usize>)] {
        &self.fixed
    }

    /// Whether a head is wanted, so that it is made where the checkpoint lacks it.
    pub(super) fn wants(&self, kind: Kind) -> bool {
        self.wanted.contains(&kind)
    }

    /// How many labels a head tells apart that is made; 0 where none is.
    pub(super) fn labels(&self) -> usize {
        self.labels
    }

    /// Drops the layer `name` that tells labels apart, if others are wanted: it is made anew.
    pub(super) fn drop_other_labels(&mut self, name: &str) {
        let weight = format!("{name}.weight");
        let others = self.rows(&weight).is_some_and(|rows| self.labels > 0 && (self.anew || rows != self.labels));
        if others {
            for tensor in [weight, format!("{name}.bias")] {
                self.tensors.take(&format!("{}{tensor}", self.prefix));
            }
        }
    }

    /// Drops the transitions between labels, whose names begin with `prefix`, if labels are others.
    pub(super) fn drop_other_transitions(&mut self, prefix: &str) {
        let others = self.rows(&format!("{prefix}transitions")).is_some_and(|rows| self.labels > 0 && (self.anew || rows != self.labels));
        if others {
            self.drop_all(&format!("{}{prefix}", self.prefix));
        }
    }

    /// Drops the part of the trunk called `name`, which no wanted head reads, if such parts are left out.
    pub(super) fn drop_idle(&mut self, name: &str) {
        if self.alone {
            self.drop_all(&format!("{}{name}.", self.prefix));
        }
    }

    /// Drops tensors whose names begin so.
    pub(super) fn drop_all(&mut self, beginning: &str) {
        let names: Vec<String> = self.tensors.names().filter(|name| name.starts_with(beginning)).map(str::to_owned).collect();
        names.iter().for_each(|name| drop(self.tensors.take(name)));
    }

    /// Names of the tensors that were made.
    #[cfg(feature = "train")]
    pub(super) fn invented(&self) -> &[String] {
        &self.invented
    }

    /// The tensor `name` of a model from nothing, where such is wanted.
    fn invent(&mut self, name: &str, shape: &[usize]) -> Option<Tensor> {
        #[cfg(feature = "train")]
        if let Some(fresh) = &self.fresh {
            self.invented.push(format!("{}{name}", self.canonical));
            return fresh.tensor(name, shape);
        }
        let _ = (name, shape);
        None
    }

    /// By weight: the tensors that it is made of.
    #[cfg(feature = "train")]
    pub(super) fn parts(&self) -> &[Vec<Part>] {
        &self.parts
    }

    /// From here on, names begin with `prefix` if any tensor's does.
    pub(super) fn set_prefix(&mut self, prefix: &str) {
        prefix.clone_into(&mut self.canonical);
        self.prefix = if self.tensors.names().any(|n| n.starts_with(prefix)) { prefix.to_owned() } else { String::new() };
    }

    /// Replaces the tensors to load from (dense layers have a file of their own); what was left is returned.
    pub(super) fn exchange(&mut self, tensors: Weights) -> Weights {
        self.prefix.clear();
        std::mem::replace(&mut self.tensors, tensors)
    }

    /// The linear layers `names`, stacked as one matrix of (outputs, inputs); each part has `outputs / names.len()` rows.
    pub(super) fn matrix(&mut self, names: &[String], outputs: usize, inputs: usize) -> Result<WeightId> {
        self.weight(Role::Matrix, names, &[outputs / names.len(), inputs])
    }

    /// The linear layer `name` of a head, which keeps f32 at every precision.
    pub(super) fn head(&mut self, name: &str, outputs: usize, inputs: usize) -> Result<WeightId> {
        self.weight(Role::Head, &[name.to_owned()], &[outputs, inputs])
    }

    /// The vectors `names`, end to end, `len` numbers together.
    pub(super) fn vector(&mut self, names: &[String], len: usize) -> Result<WeightId> {
        self.weight(Role::Vector, names, &[len / names.len()])
    }

    /// A table that is read whole, row after row: few numbers, all of them in use.
    pub(super) fn whole_table(&mut self, name: &str, rows: usize, width: usize) -> Result<WeightId> {
        self.weight(Role::Vector, &[name.to_owned()], &[rows, width])
    }

    /// The embedding table `name`.
    pub(super) fn table(&mut self, name: &str, rows: usize, width: usize) -> Result<WeightId> {
        self.weight(Role::Table, &[name.to_owned()], &[rows, width])
    }

    /// The convolution `name`, (outputs, inputs, size), as a matrix over rows with their neighbours.
    pub(super) fn convolution(&mut self, name: &str, outputs: usize, inputs: usize, size: usize) -> Result<WeightId> {
        let tensor = self.counted(Role::Matrix, name, &[outputs, inputs, size])?;
        let flat = Tensor::new(tensor.dtype(), vec![outputs, inputs * size], tensor.bytes().clone());
        let Some(flat) = flat else {
            let told = format!("tensor {:?} has type {}, in which it is no matrix", self.named(name), tensor.dtype().name());
            return fail(ErrorKind::InvalidTensor, told);
        };
        let part = Part::plain(self.full(name), &[outputs, inputs, size], 0);
        Ok(self.push(Role::Matrix, self.named(name), vec![flat], vec![part]))
    }

    /// The name of a tensor in a checkpoint of a whole model.
    pub(super) fn full(&self, name: &str) -> String {
        format!("{}{name}", self.canonical)
    }

    /// Takes the tensor `name` as a weight that the engine does not see: what is made of it is given back with [`Loader::made`].
    pub(super) fn source(&mut self, role: Role, name: &str, shape: &[usize]) -> Result<Weight> {
        Ok(Weight { name: self.named(name), role, tensors: vec![self.counted(role, name, shape)?] })
    }

    /// The linear layer `name` as a matrix of (outputs, inputs), stored the other way round.
    pub(super) fn turned(&mut self, name: &str, outputs: usize, inputs: usize) -> Result<WeightId> {
        let stored = self.counted(Role::Matrix, name, &[inputs, outputs])?;
        let part = Part::turned(self.full(name), [inputs, outputs], 0);
        self.arranged(Role::Matrix, self.named(name), (outputs, inputs), vec![(part, stored)])
    }

    /// The linear layer `name` of `outputs`, whose input `order[i]` is the stored one's input `i`.
    pub(super) fn reordered(&mut self, name: &str, outputs: usize, order: Vec<usize>) -> Result<WeightId> {
        let inputs = order.len();
        let stored = self.counted(Role::Matrix, name, &[outputs, inputs])?;
        let plain = Part::plain(self.full(name), &[outputs, inputs], 0);
        let part = Part { form: Form::OrderedColumns(order.into()), ..plain };
        self.arranged(Role::Matrix, self.named(name), (outputs, inputs), vec![(part, stored)])
    }

    /// The embedding table `name` of (rows, width) behind a row of zeros, which stays zero.
    pub(super) fn table_behind_zeros(&mut self, name: &str, rows: usize, width: usize) -> Result<WeightId> {
        let stored = self.counted(Role::Table, name, &[rows, width])?;
        let part = Part::plain(self.full(name), &[rows, width], 1);
        let id = self.arranged(Role::Table, self.named(name), (rows + 1, width), vec![(part, stored)])?;
        self.fix(id, 0..1);
        Ok(id)
    }

    /// A vector of `len` zeros, which stays zero: the bias of what has none.
    pub(super) fn zeros(&mut self, len: usize) -> Result<WeightId> {
        let id = self.made(Role::Vector, "no bias".to_owned(), len, &vec![0.0; len])?;
        self.fix(id, 0..len);
        Ok(id)
    }

    /// Puts the tensor `name`, a row for each further column, beside the table `id`: whoever read the table reads its first columns.
    pub(super) fn widen(&mut self, id: WeightId, name: &str, more: usize) -> Result<()> {
        let (rows, columns) = (self.count(id), self.width(id));
        let rest = self.counted(Role::Table, name, &[more, rows])?;
        let whole = self.weights[id.0].tensors.clone();
        let ([table], [own]) = (&whole[..], &self.parts[id.0][..]) else {
            return fail(ErrorKind::InvalidTensor, format!("tensor {:?} stands beside a table of several parts", self.named(name)));
        };
        let parts = vec![(own.clone(), table.clone()), (Part::turned(self.full(name), [more, rows], columns), rest)];
        let role = self.weights[id.0].role;
        let made = self.arranged(role, format!("{} with {name:?}", self.weights[id.0].name), (rows, columns + more), parts)?;
        self.weights.swap_remove(id.0);
        self.parts.swap_remove(id.0);
        debug_assert_eq!(made.0, self.weights.len(), "the last weight took the table's place");
        Ok(())
    }

    /// A weight of f32 in which each tensor stands as its part says, zeros elsewhere.
    fn arranged(&mut self, role: Role, name: String, (rows, width): (usize, usize), tensors: Vec<(Part, Tensor)>) -> Result<WeightId> {
        let mut numbers = vec![0.0; rows * width];
        tensors.iter().for_each(|(part, tensor)| part.place(&tensor.to_f32(), &mut numbers, width));
        let id = self.made(role, name, rows, &numbers)?;
        self.parts[id.0] = tensors.into_iter().map(|(part, _)| part).collect();
        Ok(id)
    }

    /// A weight of these tensors, stacked; they were taken before.
    pub(super) fn stacked(&mut self, role: Role, name: String, tensors: Vec<Tensor>, parts: Vec<Part>) -> WeightId {
        self.push(role, name, tensors, parts)
    }

    /// Takes the tensor `name`, whatever its shape and type, where the checkpoint has it.
    pub(super) fn raw(&mut self, name: &str) -> Option<Tensor> {
        self.asked.push(self.named(name));
        let tensor = self.tensors.take(&self.named(name))?;
        self.parameters += tensor.elements();
        Some(tensor)
    }

    /// A tensor that was taken or made, as an embedding table.
    pub(super) fn as_table(&mut self, name: &str, tensor: Tensor) -> WeightId {
        self.push(Role::Table, self.named(name), vec![tensor], Vec::new())
    }

    /// Part `part` of a weight that was taken, as a weight of its own.
    pub(super) fn part(&self, id: WeightId, part: usize) -> Weight {
        let Weight { name, role, tensors } = &self.weights[id.0];
        Weight { name: name.clone(), role: *role, tensors: vec![tensors[part].clone()] }
    }

    /// A weight made of others: (rows, columns), of f32.
    pub(super) fn made(&mut self, role: Role, name: String, rows: usize, numbers: &[f32]) -> Result<WeightId> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        let Some(tensor) = Tensor::new(Dtype::F32, vec![rows, numbers.len() / rows.max(1)], Bytes::owned(bytes)) else {
            return fail(ErrorKind::InvalidTensor, format!("{name}: its numbers do not fill {rows} rows"));
        };
        Ok(self.push(role, name, vec![tensor], Vec::new()))
    }

    fn push(&mut self, role: Role, name: String, tensors: Vec<Tensor>, parts: Vec<Part>) -> WeightId {
        self.parts.push(parts);
        self.weights.push(Weight { name, role, tensors });
        WeightId(self.weights.len() - 1)
    }

    fn named(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The instruction set that was asked for.
    pub(super) fn isa(&self) -> Option<&str> {
        self.isa.as_deref()
    }

    /// Numbers of the checkpoint in use.
    pub(super) fn parameters(&self) -> usize {
        self.parameters
    }

    /// Whether a matrix of the trunk is stored in blocks of few bits.
    pub(super) fn in_blocks(&self) -> bool {
        self.in_blocks
    }

    /// The columns of a weight that was taken.
    pub(super) fn width(&self, id: WeightId) -> usize {
        self.weights[id.0].tensors[0].row_len()
    }

    /// The rows of a weight that was taken.
    pub(super) fn count(&self, id: WeightId) -> usize {
        self.weights[id.0].rows()
    }

    /// Takes the vector `name` of `len` numbers, which stands for another one and is not computed with.
    pub(super) fn drop_copy(&mut self, name: &str, len: usize) -> Result<()> {
        self.take(name, &[len]).map(|_| ())
    }

    /// Whether the checkpoint has the tensor `name`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tensors.get(&format!("{}{name}", self.prefix)).is_some()
    }

    /// Whether the checkpoint has a tensor whose name begins so.
    pub(super) fn has_any(&self, beginning: &str) -> bool {
        let full = format!("{}{beginning}", self.prefix);
        self.tensors.names().any(|n| n.starts_with(&full))
    }

    /// The size of the first dimension of the tensor `name`, where the checkpoint has it.
    pub(super) fn rows(&self, name: &str) -> Option<usize> {
        self.tensors.get(&format!("{}{name}", self.prefix))?.shape().first().copied()
    }

    /// The shape of the tensor `name`, where the checkpoint has it and it is of (rows, columns).
    pub(super) fn sizes(&self, name: &str) -> Option<[usize; 2]> {
        self.tensors.get(&format!("{}{name}", self.prefix))?.shape().try_into().ok()
    }

    /// The numbers of the tensor `name`, for what no engine computes.
    pub(super) fn numbers(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        Ok(self.take(name, shape)?.to_f32())
    }

    fn weight(&mut self, role: Role, names: &[String], shape: &[usize]) -> Result<WeightId> {
        let tensors = names.iter().map(|n| self.counted(role, n, shape)).collect::<Result<Vec<_>>>()?;
        let name = names.iter().map(|n| self.named(n)).collect::<Vec<_>>().join(" + ");
        let rows = shape.first().copied().unwrap_or(1);
        let parts = names.iter().enumerate().map(|(i, n)| Part::plain(self.full(n), shape, i * rows)).collect();
        Ok(self.push(role, name, tensors, parts))
    }

    /// Takes a tensor that is computed with.
    fn counted(&mut self, role: Role, name: &str, shape: &[usize]) -> Result<Tensor> {
        let tensor = self.take(name, shape)?;
        self.parameters += tensor.elements();
        self.in_blocks |= role == Role::Matrix && tensor.dtype().is_quantised();
        Ok(tensor)
    }

    fn take(&mut self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let full = format!("{}{name}", self.prefix);
        let old = OLD_NAMES.iter().find_map(|(new, old)| full.strip_suffix(new).map(|stem| format!("{stem}{old}")));
        let found = self.tensors.take(&full).or_else(|| self.tensors.take(&old?));
        let Some(tensor) = found.or_else(|| self.invent(name, shape)) else {
            let told = format!("tensor {full:?} is missing from the checkpoint{}", like(&full, self.tensors.names()));
            return fail(ErrorKind::InvalidTensor, told);
        };
        self.asked.push(full.clone());
        if tensor.shape() != shape {
            let told = format!("tensor {full:?} has shape {:?}; config.json makes it {shape:?}", tensor.shape());
            return fail(ErrorKind::InvalidTensor, told);
        }
        if !tensor.dtype().is_float() {
            let told = format!("tensor {full:?} has type {}; expected a float or a quantised type", tensor.dtype().name());
            return fail(ErrorKind::InvalidTensor, told);
        }
        Ok(tensor)
    }

    /// Refuses tensors that nobody took, except those that `ignored` says are harmless.
    pub(super) fn refuse_leftovers(&self, ignored: impl Fn(&str) -> bool) -> Result<()> {
        let unknown: Vec<&str> = self.tensors.names().filter(|n| !ignored(n)).collect();
        match unknown.as_slice() {
            [] => Ok(()),
            [first, rest @ ..] => {
                let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
                let near = like(first, self.asked.iter().map(String::as_str));
                let told = format!("tensor {first:?}{more}: the model that config.json describes has no such weight{near}");
                fail(ErrorKind::InvalidTensor, told)
            }
        }
    }

    /// The weights in the order of their ids.
    pub(super) fn into_weights(self) -> Vec<Weight> {
        self.weights
    }
}

/// The names that are most like one that is not there, for messages.
fn like<'a>(name: &str, others: impl Iterator<Item = &'a str>) -> String {
    let near = nearest(name, others);
    if near.is_empty() { String::new() } else { format!("; nearest are {}", near.join(" and ")) }
}
