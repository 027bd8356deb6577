//! A query against passages, best first: `cargo run --release --example search -- models/minilm 'a query' < passages.txt`

use std::io::BufRead;

use cloze::{Model, Options, Request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), Some(query)) = (arguments.next(), arguments.next()) else {
        return Err("usage: search MODEL QUERY < passages".into());
    };
    let passages: Vec<String> = std::io::stdin().lock().lines().collect::<Result<_, _>>()?;

    let model = Model::load(&folder, &Options::default())?;
    // At length 1 the dot product is the cosine.
    let request = Request { normalize: Some(true), ..Request::default() };
    let index = model.encode(&passages, &request)?;
    let query = model.encode(&[query], &request)?;

    let (vectors, wanted) = (index.vectors.as_f32().unwrap_or_default(), query.vectors.as_f32().unwrap_or_default());
    let mut scores: Vec<(f32, &String)> =
        vectors.chunks(index.dimensions).map(|vector| vector.iter().zip(wanted).map(|(a, b)| a * b).sum()).zip(&passages).collect();
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (score, passage) in scores.iter().take(5) {
        println!("{score:.3}  {passage}");
    }
    Ok(())
}
