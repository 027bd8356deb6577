//! Where do the files of a model come from?
//!
//! A [`Source`] is a folder on disk, a list of files in memory, or one file that holds what a folder holds, of GGUF or of word vectors; the readers of
//! this module ask it for files by relative name and never see a path. Names also come out of files (an index, `modules.json`), so a name that leaves the folder is refused
//! here, at the only door. `name` says which do, `json` reads the small files that are JSON.

mod json;
mod name;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::gguf::Reader;
use super::package::Package;
use super::word_vectors::{self, WordVectors};
use super::{Weights, mapping, static_vectors, tensorflow};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::Bytes;
pub(super) use name::inside;

/// The files of one model.
#[derive(Debug)]
pub struct Source {
    place: Place,
    /// Files that follow from others and are not there themselves.
    made: BTreeMap<String, Bytes>,
}

#[derive(Debug)]
enum Place {
    Folder(PathBuf),
    Memory(BTreeMap<String, Bytes>),
    /// `None` for a file in memory.
    Package(Option<PathBuf>, Box<Package>),
    /// As above.
    Words(Option<PathBuf>, WordVectors),
}

impl Source {
    /// A model on disk: a folder, a GGUF file, or a file of word vectors (word2vec, GloVe, fastText's `.vec`), which is read once, as a
    /// whole. Tensor files are mapped when they are read.
    ///
    /// While a model is open, its tensor files must not be truncated or written to: replace a file by renaming a new one over
    /// it. A process that reads a page which was cut off a mapped file is killed by the system (`SIGBUS`).
    ///
    /// # Errors
    /// `Io` when `path` is none of them, `InvalidArgument` when it is another file of a model, as [`Reader::open`] for a GGUF
    /// file; for word vectors `InvalidFile` and `NonFinite`, naming the line or the word.
    pub fn open(path: &Path) -> Result<Source> {
        let shown = path.display();
        match fs::metadata(path) {
            Err(e) => fail(ErrorKind::Io, format!("{shown}: {e}; give the path of a model folder or of a GGUF file")),
            Ok(found) if found.is_dir() => Source::of(Place::Folder(path.to_owned())),
            Ok(_) if mapping::begins_with(path, super::gguf::MAGIC) || path.extension().is_some_and(|e| e == "gguf") => Self::package(path),
            Ok(_) if path.extension().is_some_and(|e| e == "safetensors") => {
                fail(ErrorKind::InvalidArgument, format!("{shown} is one file of a model; give the folder that holds it and config.json"))
            }
            Ok(found) if !found.is_file() => none_of_them(path),
            Ok(found) => Self::words(path, found.len()),
        }
    }

    /// A GGUF file as it is, whatever model it holds.
    ///
    /// # Errors
    /// `Io` when it cannot be read, and as [`Reader::open`].
    pub fn open_gguf(path: &Path) -> Result<Reader> {
        let bytes = mapping::map_file(path).map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", path.display())))?;
        Reader::open(&bytes).map_err(|e| e.within(path.display()))
    }

    fn package(path: &Path) -> Result<Source> {
        let within = |e: Error| e.within(path.display());
        let bytes = mapping::map_file(path).map_err(|e| within(Error::new(ErrorKind::Io, e.to_string())))?;
        let package = Package::open(&bytes).map_err(within)?;
        Source::of(Place::Package(Some(path.to_owned()), Box::new(package)))
    }

    fn words(path: &Path, len: u64) -> Result<Source> {
        let within = |e: Error| e.within(path.display());
        let file = fs::File::open(path).map_err(|e| within(Error::new(ErrorKind::Io, e.to_string())))?;
        match word_vectors::open(&path.to_string_lossy(), file, len).map_err(within)? {
            Some(words) => Source::of(Place::Words(Some(path.to_owned()), words)),
            None => none_of_them(path),
        }
    }

    /// Files in memory, by the names they would have in a folder, with `/` between folder and file (`1_Pooling/config.json`);
    /// or one GGUF file or file of word vectors, whatever its name.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is empty, absolute, contains `..`, or occurs twice; as [`Reader::open`] for a GGUF
    /// file.
    pub fn memory(mut files: Vec<(String, Vec<u8>)>) -> Result<Source> {
        if let [(name, bytes)] = files.as_mut_slice()
            && Reader::recognises(bytes)
        {
            let package = Package::open(&Bytes::owned(std::mem::take(bytes))).map_err(|e| e.within(&*name))?;
            return Source::of(Place::Package(None, Box::new(package)));
        }
        if let [(name, bytes)] = files.as_slice()
            && let Some(words) = word_vectors::open(name, bytes.as_slice(), bytes.len() as u64).map_err(|e| e.within(name))?
        {
            return Source::of(Place::Words(None, words));
        }
        let mut kept = BTreeMap::new();
        for (name, bytes) in files {
            let Some(relative) = inside(&name) else {
                return fail(
                    ErrorKind::InvalidArgument,
                    format!(
                        "file name {name:?}: give a name relative to the model's folder, without \"..\", with / between folder and file"
                    ),
                );
            };
            if kept.insert(relative, Bytes::owned(bytes)).is_some() {
                return fail(ErrorKind::InvalidArgument, format!("file name {name:?} is given twice"));
            }
        }
        Source::of(Place::Memory(kept))
    }

