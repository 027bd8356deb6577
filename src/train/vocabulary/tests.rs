use std::path::PathBuf;

use super::*;
use crate::error::ErrorKind;
use crate::tokenizer::{Files, Limit, Tokenizer, Truncation};
use crate::train::random::{Key, Purpose};
use crate::train::text::{TextForm, TextSettings};

/// Sentences of made-up words, in English and Chinese characters, some with accents and capitals.
fn text(sentences: u64) -> String {
    const SYLLABLES: &[&str] = &["ka", "to", "mi", "Ren", "é", "lu", "shi", "o", "ba", "zz", "ing", "ed", "er"];
    const HAN: &[char] = &['天', '地', '人', '大', '小', '中', '国', '学', '水', '火', '山', '木'];
    let mut text = String::new();
    for i in 0..sentences {
        let key = Key::new(5, Purpose::Texts, &[i]);
        for w in 0..8 {
            // Words of the same number occur again and again, those of low numbers most often.
            let word = Key::new(6, Purpose::Texts, &[(key.unit(w).powi(3) * 4000.0) as u64]);
            let many = 1 + word.below(0, 4);
            if word.below(1, 5) == 0 {
                (0..many).for_each(|c| text.push(HAN[word.place(2 + c, HAN.len())]));
            } else {
                (0..many).for_each(|c| text.push_str(SYLLABLES[word.place(2 + c, SYLLABLES.len())]));
            }
            text.push(' ');
        }
        text.push_str(if i % 10 == 9 { ".\n\n" } else { ".\n" });
    }
    text
}

fn learn(text: &str, settings: &VocabularySettings) -> Result<Vocabulary> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    std::fs::write(&path, text).unwrap();
    let mut texts = Texts::open(&[path], &TextSettings { form: TextForm::Sentences, ..TextSettings::default() })?;
    Vocabulary::learn(&mut texts, settings, &mut |_| {})
}

fn kind(name: &str) -> &'static Kind {
    KINDS.iter().find(|kind| kind.name == name).unwrap()
}

fn small(name: &str) -> VocabularySettings {
    VocabularySettings { kind: kind(name), size: 500, ..VocabularySettings::default() }
}

