//! How did a run go? Its log as a curve, and as a page.
//!
//! Reads log.jsonl and writes curve.svg and report.html beside it: one file each, without scripts, fonts or anything from a network.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};

/// Width and height of the curve, and the room for its scales.
const SIZE: (f64, f64) = (760.0, 360.0);
const LEFT: f64 = 56.0;
const BELOW: f64 = 40.0;

/// One line of the curve.
struct Line {
    name: &'static str,
    colour: &'static str,
    /// Step and value.
    points: Vec<(f64, f64)>,
}

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

/// Writes curve.svg and report.html of the log in `out`.
///
/// # Errors
/// `Io` where the log cannot be read, or the files not be written.
pub fn write(out: &Path) -> Result<()> {
    let log = Log::read(&out.join("log.jsonl"))?;
    let curve = curve(&[
        Line { name: "masked loss, training", colour: "#2463a8", points: log.points("step", "masked_loss") },
        Line { name: "masked loss, held out", colour: "#c2410c", points: log.points("evaluated", "masked_loss") },
    ]);
    let put = |name: &str, text: &str| {
        let path = out.join(name);
        std::fs::write(&path, text).map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", path.display())))
    };
    put("curve.svg", &curve)?;
    put("report.html", &page(&log, &curve))
}

/// The lines as SVG.
fn curve(lines: &[Line]) -> String {
    let all = || lines.iter().flat_map(|line| line.points.iter());
    let last = all().map(|p| p.0).fold(1.0, f64::max);
    let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), p| (l.min(p.1), h.max(p.1)));
    let (low, high) = if low < high { (low, high) } else { (low.min(0.0), high.max(1.0)) };
    let x = |step: f64| LEFT + step / last * (SIZE.0 - LEFT - 10.0);
    let y = |value: f64| 10.0 + (high - value) / (high - low) * (SIZE.1 - BELOW - 10.0);
    let mut svg = String::new();
    let _ = write!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" font-family="sans-serif" font-size="12" role="img"><rect width="100%" height="100%" fill="white"/>"#,
        SIZE.0, SIZE.1
    );
    for i in 0..=4 {
        let share = f64::from(i) / 4.0;
        let (value, step) = (low + share * (high - low), share * last);
        let _ = write!(svg, r##"<path d="M{LEFT} {0:.1}H{1}" stroke="#ddd"/>"##, y(value), SIZE.0 - 10.0);
        let _ = write!(svg, r#"<text x="{}" y="{:.1}" text-anchor="end">{value:.2}</text>"#, LEFT - 6.0, y(value) + 4.0);
        let _ = write!(svg, r#"<text x="{:.1}" y="{}" text-anchor="middle">{step:.0}</text>"#, x(step), SIZE.1 - BELOW + 18.0);
    }
    for (i, line) in lines.iter().filter(|line| !line.points.is_empty()).enumerate() {
        let points: Vec<String> = line.points.iter().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1))).collect();
        let _ = write!(svg, r#"<polyline fill="none" stroke="{}" stroke-width="1.5" points="{}"/>"#, line.colour, points.join(" "));
        let at = LEFT + 10.0 + 220.0 * i as f64;
        let _ = write!(svg, r#"<text x="{at}" y="{}" fill="{}">{}</text>"#, SIZE.1 - 6.0, line.colour, line.name);
    }
    svg.push_str("</svg>\n");
    svg
}

/// The columns of the page's table: what they are called, the field, and its digits.
const COLUMNS: &[(&str, &str, usize)] = &[
    ("step", "step", 0),
    ("masked loss", "masked_loss", 4),
    ("perplexity", "perplexity", 2),
    ("masked accuracy", "masked_accuracy", 4),
    ("pair loss", "pair_loss", 4),
    ("pair accuracy", "pair_accuracy", 4),
];

fn page(log: &Log, curve: &str) -> String {
    let mut html = String::from(
        "<!doctype html><meta charset=\"utf-8\"><title>A run of cloze-train</title><style>body{font:15px sans-serif;max-width:800px;margin:2em auto;padding:0 1em;color:#222;background:#fff}table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}</style><h1>A run of cloze-train</h1>\n",
    );
    if let Some(last) = log.of("step").last() {
        let number = |field: &str| last[field].as_f64().unwrap_or(0.0);
        let _ = writeln!(
            html,
            "<p>Step {} of {}: masked loss {:.4}, {:.0} tokens a second.</p>",
            number("step"),
            number("steps"),
            number("masked_loss"),
            number("tokens_per_second")
        );
    }
    html.push_str(curve);
    html.push_str("<h2>On texts held out</h2>\n<table><tr>");
    COLUMNS.iter().for_each(|(name, _, _)| html.push_str(&format!("<th>{name}</th>")));
    html.push_str("</tr>\n");
    for event in log.of("evaluated") {
        let cell = |(_, field, digits): &(&str, &str, usize)| match event[*field].as_f64() {
            Some(x) => format!("<td>{x:.digits$}</td>"),
            None => "<td></td>".to_owned(),
        };
        let _ = writeln!(html, "<tr>{}</tr>", COLUMNS.iter().map(cell).collect::<String>());
    }
    html.push_str("</table>\n");
    html
}
