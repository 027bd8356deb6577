//! From the graph of a model to the graph that it learns by: what does each weight contribute to the loss?
//!
//! [`learning`] copies the forward operations, with activations and norms apart from what they are fused with and dropout where it
//! belongs, appends a loss for each [`Goal`], and then walks back: each operation has a rule below that appends the operation that carries
//! its gradient (reverse accumulation; Griewank and Walther, Evaluating Derivatives, 2008). No family is described a second time. The
//! result goes to `engine::cpu`'s learner.

use super::graph::{
    Activation, Attention, Bias, Dropout, Graph, Learn, Lookers, Lookup, Loss, Met, Node, Norm, Op, Own, Rows, Side, ValueId, WeightId,
};

/// A value that is compared with targets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// What the model says.
    pub value: ValueId,
    /// What a wrong answer costs.
    pub loss: Loss,
    /// Which of the lesson's targets are right.
    pub target: usize,
    /// The weights of a judge.
    pub own: Own,
}

impl Goal {
    /// A value whose loss has no weights of its own.
    pub fn of(value: ValueId, loss: Loss, target: usize) -> Goal {
        Goal { value, loss, target, own: Own::default() }
    }
}

/// The share of numbers that dropout sets to zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Of embeddings, and of what attention and feed-forward layers add to the residual.
    pub hidden: f32,
    /// Of attention's weights.
    pub attention: f32,
    /// Of what the last layer of a head reads.
    pub head: f32,
}

/// A graph that learns.
#[derive(Clone, Debug)]
pub struct Learning {
    /// Forward, losses, backward.
    pub graph: Graph,
    /// The loss of each goal.
    pub losses: Vec<ValueId>,
}

/// A product of two small matrices beside a large one that stays: `x W^T + factor * (x down^T) up^T` (Hu et al., LoRA: Low-Rank Adaptation of Large
/// Language Models, 2021).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adapter {
    /// W: (outputs, inputs).
    pub weight: WeightId,
    /// (rank, inputs)
    pub down: WeightId,
    /// (outputs, rank)
    pub up: WeightId,
    /// Rows of `down`.
    pub rank: usize,
    /// What the product is multiplied by.
    pub factor: f32,
}

/// What the walk back depends on.
pub struct Course<'a> {
    /// How many weights the model has: the transposed form of a matrix `w` is the weight `w + weights`.
    pub weights: usize,
    /// Which of them learn.
    pub learns: &'a dyn Fn(WeightId) -> bool,
    /// Dropout.
    pub rates: Rates,
    /// Values of the model's graph, in order, such as the output of each layer. What is computed up to the last of them is not kept but computed again from
    /// them on the way back: less memory for a second way forward (Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016).
    /// Without any, all values are kept.
    pub kept: &'a [ValueId],
    /// What stands beside matrices, in every layer that has them.
    pub adapters: &'a [Adapter],
}

/// Appends losses and the way back to `graph`.
///
/// # Errors
/// The name of an operation that has no way back.
pub fn learning(graph: &Graph, goals: &[Goal], course: &Course<'_>) -> Result<Learning, &'static str> {
    let (mut back, losses) = Back::new(graph, goals, course);
    let last = back.learners.len();
    for value in back.graph.values().take(last).rev() {
        if back.learners[value.index()] && back.gradients[value.index()].is_some() {
            back.carry(value)?;
        }
    }
    Ok(Learning { graph: back.graph, losses })
}

/// Appends losses to `graph` for their costs alone: nothing learns, nothing is dropped.
pub fn evaluating(graph: &Graph, goals: &[Goal]) -> Learning {
    let course = Course { weights: 0, learns: &|_| false, rates: Rates::default(), kept: &[], adapters: &[] };
    let (back, losses) = Back::new(graph, goals, &course);
    Learning { graph: back.graph, losses }
}

/// The operation of `value` if it is a vocabulary's scores that a loss compares: scores and loss are then one operation.
fn vocabulary(graph: &Graph, goal: &Goal) -> Option<(ValueId, WeightId, WeightId)> {
    match (&graph.node(goal.value).op, goal.loss) {
        (Op::Scores { input, table, bias }, Loss::CrossEntropy | Loss::Distilled { .. }) => Some((*input, *table, *bias)),
        _ => None,
    }
}

/// The forward operations, as learning needs them.
struct Forward<'a> {
    graph: Graph,
    adapters: &'a [Adapter],
    /// Where each value of the model's graph is.
    places: Vec<ValueId>,
    /// The number of the next place with dropout.
    site: u32,
}

