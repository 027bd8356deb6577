//! Do answers of heads depend on nothing but their input, and does a call that is stopped keep what is finished?

use std::time::Duration;

use cloze::{Cancel, ErrorKind, Model, Options, Precision, Ranking, Request};

use super::{golden, open, set};

fn documents(count: usize) -> Vec<String> {
    let words = ["the fox", "今天天气", "search", "a river and a city", "I ❤️", "under the table"];
    (0..count).map(|i| words.iter().cycle().skip(i).step_by(1 + i % 3).take(i * 7 % 23).copied().collect::<Vec<_>>().join(" ")).collect()
}

/// Score and logit of each document scored, by index, as bits.
fn bits(ranking: &Ranking) -> Vec<(usize, u32, u32)> {
    let mut all: Vec<_> = ranking.ranked.iter().map(|r| (r.index, r.score.to_bits(), r.logit.to_bits())).collect();
    all.sort_unstable();
    all
}

#[test]
fn scores_are_the_same_bit_for_bit_in_any_batch_order_and_number_of_threads() {
    let documents = documents(60);
    for precision in [Precision::F32, Precision::Int8] {
        let model = Model::load(golden("rerank-sigmoid"), &Options { precision, ..Options::default() }).unwrap();
        let whole = bits(&model.rerank("the query", &documents, &Request::default()).unwrap());
        for threads in ["1", "4"] {
            let request = set(&[("threads", threads)]);
            let reversed: Vec<&String> = documents.iter().rev().collect();
            let mut turned: Vec<_> = bits(&model.rerank("the query", &reversed, &request).unwrap());
            turned.iter_mut().for_each(|r| r.0 = documents.len() - 1 - r.0);
            turned.sort_unstable();
            assert_eq!(turned, whole);
            for (i, document) in documents.iter().enumerate() {
                let alone = bits(&model.rerank("the query", &[document], &request).unwrap());
                assert_eq!((alone[0].1, alone[0].2), (whole[i].1, whole[i].2), "{document:?}");
            }
        }
        let classified =
            model.classify(&documents.iter().map(|d| ("the query", Some(d.as_str()))).collect::<Vec<_>>(), &Request::default());
        let logits: Vec<u32> = classified.unwrap().inputs.iter().map(|c| c.labels[0].logit.to_bits()).collect();
        assert_eq!(logits, whole.iter().map(|w| w.2).collect::<Vec<_>>(), "classify and rerank read a pair alike");
    }
}

#[test]
fn choices_share_one_probability_however_many_they_are_and_however_few_are_kept() {
    let (model, documents) = (open("choices"), documents(100));
    let whole = model.rerank("the query", &documents, &Request::default()).unwrap();
    let sum: f64 = whole.ranked.iter().map(|r| f64::from(r.score)).sum();
    assert!((sum - 1.0).abs() < 1e-5, "{sum}");
    let best = model.rerank("the query", &documents, &set(&[("top", "3"), ("threads", "2")])).unwrap();
    assert_eq!(best.ranked, whole.ranked[..3], "the others are counted though they are not kept");
    let reversed: Vec<&String> = documents.iter().rev().collect();
    let mut turned = bits(&model.rerank("the query", &reversed, &Request::default()).unwrap());
    turned.iter_mut().for_each(|r| r.0 = documents.len() - 1 - r.0);
    turned.sort_unstable();
    assert_eq!(turned, bits(&whole));
    let alone = model.rerank("the query", &documents[5..6], &Request::default()).unwrap();
    assert_eq!((alone.ranked[0].score, alone.ranked[0].logit), (1.0, whole.ranked.iter().find(|r| r.index == 5).unwrap().logit));
    assert_eq!(model.rerank("the query", &[""; 0], &Request::default()).unwrap().ranked, []);
}

