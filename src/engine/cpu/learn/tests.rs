//! Gradients by differences, and every instruction set against the definition.

use std::sync::Arc;

use super::super::kernels;
use super::{Learner, Method, State, Step};
use crate::engine::gradient::{Course, Goal, Learning, Rates, evaluating, learning};
use crate::engine::graph::{
    Activation, Attention, Bias, Blocks, Disentangled, Far, Graph, Half, Index, Lookup, Loss, Met, Norm, Reduce, Relative, Rotary, Span,
    Start, Terms, ValueId, WeightId, Which,
};
use crate::engine::lesson::{Lesson, Target, UNLABELLED, key};
use crate::engine::{Batch, Role, Weight};
use crate::quant::{Bytes, Dtype, Tensor};

/// A number between -1 and 1 for these words.
fn random(words: &[u64]) -> f32 {
    (key(words) >> 40) as f32 / (1u64 << 23) as f32 - 1.0
}

/// Weights as a test's graph asks for them.
#[derive(Default)]
struct Model {
    graph: Graph,
    weights: Vec<Weight>,
}

impl Model {
    fn weight(&mut self, role: Role, rows: usize, width: usize, around: f32) -> WeightId {
        let id = self.weights.len();
        let scale = if role == Role::Vector { 0.3 } else { 1.5 / (width as f32).sqrt() };
        let number = |i: usize| around + scale * random(&[id as u64, i as u64]);
        let bytes: Vec<u8> = (0..rows * width).flat_map(|i| number(i).to_le_bytes()).collect();
        let shape = if role == Role::Vector && width == 1 { vec![rows] } else { vec![rows, width] };
        let tensors = vec![Tensor::new(Dtype::F32, shape, Bytes::owned(bytes)).unwrap()];
        self.weights.push(Weight { name: format!("w{id}"), role, tensors });
        WeightId(id)
    }

    fn table(&mut self, rows: usize, width: usize) -> WeightId {
        self.weight(Role::Table, rows, width, 0.0)
    }

    fn vector(&mut self, width: usize) -> WeightId {
        self.weight(Role::Vector, width, 1, 0.0)
    }

    fn norm(&mut self, width: usize) -> Norm {
        let weight = self.weight(Role::Vector, width, 1, 1.0);
        Norm { weight, bias: Some(self.vector(width)), epsilon: 1e-5 }
    }

    fn embed(&mut self, width: usize, norm: bool) -> ValueId {
        let words = Lookup { table: self.table(20, width), index: Index::Token };
        let places = Lookup { table: self.table(200, width), index: Index::Position { offset: 1, padding: None } };
        let norm = norm.then(|| self.norm(width));
        self.graph.embed(vec![words, places], norm, width)
    }

    fn linear(&mut self, input: ValueId, width: usize, activation: Activation) -> ValueId {
        let inputs = self.graph.node(input).width;
        let weight = self.weight(Role::Matrix, width, inputs, 0.0);
        let bias = Some(self.vector(width));
        self.graph.linear(input, weight, bias, activation, width)
    }
}

/// Sequences of these lengths, with every third token picked.
fn batch(lengths: &[usize]) -> Batch {
    let mut batch = Batch::default();
    for (s, tokens) in lengths.iter().enumerate() {
        let ids: Vec<u32> = (0..*tokens).map(|i| (key(&[s as u64, i as u64]) % 20) as u32).collect();
        batch.push(&ids, &vec![0; *tokens], 0);
        (0..*tokens).step_by(3).for_each(|i| batch.pick_between(i, i.saturating_sub(1 + i % 2), (i + 1).min(tokens - 1)));
    }
    batch
}

/// What is compared with the last value.
fn lesson(model: &Model, last: ValueId, loss: Loss, batch: &Batch) -> Lesson {
    let node = model.graph.node(last);
    let rows = super::super::plan::rows_of(node, batch);
    let target = match loss {
        Loss::CrossEntropy => {
            let class = |r: usize| if r % 5 == 4 { UNLABELLED } else { (key(&[r as u64]) % node.width as u64) as u32 };
            Target::Classes { classes: (0..rows).map(class).collect(), factor: 0.7 }
        }
        Loss::Binary => {
            let number = |i: usize| (key(&[i as u64]) % 2) as f32;
            Target::Numbers { numbers: (0..rows * node.width).map(number).collect(), factor: 0.7 }
        }
        _ => Target::Numbers { numbers: (0..rows * node.width).map(|i| random(&[9, i as u64])).collect(), factor: 0.7 },
    };
    Lesson { targets: vec![target], seed: 7, first_sequence: 3 }
}

