//! How good are rankings? As trec_eval counts.
//!
//! A document is relevant if it is judged above 0. Rankings are by score; of equal scores the document goes first whose name is greater, byte by byte, whatever
//! the order in which they came, since an order by chance is none to be judged. Scores are compared as f32, as trec_eval keeps them. Queries count that are
//! judged and ranked; the others are counted ([`Evaluation::unranked`], [`Evaluation::unjudged`]).

use std::collections::BTreeMap;

use super::mean;
use crate::error::{Error, ErrorKind, Result, fail};

/// How relevant each document is to each query.
pub type Judgements = BTreeMap<String, BTreeMap<String, i64>>;

/// Documents with scores for each query, in any order.
pub type Run = BTreeMap<String, Vec<(String, f32)>>;

/// What is measured of a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Gains of what is relevant, less the deeper it stands, beside those of the best ranking (Järvelin and Kekäläinen, 2002), with the judgements
    /// themselves as gains; of the first so many.
    Ndcg(Option<usize>),
    /// One by the rank of the first relevant document; 0 if it is not among the first so many.
    Mrr(Option<usize>),
    /// The mean of the precisions at each relevant document.
    Map,
    /// The share of relevant documents that are among the first so many.
    Recall(usize),
    /// The share of the first so many that are relevant.
    Precision(usize),
}

impl Measure {
    /// What is told unless something is asked for.
    pub const USUAL: &'static [Measure] =
        &[Measure::Ndcg(Some(10)), Measure::Mrr(None), Measure::Mrr(Some(10)), Measure::Map, Measure::Recall(100), Measure::Precision(10)];

    /// Reads `ndcg`, `ndcg@10`, `mrr`, `mrr@10`, `map`, `recall@100` or `p@10`.
    ///
    /// # Errors
    /// `InvalidArgument` for anything else.
    pub fn parse(text: &str) -> Result<Measure> {
        let (name, cut) = text.split_once('@').map_or((text, None), |(name, cut)| (name, Some(cut)));
        let wrong = || {
            Error::new(ErrorKind::InvalidArgument, format!("{text:?} is no measure; there are ndcg@10, mrr, mrr@10, map, recall@100, p@10"))
        };
        let cut = cut.map(|cut| cut.parse::<usize>().ok().filter(|cut| *cut > 0).ok_or_else(wrong)).transpose()?;
        match (name, cut) {
            ("ndcg", cut) => Ok(Measure::Ndcg(cut)),
            ("mrr", cut) => Ok(Measure::Mrr(cut)),
            ("map", None) => Ok(Measure::Map),
            ("recall", Some(cut)) => Ok(Measure::Recall(cut)),
            ("p", Some(cut)) => Ok(Measure::Precision(cut)),
            _ => Err(wrong()),
        }
    }

    /// The word for it, as [`Measure::parse`] reads it.
    pub fn name(self) -> String {
        match self {
            Measure::Ndcg(None) => "ndcg".to_owned(),
            Measure::Ndcg(Some(cut)) => format!("ndcg@{cut}"),
            Measure::Mrr(None) => "mrr".to_owned(),
            Measure::Mrr(Some(cut)) => format!("mrr@{cut}"),
            Measure::Map => "map".to_owned(),
            Measure::Recall(cut) => format!("recall@{cut}"),
            Measure::Precision(cut) => format!("p@{cut}"),
        }
    }

    /// The measure of a ranking.
    fn of(self, ranking: &Ranking) -> f64 {
        let gains = &ranking.gains;
        let cut = |cut: Option<usize>| &gains[..cut.unwrap_or(gains.len()).min(gains.len())];
        let relevant = |gains: &[i64]| gains.iter().filter(|gain| **gain > 0).count() as f64;
        let wanted = ranking.best.len() as f64;
        let of_wanted = |value: f64| if wanted == 0.0 { 0.0 } else { value / wanted };
        match self {
            Measure::Ndcg(at) => {
                let best = discounted(&ranking.best[..at.unwrap_or(ranking.best.len()).min(ranking.best.len())]);
                if best == 0.0 { 0.0 } else { discounted(cut(at)) / best }
            }
            Measure::Mrr(at) => cut(at).iter().position(|gain| *gain > 0).map_or(0.0, |place| 1.0 / (place + 1) as f64),
            Measure::Map => {
                let places = gains.iter().enumerate().filter(|(_, gain)| **gain > 0).map(|(place, _)| place + 1);
                of_wanted(places.enumerate().map(|(before, place)| (before + 1) as f64 / place as f64).sum())
            }
            Measure::Recall(at) => of_wanted(relevant(cut(Some(at)))),
            Measure::Precision(at) => relevant(cut(Some(at))) / at as f64,
        }
    }
}

