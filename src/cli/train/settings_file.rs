//! A file of options: the same names and values as the flags have.

use std::path::Path;

use toml::{Table, Value};

use crate::error::{Error, ErrorKind, Result, fail};

/// Sets each option of the TOML file `path`; a list is its values with commas between them, and keys may be written as flags are. Returns the names.
///
/// # Errors
/// `Io` for a file that cannot be read, `InvalidFile` for one that is no TOML, or has tables; whatever `set` says of a name or value.
pub(super) fn read(path: &Path, set: &mut dyn FnMut(&str, &str) -> Result<()>) -> Result<Vec<String>> {
    let named = |kind: ErrorKind, told: String| Error::new(kind, format!("{}: {told}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| named(ErrorKind::Io, e.to_string()))?;
    let table: Table = text.parse().map_err(|e: toml::de::Error| named(ErrorKind::InvalidFile, e.to_string()))?;
    let mut names = Vec::new();
    for (key, value) in &table {
        let name = key.replace('-', "_");
        if names.contains(&name) {
            return Err(named(ErrorKind::InvalidFile, format!("{name} stands there twice, as {key} too")));
        }
        let value = match value {
            Value::Array(values) => {
                values.iter().map(|value| written(key, value)).collect::<Result<Vec<String>>>().map(|all| all.join(","))
            }
            value => written(key, value),
        };
        value.and_then(|value| set(&name, &value)).map_err(|e| e.within(path.display()))?;
        names.push(name);
    }
    Ok(names)
}

/// One value as a flag has it.
fn written(key: &str, value: &Value) -> Result<String> {
    Ok(match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(switch) => switch.to_string(),
        _ => {
            return fail(
                ErrorKind::InvalidFile,
                format!("{key} has a table, a date or a list in a list; give one value, or a list of values"),
            );
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_keys_with_hyphens_are_read_and_tables_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.toml");
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let mut set = Vec::new();
            read(&file, &mut |name, value| {
                set.push(format!("{name}={value}"));
                Ok(())
            })
            .map(|names| (names, set))
        };
        let (names, set) = read("rates = [1e-5, 2e-5]\nvector-loss = \"contrast\"\nlengths = [8, 24]\nragged = true\n").unwrap();
        assert_eq!(names, ["lengths", "ragged", "rates", "vector_loss"]);
        assert_eq!(set, ["lengths=8,24", "ragged=true", "rates=0.00001,0.00002", "vector_loss=contrast"]);
        for (text, told) in
            [("[run]\nrate = 1\n", "run has a table"), ("max-length = 3\nmax_length = 4\n", "twice"), ("rate = [[1]]\n", "list")]
        {
            let e = read(text).unwrap_err();
            assert!(e.message().contains("run.toml") && e.message().contains(told), "{e}");
        }
    }
}
