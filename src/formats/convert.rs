//! How does a model become a GGUF file, or a folder?
//!
//! [`Contents::of`] lists what a model consists of, whatever it is stored in; [`Contents::write_gguf`] and
//! [`Contents::write_folder`] write it, in the types that a callback chooses for each tensor. Nothing is lost on the way: a GGUF
//! file carries the folder's small files as they are, and llama.cpp's own keys and names beside them, so that it opens the same
//! file where it knows all tensors ([`Item::shared`]).
//!
//! ```no_run
//! use cloze::formats::{Source, convert::{Contents, quantised}};
//! use cloze::quant::Dtype;
//!
//! let contents = Contents::of(&Source::open("models/minilm".as_ref())?)?;
//! contents.write_gguf("minilm.gguf".as_ref(), quantised(Dtype::Q8_0), |done, all| eprintln!("{done} of {all} bytes"))?;
//! # Ok::<(), cloze::Error>(())
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use serde_json::Value as Json;

use super::atomic::{AtomicFile, AtomicFolder};
use super::gguf::{Array, Metadata, Value, Writer};
use super::names::{Family, Named, OWN, Role};
use super::package::{ARCHITECTURE, FILES, PREFIX, TOKENIZER, TRUNK};
use super::{Source, TensorPlan, checkpoint, checksums, huggingface, llama_cpp, positions, safetensors, soundness, stored_type};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::{Bytes, Dtype, Tensor};

/// A tensor of a model.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its folder: empty for the model's own, `2_Dense` for a module's.
    pub dir: String,
    /// Its Hugging Face name.
    pub name: String,
    /// Its name in the source's file.
    pub origin: String,
    /// Its name in a GGUF file.
    pub gguf_name: String,
    /// What it is for.
    pub role: Role,
    /// Whether llama.cpp knows it. It refuses a file that has another.
    pub shared: bool,
    /// Type, shape and numbers as the model has them.
    pub tensor: Tensor,
    /// How many of its first rows are left out of GGUF files, where they are a setting.
    pub skipped_rows: usize,
}

impl Item {
    /// What a GGUF file has of the tensor.
    fn stored(&self) -> Tensor {
        let rows = self.skipped_rows..self.tensor.rows();
        self.tensor.rows_of(rows).filter(|_| self.skipped_rows > 0).unwrap_or_else(|| self.tensor.clone())
    }
}

/// What a model consists of.
#[derive(Debug)]
pub struct Contents {
    /// The settings of a GGUF file, all but `general.file_type`; more may be added before it is written.
    pub metadata: Metadata,
    /// The tensors: the trunk's by name, then the modules'.
    pub items: Vec<Item>,
    /// Tensors of the source that no model takes, by their names there: buffers, an optimizer's state.
    pub left_out: Vec<String>,
    /// The folder's files but for those with tensors.
    files: BTreeMap<String, Bytes>,
    /// The folder of the Transformer, empty for the model's own.
    trunk: String,
}

/// Chooses [`stored_type()`] for a file whose linear layers have type `asked`: small and delicate tensors get a better one. Whole
/// numbers stay.
pub fn quantised(asked: Dtype) -> impl Fn(&Item) -> Option<Dtype> {
    move |item| {
        let dtype = item.tensor.dtype();
        Some(if dtype.is_float() { stored_type(asked, item.role, item.tensor.shape()) } else { dtype })
    }
}

/// Chooses the types that the tensors have, but F32 for vectors and small embeddings, as llama.cpp wants them.
pub fn kept(item: &Item) -> Option<Dtype> {
    let dtype = item.tensor.dtype();
    let full = item.tensor.shape().len() < 2 || matches!(item.role, Role::Vector | Role::SmallEmbedding);
    Some(if dtype.is_float() && full { Dtype::F32 } else { dtype })
}

/// Chooses the types that the tensors have where safetensors has them, and F32 for others.
pub fn unpacked(item: &Item) -> Option<Dtype> {
    let dtype = item.tensor.dtype();
    Some(if dtype.safetensors_name().is_some() { dtype } else { Dtype::F32 })
}

