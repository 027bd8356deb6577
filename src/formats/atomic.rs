//! How does a file appear whole or not at all?
//!
//! It is written under another name in the same folder, brought to the disk, and renamed. A full disk, an error or a killed
//! process never leaves half a file under the final name; what a killed process leaves is called `.NAME.PID-N.partial`. What is there is
//! replaced only by who asks for it ([`AtomicFile::replacing`], [`AtomicFolder::replacing`]), even if it appears meanwhile.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::rename;
use crate::error::{Error, ErrorKind, Result, fail};

/// Longer names are cut for the time of writing: systems take 255 bytes.
const NAME_MAX: usize = 200;

/// A file that is being written.
#[derive(Debug)]
pub struct AtomicFile {
    /// `None` once it has been renamed.
    temporary: Option<PathBuf>,
    target: PathBuf,
    /// Whether a file of that name is replaced.
    replaces: bool,
    file: BufWriter<File>,
}

impl AtomicFile {
    /// Begins a file that will be called `target`, which must not exist, now and when it is [committed](AtomicFile::commit).
    ///
    /// # Errors
    /// `Io` when the folder does not take a file, `InvalidArgument` when there is something called so.
    pub fn create(target: &Path) -> Result<AtomicFile> {
        if target.symlink_metadata().is_ok() {
            return Err(exists(target));
        }
        Self::begin(target, false)
    }

    /// Begins a file that will replace `target`, if that exists, and have its permissions.
    ///
    /// # Errors
    /// `Io` when the folder does not take a file, `InvalidArgument` when `target` is anything but a regular file.
    pub fn replacing(target: &Path) -> Result<AtomicFile> {
        Self::check_replaceable(target)?;
        let file = Self::begin(target, true)?;
        if let (Ok(old), Some(temporary)) = (target.metadata(), &file.temporary) {
            fs::set_permissions(temporary, old.permissions()).map_err(|e| refused(target, &e))?;
        }
        Ok(file)
    }

    /// Whether `target` is free, or a regular file. What a symbolic link points to is not replaced: give that file's own name.
    ///
    /// # Errors
    /// `InvalidArgument` when it is anything else.
    pub fn check_replaceable(target: &Path) -> Result<()> {
        let Ok(found) = target.symlink_metadata() else { return Ok(()) };
        let what = match found.file_type() {
            kind if kind.is_file() => return Ok(()),
            kind if kind.is_dir() => "a folder; give the name of a file",
            kind if kind.is_symlink() => "a symbolic link, which is not replaced; give the name of the file that it points to",
            _ => "no regular file (a device, a pipe or a socket); give the name of a file",
        };
        fail(ErrorKind::InvalidArgument, format!("{} is {what}", target.display()))
    }

    fn begin(target: &Path, replaces: bool) -> Result<AtomicFile> {
        let temporary = beside(target)?;
        let file = File::create_new(&temporary).map_err(|e| refused(target, &e))?;
        let file = BufWriter::with_capacity(1 << 20, file);
        Ok(AtomicFile { temporary: Some(temporary), target: target.to_owned(), replaces, file })
    }

