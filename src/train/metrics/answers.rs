//! How good are answers to questions? By the rules of SQuAD's official scripts, or of CMRC 2018's.
//!
//! An answer counts as the best it is beside any of the right ones, in per cent. Of a question without an answer only silence is right. A model that
//! may say nothing has odds against each answer, and says nothing where they are above a threshold: [`evaluate`] applies one, and finds
//! the best.
//!
//! Rules: Rajpurkar et al., Know What You Don't Know: Unanswerable Questions for SQuAD, 2018, and its `evaluate-v2.0.py`, which agrees with that of
//! version 1.1 where every question has an answer; Cui et al., A Span-Extraction Dataset for Chinese Machine Reading Comprehension, 2019.

use std::collections::HashMap;

use super::{check_lengths, mean};
use crate::error::{ErrorKind, Result, fail};

/// What counts as the same answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rules {
    /// Words, without case, punctuation and the articles a, an, the (SQuAD).
    #[default]
    Words,
    /// Chinese characters, words elsewhere, without case and punctuation, and the longest part in common (CMRC 2018). Words of other scripts
    /// are cut at spaces and punctuation, where its script asks nltk: contractions, quotation marks and full stops between sentences differ.
    Characters,
}

impl Rules {
    /// Every set of rules by name.
    pub const ALL: &'static [(&'static str, Rules)] = &[("words", Rules::Words), ("characters", Rules::Characters)];

    /// Whether an answer is the right one, and how much it has in common with it, from 0 to 1.
    pub fn score(self, gold: &str, answered: &str) -> (f64, f64) {
        match self {
            Rules::Words => {
                let (gold, answered) = (normal_words(gold), normal_words(answered));
                (f64::from(u8::from(gold == answered)), words_in_common(&gold, &answered))
            }
            Rules::Characters => {
                let exact = without_marks(gold).eq(without_marks(answered));
                (f64::from(u8::from(exact)), longest_in_common(&segments(gold), &segments(answered)))
            }
        }
    }

    /// The best score beside any of the right answers, none of which is empty to these rules; of none at all, silence is right.
    fn best(self, gold: &[String], answered: &str) -> (f64, f64) {
        let told = gold.iter().filter(|gold| self != Rules::Words || !normal_words(gold).is_empty());
        let scores: Vec<(f64, f64)> = told.map(|gold| self.score(gold, answered)).collect();
        if scores.is_empty() {
            let silent = self.score("", answered).0;
            return (silent, silent);
        }
        scores.into_iter().fold((0.0, 0.0), |best, score| (score.0.max(best.0), score.1.max(best.1)))
    }
}

/// Exact match and F1 in per cent, and of how many questions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AnswerShares {
    /// The share of exact answers.
    pub exact: f64,
    /// The mean of what answers have in common with right ones.
    pub f1: f64,
    /// Questions.
    pub total: usize,
}

/// A threshold, and the score that it gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// In per cent.
    pub score: f64,
    /// Answers whose odds are above it are withheld.
    pub threshold: f64,
}

/// How good answers are.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerScores {
    /// All questions.
    pub all: AnswerShares,
    /// Those with answers; `None` where there are none.
    pub has_answer: Option<AnswerShares>,
    /// Those without; `None` where there are none.
    pub no_answer: Option<AnswerShares>,
    /// The best exact match and F1 at any threshold, where odds are known.
    pub best: Option<(Best, Best)>,
}

