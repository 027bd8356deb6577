//! Which of the values of a pickle are the model's tensors?
//!
//! A state dict: tensors by name. A training checkpoint has it under a key of its own; wrappers of modules put their name before each
//! tensor's.

use super::invalid;
use super::pickle::{Ref, Value, Values, View};
use crate::error::{ErrorKind, Result, fail};

/// Where training scripts keep the model's state dict.
const KEYS: &[&str] = &["state_dict", "model_state_dict", "model", "module"];

/// What `DataParallel` and `torch.compile` put before every name.
const WRAPPERS: &[&str] = &["module.", "_orig_mod."];

/// Names and tensors.
///
/// # Errors
/// `InvalidFile` where there are none, `Unsupported` where they stand under another key.
pub(super) fn tensors(values: &Values) -> Result<Vec<(&str, &View)>> {
    let Value::Dict(top) = values.top() else {
        return Err(invalid("the pickle holds no dictionary of tensors; save model.state_dict()"));
    };
    let mut found = named(values, top);
    if found.is_empty() {
        let inner = KEYS.iter().find_map(|key| {
            let (_, value) = top.iter().find(|(k, _)| matches!(values.get(*k), Value::Text(text) if text == key))?;
            match values.get(*value) {
                Value::Dict(dict) => Some(named(values, dict)).filter(|found| !found.is_empty()),
                _ => None,
            }
        });
        found = match inner {
            Some(found) => found,
            None => return nothing(values, top),
        };
    }
    while let Some(wrapper) = WRAPPERS.iter().find(|wrapper| found.iter().all(|(name, _)| name.starts_with(**wrapper))) {
        found.iter_mut().for_each(|(name, _)| *name = &name[wrapper.len()..]);
    }
    Ok(found)
}

fn named<'a>(values: &'a Values, dict: &[(Ref, Ref)]) -> Vec<(&'a str, &'a View)> {
    let entry = |(key, value): &(Ref, Ref)| match (values.get(*key), values.get(*value)) {
        (Value::Text(name), Value::Tensor(view)) => Some((name.as_str(), &**view)),
        _ => None,
    };
    dict.iter().filter_map(entry).collect()
}

fn nothing<T>(values: &Values, top: &[(Ref, Ref)]) -> Result<T> {
    let keys: Vec<&str> = top
        .iter()
        .filter_map(|(k, _)| if let Value::Text(t) = values.get(*k) { Some(t.get(..64).unwrap_or(t)) } else { None })
        .take(8)
        .collect();
    let told = format!("no tensors, neither at the top of the pickle nor under {}; it has the keys {keys:?}", KEYS.join(", "));
    fail(ErrorKind::Unsupported, told)
}
