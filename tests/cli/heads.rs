//! The commands of heads, on the small models of tests/golden/heads.

use super::{Done, cloze, path};

fn on(model: &str, command: &str, flags: &[&str], input: &str) -> Done {
    let model = path(&format!("tests/golden/{model}"));
    cloze(&[&[command, "-m", &model], flags].concat(), input)
}

#[test]
fn rerank_prints_the_fixed_form_best_first() {
    let input = "{\"text\":\"the fox\",\"id\":7}\n{\"text\":\"\"}\n{\"text\":\"a river\",\"id\":\"x\"}\n";
    for model in ["heads/rerank-sigmoid", "heads/rerank-two", "models/tiny-gelu"] {
        let lines = on(model, "rerank", &["--query", "who", "--json"], input).lines();
        assert_eq!(lines.len(), 3);
        for (rank, line) in lines.iter().enumerate() {
            let keys: Vec<&String> = line.as_object().unwrap().keys().filter(|k| *k != "id").collect();
            assert_eq!(keys, ["index", "logit", "rank", "score"]);
            assert_eq!(line["rank"], rank);
            let id = match line["index"].as_u64() {
                Some(0) => serde_json::json!(7),
                Some(2) => serde_json::json!("x"),
                _ => serde_json::Value::Null,
            };
            assert_eq!(line["id"], id);
        }
        assert!(lines.windows(2).all(|two| two[0]["logit"].as_f64() >= two[1]["logit"].as_f64()));
    }
    let best = on("heads/rerank-sigmoid", "rerank", &["--query", "who", "--top", "1", "one", "two", "three"], "");
    assert_eq!(best.out.lines().count(), 2, "{}", best.out);
}

#[test]
fn a_deadline_of_nothing_ranks_nothing_and_says_so() {
    on("heads/rerank-sigmoid", "rerank", &["--query", "who", "--deadline-ms", "0", "a", "b"], "").failed_after(
        1,
        "the deadline of 0 ms passed; 0 of 2 documents are scored",
        "Query: who\n",
    );
    on("heads/labels-three", "classify", &["--deadline-ms", "0", "a"], "").failed(1, "the deadline of 0 ms passed; no text is finished");
}

#[test]
fn classify_prints_the_fixed_form() {
    let input = "{\"text\":\"the fox\",\"pair\":\"it is quick\",\"id\":7}\n{\"text\":\"a river\"}\n";
    let lines = on("heads/labels-three", "classify", &["--json"], input).lines();
    assert_eq!((lines.len(), &lines[0]["id"], &lines[1]["index"]), (2, &serde_json::json!(7), &serde_json::json!(1)));
    for line in &lines {
        let labels = line["labels"].as_array().unwrap();
        let keys: Vec<&String> = labels[0].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["label", "logit", "score"]);
        assert_eq!(labels.len(), 3);
        let sum: f64 = labels.iter().map(|l| l["score"].as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-5);
    }
    let best = on("heads/labels-three", "classify", &["--json", "--top", "1", "--activation", "identity", "a river"], "").lines();
    let labels = best[0]["labels"].as_array().unwrap();
    assert_eq!((labels.len(), &labels[0]["score"]), (1, &labels[0]["logit"]));
}

#[test]
fn labels_of_ones_own_are_ranked_and_their_flags_need_them() {
    let flags = ["--json", "--label", "sport", "--label", "天气", "--hypothesis", "About {}.", "the fox"];
    let lines = on("heads/labels-three", "classify", &flags, "").lines();
    let labels: Vec<&str> = lines[0]["labels"].as_array().unwrap().iter().map(|l| l["label"].as_str().unwrap()).collect();
    assert!(labels.len() == 2 && labels.contains(&"sport") && labels.contains(&"天气"));
    on("heads/labels-three", "classify", &["--multi-label", "a"], "").failed(2, "--label");
    on("heads/labels-three", "classify", &["--label", "x", "--hypothesis", "About.", "a"], "").failed(2, "no {}");
    on("heads/labels-multi", "classify", &["--label", "x", "a"], "").failed(1, "entail");
    let pair = "{\"text\":\"a\",\"pair\":\"b\"}\n";
    on("heads/labels-three", "classify", &["--label", "x", "--json"], pair).failed(1, "leave out \"pair\"");
}

