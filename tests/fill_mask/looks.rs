//! Are attention maps and hidden states the reference's, and is what cannot be shown refused?

use cloze::{Cancel, ErrorKind, Maps, Model, Options, Precision, Request};
use serde::Deserialize;

use super::{FOLDERS, golden, open, set};

/// The largest error of a weight, and of a hidden state.
const WEIGHT: f32 = 1e-5;
const STATE: f32 = 1e-4;

#[derive(Deserialize)]
struct Expected {
    looks: Vec<Look>,
}

/// A text and the shapes of its numbers, which stand in looks.f32.
#[derive(Deserialize)]
struct Look {
    text: String,
    pair: Option<String>,
    maps: [usize; 4],
    states: [usize; 3],
}

fn looks(name: &str) -> (Vec<Look>, Vec<f32>) {
    let read = |file: &str| std::fs::read(golden(name).join(file)).unwrap();
    let numbers = read("looks.f32").chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
    (serde_json::from_slice::<Expected>(&read("expected.json")).unwrap().looks, numbers)
}

fn furthest(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, |m, e| if e > m || e.is_nan() { e } else { m })
}

#[test]
fn maps_and_states_are_those_of_the_reference() {
    for name in FOLDERS {
        for isa in ["avx512", "avx2", "portable"] {
            let Ok(model) = Model::load(golden(name), &Options { isa: Some(isa.into()), ..Options::default() }) else { continue };
            let (looks, numbers) = looks(name);
            let mut rest = numbers.as_slice();
            let (mut weights, mut states) = (0f32, 0f32);
            for look in &looks {
                let maps = model.attention(&look.text, look.pair.as_deref(), &Request::default()).unwrap();
                let count = maps.tokens.ids.len();
                assert_eq!(look.maps, [maps.layers, maps.heads, count, count]);
                assert_eq!(look.states, [maps.layers + 1, count, maps.hidden]);
                let (wanted, others) = rest.split_at(maps.attention.len());
                weights = weights.max(furthest(&maps.attention, wanted));
                let (wanted, others) = others.split_at(maps.hidden_states.len());
                states = states.max(furthest(&maps.hidden_states, wanted));
                rest = others;
            }
            assert!(rest.is_empty());
            println!("{name:<12} {isa:<9} worst weight {weights:.1e}, worst state {states:.1e}");
            assert!(weights <= WEIGHT && states <= STATE, "{name} on {isa}: {weights} {states}");
        }
    }
}

fn two() -> Maps {
    open("tied").attention("The 😀 fox.", Some("Where is it?"), &set([("offsets", "byte")])).unwrap()
}

#[test]
fn maps_come_with_the_tokens_that_they_are_about() {
    let maps = two();
    let tokens = open("tied").tokenize(&[("The 😀 fox.", Some("Where is it?"))], &set([("offsets", "byte")])).unwrap().remove(0);
    assert_eq!(maps.tokens, tokens);
    let count = tokens.ids.len();
    for layer in 0..maps.layers {
        for head in 0..maps.heads {
            let rows = maps.map(layer, head).unwrap().chunks(count).map(|row| row.iter().sum::<f32>()).collect::<Vec<_>>();
            assert!(rows.len() == count && rows.iter().all(|sum| (sum - 1.0).abs() < 1e-5), "{rows:?}");
        }
    }
    assert_eq!((maps.map(0, maps.heads), maps.map(maps.layers, 0), maps.state(maps.layers + 1)), (None, None, None));
}

#[test]
fn the_last_hidden_state_is_what_encode_gives() {
    let (model, maps) = (open("tied"), two());
    let encoded = model.encode(&["The fox."], &set([("vectors", "token"), ("normalize", "false")])).unwrap();
    let alone = model.attention("The fox.", None, &Request::default()).unwrap();
    assert_eq!(encoded.vectors.as_f32().unwrap(), alone.state(alone.layers).unwrap());
    let int8 = Model::load(golden("tied"), &Options { precision: Precision::Int8, ..Options::default() }).unwrap();
    let near = int8.attention("The 😀 fox.", Some("Where is it?"), &Request::default()).unwrap();
    let far = furthest(&near.attention, &maps.attention);
    assert!(far > 0.0 && far < 0.2, "{far}");
}

#[test]
fn what_cannot_be_shown_is_refused() {
    let model = open("tied");
    let kind = |request: &Request| model.attention("a", None, request).unwrap_err().kind();
    assert_eq!(kind(&set([("truncation", "window")])), ErrorKind::InvalidArgument);
    assert_eq!(kind(&set([("deadline_ms", "0")])), ErrorKind::DeadlineExceeded);
    let cancel = Cancel::new();
    cancel.cancel();
    assert_eq!(kind(&Request { cancel: Some(cancel), ..Request::default() }), ErrorKind::Cancelled);
    let long = "fox ".repeat(100);
    assert_eq!(model.attention(&long, None, &set([("truncation", "error")])).unwrap_err().kind(), ErrorKind::TooLong);
    let cut = model.attention(&long, None, &Request::default()).unwrap();
    assert!(cut.tokens.truncated && cut.tokens.ids.len() == 60);
}
