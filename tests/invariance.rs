//! Is a text's vector the same, bit for bit, whatever else is in the call?
//!
//! The promise of `Model::encode`: other texts, their order, the cut into calls and the number of threads change nothing. Random
//! plans try it on every instruction set of this machine, with a small committed model and a wider one made here, which gives
//! the threads enough to share.

use std::collections::HashMap;
use std::path::Path;

use cloze::{Model, Options, Precision, Request, Vectors};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const INSTRUCTION_SETS: [&str; 7] = ["avx512bf16", "avx512vnni", "avx512", "avxvnni", "avx2", "portable", "reference"];
const WORDS: &str =
    "the quick brown fox jumps over a lazy dog . search , query vector 天 气 很 好 model word unlearnable preworded city é ?";
/// Longest input of the wide model, in tokens.
const POSITIONS: usize = 384;

/// A plan: the texts, given by their numbers of words and a seed, and how the calls are made.
#[derive(Clone, Debug)]
struct Plan {
    texts: Vec<(usize, u64)>,
    /// Which texts are encoded, in this order; a text may come twice.
    order: Vec<usize>,
    /// Where the order is cut into calls.
    cuts: Vec<usize>,
    threads: usize,
    settings: &'static [(&'static str, &'static str)],
}

const SETTINGS: &[&[(&str, &str)]] = &[
    &[],
    &[("vectors", "token"), ("normalize", "false")],
    &[("vectors", "token"), ("layers", "concat:2"), ("normalize", "false")],
    &[("pooling", "cls+max+weighted_mean"), ("normalize", "false")],
    &[("truncation", "window"), ("max_tokens", "23")],
    &[("pooling", "mean_sqrt_len+last+pooler"), ("max_tokens", "40")],
];

/// `longest` is in words: many texts are short, some are longer than the model's limit.
fn plans(longest: usize, most: usize) -> impl Strategy<Value = Plan> {
    let length = prop_oneof![1 => Just(0), 4 => 1..12usize, 2 => 12..40usize, 2 => 40..=longest];
    let texts = prop::collection::vec((length, any::<u64>()), 1..=most);
    texts.prop_flat_map(move |texts| {
        let order = prop::collection::vec(0..texts.len(), 1..=most + most / 2);
        let cuts = prop::collection::vec(0..=most + most / 2, 0..4);
        (Just(texts), order, cuts, 1..=4usize, prop::sample::select(SETTINGS)).prop_map(|(texts, order, cuts, threads, settings)| Plan {
            texts,
            order,
            cuts,
            threads,
            settings,
        })
    })
}

/// Numbers that look random (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Close to a normal distribution: the sum of twelve uniform numbers.
    fn normal(&mut self) -> f32 {
        (0..12).map(|_| (self.next() >> 40) as f32 / (1u64 << 24) as f32).sum::<f32>() - 6.0
    }
}

fn text(words: usize, seed: u64) -> String {
    let (known, mut random): (Vec<&str>, _) = (WORDS.split(' ').collect(), Random(seed));
    let chosen: Vec<&str> = (0..words).map(|_| known[random.next() as usize % known.len()]).collect();
    chosen.join(" ")
}

fn small() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/models/tiny-gelu")
}

/// The files of a BERT with `hidden` columns (heads of 32), random weights and the small model's vocabulary.
fn wide(hidden: usize, layers: usize) -> Vec<(String, Vec<u8>)> {
    let vocabulary = std::fs::read_to_string(small().join("vocab.txt")).unwrap();
    let (rows, inner) = (vocabulary.lines().count(), hidden * 3 + 5);
    let config = serde_json::json!({
        "model_type": "bert", "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": hidden / 32,
        "intermediate_size": inner, "hidden_act": "gelu", "vocab_size": rows, "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2, "layer_norm_eps": 1e-12,
    });
    let mut shapes: Vec<(String, Vec<usize>)> = vec![
        ("embeddings.word_embeddings.weight".into(), vec![rows, hidden]),
        ("embeddings.position_embeddings.weight".into(), vec![POSITIONS, hidden]),
        ("embeddings.token_type_embeddings.weight".into(), vec![2, hidden]),
        ("embeddings.LayerNorm".into(), vec![hidden]),
        ("pooler.dense".into(), vec![hidden, hidden]),
    ];
    for layer in 0..layers {
        let named = |name: &str, shape: &[usize]| (format!("encoder.layer.{layer}.{name}"), shape.to_vec());
        shapes.extend(["query", "key", "value"].map(|n| named(&format!("attention.self.{n}"), &[hidden, hidden])));
        shapes.extend([named("attention.output.dense", &[hidden, hidden]), named("attention.output.LayerNorm", &[hidden])]);
        shapes.extend([named("intermediate.dense", &[inner, hidden]), named("output.dense", &[hidden, inner])]);
        shapes.push(named("output.LayerNorm", &[hidden]));
    }
    vec![
        ("config.json".into(), config.to_string().into_bytes()),
        ("vocab.txt".into(), vocabulary.into_bytes()),
        ("model.safetensors".into(), weights(&shapes)),
    ]
}