#[test]
fn a_stopped_ranking_ranks_the_documents_scored_and_says_which() {
    let documents = documents(3000);
    for model in [open("rerank-sigmoid"), Model::load(golden("../models/tiny-gelu"), &Options::default()).unwrap()] {
        let whole = model.rerank("the query", &documents, &Request::default()).unwrap();
        let mut limit = Duration::from_micros(500);
        let partial = loop {
            let part = model.rerank("the query", &documents, &Request { deadline: Some(limit), ..Request::default() }).unwrap();
            if part.scored > 0 {
                break part;
            }
            assert_eq!(part.stopped, Some(ErrorKind::DeadlineExceeded));
            limit *= 2;
        };
        let scored: Vec<usize> = (0..documents.len()).filter(|i| partial.documents[*i].windows > 0).collect();
        assert_eq!(scored.len(), partial.scored);
        // A machine that was held up may have finished in one leap; the documents scored are right whatever their number.
        assert_eq!(partial.stopped.is_some(), partial.scored < documents.len());
        let expected: Vec<_> = whole.ranked.iter().filter(|r| scored.contains(&r.index)).copied().collect();
        assert_eq!(partial.ranked, expected);
        assert!(partial.documents.iter().filter(|d| d.windows == 0).all(|d| d.tokens == 0 && !d.truncated));
    }
}

#[test]
fn a_deadline_of_nothing_and_a_raised_flag_give_nothing() {
    let cancel = Cancel::new();
    cancel.cancel();
    let raised = Request { cancel: Some(cancel), ..Request::default() };
    for (request, kind) in [(set(&[("deadline_ms", "0")]), ErrorKind::DeadlineExceeded), (raised, ErrorKind::Cancelled)] {
        let ranking = open("rerank-two").rerank("q", &["a", "b"], &request).unwrap();
        assert_eq!((ranking.scored, ranking.ranked.len(), ranking.documents.len(), ranking.stopped), (0, 0, 2, Some(kind)));
        let classes = open("labels-three").classify(&[("a", None::<&str>), ("b", None)], &request).unwrap();
        assert_eq!((classes.finished, classes.inputs.len(), classes.stopped), (0, 2, Some(kind)));
        assert!(classes.inputs.iter().all(|c| c.labels.is_empty() && c.report.windows == 0));
        let pairs = open("pretraining").next_sentence(&[("a", "b")], &request).unwrap();
        assert_eq!((pairs.pairs.len(), pairs.reports.len(), pairs.stopped), (0, 1, Some(kind)));
    }
}

#[test]
fn ten_thousand_documents_are_ranked_and_the_best_are_kept() {
    let model = open("rerank-declared");
    let documents = documents(10_000);
    let best = model.rerank("the query", &documents, &set(&[("top", "5")])).unwrap();
    assert_eq!((best.ranked.len(), best.scored, best.documents.len()), (5, 10_000, 10_000));
    assert!(best.ranked.windows(2).all(|two| (two[0].logit, two[1].index) >= (two[1].logit, two[0].index)), "{:?}", best.ranked);
}

#[test]
fn long_inputs_say_what_was_left_out_or_how_they_were_divided() {
    let model = open("rerank-sigmoid");
    let long = "the fox and the dog ".repeat(60);
    let report = |settings: &[(&str, &str)]| model.rerank("who", &[&long], &set(settings)).unwrap().documents[0];
    let cut = report(&[]);
    assert!(cut.truncated && cut.tokens == 64 && cut.total > 300 && cut.windows == 1, "{cut:?}");
    let divided = report(&[("windows", "mean")]);
    assert!(!divided.truncated && divided.windows > 4 && divided.tokens > divided.total && divided.total == cut.total, "{divided:?}");
    let zero_shot = open("labels-three").classify_as(&[&long], &["x", "a longer label"], &Request::default()).unwrap();
    let seen = zero_shot.inputs[0].report;
    assert!(seen.truncated && seen.tokens == 60 && seen.total > 300, "{seen:?}");
}