    /// The name that it will get.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Brings what was written to the disk, and gives the path under which it can be read until it is committed.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn finished(&mut self) -> Result<&Path> {
        let flushed = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        flushed.map_err(|e| refused(&self.target, &e))?;
        Ok(self.temporary.as_deref().unwrap_or(&self.target))
    }

    /// Gives the file its name, after its bytes are on the disk.
    ///
    /// # Errors
    /// `Io` when the system refuses any of it, `InvalidArgument` when the name was taken meanwhile; the file is removed then.
    pub fn commit(mut self) -> Result<()> {
        self.finished()?;
        if let Some(temporary) = &self.temporary {
            if self.replaces {
                Self::check_replaceable(&self.target)?;
                fs::rename(temporary, &self.target).map_err(|e| refused(&self.target, &e))?;
            } else {
                rename::onto_nothing(temporary, &self.target).map_err(|e| refused(&self.target, &e))?;
            }
            sync_folder(&self.target);
        }
        self.temporary = None;
        Ok(())
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.file.seek(to)
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
    /// The files of which a folder of that name may consist to be replaced; `None` where it is not.
    replaces: Option<BTreeSet<String>>,
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
        Self::begin(target, None)
    }

    /// Begins a folder that will replace `target`. Every file there must be one of `ours`, named relative to it and with `/` between
    /// folder and file: nothing else is ever removed.
    ///
    /// # Errors
    /// `Io` when the system refuses, `InvalidArgument` when `target` is no folder, or holds another file.
    pub fn replacing(target: &Path, ours: BTreeSet<String>) -> Result<AtomicFolder> {
        let found = target.symlink_metadata().ok();
        if found.as_ref().is_some_and(|found| !found.is_dir()) {
            return fail(ErrorKind::InvalidArgument, format!("{} is not a folder; give another name", target.display()));
        }
        if found.is_some() {
            refuse_others(target, target, &ours)?;
        }
        let folder = Self::begin(target, Some(ours))?;
        if let (Some(found), Some(temporary)) = (found, &folder.temporary) {
            fs::set_permissions(temporary, found.permissions()).map_err(|e| refused(target, &e))?;
        }
        Ok(folder)
    }

    fn begin(target: &Path, replaces: Option<BTreeSet<String>>) -> Result<AtomicFolder> {
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
    /// `Io` when the system refuses, `InvalidArgument` when the name was taken meanwhile, or another file came to the folder that is
    /// replaced; the new folder is removed then.
    pub fn commit(mut self) -> Result<()> {
        if let Some(temporary) = &self.temporary {
            match &self.replaces {
                Some(ours) if self.target.symlink_metadata().is_ok() => change_places(temporary, &self.target, ours)?,
                _ => {
                    // Only an empty folder is removed by this.
                    let _ = fs::remove_dir(&self.target);
                    rename::onto_nothing(temporary, &self.target).map_err(|e| refused(&self.target, &e))?;
                }
            }
            sync_folder(&self.target);
        }
        self.temporary = None;
        Ok(())
    }
}

/// Puts the folder `new` in the place of `target`, and removes what was there if nothing but `ours` is in it.
fn change_places(new: &Path, target: &Path, ours: &BTreeSet<String>) -> Result<()> {
    let told = |e: std::io::Error| refused(target, &e);
    if rename::exchange(new, target).map_err(told)? {
        // Asked of what can no longer change under this name: a file may have come meanwhile.
        if let Err(e) = refuse_others(new, target, ours) {
            rename::exchange(new, target).map_err(told)?;
            return Err(e);
        }
        remove(new, "", ours);
        return Ok(());
    }
    // It steps aside, and comes back if the new one is refused.
    let old = beside(target)?;
    fs::rename(target, &old).map_err(told)?;
    let moved = refuse_others(&old, target, ours).and_then(|()| rename::onto_nothing(new, target).map_err(told));
    match moved {
        Ok(()) => remove(&old, "", ours),
        Err(_) => fs::rename(&old, target).map_err(told)?,
    }
    moved
}

/// Removes the files that are `ours` below `folder`, which is called `prefix`, and folders that are empty then. What else has come
/// stays, under the name that the folder has by now.
fn remove(folder: &Path, prefix: &str, ours: &BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path(), &format!("{name}/"), ours);
        } else if ours.contains(&name) {
            let _ = fs::remove_file(entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}

impl Drop for AtomicFolder {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_dir_all(temporary);
        }
    }
}

/// Refuses a folder, to be shown as `target`, that holds anything but `ours`.
fn refuse_others(folder: &Path, target: &Path, ours: &BTreeSet<String>) -> Result<()> {
    let Some(other) = other_file(folder, "", ours).map_err(|e| refused(target, &e))? else { return Ok(()) };
    let told = format!(
        "{} holds {other}, which this conversion would not write; move it away, or give the name of a new folder",
        target.display()
    );
    fail(ErrorKind::InvalidArgument, told)
}

