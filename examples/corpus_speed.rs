//! How many examples does a corpus give a second?
//!
//! `cargo run --release --example corpus_speed -- TOKENIZER SHARDS [OPTION=VALUE ...]`, with the options of `ExampleSettings`. Prints one
//! example as the model sees it, and how long an epoch's examples take on one thread.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cloze::train::shards::Shards;
use cloze::train::{Corpus, ExampleSettings, open_tokenizer};

fn main() -> cloze::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [tokenizer, shards, options @ ..] = words.as_slice() else {
        eprintln!("usage: corpus_speed TOKENIZER SHARDS [OPTION=VALUE ...]");
        std::process::exit(2);
    };
    let tokenizer = Arc::new(open_tokenizer(Path::new(tokenizer))?);
    let mut settings = ExampleSettings::default();
    for option in options {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        settings.set(name, value)?;
    }
    let started = Instant::now();
    let shards = Shards::open(Path::new(shards))?;
    println!("{} tokens checked and mapped in {:.2?}", shards.tokens(), started.elapsed());
    let started = Instant::now();
    let corpus = Corpus::new(shards, Arc::clone(&tokenizer), settings)?;
    println!("{} examples an epoch, found in {:.2?}", corpus.len(), started.elapsed());
    let example = corpus.example(0, 0)?;
    let spelled: Vec<String> = example.ids.iter().map(|id| tokenizer.token(*id).unwrap_or_default()).collect();
    println!("label {:?}, spans {:?}\n{}", example.label, example.spans, spelled.join(" "));
    let started = Instant::now();
    let (mut tokens, mut masked) = (0, 0);
    for index in 0..corpus.len() {
        let example = corpus.example(0, index)?;
        (tokens, masked) = (tokens + example.ids.len(), masked + example.masked.len());
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{:.0} examples and {:.0} tokens a second, {masked} of {tokens} tokens asked for",
        corpus.len() as f64 / seconds,
        tokens as f64 / seconds
    );
    Ok(())
}
