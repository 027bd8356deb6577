//! Search a text file, a passage a line: `cargo run --release -- MODEL PASSAGES QUERY`

use std::io::BufRead;

use cloze::{Model, Options};
use cloze_tantivy::{Engine, Error};

/// How many passages the index hands to the model, and how many are shown.
const CANDIDATES: usize = 50;
const TOP: usize = 5;

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, passages, query] = arguments.as_slice() else {
        return Err("usage: cloze-tantivy MODEL PASSAGES QUERY".into());
    };
    let file = std::fs::File::open(passages).map_err(|e| format!("{passages}: {e}"))?;
    let passages: Vec<String> = std::io::BufReader::new(file).lines().collect::<Result<_, _>>()?;
    let engine = Engine::new(&passages, Model::load(model, &Options::default())?)?;
    for hit in engine.search(query, CANDIDATES, TOP)? {
        println!("{:7.3}  line {:<5} by words {:<4} {}", hit.score, hit.number + 1, hit.by_words + 1, hit.text);
    }
    Ok(())
}
