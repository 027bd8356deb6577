//! A file of options: the same names and values as the flags have.

use std::path::Path;

use toml::{Table, Value};

use crate::error::{Error, ErrorKind, Result, fail};

/// Sets each option of the TOML file `path`.
///
/// # Errors
/// `Io` for a file that cannot be read, `InvalidFile` for one that is no TOML, or has tables; whatever `set` says of a name or value.
pub(super) fn read(path: &Path, set: &mut dyn FnMut(&str, &str) -> Result<()>) -> Result<()> {
    let named = |kind: ErrorKind, told: String| Error::new(kind, format!("{}: {told}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| named(ErrorKind::Io, e.to_string()))?;
    let table: Table = text.parse().map_err(|e: toml::de::Error| named(ErrorKind::InvalidFile, e.to_string()))?;
    for (name, value) in &table {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Boolean(switch) => switch.to_string(),
            _ => return fail(ErrorKind::InvalidFile, format!("{}: {name} is a list or a table; give one value", path.display())),
        };
        set(name, &value).map_err(|e| e.within(path.display()))?;
    }
    Ok(())
}
