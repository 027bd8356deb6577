//! How well are questions answered?

use serde_json::json;

use super::{Outcome, whole};
use crate::error::{ErrorKind, Result};
use crate::tasks::{Model, Request, Truncation};
use crate::train::labelled::questions::Questions;
use crate::train::metrics::answers::{Answered, Rules, evaluate};
use crate::train::run::Figures;
use crate::train::text::is_han;

/// By the rules of SQuAD 1.1, or of 2.0 where some question has no answer; those of CMRC 2018, by characters, where answers are Chinese.
pub(super) fn answers(model: &Model, questions: &Questions, request: &Request) -> Result<Outcome> {
    let request = Request { truncation: Some(Truncation::Window), top: None, ..request.clone() };
    let gold: Vec<Vec<String>> =
        questions.questions.iter().map(|question| question.answers.iter().map(|answer| answer.text.clone()).collect()).collect();
    let mut said: Vec<(String, f64)> = Vec::new();
    for question in &questions.questions {
        let context: &str = &questions.contexts[question.context];
        let found = match model.extract(&question.text, &[context], &request) {
            // Nothing is answered to a question that the model cannot read.
            Err(e) if e.kind() == ErrorKind::TooLong => {
                said.push((String::new(), 1e9));
                continue;
            }
            found => found.map_err(|e| e.within(format!("question {}", question.id)))?,
        };
        whole(found.stopped)?;
        let found = &found.contexts[0];
        let best = found.answers.first();
        let odds = f64::from(found.no_answer_logit) - best.map_or(f64::NEG_INFINITY, |answer| f64::from(answer.logit));
        said.push((best.map_or(String::new(), |answer| answer.text.clone()), odds.min(1e9)));
    }
    // Only questions that may have no answer can be told to have none.
    let some_without = gold.iter().any(Vec::is_empty);
    let answered = |(gold, (text, odds)): (&'_ Vec<String>, &'_ (String, f64))| (gold.clone(), text.clone(), some_without.then_some(*odds));
    let all: Vec<(Vec<String>, String, Option<f64>)> = gold.iter().zip(&said).map(answered).collect();
    let answered: Vec<Answered<'_>> = all.iter().map(|(gold, text, odds)| Answered { gold, text, odds: *odds }).collect();
    let rules = if gold.iter().flatten().any(|text| text.chars().any(is_han)) { Rules::Characters } else { Rules::Words };
    let scores = evaluate(&answered, rules, some_without.then_some(0.0))?;
    let named = scores.named();
    let f1 = scores.all.f1;
    let told = questions.questions.iter().zip(&said).map(|(question, (text, odds))| {
        let right: Vec<&str> = question.answers.iter().map(|answer| answer.text.as_str()).collect();
        json!({"id": question.id, "question": question.text, "right": right, "said": text, "null_odds": odds})
    });
    Ok(Outcome::new(Figures::of(-f1, named), told.collect()))
}
