//! How did a run go? Its log as a curve, and as a page.
//!
//! Reads log.jsonl and writes curve.svg, curve.png and report.html beside it: one file each, without scripts, fonts or anything from a network. What
//! a curve looks like is in [`drawing`], its picture is made by [`mod@png`] with the [`letters`] of its own.

mod drawing;
mod letters;
mod png;

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use drawing::{Colour, Line, curve, svg};

const TRAINING: Colour = [0x24, 0x63, 0xa8];
const HELD_OUT: Colour = [0xc2, 0x41, 0x0c];

/// The lines of the curve: what each is called, its colour, the event and the field. A run has those of its kind.
const LINES: &[(&str, Colour, &str, &str)] = &[
    ("masked loss, training", TRAINING, "step", "masked_loss"),
    ("masked loss, held out", HELD_OUT, "evaluated", "masked_loss"),
    ("loss, training", TRAINING, "step", "loss"),
    ("loss, held out", HELD_OUT, "evaluated", "loss"),
];

/// What the log says.
struct Log {
    events: Vec<Value>,
}

impl Log {
    fn read(path: &Path) -> Result<Log> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", path.display())))?;
        // A line that a full disk cut off is left out.
        Ok(Log { events: text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect() })
    }

    fn of<'a>(&'a self, event: &'a str) -> impl Iterator<Item = &'a Value> + 'a {
        self.events.iter().filter(move |e| e["event"] == event)
    }

    fn points(&self, event: &str, field: &str) -> Vec<(f64, f64)> {
        self.of(event).filter_map(|e| Some((e["step"].as_f64()?, e[field].as_f64()?))).filter(|p| p.1.is_finite()).collect()
    }
}

/// Writes curve.svg, curve.png and report.html of the log in `out`.
///
/// # Errors
/// `Io` where the log cannot be read, or the files not be written.
pub fn write(out: &Path) -> Result<()> {
    let log = Log::read(&out.join("log.jsonl"))?;
    let lines = LINES.iter().map(|(name, colour, event, field)| Line { name, colour: *colour, points: log.points(event, field) });
    let shapes = curve(&lines.collect::<Vec<_>>());
    let put = |name: &str, bytes: &[u8]| {
        let path = out.join(name);
        std::fs::write(&path, bytes).map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", path.display())))
    };
    let curve = svg(&shapes);
    put("curve.svg", curve.as_bytes())?;
    put("curve.png", &png::png(&shapes).map_err(|e| Error::new(ErrorKind::Io, format!("curve.png: {e}")))?)?;
    put("report.html", page(&log, &curve).as_bytes())
}

/// The figures of the evaluations, in the order in which the log has them first.
fn columns(log: &Log) -> Vec<&str> {
    let mut columns: Vec<&str> = Vec::new();
    for (name, value) in log.of("evaluated").filter_map(Value::as_object).flatten() {
        if value.is_number() && name != "step" && !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    columns
}

fn page(log: &Log, curve: &str) -> String {
    let mut html = String::from(
        "<!doctype html><meta charset=\"utf-8\"><title>A run of cloze-train</title><style>body{font:15px sans-serif;max-width:800px;margin:2em auto;padding:0 1em;color:#222;background:#fff}table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}</style><h1>A run of cloze-train</h1>\n",
    );
    if let Some(last) = log.of("step").last() {
        let number = |field: &str| last[field].as_f64().unwrap_or(0.0);
        let loss = if last["masked_loss"].is_number() { "masked_loss" } else { "loss" };
        let _ = writeln!(
            html,
            "<p>Step {} of {}: {loss} {:.4}, {:.0} tokens a second.</p>",
            number("step"),
            number("steps"),
            number(loss),
            number("tokens_per_second")
        );
    }
    html.push_str(curve);
    let columns = columns(log);
    if columns.is_empty() {
        return html;
    }
    let heads: String = columns.iter().map(|name| format!("<th>{}</th>", name.replace('_', " "))).collect();
    let _ = writeln!(html, "<h2>On what was held out</h2>\n<table><tr><th>step</th>{heads}<th></th></tr>");
    for event in log.of("evaluated") {
        let cell = |field: &&str| event[*field].as_f64().map_or("<td></td>".to_owned(), |x| format!("<td>{x:.4}</td>"));
        let best = if event["best"] == true { "best so far" } else { "" };
        let _ = writeln!(html, "<tr><td>{}</td>{}<td>{best}</td></tr>", event["step"], columns.iter().map(cell).collect::<String>());
    }
    html.push_str("</table>\n");
    html
}