impl Forward<'_> {
    fn copy(&mut self, model: &Graph, goals: &[Goal], rates: Rates) {
        let needed = model.needed_by(goals.iter().map(|goal| goal.value));
        for value in model.values() {
            if !needed[value.index()] {
                self.places.push(ValueId::default());
                continue;
            }
            let node = model.node(value);
            let fused = goals.iter().any(|goal| goal.value == value && vocabulary(model, goal).is_some());
            // Scores that only a loss reads are never a value; nothing refers to their place.
            let place = if fused { ValueId::default() } else { self.append_behind(node, goals.iter().any(|g| g.value == value), rates) };
            self.places.push(place);
        }
    }

    /// Appends an operation; the last layer of a head reads its input with dropout.
    fn append_behind(&mut self, node: &Node, is_last: bool, rates: Rates) -> ValueId {
        let Op::Linear { input, .. } = &node.op else { return self.append(node, rates) };
        let read = self.places[input.index()];
        if is_last {
            self.places[input.index()] = self.drop(read, rates.head);
        }
        let place = self.append(node, rates);
        self.places[input.index()] = read;
        place
    }

    fn append(&mut self, node: &Node, rates: Rates) -> ValueId {
        let at = |v: ValueId, places: &[ValueId]| places[v.index()];
        match &node.op {
            Op::Embed { lookups, norm } => {
                if node.rows == Rows::Picked {
                    return self.graph.copy(node, |v| v);
                }
                let sum = self.graph.embed(lookups.clone(), None, node.width);
                let embedded = norm.map_or(sum, |norm| self.graph.norm(sum, norm));
                self.drop(embedded, rates.hidden)
            }
            Op::Linear { input, weight, bias, activation } => {
                let mut input = at(*input, &self.places);
                if matches!(node.rows, Rows::Fixed(_)) {
                    // The rows of distances (He et al., DeBERTa, 2021) drop anew in each layer.
                    input = self.drop(input, rates.hidden);
                }
                let product = self.graph.linear(input, *weight, *bias, Activation::Identity, node.width);
                let product = self.adapted(product, input, *weight);
                match *activation {
                    Activation::Identity => product,
                    activation => self.graph.learn(Learn::Activate { input: product, activation }, node.rows, node.width),
                }
            }
            Op::Attention { qkv, start, attention } => {
                let (qkv, start) = (at(*qkv, &self.places), start.map(|start| at(start, &self.places)));
                let mut attention = attention.clone();
                attention.each_value(|v| *v = at(*v, &self.places));
                if rates.attention == 0.0 {
                    return self.graph.attention_from(qkv, start, attention);
                }
                let dropout = self.dropout(rates.attention);
                self.graph.learn(Learn::Attend { qkv, start, attention, dropout }, node.rows, node.width)
            }
            Op::AddNorm { input, residual, norm } => {
                let (input, residual) = (at(*input, &self.places), at(*residual, &self.places));
                let dropped = self.drop(input, rates.hidden);
                let sum = self.graph.add(dropped, residual);
                self.graph.norm(sum, *norm)
            }
            Op::Add { input, residual } => {
                let (input, residual) = (at(*input, &self.places), at(*residual, &self.places));
                let dropped = self.drop(input, rates.hidden);
                self.graph.add(dropped, residual)
            }
            Op::Affine { input, residual: Some(residual), weight, bias } => {
                let (input, residual) = (at(*input, &self.places), at(*residual, &self.places));
                let dropped = self.drop(input, rates.hidden);
                let sum = self.graph.add(dropped, residual);
                self.graph.affine(sum, None, (*weight, *bias))
            }
            _ => {
                let places = &self.places;
                self.graph.copy(node, |v| at(v, places))
            }
        }
    }

    /// The product of `input` and a matrix with what its adapter adds.
    fn adapted(&mut self, product: ValueId, input: ValueId, weight: WeightId) -> ValueId {
        let Some(Adapter { down, up, rank, factor, .. }) = self.adapters.iter().find(|adapter| adapter.weight == weight).copied() else {
            return product;
        };
        let Node { rows, width, .. } = *self.graph.node(product);
        let low = self.graph.linear(input, down, None, Activation::Identity, rank);
        let high = self.graph.linear(low, up, None, Activation::Identity, width);
        let scaled = self.graph.learn(Learn::Scale { input: high, factor }, rows, width);
        self.graph.add(scaled, product)
    }

    fn dropout(&mut self, rate: f32) -> Dropout {
        self.site += 1;
        Dropout { rate, site: self.site }
    }

    fn drop(&mut self, input: ValueId, rate: f32) -> ValueId {
        if rate == 0.0 {
            return input;
        }
        let dropout = self.dropout(rate);
        let Node { rows, width, .. } = *self.graph.node(input);
        self.graph.learn(Learn::Drop { input, dropout }, rows, width)
    }
}

