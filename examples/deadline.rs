//! A time limit, and what became of each text: `cargo run --release --example deadline -- models/minilm 20 < texts.txt`
//!
//! When the time is over, the texts finished so far have their vectors. A text longer than the model's limit is cut, and the
//! report says so; here it is read in overlapping windows instead.

use std::io::BufRead;
use std::time::Duration;

use cloze::{Model, Options, Request, Truncation};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), Some(milliseconds)) = (arguments.next(), arguments.next()) else {
        return Err("usage: deadline MODEL MILLISECONDS < texts".into());
    };
    let texts: Vec<String> = std::io::stdin().lock().lines().collect::<Result<_, _>>()?;

    let model = Model::load(&folder, &Options::default())?;
    let request = Request {
        deadline: Some(Duration::from_millis(milliseconds.parse()?)),
        truncation: Some(Truncation::Window),
        ..Request::default()
    };
    let answer = model.encode(&texts, &request)?;

    for report in &answer.texts[..answer.finished] {
        println!("{} tokens in {} windows: vector {}", report.total, report.windows, report.rows.start);
    }
    match answer.stopped {
        Some(why) => println!("stopped ({why:?}): {} of {} texts are finished", answer.finished, texts.len()),
        None => println!("all {} texts are finished", texts.len()),
    }
    Ok(())
}
