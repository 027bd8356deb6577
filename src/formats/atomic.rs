//! How does a file appear whole or not at all?
//!
//! It is written under another name in the same folder, brought to the disk, and renamed. A full disk, an error or a killed
//! process never leaves half a file under the final name; what a killed process leaves is called `.NAME.PID.partial`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, ErrorKind, Result, fail};

/// A file that is being written.
#[derive(Debug)]
pub struct AtomicFile {
    /// `None` once it has been renamed.
    temporary: Option<PathBuf>,
    target: PathBuf,
    file: BufWriter<File>,
}

impl AtomicFile {
    /// Begins a file that will replace `target`.
    ///
    /// # Errors
    /// `Io` when the folder does not take a file.
    pub fn create(target: &Path) -> Result<AtomicFile> {
        let temporary = beside(target)?;
        let file = File::create_new(&temporary).map_err(|e| refused(target, &e))?;
        Ok(AtomicFile { temporary: Some(temporary), target: target.to_owned(), file: BufWriter::with_capacity(1 << 20, file) })
    }

    /// Gives the file its name, after its bytes are on the disk.
    ///
    /// # Errors
    /// `Io` when the system refuses any of it; the file is removed then.
    pub fn commit(mut self) -> Result<()> {
        let mut finish = || -> std::io::Result<()> {
            self.file.flush()?;
            self.file.get_ref().sync_all()?;
            if let Some(temporary) = &self.temporary {
                fs::rename(temporary, &self.target)?;
            }
            sync_folder(&self.target);
            Ok(())
        };
        finish().map_err(|e| refused(&self.target, &e))?;
        self.temporary = None;
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// A folder that is being filled: it too appears whole or not at all.
#[derive(Debug)]
pub struct AtomicFolder {
    /// `None` once it has been renamed.
    temporary: Option<PathBuf>,
    target: PathBuf,
    /// Whether a folder of that name is replaced.
    replaces: bool,
}

impl AtomicFolder {
    /// Begins a folder that will be called `target`, which must not exist (or be an empty folder).
    ///
    /// # Errors
    /// `Io` when the system refuses, `InvalidArgument` when there is something called so.
    pub fn create(target: &Path) -> Result<AtomicFolder> {
        let occupied = match fs::read_dir(target) {
            Ok(mut entries) => entries.next().is_some(),
            Err(_) => target.symlink_metadata().is_ok(),
        };
        if occupied {
            return fail(ErrorKind::InvalidArgument, format!("{} exists; give the name of a new folder", target.display()));
        }
        Self::begin(target, false)
    }

    /// Begins a folder that will replace `target`. Every file there must have a name that `ours` accepts, relative to it and with
    /// `/` between folder and file: nothing else is ever removed.
    ///
    /// # Errors
    /// `Io` when the system refuses, `InvalidArgument` when `target` is no folder, or holds another file.
    pub fn replacing(target: &Path, ours: impl Fn(&str) -> bool) -> Result<AtomicFolder> {
        if target.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
            return fail(ErrorKind::InvalidArgument, format!("{} is not a folder; give another name", target.display()));
        }
        if target.exists()
            && let Some(other) = other_file(target, "", &ours).map_err(|e| refused(target, &e))?
        {
            let told =
                format!("{} holds {other}, which is no file of a model; remove it, or give the name of a new folder", target.display());
            return fail(ErrorKind::InvalidArgument, told);
        }
        Self::begin(target, true)
    }

    fn begin(target: &Path, replaces: bool) -> Result<AtomicFolder> {
        let temporary = beside(target)?;
        fs::create_dir(&temporary).map_err(|e| refused(target, &e))?;
        Ok(AtomicFolder { temporary: Some(temporary), target: target.to_owned(), replaces })
    }

    /// Begins a file of the folder; `name` has `/` between folder and file. Commit it before the folder.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn file(&self, name: &str) -> Result<AtomicFile> {
        let root = self.temporary.as_deref().unwrap_or(&self.target);
        let path = root.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|e| refused(&self.target.join(name), &e))?;
        }
        AtomicFile::create(&path)
    }

    /// Gives the folder its name.
    ///
    /// # Errors
    /// `Io` when the system refuses; the folder is removed then.
    pub fn commit(mut self) -> Result<()> {
        if let Some(temporary) = &self.temporary {
            // An empty folder of that name is replaced; elsewhere than on Unix it has to go first.
            let _ = fs::remove_dir(&self.target);
            // A folder that is not empty cannot be renamed over: it steps aside, and comes back if the new one is refused.
            let old = if self.replaces && self.target.exists() { Some(beside(&self.target)?) } else { None };
            let moved = old.as_ref().map_or(Ok(()), |old| fs::rename(&self.target, old));
            if let Err(e) = moved.and_then(|()| fs::rename(temporary, &self.target)) {
                let _ = old.map(|old| fs::rename(old, &self.target));
                return Err(refused(&self.target, &e));
            }
            sync_folder(&self.target);
            let _ = old.map(fs::remove_dir_all);
        }
        self.temporary = None;
        Ok(())
    }
}

