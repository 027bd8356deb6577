//! The tokenizer against the reference, exactly: `tests/golden/make/tokenizer.py` made the data with `transformers`, whose files
//! under `tests/golden/tokenizer` say which versions. Then what must hold of any text, and what malformed files may do.

use std::path::Path;

use cloze::ErrorKind;
use cloze::tokenizer::{Encoded, Files, Limit, OffsetMap, OffsetUnit, Sequence, Tokenizer, Truncation};
use proptest::prelude::*;
use serde_json::{Value, json};

const MODELS: &[&str] = &["uncased", "cased", "cased_strip", "uncased_keep", "no_cjk"];

const WHOLE: Limit = Limit { max_tokens: usize::MAX, truncation: Truncation::Error, overlap: 0 };

fn file(name: &str) -> Option<Vec<u8>> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tokenizer").join(name)).ok()
}

fn read_json(name: &str) -> Value {
    let bytes = file(name).unwrap_or_else(|| panic!("{name} is missing: run tests/golden/make/tokenizer.py"));
    serde_json::from_slice(&bytes).unwrap()
}

/// The ways in which a golden model can be opened.
fn open_both(model: &str) -> [(&'static str, Tokenizer); 2] {
    let (tokenizer, vocab) = (file(&format!("{model}/tokenizer.json")).unwrap(), file("vocab.txt").unwrap());
    let config = read_json(&format!("{model}/tokenizer_config.json"));
    let special = file(&format!("{model}/special_tokens_map.json")).map(|bytes| serde_json::from_slice::<Value>(&bytes).unwrap());
    let files = Files { config: Some(&config), special_tokens: special.as_ref(), ..Files::default() };
    let from_json = Tokenizer::open(&Files { json: Some(&tokenizer), vocab: Some(b"not read"), ..files }).unwrap();
    let from_vocab = Tokenizer::open(&Files { vocab: Some(&vocab), ..files }).unwrap();
    [("tokenizer.json", from_json), ("vocab.txt", from_vocab)]
}

fn uncased() -> Tokenizer {
    let [(_, tokenizer), _] = open_both("uncased");
    tokenizer
}

/// A window in the form of the golden data.
fn plain(sequence: &Sequence, texts: [&str; 2]) -> Value {
    let maps = texts.map(|text| OffsetMap::new(text, OffsetUnit::CodePoint));
    let place = |(offset, text): (&(usize, usize), &Option<u8>)| maps[usize::from(text.unwrap_or(0))].span(*offset);
    let offsets: Vec<usize> = sequence.offsets.iter().zip(&sequence.texts).map(place).flat_map(|(start, end)| [start, end]).collect();
    let type_ids: String = sequence.type_ids.iter().map(u32::to_string).collect();
    let special: String = sequence.special.iter().map(|&s| if s { '1' } else { '0' }).collect();
    json!({"ids": sequence.ids, "offsets": offsets, "type_ids": type_ids, "special": special})
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect()
}

#[test]
fn every_text_and_pair_is_cut_as_the_reference_does() {
    let texts = read_json("texts.json");
    let pairs: Vec<Vec<&str>> = texts["pairs"].as_array().unwrap().iter().map(strings).collect();
    for model in MODELS {
        let expected = read_json(&format!("{model}/expected.json"));
        for (route, tokenizer) in open_both(model) {
            for (i, text) in strings(&texts["texts"]).into_iter().enumerate() {
                let encoded = tokenizer.encode(text, None, &WHOLE).unwrap();
                assert_eq!(plain(&encoded.windows[0], [text, ""]), expected["single"][i], "{model} from {route}: text {i} = {text:?}");
                assert!(!encoded.truncated && encoded.windows.len() == 1 && encoded.total == encoded.windows[0].ids.len());
            }
            for (i, pair) in pairs.iter().enumerate() {
                let encoded = tokenizer.encode(pair[0], Some(pair[1]), &WHOLE).unwrap();
                assert_eq!(
                    plain(&encoded.windows[0], [pair[0], pair[1]]),
                    expected["pairs"][i],
                    "{model} from {route}: pair {i} = {pair:?}"
                );
            }
        }
    }
}

#[test]
fn cuts_and_windows_are_the_references() {
    let texts = read_json("texts.json");
    for model in ["uncased", "no_cjk"] {
        let expected = read_json(&format!("{model}/expected.json"));
        let cases = expected["cuts"].as_array().unwrap();
        assert!(cases.len() > 100);
        for (route, tokenizer) in open_both(model) {
            for case in cases {
                check_cut(&tokenizer, &texts, case).unwrap_or_else(|told| panic!("{model} from {route}: {told}"));
            }
        }
    }
}

fn check_cut(tokenizer: &Tokenizer, texts: &Value, case: &Value) -> Result<(), String> {
    let number = |key: &str| case[key].as_u64().map(|n| n as usize);
    let (text, pair) = match (number("text"), number("pair")) {
        (Some(i), _) => (texts["texts"][i].as_str().unwrap(), None),
        (_, Some(i)) => (texts["pairs"][i][0].as_str().unwrap(), texts["pairs"][i][1].as_str()),
        _ => panic!("a case without a text"),
    };
    let truncation = Truncation::ALL.iter().find(|(name, _)| case["truncation"] == *name).unwrap().1;
    let limit = Limit { max_tokens: number("max_tokens").unwrap(), truncation, overlap: number("overlap").unwrap_or(0) };
    let encoded = tokenizer.encode(text, pair, &limit).map_err(|e| format!("{text:?} {pair:?} {limit:?}: {e}"))?;
    let windows: Vec<Value> = encoded.windows.iter().map(|w| plain(w, [text, pair.unwrap_or("")])).collect();
    if Value::Array(windows.clone()) != case["windows"] {
        return Err(format!("{text:?} {pair:?} {limit:?}: {windows:?} instead of {}", case["windows"]));
    }
    Ok(())
}

#[test]
fn tokenizer_config_changes_tokenizer_json_as_in_the_reference() {
    let golden = read_json("settings.json");
    let texts = strings(&golden["texts"]);
    let base = read_json("cased/tokenizer.json");
    for case in golden["cases"].as_array().unwrap() {
        let mut stored = base.clone();
        for (key, value) in case["stored"].as_object().unwrap() {
            stored["normalizer"][key] = value.clone();
        }
        let bytes = serde_json::to_vec(&stored).unwrap();
        let tokenizer = Tokenizer::open(&Files { json: Some(&bytes), config: Some(&case["config"]), ..Files::default() }).unwrap();
        let ids: Vec<Vec<u32>> = texts.iter().map(|text| tokenizer.encode(text, None, &WHOLE).unwrap().windows[0].ids.clone()).collect();
        assert_eq!(json!(ids), case["ids"], "{} under {}", case["stored"], case["config"]);
    }
}

#[test]
fn lower_casing_first_keeps_places_in_the_original_text() {
    let (golden, texts) = (read_json("settings.json"), read_json("texts.json"));
    let (vocab, config) = (file("vocab.txt").unwrap(), json!({"do_lower_case": false}));
    let files = Files { vocab: Some(&vocab), config: Some(&config), lower_case: true, ..Files::default() };
    let tokenizer = Tokenizer::open(&files).unwrap();
    for (i, text) in strings(&texts["texts"]).into_iter().enumerate() {
        let encoded = tokenizer.encode(text, None, &WHOLE).unwrap();
        assert_eq!(plain(&encoded.windows[0], [text, ""]), golden["lower_case_first"][i], "text {i} = {text:?}");
    }
}

#[test]
fn the_files_other_statements_are_read() {
    let [(_, json), (_, vocab)] = open_both("cased_strip");
    let pieces = file("vocab.txt").unwrap().iter().filter(|&&b| b == b'\n').count();
    for tokenizer in [&json, &vocab] {
        assert_eq!(tokenizer.vocabulary(), pieces + 3, "three tokens were added");
        assert_eq!((tokenizer.special_tokens(false), tokenizer.special_tokens(true)), (2, 3));
        assert_eq!(tokenizer.model_max_length(), Some(512));
        assert_eq!(tokenizer.truncation_side(), Truncation::Right);
        let id = tokenizer.id("newword").unwrap();
        assert_eq!(tokenizer.token(id).as_deref(), Some("newword"));
        assert_eq!((tokenizer.token(u32::MAX), tokenizer.id("no such token")), (None, None));
    }
    let mut stored = read_json("cased/tokenizer.json");
    stored["truncation"]["direction"] = json!("Left");
    let bytes = serde_json::to_vec(&stored).unwrap();
    let side = |config: Value| {
        Tokenizer::open(&Files { json: Some(&bytes), config: Some(&config), ..Files::default() }).map(|t| t.truncation_side())
    };
    assert_eq!(side(json!({"model_max_length": 1e30})).unwrap(), Truncation::Left);
    assert_eq!(side(json!({"truncation_side": "right"})).unwrap(), Truncation::Right);
    assert_eq!(side(json!({"truncation_side": "top"})).unwrap_err().kind(), ErrorKind::InvalidFile);
}

#[test]
fn a_text_of_a_million_characters_is_cut_whatever_it_consists_of() {
    let tokenizer = uncased();
    let limit = Limit { max_tokens: 256, truncation: Truncation::Window, overlap: 32 };
    for (unit, tokens) in [("fox ", 250_000), ("漢", 1_000_000), ("e\u{301}", 1), ("\u{0}", 0), ("[MASK] ", 142_858), (" ", 0)] {
        let text: String = unit.chars().cycle().take(1_000_000).collect();
        let cut = tokenizer.encode(&text, None, &limit).unwrap();
        assert!(cut.total.abs_diff(tokens + 2) <= 6, "{unit:?} gives {} tokens", cut.total);
        assert_eq!(cut.windows.len(), 1 + cut.total.saturating_sub(256).div_ceil(256 - 2 - 32));
    }
}

#[test]
fn many_threads_share_one_tokenizer() {
    let texts = read_json("texts.json");
    let (texts, tokenizer) = (strings(&texts["texts"]), uncased());
    let all = |tokenizer: &Tokenizer| -> Vec<Encoded> { texts.iter().map(|text| tokenizer.encode(text, None, &WHOLE).unwrap()).collect() };
    let alone = all(&tokenizer);
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..8).map(|_| scope.spawn(|| all(&tokenizer))).collect();
        for thread in running {
            assert_eq!(thread.join().unwrap(), alone);
        }
    });
}

