//! Objectives beside hidden tokens, families beside BERT, and students: runs that end in folders that open.

use super::*;

fn figures(ground: &Ground, run: &str, name: &str) -> Vec<f64> {
    ground
        .log(run)
        .iter()
        .filter(|e| e["event"] == "step")
        .map(|e| e[name].as_f64().unwrap_or_else(|| panic!("{run} has no {name}")))
        .collect()
}

/// The mean of the last five is lower than the first by `least`.
fn falls(figures: &[f64], least: f64) -> bool {
    figures[figures.len() - 5..].iter().sum::<f64>() / 5.0 < figures[0] - least
}

fn config(ground: &Ground, folder: &str) -> Value {
    serde_json::from_slice(&std::fs::read(ground.at(folder).join("config.json")).unwrap()).unwrap()
}

/// The bytes of a tensor of a folder.
fn tensor(ground: &Ground, folder: &str, name: &str) -> Vec<u8> {
    let bytes = std::fs::read(ground.at(folder).join("model.safetensors")).unwrap();
    safetensors::SafeTensors::deserialize(&bytes).unwrap().tensor(name).unwrap().data().to_vec()
}

#[test]
fn spans_are_learned_by_their_borders_too() {
    let ground = Ground::new();
    ground.done(&pretrain("run", &["--steps", "40", "--objective", "span_boundary"]));
    for name in ["masked_loss", "boundary_loss"] {
        let losses = figures(&ground, "run", name);
        assert!(falls(&losses, 0.3), "{name}: {losses:?}");
    }
    assert!(Model::load(ground.at("run/model"), &Options::default()).is_ok());
    let output = ground.run(&pretrain("more", &["--steps", "2", "--objective", "span_boundary", "--model", "run/model"]));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !told.contains("begin from nothing"), "the head is in the folder: {told}");
    let (_, told) = ground.refused(&pretrain("other", &["--objective", "span_boundary", "--learning", "token"]));
    assert!(told.contains("--learning span"), "{told}");
}

/// An ELECTRA of both models, with the flags of [`pretrain`] but for its preset.
fn electra<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = pretrain(out, &["--objective", "replaced"]);
    let at = arguments.iter().position(|a| *a == "bert-tiny").unwrap();
    arguments[at] = "electra-tiny";
    arguments.extend(more);
    arguments
}

#[test]
fn a_generator_and_a_discriminator_learn_together() {
    let ground = Ground::new();
    ground.done(&electra("run", &["--steps", "60", "--held-out", "held-out", "--evaluate-every", "30"]));
    let (filled, told) = (figures(&ground, "run", "masked_loss"), figures(&ground, "run", "replaced_loss"));
    assert!(falls(&filled, 0.5) && falls(&told, 0.1), "{filled:?} {told:?}");
    // A coin costs ln 2; at first nearly every hidden token is replaced, a seventh of all.
    assert!((told[0] - 2f64.ln()).abs() < 0.1, "{}", told[0]);
    let evaluated = ground.log("run").iter().filter(|e| e["event"] == "evaluated").cloned().collect::<Vec<_>>();
    assert!(evaluated.len() == 2 && evaluated[1]["replaced_accuracy"].as_f64().unwrap() > 0.8, "{evaluated:?}");
    assert_eq!(config(&ground, "run/model")["architectures"][0], "ElectraForPreTraining");
    assert_eq!(config(&ground, "run/generator")["architectures"][0], "ElectraForMaskedLM");
    assert_eq!(config(&ground, "run/generator")["hidden_size"], 32);
    let words = "electra.embeddings.word_embeddings.weight";
    assert!(tensor(&ground, "run/model", words) == tensor(&ground, "run/generator", words), "embeddings are shared");
    assert!(Model::load(ground.at("run/model"), &Options::default()).is_ok());
    let generator = Model::load(ground.at("run/generator"), &Options::default()).unwrap();
    assert!(generator.fill_mask(&["the cat [MASK] a dog ."], &[] as &[&str], &Request::default()).is_ok());
}

#[test]
fn what_a_generator_draws_is_the_same_on_any_threads_and_after_a_stop() {
    let ground = Ground::new();
    ground.done(&electra("one", &["--steps", "6", "--threads", "1"]));
    ground.done(&electra("three", &["--steps", "6", "--threads", "3", "--save-every", "3", "--keep", "9"]));
    assert!(ground.model("one") == ground.model("three"), "the same bits");
    // As if it had been killed behind its third step.
    std::fs::remove_dir_all(ground.at("three/checkpoints/step-00000006")).unwrap();
    ground.done(&electra("three", &["--steps", "6", "--threads", "2", "--save-every", "3", "--keep", "9", "--resume"]));
    assert!(ground.model("one") == ground.model("three"), "the same bits");
    let (_, told) = ground.refused(&pretrain("bert", &["--objective", "replaced"]));
    assert!(told.contains("electra"), "{told}");
}