struct Run {
    learner: Learner,
    learning: Learning,
    batch: Arc<Batch>,
    lesson: Arc<Lesson>,
}

fn start(model: &Model, last: ValueId, loss: Loss, rates: Rates, lengths: &[usize], isa: &str, threads: usize) -> Run {
    let batch = batch(lengths);
    let lesson = lesson(model, last, loss, &batch);
    let course = Course { weights: model.weights.len(), learns: &|_| true, rates, kept: &[], adapters: &[] };
    let learning = learning(&model.graph, &[Goal::of(last, loss, 0)], &course).unwrap();
    let learner = Learner::new(&model.weights, Some(isa), threads).unwrap();
    Run { learner, learning, batch: Arc::new(batch), lesson: Arc::new(lesson) }
}

impl Run {
    fn cost(&mut self) -> f64 {
        let graph = Arc::new(self.learning.graph.clone());
        let costs = self.learner.run(&graph, &self.learning.losses, &self.batch, &self.lesson).unwrap();
        costs[0].iter().map(|c| f64::from(c.loss)).sum::<f64>() * 0.7
    }

    fn gradients(&mut self) -> Vec<f32> {
        self.learner.forget();
        self.cost();
        self.learner.gradients.to_vec()
    }
}

/// A graph of the table below: what its last value is, and what it is compared by.
type Case = (&'static str, fn(&mut Model) -> ValueId, Loss);

const CASES: &[Case] = &[
    ("embed", |m| m.embed(10, false), Loss::Squared),
    ("norm", |m| m.embed(40, true), Loss::Squared),
    (
        "linear",
        |m| {
            let x = m.embed(10, true);
            m.linear(x, 37, Activation::Identity)
        },
        Loss::Squared,
    ),
    (
        "gelu",
        |m| {
            let x = m.embed(16, true);
            m.linear(x, 64, Activation::Gelu)
        },
        Loss::Squared,
    ),
    (
        "gelu tanh",
        |m| {
            let x = m.embed(16, true);
            m.linear(x, 40, Activation::GeluTanh)
        },
        Loss::Squared,
    ),
    (
        "tanh",
        |m| {
            let x = m.embed(16, true);
            m.linear(x, 33, Activation::Tanh)
        },
        Loss::Squared,
    ),
    (
        "silu",
        |m| {
            let x = m.embed(16, true);
            m.linear(x, 33, Activation::Silu)
        },
        Loss::Squared,
    ),
    ("attention", |m| attention(m, 2, 16, Bias::None, Span::ALL), Loss::Squared),
    ("attention of odd heads", |m| attention(m, 3, 5, Bias::None, Span::ALL), Loss::Squared),
    ("causal attention", |m| attention(m, 2, 8, Bias::None, Span { before: usize::MAX, after: 0 }), Loss::Squared),
    ("attention in a window", |m| attention(m, 2, 8, Bias::None, Span { before: 3, after: 3 }), Loss::Squared),
    (
        "attention in blocks",
        |m| {
            let far = Far::Blocks(Blocks { size: 8, whole: 24, times: 2.0 });
            let x = m.embed(12, true);
            let qkv = m.linear(x, 48, Activation::Identity);
            m.graph.attention(qkv, Attention { far, ..Attention::plain(2, 8) })
        },
        Loss::Squared,
    ),
    ("attention by distance", |m| attention(m, 2, 8, Bias::Slopes([0.5, 0.25].into()), Span::ALL), Loss::Squared),
    (
        "relative attention",
        |m| {
            let table = m.weight(Role::Vector, 4, 2, 0.0);
            attention(m, 2, 8, Bias::Relative(Relative { table, buckets: [0, 1, 2, 3, 3].into() }), Span::ALL)
        },
        Loss::Squared,
    ),
    (
        "rotated attention",
        |m| {
            let x = m.embed(12, true);
            let qkv = m.linear(x, 48, Activation::Identity);
            let turned = m.graph.rotate(qkv, Rotary { head_size: 8, frequencies: [1.0, 0.1, 0.01].into() });
            m.graph.attention(turned, Attention::plain(2, 8))
        },
        Loss::Squared,
    ),
    ("attention to places, both terms", |m| disentangled(m, 2, 16, (true, true)), Loss::Squared),
    ("attention of odd heads to places", |m| disentangled(m, 3, 5, (true, true)), Loss::Squared),
    ("attention to places, of queries", |m| disentangled(m, 2, 8, (true, false)), Loss::Squared),
    ("attention to places, of keys", |m| disentangled(m, 2, 8, (false, true)), Loss::Squared),
    ("attention with a start of its own", |m| from_start(m, Start::First), Loss::Squared),
    ("attention with a question in front", |m| from_start(m, Start::Before(7)), Loss::Squared),
    (
        "scale and shift",
        |m| {
            let x = m.embed(40, true);
            let y = m.linear(x, 40, Activation::Gelu);
            let (first, second) = (m.norm(40), m.norm(40));
            let z = m.graph.affine(y, Some(x), (first.weight, first.bias.unwrap()));
            m.graph.affine(z, None, (second.weight, second.bias.unwrap()))
        },
        Loss::Squared,
    ),
    (
        "first columns of a wider table",
        |m| {
            let wide = m.table(20, 24);
            let x = m.graph.embed(vec![Lookup { table: wide, index: Index::Token }], None, 10);
            let y = m.linear(x, 24, Activation::Gelu);
            let picked = m.graph.pick(y);
            let bias = m.vector(20);
            m.graph.scores(picked, wide, bias, 20)
        },
        Loss::CrossEntropy,
    ),
    (
        "residual",
        |m| {
            let x = m.embed(24, true);
            let y = m.linear(x, 24, Activation::Gelu);
            let norm = m.norm(24);
            let z = m.graph.add_norm(y, x, norm);
            m.graph.add(z, x)
        },
        Loss::Squared,
    ),
    (
        "gate, first half",
        |m| {
            let x = m.embed(12, true);
            let y = m.linear(x, 40, Activation::Identity);
            m.graph.gate(y, Activation::Gelu, Half::First)
        },
        Loss::Squared,
    ),
    (
        "gate, second half",
        |m| {
            let x = m.embed(12, true);
            let y = m.linear(x, 40, Activation::Identity);
            m.graph.gate(y, Activation::Silu, Half::Second)
        },
        Loss::Squared,
    ),
    (
        "neighbours",
        |m| {
            let x = m.embed(6, true);
            m.graph.neighbours(x, 3)
        },
        Loss::Squared,
    ),
    (
        "mean and concat",
        |m| {
            let x = m.embed(6, true);
            let y = m.linear(x, 6, Activation::Tanh);
            let mean = m.graph.mean(vec![x, y]);
            m.graph.concat(vec![mean, y, x])
        },
        Loss::Squared,
    ),
    ("pooled: start", |m| pooled(m, Reduce::Start), Loss::Squared),
    ("pooled: last", |m| pooled(m, Reduce::Last), Loss::Squared),
    ("pooled: mean", |m| pooled(m, Reduce::Mean), Loss::Squared),
    ("pooled: max", |m| pooled(m, Reduce::Max), Loss::Squared),
    ("pooled: mean over a root", |m| pooled(m, Reduce::MeanSqrtLen), Loss::Squared),
    ("pooled: weighted mean", |m| pooled(m, Reduce::WeightedMean), Loss::Squared),
    (
        "classes",
        |m| {
            let x = pooled(m, Reduce::Mean);
            m.linear(x, 5, Activation::Identity)
        },
        Loss::CrossEntropy,
    ),
    (
        "classes of tokens",
        |m| {
            let x = m.embed(16, true);
            m.linear(x, 5, Activation::Identity)
        },
        Loss::CrossEntropy,
    ),
    (
        "yes or no",
        |m| {
            let x = m.embed(16, true);
            m.linear(x, 1, Activation::Identity)
        },
        Loss::Binary,
    ),
    (
        "distilled",
        |m| {
            let x = m.embed(16, true);
            m.linear(x, 7, Activation::Identity)
        },
        Loss::Distilled { temperature: 2.0 },
    ),
    (
        "cosine",
        |m| {
            let x = m.embed(16, true);
            m.linear(x, 9, Activation::Identity)
        },
        Loss::Cosine,
    ),
    (
        "borders of spans and places in them",
        |m| {
            let x = m.embed(12, true);
            let places = m.table(2, 5);
            let mut read = vec![m.graph.pick_which(x, Which::Before), m.graph.pick_which(x, Which::Behind)];
            read.push(m.graph.places_in_spans(places, 2, 5));
            let wide = m.graph.concat(read);
            m.linear(wide, 20, Activation::Gelu)
        },
        Loss::Squared,
    ),
    ("a teacher's words", |m| words(m, 16, 1300), Loss::Distilled { temperature: 2.0 }),
    ("a teacher's words, as they are", |m| words(m, 32, 520), Loss::Distilled { temperature: 1.0 }),
    ("weights of terms: max", |m| terms(m, Terms { sum: false, twice: false }, 5), Loss::Squared),
    ("weights of terms: max, twice", |m| terms(m, Terms { sum: false, twice: true }, 5), Loss::Squared),
    ("weights of terms: sum", |m| terms(m, Terms { sum: true, twice: false }, 600), Loss::Squared),
    ("words of picked tokens", |m| words(m, 16, 1300), Loss::CrossEntropy),
    ("words, whole panels", |m| words(m, 64, 700), Loss::CrossEntropy),
];

fn attention(m: &mut Model, heads: usize, size: usize, bias: Bias, span: Span) -> ValueId {
    let x = m.embed(12, true);
    let qkv = m.linear(x, 3 * heads * size, Activation::Identity);
    m.graph.attention(qkv, Attention { bias, span, ..Attention::plain(heads, size) })
}

/// The row of a distance: one by one when near, then five at a time.
fn row_of(distance: isize) -> u32 {
    let far = (distance.abs() - 8).max(0);
    (20 + distance.signum() * (distance.abs().min(8) + (far + 4) / 5).min(19)) as u32
}

/// Rows of a table that a norm and a layer bring to what queries and keys meet.
fn disentangled(m: &mut Model, heads: usize, size: usize, (keys, queries): (bool, bool)) -> ValueId {
    let (x, width) = (m.embed(12, true), heads * size);
    let qkv = m.linear(x, 3 * width, Activation::Identity);
    let table = m.table(40, 10);
    let (whole, norm) = (m.graph.whole(table, 40, 10), m.norm(10));
    let normed = m.graph.norm(whole, norm);
    let value = m.linear(normed, 2 * width, Activation::Identity);
    let met = |wanted: bool, from| if wanted { Met::Rows { value, from } } else { Met::Nothing };
    let positions = Disentangled { keys: met(keys, 0), queries: met(queries, width), places: (-120..=120).map(row_of).collect() };
    m.graph.attention(qkv, Attention { bias: Bias::Disentangled(positions), ..Attention::plain(heads, size) })
}

fn from_start(m: &mut Model, start: Start) -> ValueId {
    let x = m.embed(12, true);
    let (qkv, own) = (m.linear(x, 48, Activation::Identity), m.linear(x, 48, Activation::Identity));
    let attention = Attention { span: Span { before: 3, after: 3 }, far: Far::Start(start), ..Attention::plain(2, 8) };
    m.graph.attention_from(qkv, Some(own), attention)
}

fn pooled(m: &mut Model, reduce: Reduce) -> ValueId {
    let x = m.embed(20, true);
    m.graph.pool(x, reduce)
}

fn terms(m: &mut Model, terms: Terms, words: usize) -> ValueId {
    let x = m.embed(24, true);
    let y = m.linear(x, 24, Activation::Gelu);
    // Above 0, where weights have a kink. The largest have another where they change hands: few words, and costs so small that a short step
    // tells.
    let around = if terms.sum { 5.0 } else { 0.7 };
    let (table, bias) = (m.table(words, 24), m.weight(Role::Vector, words, 1, around));
    m.graph.terms(y, (table, bias), terms, words)
}

fn words(m: &mut Model, width: usize, words: usize) -> ValueId {
    let x = m.embed(width, true);
    let y = m.linear(x, width, Activation::Gelu);
    let picked = m.graph.pick(y);
    let (table, bias) = (m.table(words, width), m.vector(words));
    m.graph.scores(picked, table, bias, words)
}

const LENGTHS: &[usize] = &[5, 1, 130, 37];

/// Along a random direction, costs change as the gradient says.
#[test]
fn gradients_are_what_differences_say() {
    for rates in [Rates::default(), Rates { hidden: 0.2, attention: 0.3, head: 0.1 }] {
        for (name, make, loss) in CASES {
            let mut model = Model::default();
            let last = make(&mut model);
            let mut run = start(&model, last, *loss, rates, LENGTHS, "reference", 1);
            let gradient = run.gradients();
            let numbers = run.learner.state().numbers.to_vec();
            let zeros = vec![0f32; numbers.len()];
            // Only numbers that have a gradient: padding stays zero.
            let direction: Vec<f32> =
                gradient.iter().enumerate().map(|(i, g)| if *g == 0.0 { 0.0 } else { random(&[5, i as u64]) }).collect();
            let along: f64 = gradient.iter().zip(&direction).map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
            // Near where another token becomes the largest the cost has a kink.
            let length = direction.iter().map(|d| f64::from(*d).powi(2)).sum::<f64>().sqrt();
            let step = if name.contains("max") { 5e-4 } else { 0.02 } / length as f32;
            let mut at = |factor: f32| {
                let moved: Vec<f32> = numbers.iter().zip(&direction).map(|(n, d)| n + factor * step * d).collect();
                run.learner.restore(&State { numbers: &moved, means: &zeros, squares: &zeros }).unwrap();
                run.cost()
            };
            // Fourth order, so that only rounding is left.
            let difference = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * f64::from(step));
            let norm = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
            assert!(norm > 1e-3, "{name}: no gradient");
            let error = (difference - along).abs() / norm.max(along.abs());
            // A step so short that nothing changes hands leaves more of rounding, and so do costs as large as those of sums.
            let allowed = if name.contains("max") || name.contains("terms") { 1e-2 } else { 2e-3 };
            assert!(error < allowed, "{name}, {rates:?}: along {along}, by differences {difference}, error {error}");
        }
    }
}

