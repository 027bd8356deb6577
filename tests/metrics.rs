//! Do metrics count as the programs that people compare with?
//!
//! `tests/golden/make/metrics.py` asked scikit-learn, scipy, seqeval, SQuAD's and CMRC 2018's scripts and trec_eval about random answers.
#![cfg(feature = "train")]

use std::collections::BTreeMap;
use std::path::Path;

use cloze::train::metrics::answers::{self, Answered, Rules};
use cloze::train::metrics::classes::Confusion;
use cloze::train::metrics::entities::{EntityScores, Reading};
use cloze::train::metrics::numbers;
use cloze::train::metrics::retrieval::{self, Judgements, Measure};
use cloze::train::metrics::sets::Sets;
use cloze::train::metrics::{Counts, Shares};
use serde::Deserialize;
use serde::de::DeserializeOwned;

const NEAR: f64 = 1e-12;

fn cases<T: DeserializeOwned>(name: &str) -> Vec<T> {
    #[derive(Deserialize)]
    struct Golden<T> {
        cases: Vec<T>,
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/metrics/{name}.json"));
    let golden: Golden<T> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(golden.cases.len() >= 5, "{name}");
    golden.cases
}

fn near(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= NEAR * expected.abs().max(1.0), "{what}: {found}, and not {expected}");
}

/// Precision, recall and F1, as the script writes them.
fn near_shares(found: Shares, expected: [f64; 3], what: &str) {
    near(found.precision, expected[0], &format!("{what} precision"));
    near(found.recall, expected[1], &format!("{what} recall"));
    near(found.f1, expected[2], &format!("{what} F1"));
}

/// Precision, recall, F1 and support of each class.
fn near_each(found: &[Counts], expected: &[[f64; 4]], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (found, &[precision, recall, f1, support])) in found.iter().zip(expected).enumerate() {
        near_shares(found.shares(), [precision, recall, f1], &format!("{what} {i}"));
        assert_eq!(found.wanted as f64, support, "{what} {i}");
    }
}

