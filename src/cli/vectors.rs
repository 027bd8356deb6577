//! How is a vector written? As JSON lines for programs, as its first values for people.

use serde::Serialize;
use serde_json::value::RawValue;

use super::Outcome;
use super::encode::Sink;
use super::input::Input;
use super::output::{Out, excerpt};
use crate::error::{Error, ErrorKind};
use crate::tasks::{Embeddings, TextReport, Vectors};

/// Writes each text's vector as a line.
pub(super) struct Lines {
    json: bool,
    /// Whether each text has one vector a token.
    token_vectors: bool,
}

impl Lines {
    pub fn new(json: bool, token_vectors: bool) -> Lines {
        Lines { json, token_vectors }
    }
}

impl Sink for Lines {
    fn take(&mut self, inputs: Vec<Input>, answer: &Embeddings, out: &mut Out) -> Outcome {
        for (input, report) in inputs.iter().zip(&answer.texts).take(answer.finished) {
            let vectors: Vec<Numbers> = report.rows.clone().map(|row| numbers(answer, row, input.index)).collect::<Result<_, _>>()?;
            if self.json {
                out.json(&Line::new(input, report, answer, vectors, self.token_vectors))?;
            } else {
                readable(input, report, &vectors, self.token_vectors, out)?;
            }
        }
        Ok(())
    }
}

/// The values of one vector.
#[derive(Serialize)]
#[serde(untagged)]
enum Numbers<'a> {
    F32(&'a [f32]),
    F16(Vec<f32>),
    Int8(&'a [i8]),
    Binary(&'a [u8]),
}

fn numbers(answer: &Embeddings, row: usize, index: usize) -> Result<Numbers<'_>, Error> {
    let d = answer.dimensions;
    let slice = |width: usize| row * width..(row + 1) * width;
    Ok(match &answer.vectors {
        Vectors::F32(all) => Numbers::F32(&all[slice(d)]),
        Vectors::F16(all) => {
            let values: Vec<f32> = all[slice(d)].iter().map(|bits| half::f16::from_bits(*bits).to_f32()).collect();
            if values.iter().any(|v| v.is_infinite()) {
                let message = format!("text {index}: a value is beyond 65504, the range of f16; use --output f32 or --normalize");
                return Err(Error::new(ErrorKind::NonFinite, message));
            }
            Numbers::F16(values)
        }
        Vectors::Int8 { values, .. } => Numbers::Int8(&values[slice(d)]),
        Vectors::Binary(all) => Numbers::Binary(&all[slice(d.div_ceil(8))]),
    })
}

/// One answer. Fields that say nothing are left out.
#[derive(Serialize)]
struct Line<'a> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    embedding: Option<Numbers<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    embeddings: Option<Vec<Numbers<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scales: Option<&'a [f32]>,
    tokens: usize,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    windows: Option<usize>,
}

impl<'a> Line<'a> {
    fn new(input: &'a Input, report: &TextReport, answer: &'a Embeddings, mut vectors: Vec<Numbers<'a>>, several: bool) -> Line<'a> {
        let scales = match &answer.vectors {
            Vectors::Int8 { scales, .. } => Some(&scales[report.rows.clone()]),
            _ => None,
        };
        Line {
            index: input.index,
            id: input.id.as_deref(),
            embedding: if several { None } else { vectors.pop() },
            embeddings: several.then_some(vectors),
            scale: scales.filter(|_| !several).map(|s| s[0]),
            scales: scales.filter(|_| several),
            tokens: report.tokens,
            truncated: report.truncated,
            total: (report.truncated || report.windows > 1 || report.tokens < report.total).then_some(report.total),
            windows: (report.windows > 1).then_some(report.windows),
        }
    }
}

/// Values shown of a vector.
const SHOWN: usize = 4;

fn readable(input: &Input, report: &TextReport, vectors: &[Numbers], several: bool, out: &mut Out) -> Outcome {
    let tokens = match report {
        TextReport { windows: windows @ 2.., total, .. } => format!("{total} tokens in {windows} windows"),
        TextReport { tokens, total, .. } if tokens < total => format!("{tokens} of {total} tokens"),
        TextReport { tokens, .. } => format!("{tokens} tokens"),
    };
    let text = excerpt(&input.text, 60);
    match vectors {
        [vector] if !several => out.line(format!("{:>4}  {tokens:>10}  {}  {text}", input.index, first_values(vector))),
        _ => {
            out.line(format!("{:>4}  {tokens:>10}  {text}", input.index))?;
            vectors.iter().enumerate().try_for_each(|(i, v)| out.line(format!("{i:>10}  {}", first_values(v))))
        }
    }
}

fn first_values(vector: &Numbers) -> String {
    let floats = |values: &[f32]| (values.len(), values.iter().take(SHOWN).map(|v| format!("{v:>7.4}")).collect::<Vec<_>>());
    let (count, first) = match vector {
        Numbers::F32(values) => floats(values),
        Numbers::F16(values) => floats(values),
        Numbers::Int8(values) => (values.len(), values.iter().take(SHOWN).map(|v| format!("{v:>4}")).collect()),
        Numbers::Binary(bytes) => {
            return format!("[{}… {} bytes]", bytes.iter().take(8).map(|b| format!("{b:02x}")).collect::<String>(), bytes.len());
        }
    };
    format!("[{} … {count} values]", first.join(" "))
}
