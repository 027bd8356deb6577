//! Do models learn what PyTorch says they learn?
//!
//! `tests/golden/make/learning.py` wrote down losses, the gradient of every tensor and twenty steps of AdamW of tiny models of each
//! family. Here the same batch runs packed, through the graph that inference runs. `cargo test --test learning -- --nocapture` prints the worst
//! error of each.
#![cfg(feature = "train")]

#[path = "learning/objectives.rs"]
mod objectives;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cloze::engine::Batch;
use cloze::engine::cpu::{Learner, LearningStep, Method, kernels};
use cloze::engine::gradient::{Course, Goal, Learning, Rates, evaluating, learning};
use cloze::engine::graph::{Loss, ValueId, WeightId};
use cloze::engine::lesson::{Lesson, Target};
use cloze::formats::{Source, Weights, huggingface};
use cloze::model::heads::Kind;
use cloze::model::{Fresh, Learnable};
use cloze::train::pretrain::preset::PRESETS;
use cloze::train::rates::LayerRates;
use serde::Deserialize;

/// Losses of the first step, relative; of the later ones.
const LOSS: f64 = 1e-5;
const LATER: f64 = 1e-4;
/// The difference of a tensor's gradient by the norm of the reference's, where that is no rounding error of the whole.
const GRADIENT: f64 = 1e-4;

#[derive(Deserialize)]
struct Expected {
    model: String,
    losses: Vec<String>,
    rate: f32,
    decay: f32,
    rows: Vec<Row>,
    steps: Vec<BTreeMap<String, f64>>,
}

