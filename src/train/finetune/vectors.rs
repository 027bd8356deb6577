//! What do vectors cost that should be near, or apart?
//!
//! The losses of sentence-transformers (Reimers and Gurevych, Sentence-BERT, 2019), as [`Judge`]s over the pooled vectors of a whole part. Each may be
//! asked of the first numbers of the vectors too (Kusupati et al., Matryoshka Representation Learning, 2022): the costs of all lengths add up.

use serde_json::json;

use crate::engine::lesson::{Cost, Judge, Owned, cross_entropy};
use crate::error::{ErrorKind, Result, fail};
use crate::formats::{SentenceModules, Source};
use crate::train::run::folder::Companions;

/// What is asked of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorLoss {
    /// Two texts and a number: the square of what their cosine differs from it.
    Cosine,
    /// Texts that belong together, and perhaps some that seem to: a softmax over the cosines of a text with all second texts of the batch
    /// (Henderson et al., Efficient Natural Language Response Suggestion for Smart Reply, 2017).
    Contrast,
    /// A text, one that is near, one that is not: `max(0, near - far + margin)` of the distances (Schroff et al., FaceNet, 2015).
    Triplet,
    /// Two texts and the name of their relation: see [`relations`](super::relations).
    Relation,
}

impl VectorLoss {
    /// Every loss by its name.
    pub const ALL: &'static [(&'static str, VectorLoss)] = &[
        ("cosine", VectorLoss::Cosine),
        ("contrast", VectorLoss::Contrast),
        ("triplet", VectorLoss::Triplet),
        ("relation", VectorLoss::Relation),
    ];
}

/// The vectors of a part: those of one example stand side by side.
pub(super) struct Vectors {
    pub loss: VectorLoss,
    /// Vectors an example.
    pub each: usize,
    /// By example, of [`VectorLoss::Cosine`].
    pub targets: Vec<f32>,
    /// What cosines are multiplied by ([`VectorLoss::Contrast`]), or how far apart texts should be ([`VectorLoss::Triplet`]).
    pub scale: f64,
    /// How many of the first numbers count; at the end all.
    pub lengths: Vec<usize>,
    /// Whether vectors have length 1 where distances are measured: by the model's own last module, or since some of their numbers are asked for
    /// themselves, as sentence-transformers does. Cosines are the same.
    pub unit: bool,
    pub factor: f32,
}

impl Judge for Vectors {
    fn judge(&self, answers: &[f32], width: usize, _: &mut Owned<'_>, gradient: &mut [f32], costs: &mut [Cost]) {
        let mut sums = vec![0f64; gradient.len()];
        for length in &self.lengths {
            let mut vectors: Vec<Vec<f64>> =
                answers.chunks_exact(width).map(|row| row[..(*length).min(width)].iter().map(|x| f64::from(*x)).collect()).collect();
            let unit = self.unit && self.loss == VectorLoss::Triplet;
            let norms: Vec<f64> = if unit { vectors.iter_mut().map(|vector| scale_to_one(vector)).collect() } else { Vec::new() };
            let mut down: Vec<Vec<f64>> = vectors.iter().map(|v| vec![0.0; v.len()]).collect();
            match self.loss {
                VectorLoss::Cosine => self.cosine(&vectors, &mut down, costs),
                VectorLoss::Contrast => self.contrast(&vectors, &mut down, costs),
                VectorLoss::Triplet => self.triplet(&vectors, &mut down, costs),
                // It has a judge of its own.
                VectorLoss::Relation => {}
            }
            for ((vector, norm), down) in vectors.iter().zip(&norms).zip(&mut down) {
                scaled_back(vector, *norm, down);
            }
            for (row, down) in down.iter().enumerate() {
                sums[row * width..].iter_mut().zip(down).for_each(|(sum, d)| *sum += d);
            }
        }
        gradient.iter_mut().zip(&sums).for_each(|(g, sum)| *g = (sum * f64::from(self.factor)) as f32);
    }
}

impl Vectors {
    fn cosine(&self, vectors: &[Vec<f64>], down: &mut [Vec<f64>], costs: &mut [Cost]) {
        for (i, target) in self.targets.iter().enumerate() {
            let (a, b) = (self.each * i, self.each * i + 1);
            let cosine = cosine(&vectors[a], &vectors[b]);
            let off = cosine - f64::from(*target);
            move_cosine(vectors, down, (a, b), 2.0 * off);
            costs[a].loss += (off * off) as f32;
            costs[a].right = off.abs() < 0.5;
        }
    }

    fn contrast(&self, vectors: &[Vec<f64>], down: &mut [Vec<f64>], costs: &mut [Cost]) {
        let examples = vectors.len() / self.each;
        // The second texts first, in the order of examples, then those that only seem right.
        let others: Vec<usize> = (1..self.each).flat_map(|which| (0..examples).map(move |i| self.each * i + which)).collect();
        for i in 0..examples {
            let text = self.each * i;
            let z: Vec<f64> = others.iter().map(|other| self.scale * cosine(&vectors[text], &vectors[*other])).collect();
            let (cost, gradient) = cross_entropy(&z, i as u32);
            for (other, g) in others.iter().zip(gradient) {
                move_cosine(vectors, down, (text, *other), self.scale * g);
            }
            costs[text].loss += cost.loss;
            costs[text].right = cost.right;
        }
    }