/// Every instruction set gives the definition's gradients, and the same bits on any number of threads.
#[test]
fn gradients_are_the_same_on_every_instruction_set_and_any_number_of_threads() {
    let rates = Rates { hidden: 0.1, attention: 0.1, head: 0.1 };
    for (name, make, loss) in CASES {
        let mut model = Model::default();
        let last = make(&mut model);
        let expected = start(&model, last, *loss, rates, LENGTHS, "reference", 1).gradients();
        let norm = expected.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        for table in kernels::all() {
            let alone = start(&model, last, *loss, rates, LENGTHS, table.name, 1).gradients();
            let apart = expected.iter().zip(&alone).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt() / norm;
            assert!(apart < 2e-5, "{name} on {}: {apart}", table.name);
            let together = start(&model, last, *loss, rates, LENGTHS, table.name, 3).gradients();
            assert!(alone.iter().zip(&together).all(|(a, b)| a.to_bits() == b.to_bits()), "{name} on {}: threads tell", table.name);
        }
    }
}

/// Parts of a batch, run one after another, drop what the whole would and add up to its gradient.
#[test]
fn parts_of_a_batch_add_up_to_the_whole() {
    let rates = Rates { hidden: 0.1, attention: 0.1, head: 0.1 };
    let mut model = Model::default();
    let x = attention(&mut model, 2, 16, Bias::None, Span::ALL);
    let last = model.linear(x, 3, Activation::Identity);
    let whole = start(&model, last, Loss::Squared, rates, LENGTHS, "portable", 1).gradients();
    let mut parts = start(&model, last, Loss::Squared, rates, LENGTHS, "portable", 1);
    let (all, lesson) = (Arc::clone(&parts.batch), Arc::clone(&parts.lesson));
    let Target::Numbers { numbers, factor } = &lesson.targets[0] else { unreachable!() };
    for s in 0..all.sequences() {
        let rows = all.rows(s);
        let mut one = Batch::default();
        one.push(&all.ids()[rows.clone()], &all.segments()[rows.clone()], 0);
        let target = Target::Numbers { numbers: numbers[rows.start * 3..rows.end * 3].to_vec(), factor: *factor };
        parts.batch = Arc::new(one);
        parts.lesson = Arc::new(Lesson { targets: vec![target], seed: lesson.seed, first_sequence: lesson.first_sequence + s as u64 });
        parts.cost();
    }
    let norm = whole.iter().map(|g| g.powi(2)).sum::<f32>().sqrt();
    let apart = whole.iter().zip(&*parts.learner.gradients).map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt() / norm;
    assert!(apart < 1e-5, "{apart}");
}