/// A file below `folder`, which is called `prefix`, that is none of `ours`.
fn other_file(folder: &Path, prefix: &str, ours: &BTreeSet<String>) -> std::io::Result<Option<String>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let found = if entry.file_type()?.is_dir() {
            other_file(&entry.path(), &format!("{name}/"), ours)?
        } else {
            Some(name).filter(|name| !ours.contains(name))
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn refused(target: &Path, e: &std::io::Error) -> Error {
    match e.kind() {
        std::io::ErrorKind::AlreadyExists => exists(target),
        _ => Error::new(ErrorKind::Io, format!("cannot write {}: {e}", target.display())),
    }
}

fn exists(target: &Path) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("{} exists, and is not replaced; give another name", target.display()))
}

/// A name for the time of writing, in the same folder, so that renaming never copies.
fn beside(target: &Path) -> Result<PathBuf> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let Some(name) = target.file_name() else {
        return fail(ErrorKind::InvalidArgument, format!("{} is no name for a file", target.display()));
    };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = name.to_string_lossy();
    let end = (0..=name.len().min(NAME_MAX)).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    let short = &name[..end];
    Ok(target.with_file_name(format!(".{short}.{}-{number}.partial", std::process::id())))
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
        let mut file = AtomicFile::replacing(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(file);
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"old".to_vec(), vec!["model.gguf".to_owned()]));
        let mut file = AtomicFile::replacing(&path).unwrap();
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
        let ours = || BTreeSet::from(["config.json", "1_Pooling/config.json"].map(str::to_owned));
        let e = AtomicFolder::replacing(&path, ours()).unwrap_err();
        assert!(e.kind() == ErrorKind::InvalidArgument && e.message().contains("holds 1_Pooling/thesis.doc"), "{e}");
        fs::remove_file(path.join("1_Pooling/thesis.doc")).unwrap();
        for commit in [false, true] {
            let folder = AtomicFolder::replacing(&path, ours()).unwrap();
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
        let e = AtomicFolder::replacing(&path.join("config.json"), ours()).unwrap_err();
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

    #[test]
    fn what_appears_meanwhile_is_neither_replaced_nor_removed() {
        let root = tempfile::tempdir().unwrap();
        let [file, folder, kept] = ["m.gguf", "model", "kept"].map(|name| root.path().join(name));
        let (new_file, new_folder) = (AtomicFile::create(&file).unwrap(), AtomicFolder::create(&folder).unwrap());
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("config.json"), "old").unwrap();
        let replacing = AtomicFolder::replacing(&kept, BTreeSet::from(["config.json".to_owned()])).unwrap();
        fs::write(&file, "theirs").unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("x"), "theirs").unwrap();
        fs::write(kept.join("thesis.doc"), "theirs").unwrap();
        for (e, says) in [
            (new_file.commit().unwrap_err(), "m.gguf exists"),
            (new_folder.commit().unwrap_err(), "model exists"),
            (replacing.commit().unwrap_err(), "kept holds thesis.doc"),
        ] {
            assert!(e.kind() == ErrorKind::InvalidArgument && e.message().contains(says), "{e}");
        }
        for path in [&file, &folder.join("x"), &kept.join("thesis.doc")] {
            assert_eq!(fs::read(path).unwrap(), b"theirs");
        }
        assert_eq!(fs::read(kept.join("config.json")).unwrap(), b"old");
        assert_eq!(names(root.path()).len(), 3);
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_keeps_its_permissions_and_only_regular_files_are_replaced() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let [file, link, folder] = ["m.gguf", "link.gguf", "folder.gguf"].map(|name| root.path().join(name));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        AtomicFile::replacing(&file).unwrap().commit().unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        std::os::unix::fs::symlink(&file, &link).unwrap();
        fs::create_dir(&folder).unwrap();
        for (path, says) in [(link, "a symbolic link"), (folder, "a folder"), (PathBuf::from("/dev/null"), "no regular file")] {
            let e = AtomicFile::replacing(&path).unwrap_err();
            assert!(e.kind() == ErrorKind::InvalidArgument && e.message().contains(says), "{e}");
        }
    }

    #[test]
    fn the_longest_name_that_a_system_takes_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("{}x.gguf", "é".repeat(124));
        assert!(name.len() > 250 && name.len() < 256);
        AtomicFile::create(&folder.path().join(&name)).unwrap().commit().unwrap();
        assert_eq!(names(folder.path()), [name]);
    }
}