/// Which forward values the way back finds where they are: those of `kept`, and what comes behind them.
fn found(forward: &Graph, kept: &[ValueId]) -> Vec<Option<ValueId>> {
    let stays = |value: ValueId| kept.iter().all(|last| value > *last) || kept.contains(&value);
    forward.values().map(|value| stays(value).then_some(value)).collect()
}

/// The walk back.
struct Back<'a> {
    graph: Graph,
    /// The gradient of each forward value, as far as it is known.
    gradients: Vec<Option<ValueId>>,
    /// Whether something that learns lies at or before each forward value.
    learners: Vec<bool>,
    /// Where the way back finds each forward value: none before it is computed again.
    found: Vec<Option<ValueId>>,
    course: &'a Course<'a>,
}

impl<'a> Back<'a> {
    /// The forward operations of `graph` with the losses behind them, before any step back; and the losses.
    fn new(graph: &Graph, goals: &[Goal], course: &'a Course<'a>) -> (Back<'a>, Vec<ValueId>) {
        let mut forward = Forward { graph: Graph::new(), adapters: course.adapters, places: Vec::new(), site: 0 };
        forward.copy(graph, goals, course.rates);
        let Forward { graph: copied, places, .. } = forward;
        let found = found(&copied, &course.kept.iter().map(|value| places[value.index()]).collect::<Vec<_>>());
        let mut back = Back { gradients: vec![None; copied.nodes().len()], learners: Vec::new(), found, graph: copied, course };
        back.learners = back.learners();
        let losses = goals.iter().map(|goal| back.lose(graph, goal, &places)).collect();
        (back, losses)
    }

    fn learns(&self, id: WeightId) -> bool {
        (self.course.learns)(id)
    }

    fn norm_learns(&self, norm: &Norm) -> bool {
        self.learns(norm.weight) || norm.bias.is_some_and(|b| self.learns(b))
    }

    /// Which values a weight that learns stands behind.
    fn learners(&self) -> Vec<bool> {
        let mut learners: Vec<bool> = Vec::new();
        for node in self.graph.nodes() {
            let own = node.op.weights().iter().any(|id| self.learns(*id));
            learners.push(own || node.op.inputs().iter().any(|v| learners[v.index()]));
        }
        learners
    }