    fn triplet(&self, vectors: &[Vec<f64>], down: &mut [Vec<f64>], costs: &mut [Cost]) {
        for i in 0..vectors.len() / self.each {
            let (text, near, far) = (self.each * i, self.each * i + 1, self.each * i + 2);
            let distance = |other: usize| vectors[text].iter().zip(&vectors[other]).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            let cost = (distance(near) - distance(far) + self.scale).max(0.0);
            if cost > 0.0 {
                for (other, sign) in [(near, 1.0), (far, -1.0)] {
                    let length = distance(other).max(f64::MIN_POSITIVE);
                    for k in 0..vectors[text].len() {
                        let g = sign * (vectors[text][k] - vectors[other][k]) / length;
                        down[text][k] += g;
                        down[other][k] -= g;
                    }
                }
            }
            costs[text].loss += cost as f32;
            costs[text].right = distance(near) < distance(far);
        }
    }
}

/// Refuses a model whose vectors are made otherwise than by pooling.
pub(super) fn check_pools(sentence: &SentenceModules) -> Result<()> {
    let refuse = |told: &str| fail(ErrorKind::Unsupported, format!("task encode learns one vector a text, by pooling: {told}"));
    if sentence.late.is_some() {
        return refuse("this is a late-interaction model (ColBERT), which has a vector a token");
    }
    if sentence.splade.is_some() {
        return refuse("this is a sparse encoder, which has weights of a vocabulary");
    }
    if let Some(dense) = sentence.dense.first() {
        return refuse(&format!("module {} is a dense layer behind it, which does not learn here", dense.name));
    }
    if let Some(name) = sentence.default_prompt.as_ref().filter(|name| sentence.prompts.get(*name).is_some_and(|text| !text.is_empty())) {
        return refuse(&format!(
            "prompt {name:?} stands before each text, without which it would learn; leave default_prompt_name out of config_sentence_transformers.json"
        ));
    }
    Ok(())
}

/// What sentence-transformers opens a folder of vectors by: the model's own modules, or pooling by the mean.
pub(super) fn companions(companions: &mut Companions, folder: (&Source, &str), sentence: &SentenceModules, hidden: usize) -> Result<()> {
    let (source, dir) = folder;
    companions.take(source, dir, &["sentence_bert_config.json"])?;
    companions.take(source, "", &["config_sentence_transformers.json"])?;
    let class = |name: &str| format!("sentence_transformers.models.{name}");
    let module = |idx: usize, path: &str, name: &str| json!({"idx": idx, "name": idx.to_string(), "path": path, "type": class(name)});
    let mut modules = vec![module(0, "", "Transformer"), module(1, "1_Pooling", "Pooling")];
    if sentence.normalize {
        modules.push(module(2, "2_Normalize", "Normalize"));
    }
    let mean = json!({"word_embedding_dimension": hidden, "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true,
        "pooling_mode_max_tokens": false, "pooling_mode_mean_sqrt_len_tokens": false});
    companions.add("modules.json", serde_json::Value::from(modules).to_string());
    companions.add("1_Pooling/config.json", sentence.pooling.as_ref().unwrap_or(&mean).to_string());
    Ok(())
}

/// The sum of the products.
pub(in crate::train) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Scales a vector to length 1, and says how long it was; one of zeros stays.
pub(super) fn scale_to_one(vector: &mut [f64]) -> f64 {
    let norm = dot(vector, vector).sqrt().max(1e-12);
    vector.iter_mut().for_each(|x| *x /= norm);
    norm
}

/// From the gradient of a vector of length 1 to that of what it was scaled of.
pub(super) fn scaled_back(unit: &[f64], norm: f64, down: &mut [f64]) {
    let along = dot(unit, down);
    down.iter_mut().zip(unit).for_each(|(d, x)| *d = (*d - along * x) / norm);
}

/// 0 where one is no direction.
fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let norms = (dot(a, a) * dot(b, b)).sqrt();
    if norms > 0.0 { dot(a, b) / norms } else { 0.0 }
}

/// Adds `by` times the gradient of the cosine of two vectors to theirs.
fn move_cosine(vectors: &[Vec<f64>], down: &mut [Vec<f64>], (a, b): (usize, usize), by: f64) {
    let (va, vb) = (&vectors[a], &vectors[b]);
    let (aa, bb) = (dot(va, va), dot(vb, vb));
    let norms = (aa * bb).sqrt();
    if norms == 0.0 {
        return;
    }
    let cosine = dot(va, vb) / norms;
    for k in 0..va.len() {
        down[a][k] += by * (vb[k] / norms - cosine * va[k] / aa);
        down[b][k] += by * (va[k] / norms - cosine * vb[k] / bb);
    }
}

#[cfg(test)]
mod tests {
    use super::super::judges::tests::{agrees, numbers};
    use super::*;

    #[test]
    fn gradients_are_those_of_the_costs() {
        let z = numbers(48);
        for (_, loss) in VectorLoss::ALL.iter().filter(|(_, loss)| *loss != VectorLoss::Relation) {
            for lengths in [vec![8], vec![3, 8]] {
                let each = if *loss == VectorLoss::Triplet { 3 } else { 2 };
                for unit in [false, true] {
                    let (lengths, targets) = (lengths.clone(), vec![0.3, -0.2, 0.9]);
                    let judge = Vectors { loss: *loss, each, targets, scale: 2.0, lengths, unit, factor: 0.5 };
                    agrees(&judge, &z, 8, 0.5);
                }
            }
        }
        let hard =
            Vectors { loss: VectorLoss::Contrast, each: 3, targets: Vec::new(), scale: 3.0, lengths: vec![8], unit: false, factor: 0.5 };
        agrees(&hard, &z, 8, 0.5);
    }
}
