//! What do the known names make of their arguments?

use super::globals::Known;
use super::invalid;
use super::pickle::{MOST, Machine, Ref, Storage, Value, View};
use crate::error::{ErrorKind, Result, fail};

/// Keys are numbers; each tensor has its own copy.
const KEY_MAX: usize = 64;

impl Machine<'_> {
    /// `REDUCE` and `NEWOBJ`: what a known name makes of its arguments.
    pub(super) fn call(&mut self) -> Result<()> {
        let (arguments, callee) = (self.pop()?, self.pop()?);
        let (Value::Global(known), Value::Tuple(arguments)) = (self.get(callee), self.get(arguments)) else {
            return Err(invalid("it calls a value that is no name"));
        };
        // None of them looks at more.
        let (known, arguments) = (*known, arguments.iter().copied().take(8).collect::<Vec<Ref>>());
        let made = match (known, arguments.as_slice()) {
            (Known::Dict, []) => Value::Dict(Vec::new()),
            // Python 2 gives the entries as a list of pairs.
            (Known::Dict, [entries]) => {
                let pairs = self.pairs(*entries)?;
                self.copied += pairs.len();
                if self.copied > MOST {
                    return Err(invalid("it copies more entries than a checkpoint has"));
                }
                Value::Dict(pairs)
            }
            (Known::Size, [sizes]) => {
                self.stack.push(*sizes);
                return Ok(());
            }
            (Known::Parameter, [tensor, ..]) => {
                self.stack.push(*tensor);
                return Ok(());
            }
            (Known::Tensor, [storage, offset, shape, strides, ..]) => self.view(*storage, *offset, *shape, *strides)?,
            (Known::Other, _) => Value::Other,
            _ => return Err(invalid("it calls a name with arguments that the name does not take")),
        };
        self.push(made)
    }

    fn pairs(&self, entries: Ref) -> Result<Vec<(Ref, Ref)>> {
        let Value::List(entries) = self.get(entries) else { return Err(invalid("a dictionary is made of a value that is no list")) };
        let pair = |entry: &Ref| match self.get(*entry) {
            Value::List(pair) | Value::Tuple(pair) => <[Ref; 2]>::try_from(pair.as_slice()).ok().map(|[key, value]| (key, value)),
            _ => None,
        };
        entries.iter().map(|entry| pair(entry).ok_or_else(|| invalid("an entry of a dictionary is no pair"))).collect()
    }

    fn view(&self, storage: Ref, offset: Ref, shape: Ref, strides: Ref) -> Result<Value> {
        let Value::Storage(storage) = self.get(storage) else { return Err(invalid("a tensor is made of a value that is no storage")) };
        let (shape, strides) = (self.sizes(shape)?, self.sizes(strides)?);
        if shape.len() != strides.len() {
            return Err(invalid(format!("a tensor of shape {shape:?} has the strides {strides:?}")));
        }
        Ok(Value::Tensor(Box::new(View { storage: (**storage).clone(), offset: self.size(offset)?, shape, strides })))
    }

    fn sizes(&self, at: Ref) -> Result<Vec<usize>> {
        match self.get(at) {
            Value::Tuple(sizes) | Value::List(sizes) if sizes.len() <= 16 => sizes.iter().map(|size| self.size(*size)).collect(),
            _ => Err(invalid("a tensor's shape is no tuple of up to 16 numbers")),
        }
    }

    fn size(&self, at: Ref) -> Result<usize> {
        match self.get(at) {
            Value::Int(size) => usize::try_from(*size).map_err(|_| invalid(format!("{size} is no size"))),
            _ => Err(invalid("a size is no whole number")),
        }
    }

    /// `BUILD` sets attributes, which no value here has: PyTorch's `_metadata` of a state dict is one.
    pub(super) fn build(&mut self) -> Result<()> {
        let _state = self.pop()?;
        match self.get(self.top()?) {
            Value::Dict(_) | Value::Other | Value::Tensor(_) => Ok(()),
            _ => Err(invalid("it sets attributes of a value that has none")),
        }
    }

    /// `BINPERSID`: ('storage', type, key, device, length[, None or (key, offset, length)]); in a tar archive, the number of a tensor.
    pub(super) fn storage(&mut self) -> Result<()> {
        let id = self.pop()?;
        let id = match self.get(id) {
            Value::Tuple(id) => id,
            Value::Text(key) if self.outside.contains_key(key) => {
                let view = self.outside[key].clone();
                return self.push(Value::Tensor(Box::new(view)));
            }
            _ => return Err(invalid("a storage is named by a value that is no tuple")),
        };
        let (tag, kind, key, len, part) = match id.as_slice() {
            [tag, kind, key, _, len] => (*tag, *kind, *key, *len, None),
            [tag, kind, key, _, len, part] => (*tag, *kind, *key, *len, Some(*part)),
            _ => return Err(invalid("a storage is named by a tuple of another length")),
        };
        let (Value::Text(tag), Value::Global(Known::Storage(element)), Value::Text(key)) = (self.get(tag), self.get(kind), self.get(key))
        else {
            return Err(invalid("a storage lacks its type or its key"));
        };
        if key.len() > KEY_MAX {
            return Err(invalid("the key of a storage is longer than any"));
        }
        if tag != "storage" {
            return fail(ErrorKind::Unsupported, format!("the pickle refers to a {tag:?} outside it; only storages are read"));
        }
        let part = match part.map(|part| self.get(part)) {
            None | Some(Value::None) => None,
            Some(Value::Tuple(part)) if part.len() == 3 => Some((self.size(part[1])?, self.size(part[2])?)),
            Some(_) => return Err(invalid("a part of a storage is no tuple of three")),
        };
        let storage = Storage { key: key.clone(), element: *element, len: self.size(len)?, part };
        self.push(Value::Storage(Box::new(storage)))
    }
}
