//! How does a name change hands without a moment in which something is lost?
//!
//! Linux has both moves as one call (`renameat2`). Where system or file system lacks it, the nearest that is safe takes its place.

use std::fs;
use std::io;
use std::path::Path;

/// Gives `from` the name `to`, which must be free at that very moment (`AlreadyExists` else).
pub(super) fn onto_nothing(from: &Path, to: &Path) -> io::Result<()> {
    match system::rename(from, to, system::ONTO_NOTHING) {
        Err(e) if system::lacks(&e) => by_link(from, to),
        result => result,
    }
}

/// Lets `a` and `b`, which both exist, change names; `false` where that is not to be had in one move.
pub(super) fn exchange(a: &Path, b: &Path) -> io::Result<bool> {
    match system::rename(a, b, system::EXCHANGE) {
        Err(e) if system::lacks(&e) => Ok(false),
        result => result.map(|()| true),
    }
}

/// A link is refused where the name is taken; so is a folder's renaming, unless an empty folder has the name. A file system without
/// links leaves a moment between question and renaming.
fn by_link(from: &Path, to: &Path) -> io::Result<()> {
    let taken = || io::Error::from(io::ErrorKind::AlreadyExists);
    if from.is_dir() {
        return if to.symlink_metadata().is_ok() { Err(taken()) } else { fs::rename(from, to) };
    }
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(_) if to.symlink_metadata().is_ok() => Err(taken()),
        Err(_) => fs::rename(from, to),
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::ffi::CString;
    use std::io;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    pub(super) const ONTO_NOTHING: libc::c_uint = libc::RENAME_NOREPLACE;
    pub(super) const EXCHANGE: libc::c_uint = libc::RENAME_EXCHANGE;

    /// By number, since not every C library has the function.
    #[expect(unsafe_code, reason = "the standard library has no rename that refuses to replace")]
    pub(super) fn rename(from: &Path, to: &Path, how: libc::c_uint) -> io::Result<()> {
        let (from, to) = (CString::new(from.as_os_str().as_bytes())?, CString::new(to.as_os_str().as_bytes())?);
        let here = libc::AT_FDCWD;
        // SAFETY: both are strings that end with a NUL and live until the call returns; the kernel only reads them.
        let done = unsafe { libc::syscall(libc::SYS_renameat2, here, from.as_ptr(), here, to.as_ptr(), how) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Whether the kernel or the file system does not have the call.
    pub(super) fn lacks(e: &io::Error) -> bool {
        matches!(e.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL | libc::EOPNOTSUPP))
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;
    use std::path::Path;

    pub(super) const ONTO_NOTHING: u32 = 0;
    pub(super) const EXCHANGE: u32 = 0;

    pub(super) fn rename(_from: &Path, _to: &Path, _how: u32) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn lacks(_e: &io::Error) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_stays_taken_with_and_without_the_systems_help() {
        for rename in [onto_nothing, by_link] {
            let place = tempfile::tempdir().unwrap();
            let [new, old] = ["new", "old"].map(|name| place.path().join(name));
            for (path, text) in [(&new, "new"), (&old, "old")] {
                fs::write(path, text).unwrap();
            }
            assert_eq!(rename(&new, &old).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!((fs::read(&new).unwrap(), fs::read(&old).unwrap()), (b"new".to_vec(), b"old".to_vec()));
            fs::remove_file(&old).unwrap();
            rename(&new, &old).unwrap();
            assert!(!new.exists() && fs::read(&old).unwrap() == b"new");
            let [full, other] = ["full", "other"].map(|name| place.path().join(name));
            fs::create_dir(&full).unwrap();
            fs::create_dir(&other).unwrap();
            fs::write(full.join("x"), "").unwrap();
            assert_eq!(rename(&other, &full).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
    }
}
