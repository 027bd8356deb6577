//! How does a file on disk become bytes?
//!
//! Called by `source`, and by `train` for its token ids. The only `unsafe` of `formats` is here.

use std::fs::{self, File};
use std::io::{ErrorKind as Cause, Read};
use std::ops::Range;
use std::path::Path;

use memmap2::Mmap;
#[cfg(unix)]
use memmap2::UncheckedAdvice;

use crate::quant::{Bytes, Owner};

/// More than any configuration or tokenizer, less than what would exhaust a host that was handed a wrong file.
const COPIED_MAX: u64 = 1 << 30;

/// A copy of the bytes of a small file, `None` where there is none: it cannot change while it is parsed.
pub(super) fn read(path: &Path) -> std::io::Result<Option<Bytes>> {
    regular(path)?.map(|(file, len)| copy(file, len)).transpose()
}

/// The bytes of a file of tensors, `None` where there is none: mapped, so that processes share them.
pub(super) fn map(path: &Path) -> std::io::Result<Option<Bytes>> {
    // A mapping cannot be empty.
    regular(path)?.map(|(file, len)| if len > 0 { map_all(&file) } else { copy(file, 0) }).transpose()
}

/// A regular file and its length, `None` where there is none.
fn regular(path: &Path) -> std::io::Result<Option<(File, u64)>> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(e) if matches!(e.kind(), Cause::NotFound | Cause::NotADirectory) => return Ok(None),
        Err(e) => return Err(e),
    };
    // Opening a named pipe would wait for its writer.
    if !found.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    Ok(Some((File::open(path)?, found.len())))
}

/// The bytes of a file of tensors, or of token ids, that must be there.
pub(crate) fn map_file(path: &Path) -> std::io::Result<Bytes> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    let file = File::open(path)?;
    if found.len() > 0 { map_all(&file) } else { copy(file, 0) }
}

/// Whether a regular file begins with these bytes.
pub(super) fn begins_with(path: &Path, magic: &[u8; 4]) -> bool {
    let mut first = [0; 4];
    let regular = fs::metadata(path).is_ok_and(|found| found.is_file());
    regular && File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == *magic
}

fn copy(file: File, len: u64) -> std::io::Result<Bytes> {
    if len > COPIED_MAX {
        return Err(std::io::Error::other(format!("{len} bytes is too large for a file of this kind")));
    }
    let mut bytes = Vec::new();
    file.take(COPIED_MAX).read_to_end(&mut bytes)?;
    Ok(Bytes::owned(bytes))
}

#[expect(unsafe_code, reason = "mapping a file is what lets processes share the weights")]
fn map_all(file: &File) -> std::io::Result<Bytes> {
    // SAFETY: the mapping is read-only, so this process cannot change the bytes through it. Another process could write to or
    // truncate the file; Source::open's contract forbids both while the model is open, as whoever maps a file must ask. What
    // is read through the mapping is only ever taken for numbers, each of whose bit patterns is valid: the header, whose
    // meaning is relied on, is copied before it is parsed.
    let mapping = unsafe { Mmap::map(file) }?;
    Ok(Bytes::mapped(Mapping(mapping)))
}

/// A mapped file.
struct Mapping(Mmap);

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Owner for Mapping {
    /// Whole pages within the range only: their neighbours may be in use.
    #[cfg(unix)]
    #[expect(unsafe_code, reason = "advice that drops pages is unsafe where a mapping has changes to lose")]
    fn release(&self, range: Range<usize>) {
        // Pages of any size in use divide this.
        const PAGE: usize = 1 << 16;
        let (start, end) = (range.start.next_multiple_of(PAGE), range.end / PAGE * PAGE);
        if start < end {
            // SAFETY: the mapping is read-only and of a file: a page that is dropped is read from the file again. A refusal
            // changes nothing but memory.
            let _ = unsafe { self.0.unchecked_advise_range(UncheckedAdvice::DontNeed, start, end - start) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tensor_files_are_mapped_and_an_empty_one_is_empty() {
        type Open = fn(&Path) -> std::io::Result<Option<Bytes>>;
        let folder = tempfile::tempdir().unwrap();
        for (open, text, mapped) in [(map as Open, "{}", true), (read, "{}", false), (map, "", false)] {
            let path = folder.path().join("file");
            fs::write(&path, text).unwrap();
            let bytes = open(&path).unwrap().unwrap();
            assert_eq!((&*bytes, bytes.is_mapped()), (text.as_bytes(), mapped), "{text}");
        }
    }

    #[test]
    fn mapped_bytes_outlive_the_name_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.safetensors");
        fs::write(&path, "kept").unwrap();
        let bytes = map(&path).unwrap().unwrap();
        fs::write(folder.path().join("b"), "new").unwrap();
        fs::rename(folder.path().join("b"), &path).unwrap();
        assert_eq!(&*read(&path).unwrap().unwrap(), b"new");
        drop(folder);
        assert_eq!(&*bytes, b"kept");
    }

    #[test]
    fn what_is_not_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        for name in ["none", "none/below", "file/below"] {
            assert!(read(&folder.path().join(name)).unwrap().is_none(), "{name}");
        }
    }

    #[test]
    fn what_is_not_a_regular_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).unwrap_err().to_string().contains("not a regular file"));
        #[cfg(unix)]
        assert!(read(Path::new("/dev/zero")).unwrap_err().to_string().contains("not a regular file"));
    }

    #[cfg(unix)]
    #[test]
    fn a_huge_configuration_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("too large"));
    }
}