/// Texts of odd characters, ordinary words and special tokens.
fn odd_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        any::<char>().prop_map(String::from),
        "[a-zA-Z]{1,12}",
        proptest::sample::select(vec![
            " ",
            "\t",
            "e\u{301}",
            "İ",
            "ß",
            "漢",
            "👩‍👧",
            "[MASK]",
            " [SEP] ",
            "\u{0}",
            "\u{fffd}",
            "Wörter",
            "."
        ])
        .prop_map(String::from),
    ];
    proptest::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn places_are_whole_characters_in_order(text in odd_text(), pair in proptest::option::of(odd_text()), model in 0..MODELS.len()) {
        thread_local! {
            static OPEN: Vec<Tokenizer> = MODELS.iter().map(|m| { let [(_, t), _] = open_both(m); t }).collect();
        }
        let encoded = OPEN.with(|all| all[model].encode(&text, pair.as_deref(), &WHOLE)).unwrap();
        let sequence = &encoded.windows[0];
        for (which, text) in [(0, text.as_str()), (1, pair.as_deref().unwrap_or(""))] {
            let places = sequence.offsets.iter().zip(&sequence.texts).filter(|(_, of)| **of == Some(which)).map(|(place, _)| *place);
            let mut last = (0, 0);
            for (start, end) in places {
                prop_assert!(start <= end && end <= text.len() && text.is_char_boundary(start) && text.is_char_boundary(end));
                prop_assert!(start >= last.0 && end >= last.1, "{last:?} then {start}, {end}");
                last = (start, end);
            }
        }
    }

    #[test]
    fn windows_put_together_are_the_whole_text(text in odd_text(), max_tokens in 4usize..20, overlap in 0usize..2) {
        thread_local! {
            static OPEN: Tokenizer = uncased();
        }
        let limit = Limit { max_tokens, truncation: Truncation::Window, overlap };
        let (whole, cut) = OPEN.with(|t| (t.encode(&text, None, &WHOLE).unwrap(), t.encode(&text, None, &limit).unwrap()));
        let inner = |s: &Sequence| s.ids[1..s.ids.len() - 1].to_vec();
        let mut together = Vec::new();
        for window in &cut.windows {
            prop_assert!(window.ids.len() <= max_tokens);
            together.truncate(window.tokens_start);
            prop_assert_eq!(together.len(), window.tokens_start);
            together.extend(inner(window));
        }
        prop_assert_eq!(together, inner(&whole.windows[0]));
        prop_assert!(!cut.truncated && cut.total == whole.total);
    }
}