const STEP: Step = Step { method: Method::AdamW, number: 3, rate: 1e-2, decay: 0.1, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, clip: 0.5 };

/// Each instruction set moves the weights as the definition does, and leaves no gradient.
#[test]
fn a_step_is_the_same_on_every_instruction_set() {
    let mut model = Model::default();
    let x = model.embed(40, true);
    let last = model.linear(x, 70, Activation::Gelu);
    for (name, method) in Method::ALL {
        let step = Step { method: *method, ..STEP };
        let moved = |isa: &str, threads: usize| {
            let mut run = start(&model, last, Loss::Squared, Rates::default(), LENGTHS, isa, threads);
            run.gradients();
            run.learner.step(&step, |_| 1.0).unwrap();
            assert!(run.learner.gradients.iter().all(|g| *g == 0.0));
            run.learner.state().numbers.to_vec()
        };
        let expected = moved("reference", 1);
        let before = start(&model, last, Loss::Squared, Rates::default(), LENGTHS, "reference", 1).learner.state().numbers.to_vec();
        assert!(expected.iter().zip(&before).any(|(a, b)| (a - b).abs() > 1e-3));
        for table in kernels::all() {
            let ours = moved(table.name, 2);
            assert!(ours == moved(table.name, 3), "{name} on {}: threads tell", table.name);
            // A gradient near zero may have either sign: its step is the rate.
            let far = expected.iter().zip(ours).filter(|(a, b)| (*a - b).abs() > 1e-5).count();
            assert!(far * 200 <= expected.len(), "{name} on {}: {far} of {}", table.name, expected.len());
        }
    }
}