    /// Appends the loss of a goal; its value is the gradient of what it compares.
    fn lose(&mut self, model: &Graph, goal: &Goal, places: &[ValueId]) -> ValueId {
        let Goal { loss, target, value, own } = *goal;
        if let Some((input, table, bias)) = vocabulary(model, goal) {
            let input = places[input.index()];
            let words = model.node(value).width;
            let Node { rows, width, .. } = *self.graph.node(input);
            let (learns, carries) = (self.learns(table) || self.learns(bias), self.learners[input.index()]);
            let lost = self.graph.learn(Learn::Vocabulary { input, table, bias, words, loss, target, learns, carries }, rows, width);
            self.add(input, lost);
            return lost;
        }
        let input = places[value.index()];
        let Node { rows, width, .. } = *self.graph.node(input);
        let lost = self.graph.learn(Learn::Loss { input, loss, target, own }, rows, width);
        self.add(input, lost);
        lost
    }

    /// Adds `gradient` to that of `value`.
    fn add(&mut self, value: ValueId, gradient: ValueId) {
        let so_far = self.gradients[value.index()];
        let sum = so_far.map_or(gradient, |so_far| self.graph.add(so_far, gradient));
        self.gradients[value.index()] = Some(sum);
    }

    /// Appends an operation and adds its value to the gradient of `value`.
    fn give(&mut self, value: ValueId, learn: Learn) {
        if !self.learners[value.index()] {
            return;
        }
        let Node { rows, width, .. } = *self.graph.node(value);
        let gradient = self.append(learn, rows, width);
        self.add(value, gradient);
    }

    /// Appends an operation that only adds to gradients of weights.
    fn note(&mut self, learn: Learn) {
        self.append(learn, Rows::Sequences, 0);
    }

    /// Appends an operation of the way back, which reads forward values where they are now.
    fn append(&mut self, mut learn: Learn, rows: Rows, width: usize) -> ValueId {
        learn.each_input(|value| *value = self.find(*value));
        self.graph.learn(learn, rows, width)
    }

    /// Where the forward value `value` is, or a gradient: appends the operations that compute it again where it was not kept.
    fn find(&mut self, value: ValueId) -> ValueId {
        let Some(place) = self.found.get(value.index()).copied() else { return value };
        place.unwrap_or_else(|| {
            let node = self.graph.node(value).clone();
            let inputs: Vec<(ValueId, ValueId)> = node.op.inputs().into_iter().map(|input| (input, self.find(input))).collect();
            let at = |input: ValueId| inputs.iter().find(|(before, _)| *before == input).map_or(input, |(_, now)| *now);
            let again = self.graph.copy(&node, at);
            self.found[value.index()] = Some(again);
            again
        })
    }