#[derive(Deserialize)]
struct Row {
    ids: Vec<u32>,
    type_ids: Vec<u32>,
    #[serde(default)]
    masked: Vec<(usize, u32)>,
    next: Option<u32>,
    label: Option<u32>,
    #[serde(default)]
    replaced: Vec<f32>,
    #[serde(default)]
    spans: Vec<(usize, usize)>,
    #[serde(default)]
    drawn: Vec<u32>,
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// A loss by its name in the golden files: the head, how it is compared, and the targets of a batch.
fn goal(name: &str, rows: &[Row]) -> (Kind, Loss, Target) {
    let classes = |classes: Vec<u32>| Target::Classes { factor: 1.0 / classes.len() as f32, classes };
    match name {
        "fill_mask" => {
            (Kind::FillMask, Loss::CrossEntropy, classes(rows.iter().flat_map(|row| row.masked.iter().map(|(_, id)| *id)).collect()))
        }
        "next_token" => {
            (Kind::NextToken, Loss::CrossEntropy, classes(rows.iter().flat_map(|row| row.masked.iter().map(|(_, id)| *id)).collect()))
        }
        "span_boundary" => {
            (Kind::SpanBoundary, Loss::CrossEntropy, classes(rows.iter().flat_map(|row| row.masked.iter().map(|(_, id)| *id)).collect()))
        }
        "classify" => (Kind::Classify, Loss::CrossEntropy, classes(rows.iter().map(|row| row.label.unwrap()).collect())),
        "next_sentence" => (Kind::NextSentence, Loss::CrossEntropy, classes(rows.iter().map(|row| row.next.unwrap()).collect())),
        "replaced" => {
            let numbers: Vec<f32> = rows.iter().flat_map(|row| row.replaced.iter().copied()).collect();
            (Kind::Replaced, Loss::Binary, Target::Numbers { factor: 1.0 / numbers.len() as f32, numbers })
        }
        other => panic!("an unknown loss {other}"),
    }
}

/// The sequences, with the tokens that are asked about.
fn batch(rows: &[Row]) -> Batch {
    let mut batch = Batch::default();
    for row in rows {
        batch.push(&row.ids, &row.type_ids, 0);
        for (place, _) in &row.masked {
            match row.spans.iter().find(|(start, end)| (*start..*end).contains(place)) {
                Some((start, end)) => batch.pick_between(*place, start - 1, *end),
                None => batch.pick(*place),
            }
        }
    }
    batch
}

struct Case {
    name: String,
    expected: Expected,
    model: Learnable,
    learning: Learning,
    batch: Arc<Batch>,
    lesson: Arc<Lesson>,
}

fn cases() -> Vec<Case> {
    let mut names: Vec<String> =
        std::fs::read_dir(golden("learning")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names.into_iter().map(case).collect()
}

fn case(name: String) -> Case {
    let expected: Expected = serde_json::from_slice(&std::fs::read(golden(&format!("learning/{name}/expected.json"))).unwrap()).unwrap();
    let folder = huggingface::open(&Source::open(&golden(&expected.model)).unwrap()).unwrap();
    // A head whose tensors are all the trunk's is there because it is asked for.
    let heads = expected.losses.iter().map(|loss| goal(loss, &expected.rows).0).collect();
    let model = Learnable::new(&folder.config, folder.weights, Fresh { heads, ..Fresh::default() }).unwrap();
    assert!(model.made().is_empty(), "{name}: {:?}", model.made());
    let learning = learning_of(&model, &expected, &|_| true, Rates::default(), &[]);
    let batch = batch(&expected.rows);
    let targets = expected.losses.iter().map(|loss| goal(loss, &expected.rows).2).collect();
    let lesson = Lesson { targets, seed: 1, first_sequence: 0 };
    Case { name, expected, model, learning, batch: Arc::new(batch), lesson: Arc::new(lesson) }
}

fn learning_of(model: &Learnable, expected: &Expected, learns: &dyn Fn(WeightId) -> bool, rates: Rates, kept: &[ValueId]) -> Learning {
    let goals: Vec<(Kind, Loss, Target)> = expected.losses.iter().map(|loss| goal(loss, &expected.rows)).collect();
    let (graph, values) = model.graph(&goals.iter().map(|g| g.0).collect::<Vec<_>>()).unwrap();
    let compared: Vec<Goal> = goals.iter().zip(&values).enumerate().map(|(i, (g, value))| Goal::of(*value, g.1, i)).collect();
    let course = Course { weights: model.weights().len(), learns, rates, kept, adapters: &[] };
    learning(&graph, &compared, &course).unwrap()
}

impl Case {
    fn run(&self, learner: &mut Learner) -> Vec<f64> {
        let graph = Arc::new(self.learning.graph.clone());
        let costs = learner.run(&graph, &self.learning.losses, &self.batch, &self.lesson).unwrap();
        costs.iter().map(|rows| rows.iter().map(|c| f64::from(c.loss)).sum::<f64>() / rows.len() as f64).collect()
    }

    fn worst_loss(&self, losses: &[f64], step: usize) -> f64 {
        let pairs = self.expected.losses.iter().zip(losses);
        pairs.map(|(name, loss)| (loss / self.expected.steps[step][name] - 1.0).abs()).fold(0.0, f64::max)
    }

    /// The worst difference of a tensor's gradient, and its name.
    fn worst_gradient(&self, learner: &Learner) -> (f64, String) {
        let reference = Gradients::read(&format!("learning/{}", self.name), self.expected.steps[0]["norm"]);
        reference.worst(learner, &[("", &self.model)])
    }
}

/// What PyTorch says of each tensor.
struct Gradients {
    tensors: BTreeMap<String, Vec<f32>>,
    /// The norm of all together.
    norm: f64,
    of: String,
}

fn norm(x: &[f32]) -> f64 {
    x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt()
}

impl Gradients {
    fn read(folder: &str, norm: f64) -> Gradients {
        let bytes = std::fs::read(golden(&format!("{folder}/gradients.safetensors"))).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let numbers = |data: &[u8]| data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        Gradients {
            tensors: file.iter().map(|(name, view)| (name.to_owned(), numbers(view.data()))).collect(),
            norm,
            of: folder.to_owned(),
        }
    }

    /// The worst difference of a tensor's gradient in `learner`, and its name. Models that learn together have names of their own behind
    /// their prefixes; what they share counts once.
    fn worst(&self, learner: &Learner, models: &[(&str, &Learnable)]) -> (f64, String) {
        let (mut worst, mut seen) = ((0.0, String::new()), std::collections::BTreeSet::new());
        for (prefix, model) in models {
            for id in (0..learner.count()).map(WeightId) {
                let gradient = learner.gradient(id);
                let width = model.weights()[id.0].tensors[0].row_len();
                for part in model.parts(id) {
                    let ours = &part.taken(&gradient[part.rows.start * width..part.rows.end * width], width);
                    let own = format!("{prefix}{}", part.name);
                    let name = if self.tensors.contains_key(&own) { own } else { part.name.clone() };
                    let Some(theirs) = self.tensors.get(&name) else {
                        assert_eq!(norm(ours), 0.0, "{}: the reference has no gradient for {name}", self.of);
                        continue;
                    };
                    let apart: Vec<f32> = ours.iter().zip(theirs).map(|(a, b)| a - b).collect();
                    // The keys' bias adds the same to all of a query's scores: its gradient is nothing but rounding.
                    let error = norm(&apart) / norm(theirs).max(1e-3 * self.norm);
                    if error > worst.0 {
                        worst = (error, name.clone());
                    }
                    seen.insert(name);
                }
            }
        }
        assert_eq!(seen.len(), self.tensors.len(), "{}: every tensor with a gradient is compared", self.of);
        worst
    }

    fn whole(&self) -> f64 {
        self.tensors.values().map(|x| norm(x).powi(2)).sum::<f64>().sqrt()
    }
}

#[test]
fn losses_and_gradients_are_pytorchs() {
    for case in cases() {
        for table in kernels::all().filter(|t| ["avx512", "avx2", "portable", "reference"].contains(&t.name)) {
            let mut learner = case.model.learner(Some(table.name), 2).unwrap();
            let loss = case.worst_loss(&case.run(&mut learner), 0);
            let (gradient, name) = case.worst_gradient(&learner);
            let norm = (learner.gradient_norm(|_| true) / case.expected.steps[0]["norm"] - 1.0).abs();
            println!("{} on {}: loss {loss:.1e}, gradient {gradient:.1e} ({name}), norm {norm:.1e}", case.name, table.name);
            assert!(loss <= LOSS, "{} on {}: loss {loss}", case.name, table.name);
            assert!(gradient <= GRADIENT, "{} on {}: gradient of {name}: {gradient}", case.name, table.name);
            assert!(norm <= GRADIENT, "{} on {}: norm {norm}", case.name, table.name);
        }
    }
}

#[test]
fn twenty_steps_lead_where_pytorch_goes() {
    for case in cases() {
        let mut learner = case.model.learner(None, 2).unwrap();
        let mut worst = 0f64;
        for (i, step) in case.expected.steps.iter().enumerate() {
            worst = worst.max(case.worst_loss(&case.run(&mut learner), i));
            let norm = learner.gradient_norm(|_| true);
            assert!((norm / step["norm"] - 1.0).abs() < 1e-3, "{}: step {i}: norm {norm}", case.name);
            let (rate, decay) = (case.expected.rate, case.expected.decay);
            learner.step(&LearningStep { rate, decay, epsilon: 1e-8, ..step_of(i, norm) }, |_| 1.0).unwrap();
        }
        println!("{}: worst loss of {} steps {worst:.1e}", case.name, case.expected.steps.len());
        assert!(worst <= LATER, "{}: {worst}", case.name);
    }
}

/// Step `i`, from 0, of the runs of the golden data.
fn step_of(i: usize, norm: f64) -> LearningStep {
    LearningStep {
        method: Method::AdamW,
        number: i as u64 + 1,
        rate: 1e-3,
        decay: 0.01,
        beta1: 0.9,
        beta2: 0.999,
        epsilon: 1e-6,
        clip: (1.0 / (norm + 1e-6)).min(1.0) as f32,
    }
}

#[derive(Deserialize)]
struct Optimised {
    case: String,
    method: String,
    rate: f32,
    decay: f32,
    layer_decay: f64,
    freeze: Option<usize>,
    steps: Vec<BTreeMap<String, f64>>,
}

/// LAMB, rates by layer and frozen layers, as `tests/golden/make/optimisers.py` restates them.
#[test]
fn other_optimisers_lead_where_pytorch_goes() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(golden("optimisers")).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 6, "{files:?}");
    for file in files {
        let run: Optimised = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let mut case = case(run.case);
        case.expected.steps = run.steps;
        let name = file.file_stem().unwrap().to_string_lossy();
        let method = Method::ALL.iter().find(|(name, _)| *name == run.method).unwrap().1;
        let rates = LayerRates::new(&case.model, run.layer_decay, run.freeze).unwrap();
        case.learning = learning_of(&case.model, &case.expected, &|id| rates.learns(id), Rates::default(), &[]);
        let mut learner = Learner::new(case.model.weights(), None, 2).unwrap();
        let mut worst = 0f64;
        for (i, step) in case.expected.steps.iter().enumerate() {
            worst = worst.max(case.worst_loss(&case.run(&mut learner), i));
            let norm = learner.gradient_norm(|id| rates.learns(id));
            assert!((norm / step["norm"] - 1.0).abs() < 1e-3, "{name}: step {i}: norm {norm}, not {}", step["norm"]);
            let step = LearningStep { method, rate: run.rate, decay: run.decay, ..step_of(i, norm) };
            learner.step(&step, |id| rates.of(id)).unwrap();
        }
        println!("{name}: worst loss of {} steps {worst:.1e}", case.expected.steps.len());
        assert!(worst <= LATER, "{name}: {worst}");
        let still = case.model.weights().iter().enumerate().filter(|(id, weight)| {
            let before: Vec<f32> = weight.tensors.iter().flat_map(|t| t.to_f32()).collect();
            learner.weight(WeightId(*id), 0..weight.rows()) == before
        });
        let frozen = (0..case.model.weights().len()).filter(|id| !rates.learns(WeightId(*id))).count();
        assert_eq!(still.count(), frozen, "{name}: frozen weights stay, others move");
    }
}

