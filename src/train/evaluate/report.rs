//! Where is a model wrong? Its figures, confusions and errors as one page, without scripts, fonts or anything from a network.

use std::fmt::Write;

use serde_json::Value;

use super::Outcome;
use crate::train::finetune::Task;
use crate::train::metrics::classes::Confusion;

const HEAD: &str = "<!doctype html><meta charset=\"utf-8\"><title>An evaluation of cloze-train</title><style>body{font:15px sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#222;background:#fff}table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .8em;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}td.n{text-align:right}</style>";

/// The page; `shown` errors at most.
pub fn page(task: &Task, outcome: &Outcome, shown: usize) -> String {
    let mut html = format!(
        "{HEAD}<h1>{}: {}</h1>\n<p>{} examples.</p>\n<table>\n",
        escaped(task.name),
        escaped(task.about),
        outcome.predictions.len()
    );
    for (name, figure) in &outcome.figures.named {
        let _ = writeln!(html, "<tr><th>{}</th><td class=\"n\">{figure:.4}</td></tr>", escaped(name));
    }
    html.push_str("</table>\n");
    if let Some((labels, confusion)) = &outcome.confusion {
        confusions(&mut html, labels, confusion);
    }
    errors(&mut html, &outcome.predictions, shown);
    html
}

/// Rows are what is right, columns what was said.
fn confusions(html: &mut String, labels: &[String], confusion: &Confusion) {
    html.push_str("<h2>What was taken for what</h2>\n<p>Rows: what is right. Columns: what the model says.</p>\n<table><tr><th></th>");
    labels.iter().for_each(|label| html.push_str(&format!("<th>{}</th>", escaped(label))));
    html.push_str("<th>precision</th><th>recall</th><th>F1</th></tr>\n");
    for (gold, label) in labels.iter().enumerate() {
        let _ = write!(html, "<tr><th>{}</th>", escaped(label));
        (0..labels.len()).for_each(|said| html.push_str(&format!("<td class=\"n\">{}</td>", confusion.count(gold, said))));
        let shares = confusion.of_class(gold);
        let _ = writeln!(
            html,
            "<td class=\"n\">{:.3}</td><td class=\"n\">{:.3}</td><td class=\"n\">{:.3}</td></tr>",
            shares.precision, shares.recall, shares.f1
        );
    }
    html.push_str("</table>\n");
}

/// Examples of which the model says something else than what is right.
fn errors(html: &mut String, predictions: &[Value], shown: usize) {
    let wrong: Vec<&Value> = predictions.iter().filter(|p| !agrees(&p["right"], &p["said"])).collect();
    let _ = writeln!(
        html,
        "<h2>Where the model is wrong</h2>\n<p>{} of {}; the first {}.</p>\n<table>",
        wrong.len(),
        predictions.len(),
        shown.min(wrong.len())
    );
    for example in wrong.iter().take(shown) {
        let fields = example.as_object().into_iter().flatten().map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("<td><b>{}</b><br>{}</td>", escaped(name), escaped(&text))
        });
        let _ = writeln!(html, "<tr>{}</tr>", fields.collect::<String>());
    }
    html.push_str("</table>\n");
}

/// Whether an answer is right: equal, one of several, or a number that is near.
fn agrees(right: &Value, said: &Value) -> bool {
    match (right.as_f64(), said.as_f64(), right) {
        (Some(right), Some(said), _) => (right - said).abs() < 0.5,
        (_, _, Value::Array(several)) if said.is_string() => several.contains(said) || (several.is_empty() && said == ""),
        _ => right == said,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
