//! What does a run over text learn? Whatever is asked of its examples.
//!
//! [`OverText`] takes examples from a supply, step by step, and tells a run what they cost; who is asked is an [`Ask`]: one model ([`Asking`]), two
//! (`replaced`), or a student beside its teacher (`train::distill`).

use super::super::Example;
use super::super::run::settings::written;
use super::super::run::{Evaluation, Figures, Made, Subject, Write};
use super::super::team::Team;
use super::lessons::{Part, parts};
use super::questions::{Question, Sums};
use super::supply::Supply;
use crate::engine::cpu::Learner;
use crate::error::Result;
use crate::tasks::Cancel;

/// Someone who is asked about examples.
pub(in crate::train) trait Ask {
    /// Runs this process's share of some examples, adds their gradients where it `learns`, and says what all of them cost. Chance follows from
    /// `seed`.
    fn figures(&self, learner: &mut Learner, team: &Team, examples: &[Example], seed: u64, learns: bool) -> Result<Figures>;
}

impl Ask for Box<dyn Ask> {
    fn figures(&self, learner: &mut Learner, team: &Team, examples: &[Example], seed: u64, learns: bool) -> Result<Figures> {
        (**self).figures(learner, team, examples, seed, learns)
    }
}

/// Examples of a corpus, and who is asked about them.
pub(in crate::train) struct OverText<A> {
    pub ask: A,
    pub supply: Supply,
    /// What decides what is learned beside the examples.
    pub told: Vec<(&'static str, String)>,
}

impl<A: Ask> Subject for OverText<A> {
    fn learn(&mut self, learner: &mut Learner, team: &Team, step: u64, seed: u64) -> Result<(Figures, u64)> {
        let examples = self.supply.of_step(step)?;
        let figures = self.ask.figures(learner, team, &examples, seed, true)?;
        Ok((figures, examples.iter().map(|e| e.ids.len() as u64).sum()))
    }

    /// The lower the loss, the better. `evaluate_on` examples do not take long enough to be stopped among them.
    fn evaluate(&mut self, learner: &mut Learner, team: &Team, _: Write<'_>, _: &Cancel) -> Result<Option<Evaluation>> {
        let Some(examples) = self.supply.held_out()? else { return Ok(None) };
        let mut figures = self.ask.figures(learner, team, &examples, 0, false)?;
        figures.named.extend(figures.get("masked_loss").map(|loss| ("perplexity".into(), loss.exp())));
        Ok(Some(Evaluation { merit: -figures.loss, figures }))
    }

    fn fingerprint(&self) -> String {
        let lines: Vec<_> = self.told.iter().cloned().chain(self.supply.fingerprint()).collect();
        written(&lines)
    }
}

/// One model's graphs, to learn and to be tried.
pub(in crate::train) struct Graphs {
    pub learning: Made,
    pub evaluating: Made,
}

impl Graphs {
    pub(in crate::train) fn of(&self, learns: bool) -> &Made {
        if learns { &self.learning } else { &self.evaluating }
    }
}

/// One model, and the questions that it is asked.
pub(super) struct Asking {
    pub graphs: Graphs,
    pub questions: Vec<Question>,
    pub part_tokens: usize,
}

impl Ask for Asking {
    fn figures(&self, learner: &mut Learner, team: &Team, examples: &[Example], seed: u64, learns: bool) -> Result<Figures> {
        let (made, mut sums) = (self.graphs.of(learns), Sums::of(&self.questions));
        for Part { batch, lesson, .. } in parts(examples, team.share(examples.len()), &self.questions, self.part_tokens, seed) {
            let costs = learner.run(&made.graph, &made.losses, &batch, &lesson)?;
            sums.add(&costs, &lesson.targets);
        }
        Ok(sums.together(team).figures(&self.questions))
    }
}