    fn of(place: Place) -> Result<Source> {
        let mut source = Source { place, made: BTreeMap::new() };
        source.made = tensorflow::made(&source)?;
        source.made.append(&mut static_vectors::made(&source));
        Ok(source)
    }

    /// The bytes of a small file, `None` where there is none of that name. They are a copy, which cannot change.
    ///
    /// # Errors
    /// `Io` when the system refuses to read it, `InvalidFile` when the name leaves the folder.
    pub fn read(&self, name: &str) -> Result<Option<Bytes>> {
        self.bytes(name, mapping::read)
    }

    /// The bytes of a file that holds tensors, `None` where there is none of that name: mapped where the file is on disk.
    ///
    /// # Errors
    /// As [`Source::read`].
    pub fn map(&self, name: &str) -> Result<Option<Bytes>> {
        self.bytes(name, mapping::map)
    }

    fn bytes(&self, name: &str, open: fn(&Path) -> std::io::Result<Option<Bytes>>) -> Result<Option<Bytes>> {
        let Some(relative) = inside(name) else {
            return fail(ErrorKind::InvalidFile, format!("{}: the file name {name:?} leaves the model's folder", self.describe()));
        };
        let found = match &self.place {
            Place::Folder(root) => {
                let path = root.join(&relative);
                open(&path).map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", path.display())))?
            }
            Place::Memory(files) => files.get(&relative).cloned(),
            Place::Package(_, package) => package.file(&relative).cloned(),
            Place::Words(_, words) => words.files.get(&relative).cloned(),
        };
        Ok(found.or_else(|| self.made.get(&relative).cloned()))
    }

    /// The bytes of a file of tensors that must be there.
    ///
    /// # Errors
    /// As [`Source::require`].
    pub(super) fn require_mapped(&self, name: &str) -> Result<Bytes> {
        self.map(name)?.map_or_else(|| self.missing(name), Ok)
    }

    /// The bytes of a file that must be there.
    ///
    /// # Errors
    /// `Io` when it is missing or cannot be read, `InvalidFile` when the name leaves the folder.
    pub fn require(&self, name: &str) -> Result<Bytes> {
        self.read(name)?.map_or_else(|| self.missing(name), Ok)
    }

    /// Whether there is a file of that name.
    pub fn contains(&self, name: &str) -> bool {
        let there = |relative: &str| match &self.place {
            Place::Folder(root) => root.join(relative).is_file(),
            Place::Memory(files) => files.contains_key(relative),
            Place::Package(_, package) => package.file(relative).is_some(),
            Place::Words(_, words) => words.files.contains_key(relative),
        };
        inside(name).is_some_and(|relative| self.made.contains_key(&relative) || there(&relative))
    }

    /// The names of the files in the folder `dir` itself, without those of folders below, sorted.
    pub(super) fn list(&self, dir: &str) -> Vec<String> {
        let within =
            |name: &str| if dir.is_empty() { Some(name.to_owned()) } else { Some(name.strip_prefix(dir)?.strip_prefix('/')?.to_owned()) };
        let mut names: Vec<String> = match &self.place {
            Place::Folder(root) => {
                let entries = fs::read_dir(root.join(dir)).into_iter().flatten().flatten();
                entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
            }
            Place::Memory(files) => files.keys().filter_map(|name| within(name)).filter(|name| !name.contains('/')).collect(),
            Place::Package(_, package) => package.names().filter_map(within).filter(|name| !name.contains('/')).collect(),
            Place::Words(_, words) => words.files.keys().filter_map(|name| within(name)).collect(),
        };
        names.sort_unstable();
        names
    }