impl AnswerScores {
    /// Each score by the name that SQuAD's script gives it.
    pub fn named(&self) -> Vec<(&'static str, f64)> {
        let three = |names: [&'static str; 3], s: &AnswerShares| names.into_iter().zip([s.exact, s.f1, s.total as f64]).collect::<Vec<_>>();
        let mut named = three(["exact", "f1", "total"], &self.all);
        named.extend(self.has_answer.iter().flat_map(|s| three(["HasAns_exact", "HasAns_f1", "HasAns_total"], s)));
        named.extend(self.no_answer.iter().flat_map(|s| three(["NoAns_exact", "NoAns_f1", "NoAns_total"], s)));
        if let Some((exact, f1)) = &self.best {
            named.extend([("best_exact", exact.score), ("best_exact_thresh", exact.threshold)]);
            named.extend([("best_f1", f1.score), ("best_f1_thresh", f1.threshold)]);
        }
        named
    }
}

/// What was answered to a question.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    /// The right answers; none where there is none.
    pub gold: &'a [String],
    /// The best answer, even where the model would rather say nothing; empty if it has none.
    pub text: &'a str,
    /// The odds against it: any number that grows with the likelihood that there is no answer.
    pub odds: Option<f64>,
}

/// Scores answers, of which those are withheld whose odds are above `threshold`.
///
/// # Errors
/// `InvalidArgument` for no question, and for odds of some questions alone.
pub fn evaluate(answered: &[Answered<'_>], rules: Rules, threshold: Option<f64>) -> Result<AnswerScores> {
    check_lengths(answered.len(), answered.len())?;
    let odds: Vec<f64> = answered.iter().filter_map(|a| a.odds).collect();
    if !odds.is_empty() && odds.len() < answered.len() {
        return fail(ErrorKind::InvalidArgument, format!("{} of {} answers have odds; all or none must", odds.len(), answered.len()));
    }
    let raw: Vec<(f64, f64)> = answered.iter().map(|a| rules.best(a.gold, a.text)).collect();
    let withheld = |a: &Answered<'_>| a.odds.zip(threshold).is_some_and(|(odds, threshold)| odds > threshold);
    let told: Vec<(f64, f64)> = answered
        .iter()
        .zip(&raw)
        .map(|(a, raw)| if withheld(a) { [(0.0, 0.0), (1.0, 1.0)][usize::from(a.gold.is_empty())] } else { *raw })
        .collect();
    let of = |which: &dyn Fn(&Answered<'_>) -> bool| {
        let scores: Vec<(f64, f64)> = answered.iter().zip(&told).filter(|(a, _)| which(a)).map(|(_, score)| *score).collect();
        let per_cent = |pick: fn(&(f64, f64)) -> f64| 100.0 * mean(scores.iter().map(pick));
        let shares = AnswerShares { exact: per_cent(|s| s.0), f1: per_cent(|s| s.1), total: scores.len() };
        (shares.total > 0).then_some(shares)
    };
    let best = || {
        let exact: Vec<f64> = raw.iter().map(|raw| raw.0).collect();
        let f1: Vec<f64> = raw.iter().map(|raw| raw.1).collect();
        (best_threshold(answered, &odds, &exact), best_threshold(answered, &odds, &f1))
    };
    Ok(AnswerScores {
        all: of(&|_| true).unwrap_or_default(),
        has_answer: of(&|a| !a.gold.is_empty()),
        no_answer: of(&|a| a.gold.is_empty()),
        best: (!odds.is_empty()).then(best),
    })
}

/// The threshold at which most is right. From withholding all, one answer after the other is told, the surest first. Where withholding all is best,
/// it is 0 as in the official script, or below all odds that are not above 0, as differences of scores may be.
fn best_threshold(answered: &[Answered<'_>], odds: &[f64], scores: &[f64]) -> Best {
    let mut now = answered.iter().filter(|a| a.gold.is_empty()).count() as f64;
    let lowest = odds.iter().copied().fold(f64::INFINITY, f64::min);
    let mut best = Best { score: now, threshold: if lowest < 0.0 { lowest - 1.0 } else { 0.0 } };
    let mut order: Vec<usize> = (0..answered.len()).collect();
    order.sort_by(|a, b| odds[*a].total_cmp(&odds[*b]));
    for i in order {
        now += match (answered[i].gold.is_empty(), answered[i].text.is_empty()) {
            (false, _) => scores[i],
            (true, false) => -1.0,
            (true, true) => 0.0,
        };
        if now > best.score {
            best = Best { score: now, threshold: odds[i] };
        }
    }
    Best { score: 100.0 * best.score / answered.len() as f64, ..best }
}

/// The words of an answer in lower case, without ASCII's punctuation and articles.
fn normal_words(text: &str) -> Vec<String> {
    let bare: String = text.to_lowercase().chars().filter(|c| !c.is_ascii_punctuation()).collect();
    let in_word = |c: char| c.is_alphanumeric();
    // Articles are words between anything that is no letter, even between words joined by a character of no word.
    let mut spaced = String::with_capacity(bare.len());
    let mut rest = bare.as_str();
    while let Some(c) = rest.chars().next() {
        let same = rest.find(|d: char| in_word(d) != in_word(c)).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(same);
        spaced.push_str(if matches!(run, "a" | "an" | "the") { " " } else { run });
        rest = behind;
    }
    // Python takes the separators of ASCII for white space, too.
    let space = |c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
    spaced.split(space).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// F1 of the words that two answers have in common, each as often as both have it.
fn words_in_common(gold: &[String], answered: &[String]) -> f64 {
    if gold.is_empty() || answered.is_empty() {
        return f64::from(u8::from(gold == answered));
    }
    let mut left: HashMap<&str, usize> = HashMap::new();
    gold.iter().for_each(|word| *left.entry(word).or_default() += 1);
    let take = |word: &&String| match left.get_mut(word.as_str()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    };
    let same = answered.iter().filter(take).count();
    2.0 * same as f64 / (gold.len() + answered.len()) as f64
}

/// What CMRC 2018's script leaves out of answers.
const MARKS: &str = "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』";

/// The characters of an answer in lower case, without the space around it and marks.
fn without_marks(text: &str) -> impl Iterator<Item = char> {
    let lower: Vec<char> = text.to_lowercase().trim().chars().filter(|c| !MARKS.contains(*c)).collect();
    lower.into_iter()
}

/// Chinese characters one by one, and the words between them.
fn segments(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut between = String::new();
    for c in without_marks(text) {
        if ('\u{4e00}'..='\u{9fa5}').contains(&c) {
            words(&std::mem::take(&mut between), &mut found);
            found.push(c.to_string());
        } else {
            between.push(c);
        }
    }
    words(&between, &mut found);
    found
}

/// Cuts at spaces and at punctuation; a comma in a number and a point that is not the last character belong to their word.
fn words(text: &str, found: &mut Vec<String>) {
    let characters: Vec<char> = text.trim_end().chars().collect();
    let mut word = String::new();
    for (i, &c) in characters.iter().enumerate() {
        let alone = match c {
            ';' | '@' | '#' | '$' | '%' | '&' | '?' | '!' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' => true,
            ',' => !characters.get(i + 1).is_some_and(char::is_ascii_digit),
            '.' => i + 1 == characters.len() && i > 0 && characters[i - 1] != '.',
            _ => false,
        };
        if (alone || c.is_whitespace()) && !word.is_empty() {
            found.push(std::mem::take(&mut word));
        }
        if alone {
            found.push(c.to_string());
        } else if !c.is_whitespace() {
            word.push(c);
        }
    }
    if !word.is_empty() {
        found.push(word);
    }
}

/// F1 of the longest run of segments that two answers have in common.
fn longest_in_common(gold: &[String], answered: &[String]) -> f64 {
    let mut longest = 0;
    let mut before = vec![0usize; answered.len() + 1];
    for one in gold {
        let mut now = vec![0; answered.len() + 1];
        for (j, other) in answered.iter().enumerate() {
            if one == other {
                now[j + 1] = before[j] + 1;
                longest = longest.max(now[j + 1]);
            }
        }
        before = now;
    }
    if longest == 0 { 0.0 } else { 2.0 * longest as f64 / (gold.len() + answered.len()) as f64 }
}
