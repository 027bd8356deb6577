//! What the tests of labelled files share.

mod choices;
mod properties;
mod questions;
mod retrieval;
mod tagged;
mod texts;

use std::path::{Path, PathBuf};

use super::ReadSettings;
use crate::error::Error;

/// A file of that name in a folder that is removed.
struct Written(tempfile::TempDir, PathBuf);

fn written(name: &str, bytes: impl AsRef<[u8]>) -> Written {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    Written(folder, path)
}

fn settings(options: &[(&str, &str)]) -> ReadSettings {
    let mut settings = ReadSettings::default();
    options.iter().for_each(|(name, value)| settings.set(name, value).unwrap());
    settings
}

fn without_folder(e: &Error, folder: &Path) -> Error {
    Error::new(e.kind(), e.message().replace(&format!("{}/", folder.display()), ""))
}