#[test]
fn next_sentence_takes_pairs_in_every_form() {
    let json = on("heads/pretraining", "next-sentence", &["--json"], "{\"text\":\"the fox\",\"pair\":\"it runs\"}\n").lines();
    let arguments = on("heads/pretraining", "next-sentence", &["--json", "the fox", "it runs"], "").lines();
    assert_eq!(json, arguments);
    assert_eq!(json[0]["logits"].as_array().unwrap().len(), 2);
    let plain = on("heads/pretraining", "next-sentence", &[], "the fox\tit runs\n");
    assert!(plain.code == 0 && plain.out.contains("the fox  |  it runs"), "{}", plain.out);
    on("heads/pretraining", "next-sentence", &["alone"], "").failed(1, "the last one is alone");
    on("heads/pretraining", "next-sentence", &[], "no tab\n").failed(1, "no tab");
    on("heads/pretraining", "next-sentence", &["--json"], "{\"text\":\"a\"}\n").failed(1, "\"pair\" is missing");
    on("heads/rerank-two", "next-sentence", &["a", "b"], "").failed(1, "it has classify");
}

#[test]
fn inspect_shows_heads_and_their_labels() {
    let done = on("heads/rerank-two", "inspect", &[], "");
    assert!(done.out.contains("classify: 2 outputs irrelevant, relevant, softmax"), "{}", done.out);
    let heads = &on("heads/pretraining", "inspect", &["--json"], "").lines()[0]["model"]["task_heads"];
    let names: Vec<&str> = heads.as_array().unwrap().iter().map(|head| head["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["next_sentence", "fill_mask"]);
}

#[test]
fn fill_mask_prints_the_fixed_form() {
    let input = "{\"text\":\"The [MASK] and [MASK]!\",\"id\":7}\n{\"text\":\"[MASK]\"}\n";
    let lines = on("fill_mask/tied", "fill-mask", &["--json", "--top", "2"], input).lines();
    assert_eq!(lines.len(), 2);
    let keys: Vec<&String> = lines[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["blanks", "fills", "id", "index"]);
    assert_eq!((&lines[0]["id"], &lines[0]["blanks"]), (&serde_json::json!(7), &serde_json::json!([[4, 10], [15, 21]])));
    let fills = lines[0]["fills"].as_array().unwrap();
    assert_eq!(fills.iter().map(|fills| fills.as_array().unwrap().len()).collect::<Vec<_>>(), [2, 2]);
    for fill in fills[0].as_array().unwrap() {
        let word = fill["token"].as_str().unwrap().trim_start_matches("##");
        let text = fill["text"].as_str().unwrap();
        assert!(text.starts_with("The") && text.contains(word) && text.ends_with(" and [MASK]!"), "{text}");
        assert!(fill["score"].as_f64().unwrap() < 1.0 && fill["logit"].is_number() && fill["id"].is_u64());
    }
    let chosen = on("fill_mask/tied", "fill-mask", &["--candidate", "fox", "--candidate", "dog", "The [MASK]."], "");
    assert!(chosen.out.contains("The fox.") && chosen.out.contains("The dog.") && chosen.out.lines().count() == 3, "{}", chosen.out);
    on("fill_mask/tied", "fill-mask", &["no mask"], "").failed(1, "text 0: it has no blank: write [MASK]");
    on("fill_mask/tied", "fill-mask", &["--candidate", "foxes and dogs", "[MASK]"], "").failed(1, "foxes and dogs");
    on("fill_mask/tied", "fill-mask", &["--deadline-ms", "0", "[MASK]"], "").failed(1, "no text is finished");
    on("heads/rerank-two", "fill-mask", &["[MASK]"], "").failed(1, "it has classify");
}

#[test]
fn attention_prints_numbers_and_writes_a_page() {
    let line = &on("fill_mask/tied", "attention", &["--json", "the fox", "--pair", "a dog"], "").lines()[0];
    assert_eq!(line["tokens"], serde_json::json!(["[CLS]", "the", "fox", "[SEP]", "a", "dog", "[SEP]"]));
    assert_eq!(
        (&line["special"][0], &line["type_ids"][4], &line["offsets"][2]),
        (&serde_json::json!(true), &serde_json::json!(1), &serde_json::json!([4, 7]))
    );
    let count = |value: &serde_json::Value| value.as_array().unwrap().len();
    assert_eq!((count(&line["attention"]), count(&line["attention"][1]), count(&line["attention"][1][3])), (2, 4, 7));
    let sum: f64 = line["attention"][1][3][6].as_array().unwrap().iter().map(|w| w.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-5, "{sum}");
    assert_eq!((count(&line["hidden_states"]), count(&line["hidden_states"][2][6])), (3, 48));
    let shown = on("fill_mask/tied", "attention", &["the fox"], "");
    assert_eq!(shown.out.lines().count(), 2 + 2 * 4, "{}", shown.out);

    let file = std::env::temp_dir().join(format!("cloze-attention-{}.html", std::process::id()));
    let page = file.to_str().unwrap();
    let done = on("fill_mask/tied", "attention", &["-o", page, "</script><script>alert(\"1\")</script> & 'fox' <b>😀"], "");
    assert_eq!(done.out, "");
    let html = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!((html.matches("<script").count(), html.matches("</script>").count()), (2, 2), "the text became markup");
    let data = html.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let tokens = count(&data["tokens"]);
    assert_eq!(data["weights"].as_str().unwrap().len(), (2 * 4 * tokens * tokens * 2).div_ceil(3) * 4);
    on("fill_mask/tied", "attention", &["-o", "/no/such/folder/page.html", "fox"], "").failed(1, "/no/such/folder/page.html");
    on("fill_mask/tied", "attention", &["--json", "-o", page, "fox"], "").failed(2, "cannot be used with");
}

#[test]
fn extract_prints_the_fixed_form_and_places_in_the_unit_asked_for() {
    let input = "{\"text\":\"the 😀 fox\",\"id\":7}\n{\"text\":\"\"}\n{\"text\":\"a river\"}\n";
    let flags = ["--question", "who", "--json", "--top", "2"];
    let lines = on("answers/long", "extract", &flags, input).lines();
    assert_eq!((lines.len(), &lines[0]["id"], &lines[1]["answers"]), (3, &serde_json::json!(7), &serde_json::json!([])));
    for line in &lines {
        let keys: Vec<&String> = line.as_object().unwrap().keys().filter(|k| *k != "id").collect();
        assert_eq!(keys, ["answers", "index", "no_answer_logit", "no_answer_score"]);
        for answer in line["answers"].as_array().unwrap() {
            assert_eq!(answer.as_object().unwrap().keys().collect::<Vec<_>>(), ["end", "logit", "score", "start", "text"]);
        }
    }
    for (unit, end) in [("codepoint", 9), ("utf16", 10), ("byte", 12)] {
        let all = on("answers/long", "extract", &[&flags[..3], &["--top", "99", "--offsets", unit]].concat(), input).lines();
        let ends = all[0]["answers"].as_array().unwrap().iter().map(|a| a["end"].as_u64().unwrap());
        assert_eq!(ends.max(), Some(end), "{unit}");
    }
    let strict = on("answers/long", "extract", &["--question", "who", "--json", "--no-answer-threshold", "-1000", "the fox"], "").lines();
    assert_eq!(strict[0]["answers"], serde_json::json!([]));
    on("answers/long", "extract", &["--question", "", "the fox"], "").failed(1, "the question has no words");
    on("answers/long", "extract", &["the fox"], "").failed(2, "--question");
    on("answers/long", "extract", &["--question", "who", "--truncation", "right", "--overlap", "4", "a"], "").failed(2, "overlap 4");
    on("entities/bio", "extract", &["--question", "who", "a"], "").failed(1, "it has tag");
    on("answers/long", "extract", &["--question", "who", "--truncation", "error", "a", &"a ".repeat(99)], "").failed(1, "context 1");
}

#[test]
fn tag_prints_the_fixed_form_of_texts_and_of_words() {
    let input = "{\"text\":\"The quick brown fox\",\"id\":7}\n{\"words\":[\"The\",\"quick-brown\",\"fox\"]}\n";
    let lines = on("entities/bio", "tag", &["--json", "--aggregation", "first", "--scheme", "single"], input).lines();
    assert_eq!((lines.len(), &lines[0]["id"], &lines[1]["index"]), (2, &serde_json::json!(7), &serde_json::json!(1)));
    let keys = |line: &serde_json::Value| line["entities"][0].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&lines[0]), ["end", "label", "score", "start", "text"]);
    assert_eq!(keys(&lines[1]), ["end", "label", "score", "start", "text", "words"]);
    for entity in lines[1]["entities"].as_array().unwrap() {
        let word = entity["words"][0].as_u64().unwrap() as usize;
        assert_eq!(entity["text"], ["The", "quick-brown", "fox"][word]);
    }
    let long = "the fox and the dog ".repeat(30);
    let readable = on("entities/short", "tag", &[&long], "");
    assert!(readable.out.lines().next().unwrap().ends_with("windows)"), "{}", readable.out);
    on("entities/bio", "tag", &["--json"], "{\"words\":\"The\"}\n").failed(1, "no list of strings");
    on("answers/long", "tag", &["a"], "").failed(1, "it has extract");
    on("entities/bio", "tag", &["--aggregation", "word", "a"], "").failed(2, "average");
}
