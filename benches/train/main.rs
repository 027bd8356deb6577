//! How many real tokens a second does pretraining take in? `cargo bench --bench train -- [threads] [seconds]`
//!
//! BERT-mini, masked words and next sentences, batches of 32 sequences of the lengths in `lengths.json` (English sentences: mean 30, at most 128
//! tokens), dropout 0.1, 15 % of the tokens asked, AdamW, gradients clipped. `peer.py` beside this file runs PyTorch on the same batches;
//! benches/README.md has both.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cloze::engine::Batch;
use cloze::engine::cpu::{Learner, LearningStep, Method};
use cloze::engine::gradient::{Course, Goal, Rates, learning};
use cloze::engine::graph::Loss;
use cloze::engine::lesson::{Lesson, Target, key};
use cloze::formats::Weights;
use cloze::model::heads::Kind;
use cloze::model::{Fresh, Learnable};
use serde_json::json;

const VOCABULARY: u64 = 30522;

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let (threads, seconds) = (numbers.first().copied().unwrap_or(2) as usize, numbers.get(1).copied().unwrap_or(20));
    let lengths: Vec<Vec<usize>> = serde_json::from_str(include_str!("lengths.json")).expect("lengths.json");
    let config = json!({"model_type": "bert", "vocab_size": VOCABULARY, "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4,
        "intermediate_size": 1024, "hidden_act": "gelu", "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12});
    let fresh = Fresh { seed: 1, deviation: 0.02, heads: vec![Kind::FillMask, Kind::NextSentence], ..Fresh::default() };
    let model = Learnable::new(&config, Weights::default(), fresh).expect("a model");
    let (graph, values) = model.graph(&[Kind::FillMask, Kind::NextSentence]).expect("heads");
    let goals: Vec<Goal> = values.iter().enumerate().map(|(i, value)| Goal::of(*value, Loss::CrossEntropy, i)).collect();
    let rates = Rates { hidden: 0.1, attention: 0.1, head: 0.0 };
    let course = Course { weights: model.weights().len(), learns: &|_| true, rates, kept: &[], adapters: &[] };
    let made = learning(&graph, &goals, &course).expect("a way back");
    let (graph, losses) = (Arc::new(made.graph), made.losses);
    let mut learner = Learner::new(model.weights(), None, threads).expect("a learner");
    let (mut speeds, started) = (Vec::new(), Instant::now());
    for number in 1.. {
        let (batch, lesson) = lesson(&lengths[number as usize % lengths.len()], number);
        let clock = Instant::now();
        let costs = learner.run(&graph, &losses, &batch, &lesson).expect("a step");
        let norm = learner.gradient_norm(|_| true);
        let clip = (1.0 / norm).min(1.0) as f32;
        let step = LearningStep { method: Method::AdamW, number, rate: 1e-4, decay: 0.01, beta1: 0.9, beta2: 0.999, epsilon: 1e-6, clip };
        learner.step(&step, |_| 1.0).expect("a step");
        let took = clock.elapsed();
        if number > 3 {
            speeds.push(batch.tokens() as f64 / took.as_secs_f64());
        }
        if number % 20 == 0 || number < 4 {
            let loss: f32 = costs[0].iter().map(|c| c.loss).sum::<f32>() / costs[0].len() as f32;
            eprintln!("step {number}: loss {loss:.3}, norm {norm:.2}, {} tokens in {took:.0?}", batch.tokens());
        }
        if started.elapsed() > Duration::from_secs(seconds) {
            break;
        }
    }
    speeds.sort_by(f64::total_cmp);
    let at = |share: f64| speeds[(share * (speeds.len() - 1) as f64) as usize];
    println!(
        "{} on {threads} threads: {:.0} real tokens/s (quartiles {:.0} to {:.0}, {} steps)",
        learner.isa(),
        at(0.5),
        at(0.25),
        at(0.75),
        speeds.len()
    );
}

/// Random tokens of these lengths; what is asked of them does not change the time.
fn lesson(lengths: &[usize], number: u64) -> (Arc<Batch>, Arc<Lesson>) {
    let (mut batch, mut masked) = (Batch::default(), Vec::new());
    for (s, tokens) in lengths.iter().enumerate() {
        let word = |i: usize| (key(&[number, s as u64, i as u64]) % VOCABULARY) as u32;
        let ids: Vec<u32> = (0..*tokens).map(word).collect();
        let segments: Vec<u32> = (0..*tokens).map(|i| u32::from(i > tokens / 2)).collect();
        batch.push(&ids, &segments, 0);
        for i in (3..*tokens).step_by(7) {
            batch.pick(i);
            masked.push(word(i + 1000));
        }
    }
    let next = (0..lengths.len()).map(|s| (key(&[number, s as u64]) % 2) as u32).collect::<Vec<_>>();
    let targets = [masked, next].map(|classes| Target::Classes { factor: 1.0 / classes.len() as f32, classes });
    (Arc::new(batch), Arc::new(Lesson { targets: targets.into(), seed: number, first_sequence: 0 }))
}
