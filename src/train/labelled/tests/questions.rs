//! Files of questions, as they are published and as they break.

use super::super::questions::{Misplaced, Questions, read};
use super::super::*;
use super::{settings, without_folder, written};

fn load(name: &str, content: &str, options: &[(&str, &str)]) -> Result<Questions> {
    let file = written(name, content);
    read(&file.1, &settings(options)).map_err(|e| without_folder(&e, file.0.path()))
}

fn squad(context: &str, questions: &str) -> String {
    format!("{{\"version\":\"x\",\"data\":[{{\"title\":\"t\",\"paragraphs\":[{{\"context\":{context:?},\"qas\":[{questions}]}}]}}]}}")
}

fn question(id: &str, answers: &str) -> String {
    format!("{{\"id\":\"{id}\",\"question\":\"q?\",\"answers\":[{answers}]}}")
}

/// The text of each answer in its context, or none.
fn told(found: &Questions) -> Vec<Option<&str>> {
    let place = |context: usize, bytes: &Option<std::ops::Range<usize>>| bytes.clone().map(|bytes| &found.contexts[context][bytes]);
    found.questions.iter().flat_map(|q| q.answers.iter().map(move |a| place(q.context, &a.bytes))).collect()
}

#[test]
fn answers_stand_at_code_points() {
    let context = "é漢😀 the answer, the end 漢";
    let answers = [("漢", 1), ("😀", 2), ("the", 4), ("the", 16), ("漢", 24)]
        .map(|(text, at)| format!("{{\"text\":\"{text}\",\"answer_start\":{at}}}"));
    let found = load("a.json", &format!("\u{feff}{}", squad(context, &question("1", &answers.join(",")))), &[]).unwrap();
    assert_eq!(told(&found), ["漢", "😀", "the", "the", "漢"].map(Some));
    assert_eq!((found.misplaced.len(), found.questions[0].answers[3].bytes.clone()), (0, Some(22..25)));
}

#[test]
fn misplaced_answers_move_where_there_is_no_doubt_and_are_listed() {
    let context = "one two one three";
    let wrong = [("two", 5), ("one", 1), ("four", 0), ("three", -1), ("", 0), ("two", 99)];
    let answers = wrong.map(|(text, at)| format!("{{\"text\":\"{text}\",\"answer_start\":{at}}}"));
    let found = load("a.json", &squad(context, &question("x", &answers.join(","))), &[]).unwrap();
    assert_eq!(told(&found), [Some("two"), None, None, Some("three"), None, Some("two")]);
    let listed = wrong.map(|(text, _)| Misplaced { id: "x".to_owned(), text: text.to_owned(), moved: text == "two" || text == "three" });
    assert_eq!(found.misplaced, listed);
    assert_eq!(found.questions[0].answers[1].text, "one", "what is asked for is told all the same");
}

#[test]
fn questions_may_have_no_answer_where_they_say_so() {
    let none = "{\"id\":\"n\",\"question\":\"q?\",\"answers\":[],\"is_impossible\":true,\"plausible_answers\":[{\"text\":\"c\",\"answer_start\":0}]}";
    let found = load("a.json", &squad("c", none), &[]).unwrap();
    assert_eq!((found.questions.len(), found.questions[0].answers.len()), (1, 0));
    let twice =
        format!("{},{}", question("a", "{\"text\":\"c\",\"answer_start\":0}"), question("a", "{\"text\":\"c\",\"answer_start\":0}"));
    let both = none.replace("\"answers\":[]", "\"answers\":[{\"text\":\"c\",\"answer_start\":0}]");
    for (questions, expected) in [
        (question("a", ""), "a.json: question \"a\": it has no answers and does not say is_impossible"),
        (twice.clone(), "a.json: question \"a\": another question is called the same"),
        (both, "a.json: question \"n\": it has answers and says is_impossible"),
    ] {
        let error = load("a.json", &squad("c", &questions), &[]).unwrap_err();
        assert!(error.message().contains(expected), "{error}");
    }
    let left = load("a.json", &squad("c", &twice), &[("bad_rows", "skip")]).unwrap();
    assert_eq!((left.questions.len(), left.skipped.len(), left.skipped[0].0.as_str()), (1, 1, "a"));
    let file = written("test.json", squad("c", &question("a", "")));
    let unlabelled = read(&file.1, &ReadSettings { unlabelled: true, ..ReadSettings::default() }).unwrap();
    assert_eq!(unlabelled.questions[0].answers, []);
}

#[test]
fn json_lines_are_questions_too() {
    let line = |id: &str, answers: &str| {
        format!("{{\"id\":\"{id}\",\"title\":\"t\",\"context\":\"one two\",\"question\":\"q\",\"answers\":{answers}}}\n")
    };
    let content = line("1", "{\"text\":[\"two\"],\"answer_start\":[4]}") + &line("2", "{\"text\":[],\"answer_start\":[]}");
    let found = load("a.jsonl", &content, &[]).unwrap();
    assert_eq!((told(&found), found.contexts.len(), found.questions.len()), (vec![Some("two")], 1, 2));
    let error = load("a.jsonl", &(content + &line("3", "{\"text\":[\"two\"],\"answer_start\":[]}")), &[]).unwrap_err();
    assert!(error.message().contains("a.jsonl, line 3: there are 1 answers and 0 places"), "{error}");
}

#[test]
fn whatever_is_no_file_of_questions_is_refused() {
    for (name, content, options, expected) in [
        ("a.json", "", &[][..], "a.json: the file is not laid out as SQuAD's: the file ends inside a value at line 1"),
        ("a.json", "{\"data\":[]}", &[], "a.json: there is no question in the file"),
        ("a.json", "{\"data\":[{\"paragraphs\":[{\"qas\":[]}]}]}", &[], "missing field `context` at line 1 column"),
        (
            "a.json",
            "{\"data\":[{\"paragraphs\":[{\"context\":\"\\ud800\",\"qas\":[]}]}]}",
            &[],
            "a.json: the file is not laid out as SQuAD's",
        ),
        ("a.csv", "", &[("format", "csv")], "a.csv: csv has no questions; set `format` to one of squad, jsonl"),
    ] {
        let error = load(name, content, options).expect_err(content);
        assert!(error.message().contains(expected), "{content:?}: {error}");
    }
}
