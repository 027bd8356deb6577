//! How well are words tagged?

use serde_json::json;

use super::{Outcome, whole};
use crate::error::Result;
use crate::tasks::{Aggregation, Model, Request, TagInput, Truncation};
use crate::train::labelled::tagged::Sentence;
use crate::train::metrics::entities::{EntityScores, Reading};
use crate::train::run::Figures;

/// What a word is that no entity has.
const OUTSIDE: &str = "O";

/// A word's tag is that of its first token, as it was learned.
pub(super) fn tags(model: &Model, sentences: &[Sentence], request: &Request) -> Result<Outcome> {
    let words: Vec<Vec<&str>> = sentences.iter().map(|s| s.words.iter().map(String::as_str).collect()).collect();
    let inputs: Vec<TagInput<'_>> = words.iter().map(|words| TagInput::Words(words)).collect();
    let request = Request { aggregation: Some(Aggregation::None), truncation: Some(Truncation::Window), ..request.clone() };
    let answers = model.tag(&inputs, &request)?;
    whole(answers.stopped)?;
    let answers = answers.inputs;
    let gold: Vec<Vec<String>> = sentences.iter().map(|s| s.tags.clone()).collect();
    let said: Vec<Vec<String>> = sentences
        .iter()
        .zip(&answers)
        .map(|(sentence, answer)| {
            let mut tags = vec![OUTSIDE.to_owned(); sentence.words.len()];
            // From the last to the first, so that a word keeps its first token's.
            for entity in answer.entities.iter().rev() {
                if let Some(word) = &entity.words {
                    tags[word.start].clone_from(&entity.label);
                }
            }
            tags
        })
        .collect();
    let scores = EntityScores::of(&gold, &said, Reading::Lenient)?;
    let overall = scores.overall();
    let mut named = vec![
        ("f1", overall.f1),
        ("precision", overall.precision),
        ("recall", overall.recall),
        ("macro_f1", scores.macro_mean().f1),
        ("accuracy", scores.accuracy()),
    ];
    named.retain(|(_, figure)| figure.is_finite());
    let told = |(sentence, said): (&Sentence, &Vec<String>)| json!({"words": sentence.words, "right": sentence.tags, "said": said});
    Ok(Outcome::new(Figures::of(1.0 - overall.f1, named), sentences.iter().zip(&said).map(told).collect()))
}
