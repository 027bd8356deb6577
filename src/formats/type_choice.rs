//! In which type shall each tensor be stored, when a person asks for one?
//!
//! A [`TypeChoice`] is the type asked for and the exceptions, as words; [`TypeChoice::resolve`] checks them against a model's
//! tensors and gives what [`Contents::write_gguf`](super::convert::Contents::write_gguf) and its twin ask for.

use std::collections::BTreeMap;

use super::convert::{Item, kept, quantised, unpacked};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::{Dtype, Tensor};

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A GGUF file.
    Gguf,
    /// A folder with safetensors.
    Folder,
}

/// The types that a person asks for.
#[derive(Clone, Debug, Default)]
pub struct TypeChoice {
    asked: Option<Dtype>,
    exceptions: Vec<Exception>,
}

/// A type for tensors by name.
#[derive(Clone, Debug)]
struct Exception {
    pattern: String,
    dtype: Dtype,
}

/// The type of each tensor, by its GGUF name.
#[derive(Clone, Debug)]
pub struct ResolvedTypes(BTreeMap<String, Dtype>);

impl TypeChoice {
    /// The names of the types that can be asked for, in lower case.
    pub fn names() -> Vec<String> {
        Dtype::all().filter(|dtype| dtype.is_float()).map(|dtype| dtype.name().to_lowercase()).collect()
    }

    /// Asks for a type: of the linear layers of a GGUF file, where the table of [`stored_type`](super::stored_type()) guards the
    /// rest; of every tensor of a folder.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is not among [`TypeChoice::names`].
    pub fn ask(&mut self, name: &str) -> Result<()> {
        self.asked = Some(parse(name)?);
        Ok(())
    }

    /// Makes an exception: `blk.0.ffn_down.weight=f16`. Tensors go by their names in GGUF files; `*` stands for any characters,
    /// `?` for one. Later exceptions win over earlier ones.
    ///
    /// # Errors
    /// `InvalidArgument` for words of another form, and for a type that does not exist.
    pub fn except(&mut self, words: &str) -> Result<()> {
        let Some((pattern, name)) = words.rsplit_once('=').filter(|(pattern, _)| !pattern.is_empty()) else {
            return fail(ErrorKind::InvalidArgument, format!("{words:?}: expected PATTERN=TYPE, such as blk.0.*.weight=f16"));
        };
        self.exceptions.push(Exception { pattern: pattern.to_owned(), dtype: parse(name)? });
        Ok(())
    }

    /// The type of each of `items`. Without a type asked for, tensors keep theirs where `form` has it, else they become F32.
    ///
    /// # Errors
    /// `InvalidArgument` for a type that a folder or a tensor cannot have, and for an exception that matches no tensor.
    pub fn resolve(&self, items: &[Item], form: Form) -> Result<ResolvedTypes> {
        if form == Form::Folder {
            let types = self.asked.iter().chain(self.exceptions.iter().map(|e| &e.dtype));
            if let Some(dtype) = types.into_iter().find(|dtype| dtype.safetensors_name().is_none()) {
                let told = format!("a folder's safetensors do not hold {}; ask for f32, f16 or bf16, or write a .gguf file", dtype.name());
                return fail(ErrorKind::InvalidArgument, told);
            }
        }
        let mut chosen: BTreeMap<String, Dtype> =
            items.iter().filter_map(|item| Some((item.gguf_name.clone(), self.usual(item, form)?))).collect();
        for exception in &self.exceptions {
            exception.apply(items, form, &mut chosen)?;
        }
        Ok(ResolvedTypes(chosen))
    }

    fn usual(&self, item: &Item, form: Form) -> Option<Dtype> {
        match (form, self.asked) {
            (Form::Gguf, None) => kept(item),
            (Form::Gguf, Some(asked)) => quantised(asked)(item),
            (Form::Folder, Some(asked)) if item.tensor.dtype().is_float() => Some(asked),
            (Form::Folder, _) => unpacked(item),
        }
    }
}

impl ResolvedTypes {
    /// The type of a tensor.
    pub fn of(&self, item: &Item) -> Option<Dtype> {
        self.0.get(&item.gguf_name).copied()
    }
}

impl Exception {
    fn apply(&self, items: &[Item], form: Form, chosen: &mut BTreeMap<String, Dtype>) -> Result<()> {
        let Exception { pattern, dtype } = self;
        let matching = || items.iter().filter(|item| matches(pattern, &item.gguf_name));
        if matching().next().is_none() {
            let few: Vec<&str> = items.iter().map(|item| item.gguf_name.as_str()).take(4).collect();
            let told =
                format!("{pattern:?} matches no tensor; the model has {} ... (`cloze inspect` of a GGUF file lists them)", few.join(", "));
            return fail(ErrorKind::InvalidArgument, told);
        }
        let is_vector = |tensor: &Tensor| form == Form::Gguf && tensor.shape().len() < 2 && *dtype != Dtype::F32;
        let only_vectors = matching().all(|item| is_vector(&item.tensor));
        for Item { gguf_name, tensor, .. } in matching() {
            // llama.cpp wants vectors in F32; a pattern that matches some beside other tensors is no mistake.
            let is_vector = is_vector(tensor);
            if !tensor.dtype().is_float() || (is_vector && !only_vectors) {
                continue;
            }
            if is_vector || Tensor::bytes_for(*dtype, tensor.shape()).is_none() {
                let why = match tensor.shape() {
                    [] | [_] => "has one dimension and stays F32".to_owned(),
                    [.., row] => format!("has rows of {row} values, no whole blocks of {}", dtype.block_elements()),
                };
                return fail(ErrorKind::InvalidArgument, format!("{pattern}={}: tensor {gguf_name:?} {why}", dtype.name()));
            }
            chosen.insert(gguf_name.clone(), *dtype);
        }
        Ok(())
    }
}

