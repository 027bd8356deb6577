//! Which tensors does a checkpoint hold, and was each one used?
//!
//! The parsers [`insert`](Weights::insert) every tensor of every file; a model family [`take`](Weights::take)s those it knows.
//! What is left at the end is unknown to the model, and its names go into the error.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::error::{ErrorKind, Result, fail};
use crate::quant::Tensor;

/// Tensors by name. A name occurs once.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    tensors: BTreeMap<String, Tensor>,
    /// Names in the file, where they are others.
    origins: BTreeMap<String, String>,
    skipped: BTreeSet<String>,
}

impl Weights {
    /// Adds a tensor.
    ///
    /// # Errors
    /// `InvalidTensor` when the name is taken: two tensors of one name leave open which one is meant.
    pub fn insert(&mut self, name: String, tensor: Tensor) -> Result<()> {
        match self.tensors.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert(tensor);
                Ok(())
            }
            Entry::Occupied(entry) => fail(ErrorKind::InvalidTensor, format!("tensor {:?} occurs twice", entry.key())),
        }
    }

    /// Adds a tensor that its file calls `origin`.
    ///
    /// # Errors
    /// As [`Weights::insert`].
    pub fn insert_as(&mut self, name: String, origin: &str, tensor: Tensor) -> Result<()> {
        if name != origin {
            self.origins.insert(name.clone(), origin.to_owned());
        }
        self.insert(name, tensor)
    }

    /// The name that the tensor `name` has in its file.
    pub fn origin<'a>(&'a self, name: &'a str) -> &'a str {
        self.origins.get(name).map_or(name, String::as_str)
    }

    /// Gives the tensor `old`, if there is one, another name.
    ///
    /// # Errors
    /// `InvalidTensor` when the name is taken.
    pub fn rename(&mut self, old: &str, new: &str) -> Result<()> {
        let Some(tensor) = self.tensors.remove(old) else { return Ok(()) };
        let origin = self.origins.remove(old).unwrap_or_else(|| old.to_owned());
        self.insert_as(new.to_owned(), &origin, tensor)
    }

    /// Notes a tensor of the file that no model takes: a buffer of whole numbers, an optimizer's state.
    pub fn skip(&mut self, name: String) {
        self.skipped.insert(name);
    }

    /// The tensors that were passed over, by their names in the file.
    pub fn skipped(&self) -> impl Iterator<Item = &str> {
        self.skipped.iter().map(String::as_str)
    }

    /// Adds every tensor of `other`.
    ///
    /// # Errors
    /// `InvalidTensor` when a name is taken.
    pub fn append(&mut self, other: Weights) -> Result<()> {
        self.origins.extend(other.origins);
        self.skipped.extend(other.skipped);
        other.tensors.into_iter().try_for_each(|(name, tensor)| self.insert(name, tensor))
    }

    /// The tensor of that name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// Removes and returns the tensor of that name, so that what remains was not used.
    pub fn take(&mut self, name: &str) -> Option<Tensor> {
        self.tensors.remove(name)
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Names and tensors, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// How many tensors there are.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quant::{Bytes, Dtype};

    fn tensor(value: f32) -> Tensor {
        Tensor::new(Dtype::F32, vec![1], Bytes::owned(value.to_le_bytes())).unwrap()
    }

    #[test]
    fn what_is_taken_is_gone_and_the_rest_is_sorted() {
        let mut weights = Weights::default();
        for (i, name) in ["c", "a", "b"].into_iter().enumerate() {
            weights.insert(name.to_owned(), tensor(i as f32)).unwrap();
        }
        assert_eq!(weights.names().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(weights.get("c").unwrap().to_f32(), [0.0]);
        assert_eq!(weights.take("a").unwrap().to_f32(), [1.0]);
        assert!(weights.take("a").is_none());
        assert_eq!(weights.iter().map(|(n, t)| (n, t.to_f32()[0])).collect::<Vec<_>>(), [("b", 2.0), ("c", 0.0)]);
        assert_eq!((weights.len(), weights.is_empty()), (2, false));
    }

    #[test]
    fn a_name_that_is_taken_is_refused_and_the_first_tensor_stays() {
        let mut weights = Weights::default();
        weights.insert("a".to_owned(), tensor(1.0)).unwrap();
        let e = weights.insert("a".to_owned(), tensor(2.0)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidTensor);
        assert!(e.message().contains("\"a\""), "{e}");
        let mut other = Weights::default();
        other.insert("a".to_owned(), tensor(3.0)).unwrap();
        assert!(weights.append(other).is_err());
        assert_eq!(weights.get("a").unwrap().to_f32(), [1.0]);
    }
}
