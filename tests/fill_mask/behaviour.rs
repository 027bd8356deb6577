//! Do fills depend on nothing but their text, and does a call that is stopped keep what is finished?

use cloze::{Cancel, ErrorKind, Fills, Model, Options, Precision, Request};

use super::{golden, open, set};

const NONE: &[&str] = &[];

fn texts(count: usize) -> Vec<String> {
    let words = ["the fox", "今天天气", "[MASK]", "a river and a city", "I ❤️", "under the table"];
    let middle = |i: usize| words.iter().cycle().skip(i).step_by(1 + i % 3).take(i * 7 % 9).copied().collect::<Vec<_>>().join(" ");
    (0..count).map(|i| format!("[MASK] {}", middle(i))).collect()
}

/// Ids and bits of every fill of a text.
fn bits(fills: &Fills, text: usize) -> Vec<(u32, u32, u32)> {
    let blanks = fills.inputs[text].blanks.iter();
    blanks.flat_map(|b| b.fills.iter().map(|f| (f.id, f.score.to_bits(), f.logit.to_bits()))).collect()
}

#[test]
fn fills_are_the_same_bit_for_bit_in_any_batch_order_and_number_of_threads() {
    let texts = texts(70);
    for precision in [Precision::F32, Precision::Int8] {
        let model = Model::load(golden("tied"), &Options { precision, ..Options::default() }).unwrap();
        let whole = model.fill_mask(&texts, NONE, &Request::default()).unwrap();
        for threads in ["1", "4"] {
            let request = set([("threads", threads)]);
            let reversed: Vec<&String> = texts.iter().rev().collect();
            let turned = model.fill_mask(&reversed, NONE, &request).unwrap();
            for (i, text) in texts.iter().enumerate() {
                let alone = model.fill_mask(&[text], NONE, &request).unwrap();
                assert_eq!(bits(&alone, 0), bits(&whole, i), "{text:?}");
                assert_eq!(bits(&turned, texts.len() - 1 - i), bits(&whole, i), "{text:?}");
            }
        }
    }
}

#[test]
fn a_deadline_and_a_raised_flag_keep_what_is_finished() {
    let cancel = Cancel::new();
    cancel.cancel();
    let raised = Request { cancel: Some(cancel), ..Request::default() };
    for (request, kind) in [(set([("deadline_ms", "0")]), ErrorKind::DeadlineExceeded), (raised, ErrorKind::Cancelled)] {
        let fills = open("tied").fill_mask(&texts(3), NONE, &request).unwrap();
        assert_eq!((fills.finished, fills.inputs.len(), fills.stopped), (0, 3, Some(kind)));
        assert!(fills.inputs.iter().all(|input| input.blanks.is_empty() && input.report.windows == 0));
    }
    let (model, texts) = (open("tied"), texts(4000));
    let whole = model.fill_mask(&texts[..500], NONE, &Request::default()).unwrap();
    let partial = (0..).map(|power| {
        let limit = std::time::Duration::from_micros(500 << power);
        model.fill_mask(&texts, NONE, &Request { deadline: Some(limit), ..Request::default() }).unwrap()
    });
    let partial = partial.into_iter().find(|part| part.finished > 0).unwrap();
    assert_eq!(partial.stopped.is_some(), partial.finished < texts.len());
    (0..partial.finished.min(500)).for_each(|i| assert_eq!(bits(&partial, i), bits(&whole, i)));
}

#[test]
fn texts_come_back_with_their_blanks_filled() {
    let model = open("tied");
    let text = "😀 The [MASK] and 今天[MASK]";
    let filled = |settings: &[(&str, &str)], candidates: &[&str]| {
        model.fill_mask(&[text], candidates, &set(settings.iter().copied())).unwrap().inputs.remove(0)
    };
    let input = filled(&[("offsets", "byte")], &["fox"]);
    let [first, second] = &input.blanks[..] else { panic!("two blanks") };
    assert_eq!((&text[first.start..first.end], &text[second.start..second.end]), ("[MASK]", "[MASK]"));
    assert_eq!(first.filled(text, 0).unwrap(), "😀 The fox and 今天[MASK]");
    assert_eq!(second.filled(text, 0).unwrap(), "😀 The [MASK] and 今天fox");
    assert_eq!(first.filled(text, 1), None);
    let utf16 = filled(&[("offsets", "utf16")], &["fox"]);
    assert_eq!((utf16.blanks[0].start, utf16.blanks[0].end), (7, 13));
    let joined = filled(&[], &["##s"]);
    assert_eq!(joined.blanks[0].filled(text, 0).unwrap(), "😀 Thes and 今天[MASK]");
    // A prompt stands before the text and moves no place.
    let prompted = filled(&[("prompt", "so: [MASK] "), ("offsets", "byte")], &["fox"]);
    assert_eq!(prompted.blanks.len(), 2);
    assert_eq!((prompted.blanks[0].start, prompted.blanks[0].end), (first.start, first.end));
}

#[test]
fn as_many_blanks_as_fit_are_filled() {
    let model = open("tied");
    let fills = model.fill_mask(&["[MASK]".repeat(58)], NONE, &set([("top", "3")])).unwrap();
    assert_eq!((fills.inputs[0].blanks.len(), fills.inputs[0].report.tokens), (58, 60));
    assert!(fills.inputs[0].blanks.iter().all(|blank| blank.fills.len() == 3));
    assert!(model.fill_mask(NONE, NONE, &Request::default()).unwrap().inputs.is_empty());
}