/// A safetensors file: tables as they are named, and for every other name a weight and a bias.
fn weights(shapes: &[(String, Vec<usize>)]) -> Vec<u8> {
    let mut random = Random(7);
    let mut tensors: HashMap<String, (Vec<usize>, Vec<u8>)> = HashMap::new();
    let mut add = |name: String, shape: Vec<usize>, scale: f32, shift: f32| {
        let values = (0..shape.iter().product()).flat_map(|_| (random.normal() * scale + shift).to_le_bytes()).collect();
        tensors.insert(name, (shape, values));
    };
    for (name, shape) in shapes {
        if name.ends_with("weight") {
            add(name.clone(), shape.clone(), 0.5, 0.0);
            continue;
        }
        let (scale, shift) = if name.ends_with("LayerNorm") { (0.2, 1.0) } else { (1.5 / (shape[1] as f32).sqrt(), 0.0) };
        add(format!("{name}.weight"), shape.clone(), scale, shift);
        add(format!("{name}.bias"), vec![shape[0]], 0.3, 0.0);
    }
    let views = tensors
        .iter()
        .map(|(name, (shape, bytes))| (name, safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape.clone(), bytes).unwrap()));
    safetensors::serialize(views, None).unwrap()
}

/// Opens a model on every instruction set that this machine has, the plain ones at least, at every precision.
fn everywhere(open: impl Fn(&Options) -> cloze::Result<Model>) -> Vec<Model> {
    let rows = INSTRUCTION_SETS.iter().flat_map(|isa| [(isa, Precision::F32), (isa, Precision::Int8)]);
    let options = rows.map(|(isa, precision)| Options { isa: Some((*isa).into()), precision, ..Options::default() });
    let models: Vec<Model> = options.filter_map(|options| open(&options).ok()).collect();
    for plain in ["portable", "reference"] {
        for precision in ["f32", "int8"] {
            let opened = models.iter().any(|m| m.describe().isa == plain && m.describe().precision == precision);
            assert!(opened, "{plain} does not open at {precision}");
        }
    }
    models
}

/// The bits of each text's vectors.
fn encode(model: &Model, texts: &[&str], request: &Request) -> Vec<Vec<u32>> {
    let answer = model.encode(texts, request).unwrap();
    let Vectors::F32(values) = &answer.vectors else { panic!("not f32") };
    let bits = |r: &std::ops::Range<usize>| &values[r.start * answer.dimensions..r.end * answer.dimensions];
    answer.texts.iter().map(|t| bits(&t.rows).iter().map(|v| v.to_bits()).collect()).collect()
}

/// Each text alone on one thread, against the plan's calls.
fn check(model: &Model, plan: &Plan) -> Result<(), TestCaseError> {
    let texts: Vec<String> = plan.texts.iter().map(|(words, seed)| text(*words, *seed)).collect();
    let mut request = Request { threads: Some(1), ..Request::default() };
    plan.settings.iter().for_each(|(name, value)| request.set(name, value).unwrap());
    let alone: Vec<Vec<u32>> = texts.iter().map(|t| encode(model, &[t], &request).remove(0)).collect();
    request.threads = Some(plan.threads);
    let mut cuts: Vec<usize> = plan.cuts.iter().map(|c| (*c).min(plan.order.len())).chain([0, plan.order.len()]).collect();
    cuts.sort_unstable();
    for call in cuts.windows(2).map(|c| &plan.order[c[0]..c[1]]) {
        let asked: Vec<&str> = call.iter().map(|i| texts[*i].as_str()).collect();
        for (i, got) in call.iter().zip(encode(model, &asked, &request)) {
            let (isa, precision) = (&model.describe().isa, &model.describe().precision);
            prop_assert!(got == alone[*i], "on {isa} at {precision}, text {i} of {} words differs from itself alone", plan.texts[*i].0);
        }
    }
    Ok(())
}

fn try_plans(models: &[Model], cases: u32, longest: usize, most: usize) {
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() });
    let tried = runner.run(&plans(longest, most), |plan| models.iter().try_for_each(|model| check(model, &plan)));
    tried.unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn vectors_do_not_depend_on_company_order_or_threads_in_a_small_model() {
    try_plans(&everywhere(|options| Model::load(small(), options)), 32, 90, 40);
}

#[test]
fn vectors_do_not_depend_on_company_order_or_threads_in_a_wide_model() {
    let files = wide(96, 3);
    let mut models = everywhere(|options| Model::load_files(files.clone(), options));
    models.retain(|m| m.describe().isa != "reference"); // too slow for this width; the small model has it
    try_plans(&models, 12, 420, 16);
}

#[test]
fn a_text_alone_and_among_many_long_ones_has_the_same_vector() {
    let files = wide(128, 2);
    let mut models = everywhere(|options| Model::load_files(files.clone(), options));
    models.retain(|m| m.describe().isa != "reference");
    let long: Vec<String> = (0..12).map(|seed| text(POSITIONS, seed)).collect();
    for model in models {
        for words in [0, 5, 100] {
            let short = text(words, 99);
            let alone = encode(&model, &[&short], &Request::default()).remove(0);
            for place in [0, 7, 12] {
                let mut texts: Vec<&str> = long.iter().map(String::as_str).collect();
                texts.insert(place, &short);
                for threads in [1, 3] {
                    let all = encode(&model, &texts, &Request { threads: Some(threads), ..Request::default() });
                    assert!(all[place] == alone, "on {}, {words} words at {place}, {threads} threads", model.describe().isa);
                }
            }
        }
    }
}