/// LAMB moves each tensor of a weight by its own norm, wherever panels and pieces are cut; what has no decay by the rate, what is frozen not at all.
#[test]
fn lamb_moves_each_tensor_by_its_own_norm() {
    let tensor = |rows: usize, width: usize, scale: f32| {
        let number = |i: usize| scale * random(&[rows as u64, i as u64]);
        let bytes: Vec<u8> = (0..rows * width).flat_map(|i| number(i).to_le_bytes()).collect();
        let shape = if width == 1 { vec![rows] } else { vec![rows, width] };
        Tensor::new(Dtype::F32, shape, Bytes::owned(bytes)).unwrap()
    };
    let weight = |role: Role, tensors: Vec<Tensor>| Weight { name: String::new(), role, tensors };
    let weights = [
        weight(Role::Table, vec![tensor(30, 2500, 1.0)]),
        weight(Role::Matrix, vec![tensor(10, 3000, 2.0), tensor(54, 3000, 0.1)]),
        weight(Role::Vector, vec![tensor(10, 1, 1.0), tensor(54, 1, 5.0)]),
        weight(Role::Head, vec![tensor(3, 40, 1.0)]),
    ];
    let mut learner = Learner::new(&weights, None, 2).unwrap();
    (0..learner.gradients.len()).for_each(|i| learner.gradients[i] = random(&[5, i as u64]));
    let gradients: Vec<Vec<f32>> = (0..4).map(|id| learner.gradient(WeightId(id))).collect();
    learner.step(&Step { method: Method::Lamb, number: 1, ..STEP }, |id| if id.0 == 3 { 0.0 } else { 0.5 }).unwrap();
    for (id, weight) in weights.iter().enumerate() {
        let after = learner.weight(WeightId(id), 0..weight.rows());
        let (mut from, decays) = (0, weight.role != Role::Vector);
        for tensor in &weight.tensors {
            let before = tensor.to_f32();
            let gradient = &gradients[id][from..from + before.len()];
            // The first step's direction is the gradient's sign, all but for epsilon.
            let direction = before.iter().zip(gradient).map(|(p, g)| {
                let g = f64::from(*g) * 0.5;
                g / (g.abs() + 1e-8) + if decays { 0.1 * f64::from(*p) } else { 0.0 }
            });
            let direction: Vec<f64> = direction.collect();
            let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
            let ratio = norm(&mut before.iter().map(|p| f64::from(*p))) / norm(&mut direction.iter().copied());
            let rate = if id == 3 { 0.0 } else { 0.005 * if decays { ratio } else { 1.0 } };
            for ((p, u), after) in before.iter().zip(&direction).zip(&after[from..]) {
                let expected = f64::from(*p) - rate * u;
                assert!((expected - f64::from(*after)).abs() < 2e-6, "weight {id}: {expected} {after}");
            }
            from += before.len();
        }
    }
}