impl Drop for AtomicFolder {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_dir_all(temporary);
        }
    }
}

/// A file below `folder`, which is called `prefix`, whose name `ours` does not accept.
fn other_file(folder: &Path, prefix: &str, ours: &impl Fn(&str) -> bool) -> std::io::Result<Option<String>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let found = if entry.file_type()?.is_dir() {
            other_file(&entry.path(), &format!("{name}/"), ours)?
        } else {
            Some(name).filter(|name| !ours(name))
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn refused(target: &Path, e: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot write {}: {e}", target.display()))
}

/// A name for the time of writing, in the same folder, so that renaming never copies.
fn beside(target: &Path) -> Result<PathBuf> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let Some(name) = target.file_name() else {
        return fail(ErrorKind::InvalidArgument, format!("{} is no name for a file", target.display()));
    };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let temporary = format!(".{}.{}-{number}.partial", name.to_string_lossy(), std::process::id());
    Ok(target.with_file_name(temporary))
}

/// Brings the new name to the disk, where the system can; the file is whole without it.
fn sync_folder(target: &Path) {
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.gguf");
        fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(file);
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"old".to_vec(), vec!["model.gguf".to_owned()]));
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        file.commit().unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"new".to_vec(), vec!["model.gguf".to_owned()]));
    }

    #[test]
    fn a_folder_appears_whole_or_not_at_all() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("model");
        let fill = |folder: &AtomicFolder| {
            let mut file = folder.file("1_Pooling/config.json").unwrap();
            file.write_all(b"{}").unwrap();
            file.commit().unwrap();
        };
        let folder = AtomicFolder::create(&path).unwrap();
        fill(&folder);
        assert!(!path.exists());
        drop(folder);
        assert!(names(root.path()).is_empty());
        fs::create_dir(&path).unwrap();
        let folder = AtomicFolder::create(&path).unwrap();
        fill(&folder);
        folder.commit().unwrap();
        assert_eq!(fs::read(path.join("1_Pooling/config.json")).unwrap(), b"{}");
        let e = AtomicFolder::create(&path).unwrap_err();
        assert!(e.kind() == ErrorKind::InvalidArgument && e.message().contains("exists"), "{e}");
    }

    #[test]
    fn a_folder_replaces_another_only_if_nothing_else_is_in_it() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("model");
        fs::create_dir_all(path.join("1_Pooling")).unwrap();
        for name in ["config.json", "1_Pooling/config.json", "1_Pooling/thesis.doc"] {
            fs::write(path.join(name), "old").unwrap();
        }
        let ours = |name: &str| name.ends_with("config.json");
        let e = AtomicFolder::replacing(&path, ours).unwrap_err();
        assert!(e.kind() == ErrorKind::InvalidArgument && e.message().contains("holds 1_Pooling/thesis.doc"), "{e}");
        fs::remove_file(path.join("1_Pooling/thesis.doc")).unwrap();
        for commit in [false, true] {
            let folder = AtomicFolder::replacing(&path, ours).unwrap();
            let mut file = folder.file("config.json").unwrap();
            file.write_all(b"new").unwrap();
            file.commit().unwrap();
            if commit {
                folder.commit().unwrap();
            } else {
                drop(folder);
                assert_eq!(fs::read(path.join("config.json")).unwrap(), b"old");
            }
            assert_eq!(names(root.path()), ["model"]);
        }
        assert_eq!((fs::read(path.join("config.json")).unwrap(), names(&path)), (b"new".to_vec(), vec!["config.json".to_owned()]));
        let e = AtomicFolder::replacing(&path.join("config.json"), ours).unwrap_err();
        assert!(e.message().contains("is not a folder"), "{e}");
    }

    #[test]
    fn a_place_that_takes_no_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().join("none/model.gguf"), PathBuf::from("/")] {
            let e = AtomicFile::create(&path).unwrap_err();
            assert!(e.message().contains(&path.display().to_string()), "{e}");
        }
    }
}