    /// The name of the model's folder, empty where it has none.
    pub(super) fn folder_name(&self) -> String {
        let Place::Folder(root) = &self.place else { return String::new() };
        let whole = fs::canonicalize(root).unwrap_or_else(|_| root.clone());
        whole.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    fn missing<T>(&self, name: &str) -> Result<T> {
        fail(ErrorKind::Io, format!("{} has no {name}; copy or download the whole model", self.describe()))
    }

    /// The GGUF file, where the source is one.
    pub fn gguf(&self) -> Option<&Reader> {
        self.in_package().map(Package::reader)
    }

    /// The bytes of the GGUF file, where the source is one.
    pub fn gguf_bytes(&self) -> Option<&Bytes> {
        self.in_package().map(Package::bytes)
    }

    fn in_package(&self) -> Option<&Package> {
        if let Place::Package(_, package) = &self.place { Some(package) } else { None }
    }

    /// The tensors of the folder `dir` where the source holds tensors itself (one file), rather than files of tensors.
    pub(super) fn weights(&self, dir: &str) -> Option<Weights> {
        match &self.place {
            Place::Package(_, package) => Some(package.weights(dir).cloned().unwrap_or_default()),
            Place::Words(_, words) => Some(if dir.is_empty() { words.weights.clone() } else { Weights::default() }),
            Place::Folder(_) | Place::Memory(_) => None,
        }
    }

    /// The names of all files, `None` where they cannot be listed.
    pub(super) fn names(&self) -> Option<Vec<String>> {
        self.in_package().map(|package| package.names().map(str::to_owned).collect())
    }

    /// The place, for messages.
    pub fn describe(&self) -> String {
        match &self.place {
            Place::Folder(root) | Place::Package(Some(root), _) | Place::Words(Some(root), _) => root.display().to_string(),
            Place::Memory(_) | Place::Package(None, _) | Place::Words(None, _) => "the model in memory".to_owned(),
        }
    }

    /// The full name of a file, for messages.
    pub fn label(&self, name: &str) -> String {
        match &self.place {
            Place::Folder(root) => root.join(name).display().to_string(),
            Place::Package(Some(file), _) | Place::Words(Some(file), _) => format!("{}: {name}", file.display()),
            Place::Memory(_) | Place::Package(None, _) | Place::Words(None, _) => name.to_owned(),
        }
    }
}

fn none_of_them<T>(path: &Path) -> Result<T> {
    let shown = path.display();
    let told = format!(
        "{shown} is neither a folder nor a GGUF file nor word vectors (word2vec, GloVe, fastText's .vec); give the path of a model folder or of \
         such a file"
    );
    fail(ErrorKind::Io, told)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn memory(files: &[(&str, &str)]) -> Result<Source> {
        Source::memory(files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect())
    }

    #[test]
    fn a_folder_and_the_same_files_in_memory_answer_alike() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("1_Pooling")).unwrap();
        let files =
            [("config.json", "{\"a\":1}"), ("1_Pooling/config.json", "{}"), ("model.safetensors", "weights"), ("empty.safetensors", "")];
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        for source in [Source::open(folder.path()).unwrap(), memory(&files).unwrap()] {
            for (name, text) in files {
                assert_eq!(&*source.require(name).unwrap(), text.as_bytes(), "{name}");
                assert_eq!(&*source.read(&format!("./{name}")).unwrap().unwrap(), text.as_bytes(), "{name}");
                assert!(source.contains(name));
            }
            assert_eq!(source.json("config.json").unwrap().unwrap()["a"], 1);
            for absent in ["vocab.txt", "2_Dense/config.json", "config.json/below", "1_Pooling/none"] {
                assert!(source.read(absent).unwrap().is_none(), "{absent}");
                assert!(source.json(absent).unwrap().is_none());
                assert!(!source.contains(absent));
                let e = source.require(absent).unwrap_err();
                assert_eq!(e.kind(), ErrorKind::Io);
                assert!(e.message().contains(absent) && e.message().contains(&source.describe()), "{e}");
            }
        }
    }

    #[test]
    fn names_that_leave_the_folder_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("model")).unwrap();
        fs::write(folder.path().join("secret"), "x").unwrap();
        let source = Source::open(&folder.path().join("model")).unwrap();
        let absolute = folder.path().join("secret").display().to_string();
        for name in ["../secret", "a/../../secret", "/etc/passwd", &absolute, "..", ".", "", "a\\b", "C:secret", "a\0b"] {
            assert_eq!(source.read(name).unwrap_err().kind(), ErrorKind::InvalidFile, "{name:?}");
            assert!(!source.contains(name), "{name:?}");
            assert_eq!(memory(&[(name, "")]).unwrap_err().kind(), ErrorKind::InvalidArgument, "{name:?}");
        }
    }

    #[test]
    fn a_file_given_twice_under_any_spelling_is_refused() {
        for twin in ["1_Pooling/config.json", "1_Pooling//config.json", "./1_Pooling/config.json"] {
            let e = memory(&[("1_Pooling/config.json", "{}"), (twin, "{}")]).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidArgument);
            assert!(e.message().contains(twin), "{e}");
        }
    }

    #[test]
    fn a_path_that_is_not_a_folder_says_what_to_give() {
        let folder = tempfile::tempdir().unwrap();
        let cases = [
            ("model.safetensors", ErrorKind::InvalidArgument, "give the folder"),
            ("model.gguf", ErrorKind::InvalidFile, "model.gguf: the file ends at byte 0"),
            ("model.zip", ErrorKind::Io, "is neither a folder nor a GGUF file"),
        ];
        for (name, kind, says) in cases {
            let path = folder.path().join(name);
            let absent = Source::open(&path).unwrap_err();
            assert_eq!(absent.kind(), ErrorKind::Io);
            assert!(absent.message().contains(name), "{absent}");
            fs::write(&path, "").unwrap();
            let e = Source::open(&path).unwrap_err();
            assert_eq!(e.kind(), kind, "{e}");
            assert!(e.message().contains(name) && e.message().contains(says), "{e}");
        }
    }
}