#[test]
fn a_damaged_vocab_txt_is_an_error_that_says_what_is_wrong() {
    let open = |vocab: &[u8]| Tokenizer::open(&Files { vocab: Some(vocab), ..Files::default() });
    for (vocab, told) in [
        (&b""[..], "empty"),
        (b"\n \r\n", "empty"),
        (b"[UNK]\n[CLS]\n\xff\n", "line 3 is not UTF-8"),
        (b"[CLS]\n[SEP]\na\n", "[UNK]"),
        (b"[UNK]\n[SEP]\na\n", "[CLS]"),
        (b"[UNK]\n[CLS]\na\n", "[SEP]"),
    ] {
        let e = open(vocab).unwrap_err();
        assert!(e.kind() == ErrorKind::InvalidFile && e.message().contains(told) && e.message().contains("vocab.txt"), "{e}");
    }
    let e = Tokenizer::open(&Files::default()).unwrap_err();
    assert!(e.message().contains("tokenizer.json") && e.message().contains("vocab.txt"), "{e}");
    let config = json!({"do_lower_case": "yes"});
    let e = Tokenizer::open(&Files { vocab: Some(b"[UNK]"), config: Some(&config), ..Files::default() }).unwrap_err();
    assert!(e.message().contains("do_lower_case"), "{e}");
}

