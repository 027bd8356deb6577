//! How do a generator and a discriminator learn together?
//!
//! Clark et al., ELECTRA: Pre-training Text Encoders as Discriminators Rather Than Generators (2020). The generator, a smaller model that shares
//! the embeddings, fills hidden places with tokens drawn from its own probabilities; the discriminator says of every token whether it is another
//! than the text's. No gradient goes from one to the other but through the embeddings. A step runs both, one after the other: the generator's run draws
//! the tokens while it learns, by the step's seed, so that they are the same on any number of threads.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::Example;
use super::super::run::Figures;
use super::super::team::Team;
use super::asking::{Ask, Graphs};
use super::lessons::{Part, batch, parts, shares, targets};
use super::questions::{MASKED, REPLACED, Sums};
use crate::engine::cpu::Learner;
use crate::engine::lesson::{Cost, Lesson, key};
use crate::error::{ErrorKind, Result, fail};

/// What the names of the tensors begin with that both models share.
pub(super) const SHARED: &str = "electra.embeddings.";

/// What follows from a step's seed for the discriminator, so that it drops other numbers than the generator.
const DISCRIMINATOR: u64 = 2;

/// Both models over one line of weights.
pub(super) struct Replacing {
    pub generator: Graphs,
    pub discriminator: Graphs,
    pub part_tokens: usize,
}

impl Ask for Replacing {
    fn figures(&self, learner: &mut Learner, team: &Team, examples: &[Example], seed: u64, learns: bool) -> Result<Figures> {
        let (generator, discriminator) = (self.generator.of(learns), self.discriminator.of(learns));
        // Every token is asked, whatever stands there in the end.
        let share = shares(examples, &[REPLACED]);
        let (mut filled, mut told) = (Sums::of(&[MASKED]), Sums::of(&[REPLACED]));
        let own = team.share(examples.len());
        for Part { examples: range, batch: hidden, lesson } in parts(examples, own, &[MASKED], self.part_tokens, seed) {
            let costs = learner.run(&generator.graph, &generator.losses, &hidden, &lesson)?;
            filled.add(&costs, &lesson.targets);
            let replaced = replaced(&examples[range], &costs[0]);
            let targets = targets(&replaced, &[REPLACED], &share);
            let lesson = Lesson { targets, seed: key(&[seed, DISCRIMINATOR]), first_sequence: lesson.first_sequence };
            let costs = learner.run(&discriminator.graph, &discriminator.losses, &Arc::new(batch(&replaced)), &Arc::new(lesson.clone()))?;
            told.add(&costs, &lesson.targets);
        }
        let mut figures = filled.together(team).figures(&[MASKED]);
        let told = told.together(team).figures(&[REPLACED]);
        figures.loss += told.loss;
        figures.named.extend(told.named);
        Ok(figures)
    }
}

/// The examples with the drawn tokens in the hidden places, and whether each token is another than the text's.
fn replaced(examples: &[Example], costs: &[Cost]) -> Vec<Example> {
    let mut drawn = costs.iter().map(|cost| cost.drawn);
    let replace = |example: &Example| {
        let (mut ids, mut replaced) = (example.ids.clone(), vec![false; example.ids.len()]);
        for ((place, right), drawn) in example.masked.iter().zip(&mut drawn) {
            ids[*place] = drawn;
            replaced[*place] = drawn != *right;
        }
        Example { ids, segments: example.segments.clone(), replaced, ..Example::default() }
    };
    examples.iter().map(replace).collect()
}

/// The config.json of the generator beside a discriminator: `share` of its heads and of the width of its layers, the same head size.
///
/// # Errors
/// `Unsupported` for another family, `InvalidFile` for sizes that are not there.
pub(super) fn generator(discriminator: &Value, share: f64) -> Result<Value> {
    if discriminator["model_type"] != "electra" {
        let told = "objective = replaced needs a model of family electra: a preset such as electra-small, or such a folder";
        return fail(ErrorKind::Unsupported, told);
    }
    let size = |field: &str| match discriminator[field].as_u64() {
        Some(size @ 1..) => Ok(size),
        _ => fail(ErrorKind::InvalidFile, format!("config.json: {field} is missing, or no size")),
    };
    let (hidden, heads, intermediate) = (size("hidden_size")?, size("num_attention_heads")?, size("intermediate_size")?);
    let fewer = ((heads as f64 * share).round() as u64).clamp(1, heads);
    let narrower = hidden / heads * fewer;
    let mut config = discriminator.clone();
    config["num_attention_heads"] = json!(fewer);
    config["hidden_size"] = json!(narrower);
    config["intermediate_size"] = json!((intermediate * narrower / hidden).max(1));
    // The embeddings' own width, where it is not stated.
    config["embedding_size"] = json!(discriminator["embedding_size"].as_u64().unwrap_or(128));
    config["architectures"] = json!(["ElectraForMaskedLM"]);
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_tokens_stand_in_hidden_places_and_count_where_they_are_others() {
        let masked = vec![(1, 7), (3, 8)];
        let one = Example { ids: vec![2, 4, 9, 4, 3], segments: vec![0; 5], masked, ..Example::default() };
        let cost = |drawn| Cost { drawn, ..Cost::default() };
        let made = replaced(&[one], &[cost(7), cost(5)]);
        assert_eq!(made[0].ids, [2, 7, 9, 5, 3]);
        assert_eq!(made[0].replaced, [false, false, false, true, false]);
    }

    #[test]
    fn a_generator_has_a_share_of_the_heads_and_their_size() {
        let small = json!({"model_type": "electra", "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024, "embedding_size": 128});
        let made = generator(&small, 0.25).unwrap();
        assert_eq!([&made["hidden_size"], &made["num_attention_heads"], &made["intermediate_size"]], [64, 1, 256]);
        assert!(generator(&json!({"model_type": "bert"}), 0.25).is_err());
    }
}