#[test]
fn dropout_drops_its_share_and_keeps_the_sum() {
    let (n, rate) = (1 << 20, 0.1f64);
    let x = vec![1f32; n];
    for table in kernels::all() {
        let mut out = vec![0f32; n];
        for row in 0..n / 256 {
            let threshold = (rate * 4_294_967_296.0) as u32;
            // SAFETY: both rows have 256 numbers; the table can run here.
            unsafe {
                let key = (key(&[1, row as u64]) >> 32) as u32;
                (table.learn.drop_row)(
                    x[row * 256..].as_ptr(),
                    out[row * 256..].as_mut_ptr(),
                    256,
                    key,
                    threshold,
                    1.0 / (1.0 - rate as f32),
                );
            }
        }
        let dropped = out.iter().filter(|x| **x == 0.0).count() as f64 / n as f64;
        // Five standard deviations of a share of 0.1 among 2^20.
        assert!((dropped - rate).abs() < 5.0 * (rate * (1.0 - rate) / n as f64).sqrt(), "{}: {dropped}", table.name);
        let of_column = (0..256).map(|c| out.iter().skip(c).step_by(256).filter(|x| **x == 0.0).count()).max().unwrap();
        assert!(of_column < 4096 / 10 + 110, "{}: a column of {of_column} in 4096", table.name);
    }
}