    /// Carries the gradient of `value` over its operation.
    fn carry(&mut self, value: ValueId) -> Result<(), &'static str> {
        let Some(gradient) = self.gradients[value.index()] else { return Ok(()) };
        let node = self.graph.node(value).clone();
        match node.op {
            Op::Embed { lookups, .. } => {
                let lookups: Vec<Lookup> = lookups.into_iter().filter(|l| self.learns(l.table)).collect();
                self.note(Learn::EmbedGradient { gradient, lookups });
            }
            Op::Linear { input, weight, bias, .. } => self.linear(gradient, input, weight, bias),
            Op::Norm { input, norm } => self.give(input, Learn::NormBack { gradient, input, norm, learns: self.norm_learns(&norm) }),
            Op::Add { input, residual } => [input, residual].into_iter().for_each(|v| self.pass(v, gradient)),
            Op::Whole { table } => self.note(Learn::WholeGradient { gradient, table }),
            Op::Attention { qkv, start, attention } => self.attend(gradient, (qkv, start), &attention, Dropout::default()),
            Op::Gate { input, activation, activated } => self.give(input, Learn::GateBack { gradient, input, activation, activated }),
            Op::Rotate { qkv, rotary } => self.give(qkv, Learn::RotateBack { gradient, rotary }),
            Op::Neighbours { input, size } => self.give(input, Learn::NeighboursBack { gradient, size }),
            Op::Pick { input, which } => self.give(input, Learn::PickBack { gradient, which }),
            Op::Pool { input, reduce } => self.give(input, Learn::PoolBack { gradient, input, reduce }),
            Op::Mean { inputs } => {
                let factor = 1.0 / inputs.len() as f32;
                inputs.into_iter().for_each(|input| self.give(input, Learn::Scale { input: gradient, factor }));
            }
            Op::Concat { inputs } => {
                let mut from = 0;
                for input in inputs {
                    self.give(input, Learn::Columns { input: gradient, from });
                    from += self.graph.node(input).width;
                }
            }
            Op::Learn(Learn::Activate { input, activation }) => self.give(input, Learn::ActivateBack { gradient, input, activation }),
            Op::Learn(Learn::Drop { input, dropout }) => self.give(input, Learn::Drop { input: gradient, dropout }),
            Op::Learn(Learn::Scale { input, factor }) => self.give(input, Learn::Scale { input: gradient, factor }),
            Op::Learn(Learn::Attend { qkv, start, attention, dropout }) => self.attend(gradient, (qkv, start), &attention, dropout),
            Op::Affine { input, weight, bias, .. } => {
                let learns = self.learns(weight) || self.learns(bias);
                self.give(input, Learn::AffineBack { gradient, input, weight, bias, learns });
            }
            Op::Scores { .. } => return Err("scores of a vocabulary that are not compared as a distribution"),
            Op::Terms { input, table, bias, terms } => {
                let learns = self.learns(table) || self.learns(bias);
                self.give(input, Learn::TermsBack { gradient, input, table, bias, terms, learns });
            }
            Op::AddNorm { .. } | Op::Learn(_) => unreachable!("the forward copy has none"),
        }
        Ok(())
    }

    /// Carries the gradient of an attention to what it reads: the values of those who look, and the rows that they meet.
    fn attend(&mut self, gradient: ValueId, (qkv, start): (ValueId, Option<ValueId>), attention: &Attention, dropout: Dropout) {
        let own = if start.is_some() { Lookers::Others } else { Lookers::All };
        for (qkv, lookers) in [(Some(qkv), own), (start, Lookers::Start)].into_iter().filter_map(|(v, l)| Some((v?, l))) {
            let Node { rows, width, .. } = *self.graph.node(qkv);
            let met = attention.values().any(|v| self.learners[v.index()]);
            if !(met || self.learners[qkv.index()]) {
                continue;
            }
            let back = self.append(Learn::AttendBack { gradient, qkv, lookers, attention: attention.clone(), dropout }, rows, width);
            self.pass(qkv, back);
            let Bias::Disentangled(positions) = &attention.bias else { continue };
            for (met, side) in [(&positions.keys, Side::Queries), (&positions.queries, Side::Keys)] {
                if let Met::Rows { value, from } = met {
                    self.give(*value, Learn::MetBack { of: back, side, from: *from });
                }
            }
        }
    }

    /// The sum's gradient is each summand's.
    fn pass(&mut self, value: ValueId, gradient: ValueId) {
        if self.learners[value.index()] {
            self.add(value, gradient);
        }
    }

    /// The gradient of a product's input is the product with the transposed matrix.
    fn linear(&mut self, gradient: ValueId, input: ValueId, weight: WeightId, bias: Option<WeightId>) {
        if self.learns(weight) || bias.is_some_and(|b| self.learns(b)) {
            self.note(Learn::LinearGradient { gradient, input, weight, bias });
        }
        if self.learners[input.index()] {
            let transposed = WeightId(weight.0 + self.course.weights);
            let width = self.graph.node(input).width;
            let product = self.graph.linear(gradient, transposed, None, Activation::Identity, width);
            self.add(input, product);
        }
    }
}