/// Our own tokenizer over the files.
fn opened(files: &[(&'static str, Vec<u8>)], with_json: bool) -> Tokenizer {
    let file = |name: &str| files.iter().find(|(known, _)| *known == name).map(|(_, bytes)| bytes.as_slice());
    let config = serde_json::from_slice(file("tokenizer_config.json").unwrap()).unwrap();
    let special = serde_json::from_slice(file("special_tokens_map.json").unwrap()).unwrap();
    let files = Files {
        json: file("tokenizer.json").filter(|_| with_json),
        vocab: file("vocab.txt"),
        vocab_json: file("vocab.json"),
        merges: file("merges.txt"),
        config: Some(&config),
        special_tokens: Some(&special),
        ..Files::default()
    };
    Tokenizer::open(&files).unwrap()
}

fn tokens(tokenizer: &Tokenizer, text: &str) -> Vec<String> {
    let limit = Limit { max_tokens: 512, truncation: Truncation::Right, overlap: 0 };
    let encoded = tokenizer.encode(text, None, &limit).unwrap();
    encoded.windows[0].ids.iter().map(|id| tokenizer.token(*id).unwrap()).collect()
}

#[test]
fn the_same_text_gives_the_same_files_on_any_number_of_threads() {
    let text = text(3000);
    for kind in KINDS {
        // Every run has hash tables in another order.
        let files = |threads| learn(&text, &VocabularySettings { threads: Some(threads), ..small(kind.name) }).unwrap().files().unwrap();
        let first = files(1);
        for threads in [1, 2, 3, 8, 2, 1] {
            assert!(files(threads) == first, "{} on {threads} threads", kind.name);
        }
    }
}

#[test]
fn every_kind_opens_and_knows_the_words_that_it_saw() {
    let text = text(3000);
    for kind in KINDS {
        let made = learn(&text, &small(kind.name)).unwrap();
        assert_eq!(made.size(), 500, "{}", kind.name);
        let files = made.files().unwrap();
        let tokenizer = opened(&files, true);
        assert_eq!((tokenizer.vocabulary(), tokenizer.model_max_length()), (500, Some(512)), "{}", kind.name);
        for (id, (_, token)) in kind.special.iter().enumerate() {
            assert_eq!(tokenizer.id(token), Some(id as u32), "{}", kind.name);
        }
        let unknown = kind.special.iter().find(|(name, _)| *name == "unk_token").unwrap().1;
        let found = tokens(&tokenizer, text.lines().next().unwrap());
        assert!(found.len() > 8 && !found.contains(&unknown.to_owned()), "{found:?}");
    }
}

#[test]
fn word_pieces_have_the_form_of_bert_and_vocab_txt_says_the_same() {
    let made = learn(&text(3000), &small("wordpiece")).unwrap();
    let files = made.files().unwrap();
    let vocab = String::from_utf8(files.iter().find(|(name, _)| *name == "vocab.txt").unwrap().1.clone()).unwrap();
    let lines: Vec<&str> = vocab.lines().collect();
    assert_eq!(lines[..6], ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "."]);
    assert!(lines.iter().any(|line| line.starts_with("##")) && !vocab.contains('é') && !vocab.contains('R'));
    // Each Chinese character is a word.
    assert!(lines.iter().all(|line| !line.contains('天') || *line == "天"));
    let (json, txt) = (opened(&files, true), opened(&files, false));
    for line in text(40).lines() {
        assert_eq!(tokens(&json, line), tokens(&txt, line), "{line}");
    }
}

#[test]
fn the_normaliser_is_as_asked() {
    let text = "Été été ÉTÉ 天地\n".repeat(50);
    let vocabulary = |settings: VocabularySettings| {
        let files = learn(&text, &VocabularySettings { size: 60, ..settings }).unwrap().files().unwrap();
        tokens(&opened(&files, true), "Été 天地")[1..].join(" ")
    };
    let base = VocabularySettings::default();
    assert_eq!(vocabulary(base.clone()), "ete 天 地 [SEP]");
    assert_eq!(vocabulary(VocabularySettings { strip_accents: Some(false), ..base.clone() }), "été 天 地 [SEP]");
    assert_eq!(vocabulary(VocabularySettings { lower_case: Some(false), ..base.clone() }), "Été 天 地 [SEP]");
    assert_eq!(vocabulary(VocabularySettings { chinese_characters: Some(false), ..base }), "ete 天地 [SEP]");
}

#[test]
fn rare_characters_are_left_out_and_told() {
    let text = format!("{}☃ ☁ ☂ {{\n", "alpha beta\n".repeat(1000));
    let made = learn(&text, &VocabularySettings { size: 100, min_frequency: 1, coverage: 0.999, ..VocabularySettings::default() }).unwrap();
    assert_eq!(made.report.characters.1, 3);
    let tokenizer = opened(&made.files().unwrap(), true);
    assert_eq!(tokens(&tokenizer, "alpha ☃ {"), ["[CLS]", "alpha", "[UNK]", "{", "[SEP]"]);
    let all = VocabularySettings { size: 100, min_frequency: 1, coverage: 1.0, ..VocabularySettings::default() };
    assert_eq!(learn(&text, &all).unwrap().report.characters.1, 0);
    let two = VocabularySettings { size: 100, alphabet: Some(2), ..VocabularySettings::default() };
    assert_eq!(learn(&text, &two).unwrap().report.characters, (2, 5));
}

#[test]
fn settings_that_cannot_be_met_are_errors() {
    let text = text(100);
    for (settings, told) in [
        (VocabularySettings { size: 5, ..VocabularySettings::default() }, "no room for words"),
        (VocabularySettings { size: 20, ..VocabularySettings::default() }, "make it larger, or limit the alphabet"),
        (VocabularySettings { size: 20, kind: kind("unigram"), ..VocabularySettings::default() }, "make it larger"),
        (VocabularySettings { further: vec!["[MASK]".to_owned()], ..VocabularySettings::default() }, "each once"),
        (VocabularySettings { further: vec!["a b".to_owned()], ..VocabularySettings::default() }, "without space"),
        (VocabularySettings { coverage: 0.0, ..VocabularySettings::default() }, "coverage"),
        (VocabularySettings { min_frequency: 1 << 40, kind: kind("unigram"), ..VocabularySettings::default() }, "no word of the text"),
    ] {
        let e = learn(&text, &settings).unwrap_err();
        assert!(e.kind() == ErrorKind::InvalidArgument && e.message().contains(told), "{e}");
    }
}

#[test]
fn hostile_text_makes_a_vocabulary_too() {
    for kind in KINDS {
        let unit = "word word word\n".repeat(1000);
        for text in [unit.clone() + &"a".repeat(10 << 20), unit.clone() + &"spam ".repeat(100_000), unit + "\u{0}\u{1b}[31m \u{feff}\n"] {
            let settings = VocabularySettings { size: 300, kind, ..VocabularySettings::default() };
            let made = learn(&text, &settings).unwrap_or_else(|e| panic!("{}: {e}", kind.name));
            let tokenizer = opened(&made.files().unwrap(), true);
            let found = tokens(&tokenizer, "word");
            assert!(found.len() >= 3 && !found.iter().any(|token| token.to_lowercase().contains("unk")), "{found:?}");
        }
    }
}

#[test]
fn files_are_written_whole_and_replace_only_their_like() {
    let made = learn(&text(200), &small("bpe")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target: PathBuf = folder.path().join("tokenizer");
    made.write(&target, false).unwrap();
    assert!(made.write(&target, false).unwrap_err().message().contains("exists"));
    made.write(&target, true).unwrap();
    let mut names: Vec<_> = std::fs::read_dir(&target).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["merges.txt", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json", "vocab.json"]);
    std::fs::write(target.join("notes.txt"), "mine").unwrap();
    assert!(made.write(&target, true).is_err());
}