/// Whether the checkpoint holds the tensor twice and says that both are one: it is then stored once, as `transformers` stores it today.
fn is_copy(folder: &huggingface::Folder, family: &Family, name: &str, tensor: &Tensor) -> bool {
    let tied = folder.config.get("tie_word_embeddings") != Some(&Json::Bool(false));
    let same = |original: &String| {
        let original = folder.weights.get(original);
        original.is_some_and(|o| (o.dtype(), o.shape()) == (tensor.dtype(), tensor.shape()) && o.bytes()[..] == tensor.bytes()[..])
    };
    tied && family.original(name).is_some_and(|names| names.iter().any(same))
}

impl Contents {
    /// Lists what the model in `source` consists of.
    ///
    /// # Errors
    /// As [`huggingface::open`], and `Unsupported` for a family that [`super::names`] does not have.
    pub fn of(source: &Source) -> Result<Contents> {
        let folder = huggingface::open(source)?;
        let Some(family) = Family::of_config(&folder.config) else {
            let model_type = folder.config.get("model_type").and_then(Json::as_str).unwrap_or_default();
            let told = format!("{}: models of model_type {model_type:?} have no names in GGUF files yet", source.describe());
            return fail(ErrorKind::Unsupported, told);
        };
        let (trunk, files) = huggingface::files(source)?;
        let mut items = Vec::new();
        let mut prefix = "";
        let ranks = folder.weights.names().any(|name| family.ranks_by(name));
        let is_needed = |name: &str, tensor: &Tensor| !family.is_buffer(name) && !is_copy(&folder, family, name, tensor);
        let unneeded = folder.weights.iter().filter(|(name, tensor)| !is_needed(name, tensor)).map(|(name, _)| folder.weights.origin(name));
        let left_out = unneeded.chain(folder.weights.skipped()).map(str::to_owned).collect();
        for (name, tensor) in folder.weights.iter().filter(|(name, tensor)| is_needed(name, tensor)) {
            prefix = if name.starts_with(family.prefix) { family.prefix } else { prefix };
            let Named { name: gguf_name, role, shared } = family.to_gguf(name, ranks);
            items.push(Item {
                dir: trunk.clone(),
                name: modern(family, name, shared.then_some(&gguf_name), ranks),
                origin: folder.weights.origin(name).to_owned(),
                gguf_name,
                role,
                shared,
                tensor: tensor.clone(),
                skipped_rows: 0,
            });
        }
        for dense in &folder.sentence.dense {
            items.extend(dense.weights.iter().map(|(name, tensor)| Item {
                dir: dense.name.clone(),
                name: name.to_owned(),
                origin: dense.weights.origin(name).to_owned(),
                gguf_name: format!("{OWN}{}/{name}", dense.name),
                role: if tensor.shape().len() < 2 { Role::Vector } else { Role::Head },
                shared: false,
                tensor: tensor.clone(),
                skipped_rows: 0,
            }));
        }
        let mut metadata = Metadata::default();
        metadata.set(ARCHITECTURE, Value::String(family.architecture.into()));
        metadata.set("general.type", Value::String("model".into()));
        metadata.set("general.name", Value::String(model_name(source, &folder.config)));
        if family.in_llama_cpp {
            llama_cpp::describe(family, &folder.config, folder.sentence.pooling.as_ref(), ranks, &mut metadata)?;
            let rows = items.iter().find(|item| item.role == Role::TokenEmbedding).map_or(0, |item| item.tensor.rows());
            llama_cpp::describe_tokenizer(&folder.tokenizer, folder.sentence.do_lower_case, rows, &mut metadata)?;
        }
        positions::cut(&mut items, family.skipped_positions(&folder.config), &mut metadata)?;
        for (key, value) in [(TRUNK, trunk.as_str()), (PREFIX, prefix)] {
            if !value.is_empty() {
                metadata.set(key, Value::String(value.to_owned()));
            }
        }
        add_files(&trunk, &files, &mut metadata)?;
        carry_over(source, &mut metadata);
        Ok(Contents { metadata, items, left_out, files, trunk })
    }