fn parse(name: &str) -> Result<Dtype> {
    let known = || Error::new(ErrorKind::InvalidArgument, format!("{name:?} is no type; types are {}", TypeChoice::names().join(", ")));
    Dtype::from_name(name).filter(|dtype| dtype.is_float()).ok_or_else(known)
}

/// Whether `name` is as `pattern` says, where `*` stands for any characters and `?` for one.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where the last star stands, and how far it has reached.
    let mut star = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, reached)) => {
                    star = Some((at, reached + 1));
                    (p, n) = (at + 1, reached + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::names::Role;
    use crate::quant::Bytes;

    fn item(gguf_name: &str, role: Role, dtype: Dtype, shape: &[usize]) -> Item {
        let bytes = Bytes::owned(vec![0u8; Tensor::bytes_for(dtype, shape).unwrap()]);
        Item {
            dir: String::new(),
            origin: gguf_name.to_owned(),
            name: format!("their {gguf_name}"),
            gguf_name: gguf_name.to_owned(),
            role,
            shared: true,
            tensor: Tensor::new(dtype, shape.to_vec(), bytes).unwrap(),
            skipped_rows: 0,
        }
    }

    fn items() -> Vec<Item> {
        vec![
            item("token_embd.weight", Role::TokenEmbedding, Dtype::F32, &[4, 64]),
            item("blk.0.attn_q.weight", Role::Linear, Dtype::Q4_0, &[64, 64]),
            item("blk.0.attn_q.bias", Role::Vector, Dtype::F32, &[64]),
            item("blk.1.attn_q.weight", Role::Linear, Dtype::F32, &[64, 64]),
        ]
    }

    fn types(asked: Option<&str>, exceptions: &[&str], form: Form) -> Result<Vec<&'static str>> {
        let mut choice = TypeChoice::default();
        asked.map_or(Ok(()), |name| choice.ask(name))?;
        exceptions.iter().try_for_each(|words| choice.except(words))?;
        let resolved = choice.resolve(&items(), form)?;
        Ok(items().iter().map(|item| resolved.of(item).unwrap().name()).collect())
    }

    #[test]
    fn types_are_kept_guarded_or_unpacked() {
        assert_eq!(types(None, &[], Form::Gguf).unwrap(), ["F32", "Q4_0", "F32", "F32"]);
        assert_eq!(types(Some("q4_0"), &[], Form::Gguf).unwrap(), ["Q8_0", "Q4_0", "F32", "Q4_0"]);
        assert_eq!(types(None, &[], Form::Folder).unwrap(), ["F32"; 4]);
        assert_eq!(types(Some("f16"), &[], Form::Folder).unwrap(), ["F16"; 4]);
    }

    #[test]
    fn exceptions_go_by_name_and_the_last_one_wins() {
        let got = types(Some("q8_0"), &["blk.*=q4_0", "blk.?.attn_q.weight=f16", "blk.1.attn_q.weight=F32"], Form::Gguf).unwrap();
        assert_eq!(got, ["Q8_0", "F16", "F32", "F32"]);
        assert_eq!(types(None, &["token_embd.weight=q5_1"], Form::Gguf).unwrap()[0], "Q5_1");
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (exception, form, says) in [
            ("blk.9.*=f16", Form::Gguf, "matches no tensor; the model has token_embd.weight"),
            ("blk.0.attn_q.bias=f16", Form::Gguf, "stays F32"),
            ("*.bias=f16", Form::Gguf, "\"blk.0.attn_q.bias\" has one dimension and stays F32"),
            ("token_embd.weight=q4_k", Form::Gguf, "rows of 64 values, no whole blocks of 256"),
            ("token_embd.weight", Form::Gguf, "PATTERN=TYPE"),
            ("=f16", Form::Gguf, "PATTERN=TYPE"),
            ("*=f99", Form::Gguf, "types are f32, f16, bf16, q8_0"),
            ("*=i64", Form::Gguf, "is no type"),
            ("*=q8_0", Form::Folder, "do not hold Q8_0"),
        ] {
            let e = types(None, &[exception], form).unwrap_err();
            assert!(e.kind() == ErrorKind::InvalidArgument && e.message().contains(says), "{exception}: {e}");
        }
    }

    #[test]
    fn stars_and_marks_match_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("", "", true),
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abcb", false),
            ("*.weight", "blk.0.attn_q.weight", true),
            ("blk.?.x", "blk.10.x", false),
            ("b*k*.x", "blk.blk.0.x", true),
            ("?", "é", true),
            ("a", "ab", false),
            ("**", "ab", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