/// Words are drawn as often as their probabilities say, the same ones on any number of threads.
#[test]
fn words_are_drawn_with_their_probabilities() {
    const WORDS: usize = 600;
    const DRAWS: usize = 30_000;
    let mut model = Model::default();
    let first = Lookup { table: model.table(20, 8), index: Index::Token };
    let x = model.graph.embed(vec![first], None, 8);
    let picked = model.graph.pick(x);
    let (table, bias) = (model.table(WORDS, 8), model.vector(WORDS));
    let last = model.graph.scores(picked, table, bias, WORDS);
    let numbers = |id: WeightId| model.weights[id.0].tensors[0].to_f32();
    let (of_token, words, shift) = (numbers(first.table), numbers(table), numbers(bias));
    let score = |word: usize| f64::from((0..8).map(|k| of_token[3 * 8 + k] * words[word * 8 + k]).sum::<f32>() + shift[word]).exp();
    let sum: f64 = (0..WORDS).map(score).sum();
    let mut batch = Batch::default();
    batch.push(&vec![3; DRAWS], &vec![0; DRAWS], 0);
    (0..DRAWS).for_each(|i| batch.pick(i));
    let (batch, target) = (Arc::new(batch), Target::Classes { classes: vec![0; DRAWS], factor: 1.0 });
    let made = evaluating(&model.graph, &[Goal::of(last, Loss::CrossEntropy, 0)]);
    let draw = |threads: usize, seed: u64| -> Vec<u32> {
        let lesson = Arc::new(Lesson { targets: vec![target.clone()], seed, first_sequence: 0 });
        let mut learner = Learner::new(&model.weights, None, threads).unwrap();
        learner.run(&Arc::new(made.graph.clone()), &made.losses, &batch, &lesson).unwrap()[0].iter().map(|cost| cost.drawn).collect()
    };
    let drawn = draw(1, 7);
    let mut counts = vec![0f64; WORDS];
    drawn.iter().for_each(|word| counts[*word as usize] += 1.0);
    let expected = |word: usize| DRAWS as f64 * score(word) / sum;
    let chi_squared: f64 = (0..WORDS).map(|word| (counts[word] - expected(word)).powi(2) / expected(word)).sum();
    // 599 degrees of freedom; five standard deviations.
    assert!((chi_squared - 599.0).abs() < 5.0 * (2.0 * 599.0f64).sqrt(), "{chi_squared}");
    assert_eq!(drawn, draw(3, 7), "threads do not tell");
    assert_ne!(drawn, draw(1, 8), "seeds do");
}