    /// Writes a GGUF file, whole or not at all; `target` must not exist. `choose` gives each tensor's type in the file, `None` to leave
    /// it out; `progress` hears the bytes written so far and how many there will be.
    ///
    /// # Errors
    /// `Io` when the system refuses, `InvalidArgument` when `target` exists, for a type that a tensor cannot have, and for numbers
    /// that are lost in a type; `NonFinite` for a number that is not finite or that the type cannot hold.
    pub fn write_gguf(&self, target: &Path, choose: impl Fn(&Item) -> Option<Dtype>, progress: impl FnMut(usize, usize)) -> Result<()> {
        self.store_gguf(AtomicFile::create(target)?, choose, progress, |_| Ok(()))
    }

    /// As [`Contents::write_gguf`], into a file that was begun. `check` is given the path of the whole file before that gets its name;
    /// what it refuses leaves nothing behind.
    ///
    /// # Errors
    /// As [`Contents::write_gguf`], and those of `check`.
    pub fn store_gguf(
        &self,
        mut file: AtomicFile,
        choose: impl Fn(&Item) -> Option<Dtype>,
        progress: impl FnMut(usize, usize),
        check: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<()> {
        self.write_gguf_to(&mut file, choose, progress).map_err(|e| e.within(file.target().display()))?;
        check(file.finished()?)?;
        file.commit()
    }

    /// As [`Contents::write_gguf`], to any place.
    ///
    /// # Errors
    /// As [`Contents::write_gguf`].
    pub fn write_gguf_to(
        &self,
        out: &mut (impl Write + Seek),
        choose: impl Fn(&Item) -> Option<Dtype>,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<()> {
        let chosen: Vec<(&Item, Dtype)> = self.items.iter().filter_map(|item| Some((item, choose(item)?))).collect();
        let plan = |(item, dtype): &(&Item, Dtype)| TensorPlan {
            name: item.gguf_name.clone(),
            dtype: *dtype,
            shape: item.stored().shape().to_vec(),
        };
        let plans: Vec<TensorPlan> = chosen.iter().map(plan).collect();
        let mut metadata = self.stated(&chosen);
        checksums::put(&mut metadata, vec![0; plans.len()]);
        let writer = Writer::new(&metadata, plans.clone())?;
        let refused = |e: std::io::Error| Error::new(ErrorKind::Io, format!("cannot write: {e}"));
        let start = out.stream_position().map_err(refused)?;
        let (mut rest, mut sums) = (chosen.iter(), Vec::new());
        let data = |plan: &TensorPlan| {
            let bytes = next(&mut rest, plan.dtype)?;
            sums.push(checksums::of_tensor(plan, &bytes));
            Ok(bytes)
        };
        writer.write(out, data, |done| progress(done, writer.len()))?;
        // The checksums are known now: the head again, of the same length.
        checksums::put(&mut metadata, sums);
        let head = Writer::new(&metadata, plans)?;
        out.seek(SeekFrom::Start(start))
            .and_then(|_| out.write_all(head.head()))
            .and_then(|()| out.seek(SeekFrom::End(0)))
            .map_err(refused)?;
        Ok(())
    }

    /// The settings of a file with tensors of these types.
    fn stated(&self, chosen: &[(&Item, Dtype)]) -> Metadata {
        let mut metadata = self.metadata.clone();
        let linear = most_common(chosen.iter().filter(|(item, _)| item.role == Role::Linear).map(|(_, dtype)| *dtype));
        if let Some(number) = linear.and_then(llama_cpp::file_type) {
            metadata.set("general.file_type", Value::U32(number));
        }
        if chosen.iter().any(|(_, dtype)| dtype.is_quantised()) {
            // The layout of the blocks since May 2023.
            metadata.set("general.quantization_version", Value::U32(2));
        }
        metadata
    }

    /// Writes a Hugging Face folder with safetensors, whole or not at all; `target` must not exist. `choose` gives each tensor's
    /// type, `None` to leave it out; `progress` hears the bytes of tensors written so far and how many there will be.
    ///
    /// # Errors
    /// As [`Contents::write_gguf`]; `InvalidArgument` when `target` exists, and for a type that safetensors does not have.
    pub fn write_folder(&self, target: &Path, choose: impl Fn(&Item) -> Option<Dtype>, progress: impl FnMut(usize, usize)) -> Result<()> {
        self.fill(AtomicFolder::create(target)?, choose, progress).map_err(|e| e.within(target.display()))
    }

    /// As [`Contents::write_folder`], in place of a folder that holds files of the names that are written, the shards of an older
    /// checkpoint, and nothing else.
    ///
    /// # Errors
    /// As [`Contents::write_folder`]; `InvalidArgument` when another file is in the way.
    pub fn replace_folder(&self, target: &Path, choose: impl Fn(&Item) -> Option<Dtype>, progress: impl FnMut(usize, usize)) -> Result<()> {
        let mut ours: BTreeSet<String> = self.files.keys().cloned().collect();
        for dir in self.items.iter().map(|item| item.dir.as_str()).chain([self.trunk.as_str()]).collect::<BTreeSet<_>>() {
            ours.extend(checkpoint::files_in(target, dir));
        }
        self.fill(AtomicFolder::replacing(target, ours)?, choose, progress).map_err(|e| e.within(target.display()))
    }

    fn fill(&self, folder: AtomicFolder, choose: impl Fn(&Item) -> Option<Dtype>, mut progress: impl FnMut(usize, usize)) -> Result<()> {
        for (name, bytes) in &self.files {
            let mut file = folder.file(name)?;
            file.write_all(bytes).map_err(|e| Error::new(ErrorKind::Io, format!("cannot write {name}: {e}")))?;
            file.commit()?;
        }
        let chosen: Vec<(&Item, Dtype)> = self.items.iter().filter_map(|item| Some((item, choose(item)?))).collect();
        let len = |(item, dtype): &(&Item, Dtype)| Tensor::bytes_for(*dtype, item.tensor.shape()).unwrap_or(0);
        let all: usize = chosen.iter().map(len).sum();
        let mut before = 0;
        let dirs: BTreeSet<&str> = chosen.iter().map(|(item, _)| item.dir.as_str()).chain([self.trunk.as_str()]).collect();
        for dir in dirs {
            let here: BTreeMap<&str, (&Item, Dtype)> =
                chosen.iter().filter(|(item, _)| item.dir == dir).map(|(item, dtype)| (item.name.as_str(), (*item, *dtype))).collect();
            let plan =
                |(item, dtype): &(&Item, Dtype)| TensorPlan { name: item.name.clone(), dtype: *dtype, shape: item.tensor.shape().to_vec() };
            let plans: Vec<TensorPlan> = here.values().map(plan).collect();
            let mut file = folder.file(&checkpoint::join(dir, "model.safetensors"))?;
            safetensors::write(
                &mut file,
                &plans,
                |plan| {
                    let item = here[plan.name.as_str()].0;
                    converted(item, &item.tensor, plan.dtype)
                },
                |done| progress(before + done, all),
            )?;
            file.commit()?;
            before += here.values().map(len).sum::<usize>();
        }
        folder.commit()
    }
}

/// The bytes of the next tensor; the writer asks for them in order.
fn next<'a>(rest: &mut impl Iterator<Item = &'a (&'a Item, Dtype)>, dtype: Dtype) -> Result<Bytes> {
    match rest.next() {
        Some((item, _)) => converted(item, &item.stored(), dtype),
        None => fail(ErrorKind::InvalidArgument, "more tensors are asked for than there are"),
    }
}

/// The bytes of `tensor`, an item's or what is stored of it, in another type.
fn converted(item: &Item, tensor: &Tensor, dtype: Dtype) -> Result<Bytes> {
    let name = &item.name;
    if let Some((at, value)) = soundness::first_not_finite(tensor) {
        return fail(ErrorKind::NonFinite, format!("tensor {name:?}: number {at} is {value}; the model is damaged"));
    }
    if tensor.dtype() == dtype {
        return Ok(tensor.bytes().clone());
    }
    if !tensor.dtype().is_float() {
        let told = format!("tensor {name:?} has type {} and stays so; {} was asked for", tensor.dtype().name(), dtype.name());
        return fail(ErrorKind::InvalidArgument, told);
    }
    let values = tensor.to_f32();
    let bytes = dtype.quantise(&values).map_err(|e| e.within(format!("tensor {name:?}")))?;
    let mut back = vec![0f32; values.len()];
    dtype.widen(&bytes, &mut back);
    if let Some(at) = back.iter().position(|v| !v.is_finite()) {
        return fail(ErrorKind::NonFinite, format!("tensor {name:?}: number {at} is beyond {}; choose BF16 or F32", dtype.name()));
    }
    // A vector keeps what it can: biases that mean nothing may be as small as they like.
    if tensor.shape().len() > 1 {
        soundness::check_loss(&item.gguf_name, dtype, tensor.row_len(), &values, &back)?;
    }
    Ok(Bytes::owned(bytes))
}

fn most_common(types: impl Iterator<Item = Dtype>) -> Option<Dtype> {
    let mut counts: Vec<(Dtype, usize)> = Vec::new();
    for dtype in types {
        match counts.iter_mut().find(|(t, _)| *t == dtype) {
            Some((_, count)) => *count += 1,
            None => counts.push((dtype, 1)),
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(dtype, _)| dtype)
}

/// The Hugging Face name that a GGUF file gives back: today's, where the checkpoint has TensorFlow's.
fn modern(family: &Family, name: &str, gguf_name: Option<&String>, ranks: bool) -> String {
    let prefix = if name.starts_with(family.prefix) { family.prefix } else { "" };
    gguf_name.and_then(|gguf_name| family.to_theirs(gguf_name, prefix, ranks)).unwrap_or_else(|| name.to_owned())
}

/// A name for people: the one of the source's file, the configuration's, or the folder's.
fn model_name(source: &Source, config: &Json) -> String {
    let stated = source.gguf().and_then(|gguf| gguf.metadata().text("general.name").ok().flatten().map(str::to_owned));
    let configured = || config.get("_name_or_path").and_then(Json::as_str).and_then(|path| path.rsplit('/').find(|p| !p.is_empty()));
    let place = source.describe();
    let folder = || place.trim_end_matches(['/', '.']).rsplit('/').next().unwrap_or("model").to_owned();
    stated.or_else(|| configured().map(str::to_owned)).unwrap_or_else(folder)
}

fn add_files(trunk: &str, files: &BTreeMap<String, Bytes>, metadata: &mut Metadata) -> Result<()> {
    let tokenizer = checkpoint::join(trunk, "tokenizer.json");
    let named = |names: &[&str]| names.iter().map(|name| checkpoint::join(trunk, name)).collect::<Vec<_>>();
    let (vocabularies, pieces) = (named(&["vocab.txt", "vocab.json", "merges.txt"]), named(huggingface::PIECES));
    for (name, bytes) in files {
        // tokenizer.json is complete; where it is there, nothing reads the others.
        if (vocabularies.contains(name) || pieces.contains(name)) && files.contains_key(&tokenizer) {
            continue;
        }
        let key = if *name == tokenizer { TOKENIZER.to_owned() } else { format!("{FILES}{name}") };
        let value = match std::str::from_utf8(bytes) {
            _ if pieces.contains(name) => Value::Array(Array::U8(bytes.to_vec())),
            Ok(text) => Value::String(text.to_owned()),
            Err(_) => return fail(ErrorKind::InvalidFile, format!("{name} is not UTF-8")),
        };
        metadata.set(key, value);
    }
    Ok(())
}

/// From a GGUF file: settings that are not made anew, such as licence, author and probes.
fn carry_over(source: &Source, metadata: &mut Metadata) {
    let made_anew = ["general.file_type", "general.quantization_version", "general.alignment"];
    for (key, value) in source.gguf().into_iter().flat_map(|gguf| gguf.metadata().iter()) {
        let wanted = key.starts_with("general.") || key.starts_with(OWN);
        if wanted
            && !key.starts_with(FILES)
            && !key.starts_with(checksums::PREFIX)
            && !made_anew.contains(&key)
            && metadata.get(key).is_none()
        {
            metadata.set(key, value.clone());
        }
    }
}