/// The sum of gains, each by the logarithm of its rank and one; what is judged below 0 gains nothing.
fn discounted(gains: &[i64]) -> f64 {
    gains.iter().enumerate().map(|(place, gain)| (*gain).max(0) as f64 / ((place + 2) as f64).log2()).sum()
}

/// A query's ranking, by what its documents are worth.
struct Ranking {
    /// Judgements of the ranked documents, in their order; 0 for what is not judged.
    gains: Vec<i64>,
    /// Judgements of all relevant documents, the highest first.
    best: Vec<i64>,
}

impl Ranking {
    fn of(judged: &BTreeMap<String, i64>, ranked: &[(String, f32)]) -> Ranking {
        let gains = ordered(ranked).into_iter().map(|(document, _)| judged.get(document).copied().unwrap_or(0)).collect();
        let mut best: Vec<i64> = judged.values().copied().filter(|gain| *gain > 0).collect();
        best.sort_unstable_by(|a, b| b.cmp(a));
        Ranking { gains, best }
    }
}

/// A run as trec_eval reads it: `query Q0 document rank score name` in each line, in the order in which it is judged.
///
/// # Errors
/// `InvalidArgument` for a name with white space in it, which ends it there.
pub fn trec_lines(run: &Run, name: &str) -> Result<String> {
    let mut lines = String::new();
    for (query, ranked) in run {
        let names = ranked.iter().map(|(document, _)| document).chain([query]).map(String::as_str).chain([name]);
        if let Some(name) = names.into_iter().find(|name| name.is_empty() || name.contains(char::is_whitespace)) {
            return fail(ErrorKind::InvalidArgument, format!("{name:?} cannot stand in a run: names there have no white space"));
        }
        for (place, (document, score)) in ordered(ranked).into_iter().enumerate() {
            lines.push_str(&format!("{query} Q0 {document} {} {score} {name}\n", place + 1));
        }
    }
    Ok(lines)
}

/// Documents as they are judged: by score, of equal ones the greater name first.
fn ordered(ranked: &[(String, f32)]) -> Vec<&(String, f32)> {
    let mut order: Vec<&(String, f32)> = ranked.iter().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(&a.0)));
    order
}

/// How good rankings are.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Each measure's mean over the queries.
    pub means: Vec<(Measure, f64)>,
    /// The measures of each query, in the same order.
    pub queries: BTreeMap<String, Vec<f64>>,
    /// Queries that are judged and not ranked.
    pub unranked: usize,
    /// Queries that are ranked and not judged.
    pub unjudged: usize,
}

/// Measures the rankings of judged queries.
///
/// # Errors
/// `InvalidArgument` where no query is both judged and ranked, a document is ranked twice, or a score is not a number.
pub fn evaluate(judged: &Judgements, run: &Run, measures: &[Measure]) -> Result<Evaluation> {
    let mut queries = BTreeMap::new();
    for (query, ranked) in run {
        check(query, ranked)?;
        if let Some(judged) = judged.get(query).filter(|judged| !judged.is_empty()) {
            let ranking = Ranking::of(judged, ranked);
            queries.insert(query.clone(), measures.iter().map(|measure| measure.of(&ranking)).collect::<Vec<f64>>());
        }
    }
    if queries.is_empty() {
        let told = format!("none of the {} ranked queries is among the {} judged ones; are they called the same?", run.len(), judged.len());
        return fail(ErrorKind::InvalidArgument, told);
    }
    let means = measures.iter().enumerate().map(|(i, measure)| (*measure, mean(queries.values().map(|values| values[i]))));
    let (means, both) = (means.collect(), queries.len());
    Ok(Evaluation { means, queries, unranked: judged.len() - both, unjudged: run.len() - both })
}

fn check(query: &str, ranked: &[(String, f32)]) -> Result<()> {
    let mut names: Vec<&str> = ranked.iter().map(|(document, _)| document.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return fail(ErrorKind::InvalidArgument, format!("query {query:?} ranks document {:?} twice", twice[0]));
    }
    match ranked.iter().find(|(_, score)| score.is_nan()) {
        Some((document, _)) => {
            fail(ErrorKind::InvalidArgument, format!("query {query:?}: the score of document {document:?} is not a number"))
        }
        None => Ok(()),
    }
}
