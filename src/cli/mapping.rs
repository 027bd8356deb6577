//! `--dry-run` of `convert` and `quantize`: which tensor goes where?

use std::path::Path;

use serde::Serialize;

use super::Outcome;
use super::output::Out;
use crate::formats::convert::Contents;
use crate::formats::{Form, ResolvedTypes};

/// Tensors left out that are named on a terminal; `--json` names all.
const LISTED: usize = 3;

/// What would be written.
#[derive(Serialize)]
pub(super) struct Mapping {
    path: String,
    tensors: Vec<Row>,
    /// Tensors of the source that no model takes.
    left_out: Vec<String>,
}

/// One tensor.
#[derive(Serialize)]
struct Row {
    /// Its name in the source's file.
    source: String,
    dtype: &'static str,
    shape: Vec<usize>,
    /// Its name in OUT.
    name: String,
    /// Its type in OUT.
    stored: &'static str,
}

impl Mapping {
    pub(super) fn new(out: &Path, contents: &Contents, types: &ResolvedTypes, form: Form) -> Mapping {
        let mut left_out = contents.left_out.clone();
        let mut tensors = Vec::new();
        for item in &contents.items {
            let place = if item.dir.is_empty() { String::new() } else { format!("{}/", item.dir) };
            let source = format!("{place}{}", item.origin);
            let name = if form == Form::Gguf { item.gguf_name.clone() } else { format!("{place}{}", item.name) };
            match types.of(item) {
                Some(stored) => tensors.push(Row {
                    source,
                    dtype: item.tensor.dtype().name(),
                    shape: item.tensor.shape().to_vec(),
                    name,
                    stored: stored.name(),
                }),
                None => left_out.push(source),
            }
        }
        Mapping { path: out.display().to_string(), tensors, left_out }
    }

    pub(super) fn print(&self, json: bool) -> Outcome {
        let mut out = Out::new();
        if json {
            out.json(self)?;
            return out.flush();
        }
        out.line(format!("{}: {} tensors; nothing is written", self.path, self.tensors.len()))?;
        let widest = self.tensors.iter().map(|row| row.source.len()).max().unwrap_or(0);
        for Row { source, dtype, shape, name, stored } in &self.tensors {
            let shape = format!("{shape:?}");
            out.line(format!("  {source:<widest$}  {dtype:<5} {shape:<14} -> {name}  {stored}"))?;
        }
        let more = self.left_out.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        match self.left_out.get(..LISTED.min(self.left_out.len())) {
            None | Some([]) => {}
            Some(first) => out.line(format!("  left out: {}{more}", first.join(", ")))?,
        }
        out.flush()
    }
}