/// What is computed again on the way back has the same bits, dropout included, and needs less memory.
#[test]
fn layers_that_are_computed_again_give_the_same_gradients() {
    for mut case in cases() {
        let rates = Rates { hidden: 0.1, attention: 0.1, head: 0.0 };
        let hidden_states = case.model.hidden_states().to_vec();
        let mut learned = |kept: &[ValueId]| {
            case.learning = learning_of(&case.model, &case.expected, &|_| true, rates, kept);
            let mut learner = Learner::new(case.model.weights(), None, 2).unwrap();
            let losses = case.run(&mut learner);
            let gradients: Vec<Vec<f32>> = (0..learner.count()).map(|id| learner.gradient(WeightId(id))).collect();
            (losses, gradients, learner.needs(&case.learning.graph, &case.batch).unwrap())
        };
        let ((losses, gradients, all), (again, same, fewer)) = (learned(&[]), learned(&hidden_states));
        println!("{}: {all} numbers of values, {fewer} with layers computed again", case.name);
        assert!(losses == again && gradients == same, "{}: the same bits", case.name);
        // Longformer's classifiers read layers of their own, which are kept.
        assert!(fewer < all || case.name == "longformer-classify", "{}: {fewer} of {all}", case.name);
    }
}

/// How much memory a step of BERT-base takes: 32 sequences of 128 tokens, 15 % of them hidden, with dropout. `-- --ignored --nocapture` prints it.
#[test]
#[ignore = "3 GB of weights, for two numbers of docs/training.md"]
fn memory_of_bert_base() {
    let config = PRESETS.iter().find(|preset| preset.name == "bert-base").unwrap().config(30_522, None);
    let fresh = Fresh { seed: 1, deviation: 0.02, heads: vec![Kind::FillMask, Kind::NextSentence], ..Fresh::default() };
    let model = Learnable::new(&config, Weights::default(), fresh).unwrap();
    let (graph, values) = model.graph(&[Kind::FillMask, Kind::NextSentence]).unwrap();
    let goals: Vec<Goal> = values.iter().enumerate().map(|(i, v)| Goal::of(*v, Loss::CrossEntropy, i)).collect();
    let mut batch = Batch::default();
    for _ in 0..32 {
        batch.push(&[5; 128], &[0; 128], 0);
        (0..19).for_each(|i| batch.pick(6 * i));
    }
    let learner = Learner::new(model.weights(), None, 2).unwrap();
    for (name, kept) in [("all values kept", &[][..]), ("layers computed again", model.hidden_states())] {
        let rates = Rates { hidden: 0.1, attention: 0.1, head: 0.1 };
        let course = Course { weights: model.weights().len(), learns: &|_| true, rates, kept, adapters: &[] };
        let made = learning(&graph, &goals, &course).unwrap();
        println!("{name}: {:.0} MB", learner.needs(&made.graph, &batch).unwrap() as f64 * 4e-6);
    }
}

/// What a loss costs without learning is the same, and no weight moves.
#[test]
fn evaluating_costs_the_same() {
    for case in cases() {
        let (graph, values) =
            case.model.graph(&case.expected.losses.iter().map(|l| goal(l, &case.expected.rows).0).collect::<Vec<_>>()).unwrap();
        let goals = case.expected.losses.iter().zip(values).enumerate();
        let goals: Vec<Goal> = goals.map(|(i, (l, value))| Goal::of(value, goal(l, &case.expected.rows).1, i)).collect();
        let alone = evaluating(&graph, &goals);
        let mut learner = case.model.learner(None, 1).unwrap();
        let costs = learner.run(&Arc::new(alone.graph), &alone.losses, &case.batch, &case.lesson).unwrap();
        let mean = |rows: &[cloze::engine::lesson::Cost]| rows.iter().map(|c| f64::from(c.loss)).sum::<f64>() / rows.len() as f64;
        let worst = case.worst_loss(&costs.iter().map(|rows| mean(rows)).collect::<Vec<_>>(), 0);
        assert!(worst <= LOSS, "{}: {worst}", case.name);
        assert_eq!(learner.gradient_norm(|_| true), 0.0, "{}", case.name);
    }
}
