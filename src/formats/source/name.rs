//! Does the name of a file stay in the model's folder?

use std::path::{Component, Path};

/// `name` in its one spelling, if it stays inside the folder. Backslashes and drives are refused everywhere, so that a model
/// behaves the same on every system.
pub(in super::super) fn inside(name: &str) -> Option<String> {
    if name.contains(['\\', '\0']) || name.as_bytes().get(1) == Some(&b':') {
        return None;
    }
    let parts = Path::new(name).components().filter(|part| *part != Component::CurDir).map(|part| match part {
        Component::Normal(part) => part.to_str(),
        _ => None,
    });
    let parts: Vec<&str> = parts.collect::<Option<_>>()?;
    (!parts.is_empty()).then(|| parts.join("/"))
}
