//! Objectives that two models have together: what PyTorch says of ELECTRA's step and of DistilBERT's losses
//! (`tests/golden/make/objectives.py`).

use cloze::engine::graph::{Graph, ValueId};
use cloze::engine::{Control, Engine};

use super::*;

#[derive(Deserialize)]
struct Replaced {
    generator: String,
    discriminator: String,
    losses: [f64; 2],
    rows: Vec<Row>,
}

fn open(name: &str, kind: Kind) -> Learnable {
    let folder = huggingface::open(&Source::open(&golden(name)).unwrap()).unwrap();
    Learnable::new(&folder.config, folder.weights, Fresh { heads: vec![kind], ..Fresh::default() }).unwrap()
}

fn read<T: serde::de::DeserializeOwned>(name: &str) -> T {
    serde_json::from_slice(&std::fs::read(golden(&format!("objectives/{name}/expected.json"))).unwrap()).unwrap()
}

fn learns(model: &Learnable, graph: &Graph, goals: &[(ValueId, Loss)]) -> Learning {
    let goals: Vec<Goal> = goals.iter().enumerate().map(|(target, (value, loss))| Goal::of(*value, *loss, target)).collect();
    let course = Course { weights: model.weights().len(), learns: &|_| true, rates: Rates::default(), kept: &[], adapters: &[] };
    learning(graph, &goals, &course).unwrap()
}

fn means(learner: &mut Learner, learning: &Learning, batch: Batch, targets: Vec<Target>) -> Vec<f64> {
    let lesson = Lesson { targets, seed: 1, first_sequence: 0 };
    let costs = learner.run(&Arc::new(learning.graph.clone()), &learning.losses, &Arc::new(batch), &Arc::new(lesson)).unwrap();
    costs.iter().map(|rows| rows.iter().map(|c| f64::from(c.loss)).sum::<f64>() / rows.len() as f64).collect()
}

/// A generator and a discriminator that share embeddings, with the tokens that the generator drew given.
#[test]
fn a_generator_and_a_discriminator_learn_what_they_do_in_pytorch() {
    let expected: Replaced = read("replaced");
    let (mut model, mut generator) = (open(&expected.discriminator, Kind::Replaced), open(&expected.generator, Kind::FillMask));
    model.join(&mut generator, "electra.embeddings.").unwrap();
    let goal = |model: &Learnable, kind, loss| {
        let (graph, values) = model.graph(&[kind]).unwrap();
        learns(model, &graph, &[(values[0], loss)])
    };
    let filling = goal(&generator, Kind::FillMask, Loss::CrossEntropy);
    let telling = goal(&model, Kind::Replaced, Loss::Binary);
    let labels: Vec<u32> = expected.rows.iter().flat_map(|row| row.masked.iter().map(|(_, id)| *id)).collect();
    let mut replaced = Batch::default();
    let mut right = Vec::new();
    for row in &expected.rows {
        let (mut ids, mut wrong) = (row.ids.clone(), vec![0.0; row.ids.len()]);
        for ((place, label), drawn) in row.masked.iter().zip(&row.drawn) {
            (ids[*place], wrong[*place]) = (*drawn, f32::from(u8::from(drawn != label)));
        }
        replaced.push(&ids, &row.type_ids, 0);
        right.extend(wrong);
    }
    for table in kernels::all() {
        let mut learner = model.learner(Some(table.name), 2).unwrap();
        let factor = 1.0 / labels.len() as f32;
        let filled = Target::Classes { classes: labels.clone(), factor };
        let told = Target::Numbers { numbers: right.clone(), factor: 50.0 / right.len() as f32 };
        let mut losses = means(&mut learner, &filling, batch(&expected.rows), vec![filled]);
        losses.extend(means(&mut learner, &telling, replaced.clone(), vec![told]));
        let loss = losses.iter().zip(expected.losses).map(|(ours, theirs)| (ours / theirs - 1.0).abs()).fold(0.0, f64::max);
        let mut reference = Gradients::read("objectives/replaced", 0.0);
        reference.norm = reference.whole();
        let (gradient, name) = reference.worst(&learner, &[("generator/", &generator), ("", &model)]);
        println!("replaced on {}: loss {loss:.1e}, gradient {gradient:.1e} ({name})", table.name);
        assert!(loss <= LOSS && gradient <= GRADIENT, "{}: loss {loss}, gradient of {name} {gradient}", table.name);
    }
}

#[derive(Deserialize)]
struct Distilled {
    temperature: f32,
    weights: [f64; 3],
    losses: BTreeMap<String, f64>,
    rows: Vec<Row>,
}

/// A student of every other layer of its teacher, with the teacher's answers as ours.
#[test]
fn a_student_learns_from_its_teacher_what_it_does_in_pytorch() {
    let expected: Distilled = read("distilled");
    let teacher = open("objectives/distilled/teacher", Kind::FillMask);
    let student = half("objectives/distilled/teacher");
    let (mut teaching, _) = teacher.graph(&[Kind::FillMask]).unwrap();
    teaching.keep(teacher.hidden());
    let engine = Engine::new(teacher.weights(), None, None).unwrap();
    let shared = Arc::new(batch(&expected.rows));
    let said = engine.run_for_all(&Arc::new(teaching), &shared, 2, &Control::default()).unwrap().unwrap();
    let [states, scores] = &said[..] else { panic!("hidden states and scores") };
    let (graph, values) = student.graph(&[Kind::FillMask]).unwrap();
    let soft = Loss::Distilled { temperature: expected.temperature };
    let goals = [(values[0], soft), (values[0], Loss::CrossEntropy), (student.hidden(), Loss::Cosine)];
    let learning = learns(&student, &graph, &goals);
    let labels: Vec<u32> = expected.rows.iter().flat_map(|row| row.masked.iter().map(|(_, id)| *id)).collect();
    let (tokens, [first, second, third]) = (shared.tokens(), expected.weights);
    let share = |weight: f64, count: usize| (weight / count as f64) as f32;
    for table in kernels::all() {
        let targets = vec![
            Target::Numbers { numbers: scores.clone(), factor: share(first, labels.len()) },
            Target::Classes { classes: labels.clone(), factor: share(second, labels.len()) },
            Target::Numbers { numbers: states.clone(), factor: share(third, tokens) },
        ];
        let mut learner = student.learner(Some(table.name), 2).unwrap();
        let losses = means(&mut learner, &learning, batch(&expected.rows), targets);
        let theirs = ["soft", "masked", "hidden"].map(|name| expected.losses[name]);
        let loss = losses.iter().zip(theirs).map(|(ours, theirs)| (ours / theirs - 1.0).abs()).fold(0.0, f64::max);
        let mut reference = Gradients::read("objectives/distilled", 0.0);
        reference.norm = reference.whole();
        let (gradient, name) = reference.worst(&learner, &[("", &student)]);
        println!("distilled on {}: loss {loss:.1e}, gradient {gradient:.1e} ({name})", table.name);
        assert!(loss <= LOSS && gradient <= GRADIENT, "{}: losses {losses:?}, gradient of {name} {gradient}", table.name);
    }
}

/// The student that `cloze-train distill` begins with.
fn half(teacher: &str) -> Learnable {
    let folder = huggingface::open(&Source::open(&golden(teacher)).unwrap()).unwrap();
    let (config, weights) = cloze::train::distill::every_other(&folder.config, folder.weights).unwrap();
    Learnable::new(&config, weights, Fresh { heads: vec![Kind::FillMask], ..Fresh::default() }).unwrap()
}
