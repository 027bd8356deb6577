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
    assert_eq!((&heads[0]["name"], heads.as_array().unwrap().len()), (&serde_json::json!("next_sentence"), 1));
}
