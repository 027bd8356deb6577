//! How well are texts and pairs labelled, or measured?

use serde_json::{Value, json};

use super::{Outcome, whole};
use crate::error::{ErrorKind, Result, fail};
use crate::tasks::{Classified, Model, Request, Score};
use crate::train::labelled::{ClassNames, Row, Target};
use crate::train::metrics::classes::Confusion;
use crate::train::metrics::numbers::{mean_squared_error, pearson, spearman};
use crate::train::metrics::sets::Sets;
use crate::train::run::Figures;

/// What the model says of each row, labels in their own order.
fn answers(model: &Model, rows: &[Row], request: &Request) -> Result<Vec<Classified>> {
    let inputs: Vec<(&str, Option<&str>)> = rows.iter().map(|row| (row.text.as_str(), row.pair.as_deref())).collect();
    let said = model.classify(&inputs, &Request { top: None, ..request.clone() })?;
    whole(said.stopped)?;
    let mut answers = said.inputs;
    answers.iter_mut().for_each(|answer| answer.labels.sort_by_key(|label| label.id));
    Ok(answers)
}

/// The names of the labels that the model tells apart.
fn names(answers: &[Classified]) -> Result<ClassNames> {
    ClassNames::given(answers.first().into_iter().flat_map(|answer| &answer.labels).map(|label| &label.label))
}

/// What is known of a row, for people.
fn told(row: &Row, right: Value, said: Value) -> Value {
    let mut told = json!({"text": row.text, "right": right, "said": said});
    for (name, value) in [("id", &row.id), ("pair", &row.pair)] {
        if let Some(value) = value {
            told[name] = json!(value);
        }
    }
    told
}

/// One label.
pub(super) fn classes(model: &Model, rows: &[Row], request: &Request) -> Result<Outcome> {
    let answers = answers(model, rows, request)?;
    let names = names(&answers)?;
    let gold = rows.iter().map(|row| Ok(names.numbers(row)?.first().copied().unwrap_or(0))).collect::<Result<Vec<usize>>>()?;
    let best =
        |answer: &Classified| answer.labels.iter().max_by(|a, b| a.logit.total_cmp(&b.logit).then(b.id.cmp(&a.id))).map_or(0, |l| l.id);
    let said: Vec<usize> = answers.iter().map(best).collect();
    let confusion = Confusion::of(&gold, &said, names.len())?;
    let mut named = vec![("accuracy", confusion.accuracy())];
    if names.len() == 2 {
        // As scikit-learn: of the class 1.
        named.push(("f1", confusion.of_class(1).f1));
    }
    named.extend([("macro_f1", confusion.macro_mean().f1), ("matthews", confusion.matthews())]);
    let name = |number: usize| json!(names.names()[number]);
    let predictions = rows.iter().zip(gold.iter().zip(&said)).map(|(row, (gold, said))| told(row, name(*gold), name(*said))).collect();
    let figures = Figures::of(confusion_loss(&answers, &gold), named);
    Ok(Outcome { confusion: Some((names.names().to_vec(), confusion)), ..Outcome::new(figures, predictions) })
}

/// The mean cross-entropy.
fn confusion_loss(answers: &[Classified], gold: &[usize]) -> f64 {
    let cost = |(answer, gold): (&Classified, &usize)| {
        let logits: Vec<f32> = answer.labels.iter().map(|label| label.logit).collect();
        -f64::from(Score::Softmax.apply(&logits)[*gold].max(f32::MIN_POSITIVE)).ln()
    };
    answers.iter().zip(gold).map(cost).sum::<f64>() / gold.len().max(1) as f64
}

/// Any number of labels: those whose score is above a half.
pub(super) fn sets(model: &Model, rows: &[Row], request: &Request) -> Result<Outcome> {
    let answers = answers(model, rows, &Request { activation: Some(Score::Sigmoid), ..request.clone() })?;
    let names = names(&answers)?;
    let gold = rows.iter().map(|row| names.numbers(row)).collect::<Result<Vec<Vec<usize>>>>()?;
    let said: Vec<Vec<usize>> =
        answers.iter().map(|answer| answer.labels.iter().filter(|label| label.score > 0.5).map(|label| label.id).collect()).collect();
    let sets = Sets::of(&gold, &said, names.len())?;
    let named = vec![
        ("micro_f1", sets.micro().f1),
        ("macro_f1", sets.macro_mean().f1),
        ("subset_accuracy", sets.subset_accuracy()),
        ("micro_precision", sets.micro().precision),
        ("micro_recall", sets.micro().recall),
    ];
    let spelled = |numbers: &[usize]| json!(numbers.iter().map(|number| &names.names()[*number]).collect::<Vec<_>>());
    let predictions = rows.iter().zip(gold.iter().zip(&said)).map(|(row, (gold, said))| told(row, spelled(gold), spelled(said))).collect();
    Ok(Outcome::new(Figures::of(1.0 - sets.micro().f1, named), predictions))
}

/// A number.
pub(super) fn numbers(model: &Model, rows: &[Row], request: &Request) -> Result<Outcome> {
    let answers = answers(model, rows, request)?;
    if let Some(several) = answers.iter().map(|answer| answer.labels.len()).find(|labels| *labels != 1) {
        return fail(ErrorKind::InvalidArgument, format!("the model tells {several} labels apart: it does not measure"));
    }
    let said: Vec<f64> = answers.iter().map(|answer| answer.labels.first().map_or(0.0, |label| f64::from(label.logit))).collect();
    let gold: Vec<f64> = rows.iter().map(number_of).collect();
    let predictions = rows.iter().zip(gold.iter().zip(&said)).map(|(row, (gold, said))| told(row, json!(gold), json!(said))).collect();
    Ok(Outcome::new(agreement(&gold, &said)?, predictions))
}

/// The number of a row; 0 where it has none.
pub(super) fn number_of(row: &Row) -> f64 {
    if let Some(Target::Number(number)) = &row.target { *number } else { 0.0 }
}

/// How well numbers agree.
pub(super) fn agreement(gold: &[f64], said: &[f64]) -> Result<Figures> {
    let squared = mean_squared_error(gold, said)?;
    let mut named = Vec::new();
    // All equal: nothing can be said.
    named.extend(spearman(gold, said)?.map(|x| ("spearman", x)));
    named.extend(pearson(gold, said)?.map(|x| ("pearson", x)));
    named.push(("squared_error", squared));
    Ok(Figures::of(squared, named))
}
