//! Texts to vectors: `cargo run --release --example encode -- models/minilm 'a text' 'another text'`

use cloze::{Model, Options, Request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: encode MODEL TEXT...")?;
    let texts: Vec<String> = arguments.collect();

    // Open once, use from any thread.
    let model = Model::load(&folder, &Options::default())?;
    let answer = model.encode(&texts, &Request::default())?;

    for (text, report) in texts.iter().zip(&answer.texts) {
        let all = answer.vectors.as_f32().unwrap_or_default();
        let row = report.rows.start * answer.dimensions;
        println!("{text:?}: {} of {} tokens, {:?} ...", report.tokens, report.total, &all[row..row + 4.min(answer.dimensions)]);
    }
    Ok(())
}