/// A run of `distill` into `out`.
fn distill<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments =
        vec!["distill", "-o", out, "--shards", "shards", "-t", "tokenizer", "--teacher", "teacher/model", "--max-length", "48"];
    arguments.extend(["--batch", "16", "--part-tokens", "200", "--rate", "3e-3", "--log-every", "1"]);
    arguments.extend(more);
    arguments
}

#[test]
fn a_student_learns_from_its_teacher() {
    let ground = Ground::new();
    ground.done(&pretrain("teacher", &["--steps", "80"]));
    ground.done(&distill("run", &["--steps", "40", "--held-out", "held-out", "--threads", "1"]));
    // It begins near its teacher.
    for name in ["soft_loss", "hidden_loss"] {
        let losses = figures(&ground, "run", name);
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        assert!(mean(&losses[30..]) < 0.8 * mean(&losses[..5]), "{name}: {losses:?}");
    }
    assert_eq!(config(&ground, "run/model")["num_hidden_layers"], 1);
    assert_eq!(config(&ground, "run/model")["architectures"][0], "BertForMaskedLM");
    assert!(Model::load(ground.at("run/model"), &Options::default()).is_ok());
    ground.done(&distill("again", &["--steps", "40", "--threads", "3"]));
    assert!(ground.model("run") == ground.model("again"), "the same bits");
    // A student of another family, and one that is as wide as none.
    ground.done(&distill("distilbert", &["--steps", "40", "--preset", "distilbert-tiny"]));
    for (name, least) in [("soft_loss", 0.2), ("masked_loss", 0.3), ("hidden_loss", 0.2)] {
        let losses = figures(&ground, "distilbert", name);
        assert!(falls(&losses, least), "{name}: {losses:?}");
    }
    let (_, told) = ground.refused(&distill("narrow", &["--preset", "bert-mini"]));
    assert!(told.contains("--hidden-weight 0"), "{told}");
    ground.done(&distill("wide", &["--steps", "2", "--preset", "bert-mini", "--hidden-weight", "0"]));
    let (_, told) = ground.refused(&distill("none", &["--soft-weight", "0", "--masked-weight", "0", "--hidden-weight", "0"]));
    assert!(told.contains("nothing to learn"), "{told}");
}

/// What a family's smallest preset learns, and the class that its folder has.
const FAMILIES: &[(&str, &[&str], &str)] = &[
    ("bert-tiny", &["--sequences", "next_sentence"], "BertForPreTraining"),
    ("roberta-tiny", &["--sequences", "packed"], "RobertaForMaskedLM"),
    ("albert-tiny", &["--sequences", "sentence_order"], "AlbertForPreTraining"),
    ("electra-tiny", &["--objective", "replaced"], "ElectraForPreTraining"),
    ("distilbert-tiny", &["--sequences", "single"], "DistilBertForMaskedLM"),
    ("deberta-v3-tiny", &["--sequences", "single", "--learning", "span"], "DebertaV2ForMaskedLM"),
    ("modernbert-tiny", &["--sequences", "packed"], "ModernBertForMaskedLM"),
    ("gpt2-tiny", &["--sequences", "single", "--learning", "left_to_right"], "GPT2LMHeadModel"),
];

#[test]
fn every_family_takes_its_first_steps_and_opens() {
    let ground = Ground::new();
    for (preset, more, class) in FAMILIES {
        let mut arguments = pretrain(preset, &["--steps", "12"]);
        let at = arguments.iter().position(|a| *a == "--preset").unwrap();
        arguments[at + 1] = preset;
        arguments.extend(*more);
        ground.done(&arguments);
        let losses = figures(&ground, preset, "masked_loss");
        assert!(falls(&losses, 0.1), "{preset}: {losses:?}");
        let folder = format!("{preset}/model");
        assert_eq!(config(&ground, &folder)["architectures"][0], *class, "{preset}");
        let model = Model::load(ground.at(&folder), &Options::default()).unwrap_or_else(|e| panic!("{preset}: {e}"));
        let vectors = model.encode(&["the cat sees a dog ."], &Request::default()).unwrap();
        assert_eq!(vectors.dimensions, 128, "{preset}");
    }
    let (_, told) = ground.refused(&["pretrain", "-o", "gpt", "--shards", "shards", "-t", "tokenizer", "--preset", "gpt2-tiny"]);
    assert!(told.contains("left_to_right"), "{told}");
}