#[test]
fn an_odd_vocab_txt_is_read_as_the_reference_reads_it() {
    let open = |vocab: &str, config: Value| {
        Tokenizer::open(&Files { vocab: Some(vocab.as_bytes()), config: Some(&config), ..Files::default() }).unwrap()
    };
    let ids = |tokenizer: &Tokenizer, text: &str| tokenizer.encode(text, None, &WHOLE).unwrap().windows[0].ids.clone();
    let windows_lines = open("[UNK]\r\n[CLS]\r\n[SEP]\r\na\r\n##b\r\n", json!({}));
    assert_eq!(ids(&windows_lines, "ab x a"), [1, 3, 4, 0, 3, 2]);
    let twice = open("[UNK]\n[CLS]\n[SEP]\na\nb\na\n", json!({}));
    assert_eq!((ids(&twice, "a b"), twice.vocabulary()), (vec![1, 5, 4, 2], 6), "the last of two lines counts");
    let marked = open("\u{feff}[UNK]\n[CLS]\n[SEP]\na\n\n\n", json!({}));
    assert_eq!((ids(&marked, "a"), marked.vocabulary()), (vec![1, 3, 2], 4), "a byte order mark and empty lines are no pieces");
    let named = open("<u>\n<s>\n</s>\na\n", json!({"unk_token": "<u>", "cls_token": {"content": "<s>"}, "sep_token": "</s>"}));
    assert_eq!(ids(&named, "a <s> z [MASK]")[..4], [1, 3, 1, 0], "a special token that the vocabulary lacks is plain text");
}

/// The uncased model's tokenizer.json with one part replaced.
fn altered(pointer: &str, value: Value) -> Vec<u8> {
    let mut stored = read_json("uncased/tokenizer.json");
    *stored.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value;
    serde_json::to_vec(&stored).unwrap()
}

fn piece(kind: &str, id: &str) -> Value {
    json!({kind: {"id": id, "type_id": 0}})
}

#[test]
fn a_damaged_tokenizer_json_is_an_error_and_no_panic() {
    let open = |json: &[u8]| Tokenizer::open(&Files { json: Some(json), ..Files::default() });
    let good = file("uncased/tokenizer.json").unwrap();
    for (name, bytes) in [
        ("cut short", good[..good.len() / 2].to_vec()),
        ("empty", Vec::new()),
        ("another thing", b"[1, 2]".to_vec()),
        ("not text", b"{\"version\":\"\xff\"}".to_vec()),
        ("deep", [b"[".repeat(100_000), b"]".repeat(100_000)].concat()),
        ("no model", altered("/model", Value::Null)),
        ("unknown model", altered("/model/type", json!("Magic"))),
        ("no vocabulary", altered("/model/vocab", json!({}))),
        ("negative ids", altered("/model/vocab", json!({"[UNK]": -1}))),
        ("no token for unknown words", altered("/model/unk_token", json!("<none>"))),
        ("unknown normaliser", altered("/normalizer", json!({"type": "Magic"}))),
        (
            "a regular expression that is none",
            altered("/pre_tokenizer", json!({"type": "Split", "pattern": {"Regex": "("}, "behavior": "Removed", "invert": false})),
        ),
        ("a damaged table", altered("/normalizer", json!({"type": "Precompiled", "precompiled_charsmap": "AAAA/w=="}))),
        (
            "a special token the template lacks",
            altered("/post_processor/single", json!([piece("SpecialToken", "[NONE]"), piece("Sequence", "A")])),
        ),
        ("a template without the text", altered("/post_processor/single", json!([piece("SpecialToken", "[CLS]")]))),
        ("a template with a second text for one", altered("/post_processor/single", json!([piece("Sequence", "B")]))),
        ("a template with the text twice", altered("/post_processor/single", json!([piece("Sequence", "A"), piece("Sequence", "A")]))),
    ] {
        let e = open(&bytes).err().unwrap_or_else(|| panic!("{name}: opened"));
        assert!(matches!(e.kind(), ErrorKind::InvalidFile | ErrorKind::Unsupported), "{name}: {e}");
        assert!(e.message().starts_with("tokenizer.json"), "{name}: {e}");
    }
}