#[test]
fn classes_count_as_in_scikit_learn() {
    #[derive(Deserialize)]
    struct Case {
        classes: usize,
        gold: Vec<usize>,
        answered: Vec<usize>,
        accuracy: f64,
        micro: [f64; 3],
        r#macro: [f64; 3],
        weighted: [f64; 3],
        matthews: f64,
        confusion: Vec<Vec<u64>>,
        each: Vec<[f64; 4]>,
        binary: Option<f64>,
    }
    for (i, case) in cases::<Case>("classes").into_iter().enumerate() {
        let what = format!("case {i}");
        let confusion = Confusion::of(&case.gold, &case.answered, case.classes).unwrap();
        near(confusion.accuracy(), case.accuracy, &what);
        assert!(case.micro.iter().all(|share| (share - confusion.accuracy()).abs() < NEAR), "{what}: micro means are the accuracy");
        near_shares(confusion.macro_mean(), case.r#macro, &what);
        near_shares(confusion.weighted_mean(), case.weighted, &what);
        near(confusion.matthews(), case.matthews, &what);
        let counts: Vec<Counts> = (0..case.classes).map(|class| confusion.counts(class)).collect();
        near_each(&counts, &case.each, &what);
        let row = |gold: usize| (0..case.classes).map(|answered| confusion.count(gold, answered)).collect::<Vec<u64>>();
        assert_eq!((0..case.classes).map(row).collect::<Vec<_>>(), case.confusion, "{what}");
        if let Some(binary) = case.binary {
            near(confusion.of_class(1).f1, binary, &what);
        }
    }
}

#[test]
fn sets_of_classes_count_as_in_scikit_learn() {
    #[derive(Deserialize)]
    struct Case {
        classes: usize,
        gold: Vec<Vec<usize>>,
        answered: Vec<Vec<usize>>,
        micro: [f64; 3],
        r#macro: [f64; 3],
        subset: f64,
    }
    for (i, case) in cases::<Case>("sets").into_iter().enumerate() {
        let sets = Sets::of(&case.gold, &case.answered, case.classes).unwrap();
        near_shares(sets.micro(), case.micro, &format!("case {i}"));
        near_shares(sets.macro_mean(), case.r#macro, &format!("case {i}"));
        near(sets.subset_accuracy(), case.subset, &format!("case {i}"));
    }
}

#[test]
fn numbers_are_compared_as_in_scipy() {
    #[derive(Deserialize)]
    struct Case {
        gold: Vec<f64>,
        answered: Vec<f64>,
        mse: f64,
        pearson: Option<f64>,
        spearman: Option<f64>,
    }
    for (i, case) in cases::<Case>("numbers").into_iter().enumerate() {
        near(numbers::mean_squared_error(&case.gold, &case.answered).unwrap(), case.mse, &format!("case {i}"));
        let found = [numbers::pearson(&case.gold, &case.answered).unwrap(), numbers::spearman(&case.gold, &case.answered).unwrap()];
        for (found, expected) in found.into_iter().zip([case.pearson, case.spearman]) {
            assert_eq!(found.is_some(), expected.is_some(), "case {i}: {found:?}, and not {expected:?}");
            near(found.unwrap_or(0.0), expected.unwrap_or(0.0), &format!("case {i}"));
        }
    }
}

#[test]
fn entities_count_as_in_seqeval() {
    #[derive(Deserialize)]
    struct Case {
        gold: Vec<Vec<String>>,
        answered: Vec<Vec<String>>,
        ends: bool,
        accuracy: f64,
        micro: [f64; 3],
        r#macro: [f64; 3],
        each: Vec<[f64; 4]>,
        strict_micro: [f64; 3],
        strict_macro: [f64; 3],
    }
    for (i, case) in cases::<Case>("entities").into_iter().enumerate() {
        let what = format!("case {i}");
        let lenient = EntityScores::of(&case.gold, &case.answered, Reading::Lenient).unwrap();
        near(lenient.accuracy(), case.accuracy, &what);
        near_shares(lenient.overall(), case.micro, &what);
        near_shares(lenient.macro_mean(), case.r#macro, &what);
        near_each(&lenient.kinds.into_values().collect::<Vec<_>>(), &case.each, &what);
        let reading = if case.ends { Reading::StrictIobes } else { Reading::StrictIob2 };
        let strict = EntityScores::of(&case.gold, &case.answered, reading).unwrap();
        near_shares(strict.overall(), case.strict_micro, &format!("{what}, strict"));
        near_shares(strict.macro_mean(), case.strict_macro, &format!("{what}, strict"));
        assert_ne!(case.micro, case.strict_micro, "{what} must tell the two apart");
    }
}

#[test]
fn answers_count_as_in_the_script_of_squad() {
    #[derive(Deserialize)]
    struct Case {
        gold: Vec<Vec<String>>,
        answered: Vec<String>,
        odds: Option<Vec<f64>>,
        threshold: Option<f64>,
        scores: BTreeMap<String, f64>,
    }
    for (i, case) in cases::<Case>("answers").into_iter().enumerate() {
        let one = |k: usize| Answered { gold: &case.gold[k], text: &case.answered[k], odds: case.odds.as_ref().map(|odds| odds[k]) };
        let answered: Vec<Answered<'_>> = (0..case.gold.len()).map(one).collect();
        let found = answers::evaluate(&answered, Rules::Words, case.threshold).unwrap();
        let named: BTreeMap<String, f64> = found.named().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        assert_eq!(named.keys().collect::<Vec<_>>(), case.scores.keys().collect::<Vec<_>>(), "case {i}");
        named.iter().for_each(|(name, value)| near(*value, case.scores[name], &format!("case {i}, {name}")));
    }
}

#[test]
fn the_best_threshold_gives_its_score_even_where_silence_is_best() {
    let gold = ["right".to_owned()];
    for (texts, odds) in
        [(["x", "x", "x"], [-3.0, -1.0, 2.0]), (["right", "x", "x"], [-3.0, -2.0, 2.0]), (["x", "x", "right"], [0.5, 0.5, 9.0])]
    {
        let golds = texts.map(|text| if text == "right" { &gold[..] } else { &[] });
        let answered: Vec<_> = (0..3).map(|i| Answered { gold: golds[i], text: texts[i], odds: Some(odds[i]) }).collect();
        let (exact, f1) = answers::evaluate(&answered, Rules::Words, None).unwrap().best.unwrap();
        let at = |threshold| answers::evaluate(&answered, Rules::Words, Some(threshold)).unwrap().all;
        near(at(exact.threshold).exact, exact.score, &format!("{texts:?} {odds:?}"));
        near(at(f1.threshold).f1, f1.score, &format!("{texts:?} {odds:?}"));
    }
}

#[test]
fn chinese_answers_count_as_in_the_script_of_cmrc() {
    #[derive(Deserialize)]
    struct Case {
        gold: Vec<String>,
        answered: String,
        exact: f64,
        f1: f64,
    }
    for case in cases::<Case>("cmrc") {
        let found = answers::evaluate(&[Answered { gold: &case.gold, text: &case.answered, odds: None }], Rules::Characters, None).unwrap();
        near(found.all.exact, 100.0 * case.exact, &format!("{:?} beside {:?}", case.answered, case.gold));
        near(found.all.f1, 100.0 * case.f1, &format!("{:?} beside {:?}", case.answered, case.gold));
    }
}

#[test]
fn rankings_count_as_in_trec_eval() {
    #[derive(Deserialize)]
    struct Case {
        judged: Judgements,
        run: BTreeMap<String, BTreeMap<String, f64>>,
        queries: BTreeMap<String, BTreeMap<String, f64>>,
    }
    let theirs = |measure: Measure| match measure {
        Measure::Ndcg(None) => "ndcg".to_owned(),
        Measure::Ndcg(Some(cut)) => format!("ndcg_cut_{cut}"),
        Measure::Mrr(_) => "recip_rank".to_owned(),
        Measure::Map => "map".to_owned(),
        Measure::Recall(cut) => format!("recall_{cut}"),
        Measure::Precision(cut) => format!("P_{cut}"),
    };
    let mut measures = vec![Measure::Ndcg(None), Measure::Mrr(None), Measure::Map];
    measures.extend([1, 5, 10, 100].into_iter().flat_map(|cut| [Measure::Ndcg(Some(cut)), Measure::Recall(cut), Measure::Precision(cut)]));
    for (i, case) in cases::<Case>("retrieval").into_iter().enumerate() {
        let ranked = |(query, scores): (String, BTreeMap<String, f64>)| (query, scores.into_iter().map(|(d, s)| (d, s as f32)).collect());
        let found = retrieval::evaluate(&case.judged, &case.run.into_iter().map(ranked).collect(), &measures).unwrap();
        assert_eq!(found.queries.keys().collect::<Vec<_>>(), case.queries.keys().collect::<Vec<_>>(), "case {i}");
        for (query, values) in &found.queries {
            for (measure, value) in measures.iter().zip(values) {
                near(*value, case.queries[query][&theirs(*measure)], &format!("case {i}, {query}, {}", measure.name()));
            }
        }
        for (measure, mean) in &found.means {
            let expected = case.queries.values().map(|scores| scores[&theirs(*measure)]).sum::<f64>() / case.queries.len() as f64;
            near(*mean, expected, &format!("case {i}, {}", measure.name()));
        }
    }
}

#[test]
fn a_run_that_is_written_is_read_again() {
    let run: retrieval::Run = [("q1".to_owned(), vec![("a".to_owned(), 0.1), ("b".to_owned(), 1e-7), ("c".to_owned(), 0.1)])].into();
    let lines = retrieval::trec_lines(&run, "cloze").unwrap();
    assert_eq!(lines, "q1 Q0 c 1 0.1 cloze\nq1 Q0 a 2 0.1 cloze\nq1 Q0 b 3 0.0000001 cloze\n");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), lines).unwrap();
    let (mut read, _) = cloze::train::labelled::retrieval::run(file.path(), &Default::default()).unwrap();
    read.values_mut().for_each(|ranked| ranked.sort_by(|a, b| a.0.cmp(&b.0)));
    assert_eq!(read, run);
    let spaced: retrieval::Run = [("q".to_owned(), vec![("a b".to_owned(), 1.0)])].into();
    assert!(retrieval::trec_lines(&spaced, "x").is_err());
}

#[test]
fn what_cannot_be_compared_is_refused() {
    assert!(Confusion::of(&[0], &[0, 1], 2).is_err() && Confusion::of(&[], &[], 2).is_err() && Confusion::of(&[0], &[2], 2).is_err());
    assert!(Sets::of(&[vec![2]], &[vec![]], 2).is_err() && numbers::pearson(&[1.0], &[]).is_err());
    let sentence = |tags: &[&'static str]| vec![tags.to_vec()];
    let uneven = EntityScores::of(&sentence(&["O", "O"]), &sentence(&["O"]), Reading::Lenient).unwrap_err();
    assert!(uneven.message().contains("sentence 0"), "{uneven}");
    assert_eq!(numbers::spearman(&[1.0, f64::NAN], &[2.0, 3.0]).unwrap(), None);
    assert!(answers::evaluate(&[], Rules::Words, None).is_err());
    let half = [Answered { gold: &[], text: "", odds: Some(1.0) }, Answered { gold: &[], text: "", odds: None }];
    assert!(answers::evaluate(&half, Rules::Words, None).is_err());
    let judged: Judgements = [("q".to_owned(), [("d".to_owned(), 1)].into())].into();
    let run =
        |query: &str, ranked: &[(&str, f32)]| [(query.to_owned(), ranked.iter().map(|(d, s)| ((*d).to_owned(), *s)).collect())].into();
    for (query, ranked) in [("other", &[("d", 1.0)][..]), ("q", &[("d", 1.0), ("d", 2.0)]), ("q", &[("d", f32::NAN)])] {
        assert!(retrieval::evaluate(&judged, &run(query, ranked), Measure::USUAL).is_err(), "{query} {ranked:?}");
    }
    for measure in Measure::USUAL {
        assert_eq!(Measure::parse(&measure.name()).unwrap(), *measure);
    }
    for wrong in ["", "map@3", "ndcg@0", "recall", "p@x", "bleu"] {
        assert!(Measure::parse(wrong).is_err(), "{wrong}");
    }
}