#[test]
fn a_tokenizer_json_that_fails_on_some_texts_is_an_error_then_and_no_panic() {
    let open = |json: &[u8]| Tokenizer::open(&Files { json: Some(json), ..Files::default() }).unwrap();
    let no_pieces = open(&altered("/pre_tokenizer", json!({"type": "FixedLength", "length": 0})));
    let e = no_pieces.encode("some text", None, &WHOLE).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidFile, "{e}");
    assert!(no_pieces.encode("", None, &WHOLE).is_ok());
    let nothing =
        json!({"id": 1, "content": "\u{301}", "single_word": false, "lstrip": true, "rstrip": true, "normalized": true, "special": true});
    let empty_token = open(&altered("/added_tokens", json!([nothing])));
    assert!(empty_token.encode("the fox", None, &WHOLE).is_ok(), "an added token may normalise to nothing");
    let no_pairs = open(&altered("/post_processor/pair", json!([piece("Sequence", "A")])));
    assert!(no_pairs.encode("a", None, &WHOLE).is_ok());
    let e = no_pairs.encode("a", Some("b"), &WHOLE).unwrap_err();
    assert!(e.kind() == ErrorKind::Unsupported && e.message().starts_with("tokenizer.json"), "{e}");
}

#[test]
fn other_templates_and_highest_ids_are_honoured() {
    let single = json!([piece("Sequence", "A"), piece("SpecialToken", "[SEP]"), piece("SpecialToken", "[SEP]")]);
    let pair = json!([piece("Sequence", "B"), piece("SpecialToken", "[SEP]"), {"Sequence": {"id": "A", "type_id": 3}}]);
    let mut stored: Value = serde_json::from_slice(&altered("/post_processor/single", single)).unwrap();
    stored["post_processor"]["pair"] = pair;
    stored["post_processor"]["special_tokens"]["[SEP]"]["ids"] = json!([7_000_000]);
    let bytes = serde_json::to_vec(&stored).unwrap();
    let tokenizer = Tokenizer::open(&Files { json: Some(&bytes), ..Files::default() }).unwrap();
    assert_eq!(tokenizer.vocabulary(), 7_000_001, "ids that only the template uses count too");
    assert_eq!((tokenizer.special_tokens(false), tokenizer.special_tokens(true)), (2, 1));
    let sequence = &tokenizer.encode("the fox", Some("a"), &WHOLE).unwrap().windows[0];
    assert_eq!(sequence.texts, [Some(1), None, Some(0), Some(0)]);
    assert_eq!(sequence.type_ids, [0, 0, 3, 3]);
    assert_eq!(sequence.offsets, [(0, 1), (0, 0), (0, 3), (4, 7)]);
    let none = altered("/post_processor", Value::Null);
    let tokenizer = Tokenizer::open(&Files { json: Some(&none), ..Files::default() }).unwrap();
    let sequence = &tokenizer.encode("a", Some("a"), &WHOLE).unwrap().windows[0];
    assert_eq!((sequence.texts.len(), &sequence.type_ids[..]), (2, &[0, 1][..]));
}

proptest! {
    #[test]
    fn a_tokenizer_json_with_any_byte_changed_never_panics(at in 0usize..1_000_000, byte in any::<u8>(), text in odd_text()) {
        let mut bytes = file("cased_strip/tokenizer.json").unwrap();
        // The first part holds everything but the vocabulary: most changes go there.
        let reach = if at % 4 == 0 { bytes.len() } else { 2500 };
        let at = at % reach;
        bytes[at] = byte;
        if let Ok(tokenizer) = Tokenizer::open(&Files { json: Some(&bytes), ..Files::default() }) {
            let _ = tokenizer.encode(&text, None, &WHOLE);
            let _ = tokenizer.encode(&text, Some(&text), &WHOLE);
        }
    }
}
