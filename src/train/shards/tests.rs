use super::*;
use crate::error::{ErrorKind, Result};
use crate::tokenizer::Files;
use crate::train::text::Texts;

const VOCAB: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n##a\n##b\n##c\n.\n天\n地\n大\n学\n北\n京\n";

pub(in crate::train) fn tokenizer(vocab: &str) -> Tokenizer {
    Tokenizer::open(&Files { vocab: Some(vocab.as_bytes()), ..Files::default() }).unwrap()
}

fn build_at(folder: &Path, text: &str, settings: &ShardSettings) -> Result<Shards> {
    let path = folder.join("text");
    std::fs::write(&path, text).unwrap();
    let mut texts = Texts::open(&[path], &TextSettings::default())?;
    Shards::build(&folder.join("shards"), &mut texts, &tokenizer(VOCAB), settings, &mut |_| {})
}

/// Words joined by their pieces, documents by `|`.
fn shown(shards: &Shards, tokenizer: &Tokenizer) -> String {
    let mut shown = String::new();
    for document in 0..shards.documents() {
        for sentence in shards.document(document) {
            assert_eq!(shards.document_of(sentence), document);
            let (mut ids, mut starts) = (Vec::new(), Vec::new());
            shards.read(sentence, &mut ids, &mut starts);
            assert_eq!(ids.len(), shards.length(sentence));
            for (id, begins) in ids.iter().zip(starts) {
                shown.push(if begins { ' ' } else { '+' });
                shown.push_str(&tokenizer.token(*id).unwrap());
            }
            shown.push('/');
        }
        shown.push('|');
    }
    shown
}

#[test]
fn text_comes_back_as_tokens_words_and_documents() {
    let folder = tempfile::tempdir().unwrap();
    let shards = build_at(folder.path(), "abc a.\nb\n\n\n大学\n", &ShardSettings::default()).unwrap();
    assert_eq!(shown(&shards, &tokenizer(VOCAB)), " a+##b+##c a ./ b/| 大 学/|");
    assert_eq!((shards.documents(), shards.sentences(), shards.tokens(), shards.vocabulary()), (2, 3, 8, 18));
    shards.check_tokenizer(&tokenizer(VOCAB)).unwrap();
}

#[test]
fn jieba_knows_the_words_of_chinese_and_the_tokenizer_those_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ShardSettings { words: WordRule::Jieba, ..ShardSettings::default() };
    let shards = build_at(folder.path(), "北京大学abc天地.ab\nab c\n", &settings).unwrap();
    assert_eq!(shown(&shards, &tokenizer(VOCAB)), " 北+京+大+学 a+##b+##c 天+地 . a+##b/ a+##b c/|");
}

#[test]
fn any_number_of_shards_and_of_threads_holds_the_same() {
    let text: String = (0..200).map(|i| ["a b\n", "abc\ncab\n\n", "大学 c\n\n", "b.\n"][i * i % 7 % 4]).collect();
    let all: Vec<(String, usize)> = [(1 << 28, 1), (1 << 28, 3), (1, 2), (20, 1)]
        .map(|(shard_tokens, threads)| {
            let folder = tempfile::tempdir().unwrap();
            let settings = ShardSettings { shard_tokens, threads: Some(threads), ..ShardSettings::default() };
            let shards = build_at(folder.path(), &text, &settings).unwrap();
            (shown(&shards, &tokenizer(VOCAB)), shards.shards.len())
        })
        .into();
    assert!(all.iter().all(|(shown, _)| *shown == all[0].0));
    assert_eq!((all[0].1, all[1].1), (1, 1));
    assert!(all[2].1 > all[3].1 && all[3].1 > 1, "{} {}", all[2].1, all[3].1);
}

#[test]
fn large_vocabularies_have_wide_ids() {
    let vocab: String = VOCAB.to_owned() + &(0..70_000).map(|i| format!("w{i}\n")).collect::<String>();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("text"), "w69999 w3").unwrap();
    let mut texts = Texts::open(&[folder.path().join("text")], &TextSettings::default()).unwrap();
    let tokenizer = tokenizer(&vocab);
    let shards = Shards::build(&folder.path().join("s"), &mut texts, &tokenizer, &ShardSettings::default(), &mut |_| {}).unwrap();
    assert_eq!(shown(&shards, &tokenizer), " w69999 w3/|");
}

#[test]
fn every_damaged_byte_and_every_cut_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ShardSettings::default();
    build_at(folder.path(), "abc a.\nb\n\n大学\n", &settings).unwrap();
    let path = folder.path().join("shards/shard-00000.bin");
    let whole = std::fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let e = Shards::open(&folder.path().join("shards")).map(drop).unwrap_err();
        assert!(matches!(e.kind(), ErrorKind::InvalidFile | ErrorKind::Unsupported) && e.message().contains("shard-00000.bin"), "{e}");
    };
    for at in 0..whole.len() {
        for bit in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= bit;
            refused(&bytes);
        }
        refused(&whole[..at]);
    }
    refused(&[whole.clone(), vec![0]].concat());
    std::fs::write(&path, &whole).unwrap();
    Shards::open(&folder.path().join("shards")).unwrap();
}

#[test]
fn lists_that_contradict_themselves_are_errors_even_with_sound_checksums() {
    let folder = tempfile::tempdir().unwrap();
    build_at(folder.path(), "abc a.\nb\n\n大学\n", &ShardSettings::default()).unwrap();
    let path = folder.path().join("shards/shard-00000.bin");
    let whole = std::fs::read(&path).unwrap();
    let (header, layout) = format::Header::parse(&whole).unwrap();
    let cases: &[(usize, u64, &str)] = &[
        (layout.sentences.start, 0, "entry 0 of the list of sentences"),
        (layout.sentences.start, 1 << 63, "entry 1 of the list of sentences"),
        (layout.sentences.end - 8, u64::MAX, "the list of sentences ends at"),
        (layout.documents.start, 3, "entry 1 of the list of documents"),
        (layout.documents.end - 8, 9, "the list of documents ends at 9, not at 3"),
        (layout.ids.start, 0x7000, "token 0 has the id 28672, but the vocabulary ends at 18"),
    ];
    for (at, value, told) in cases {
        let mut bytes = whole.clone();
        bytes[*at..at + 8].copy_from_slice(&value.to_le_bytes());
        let body_hash = xxhash_rust::xxh3::xxh3_64(&bytes[format::HEADER..]);
        bytes[..format::HEADER].copy_from_slice(&format::Header { body_hash, ..header }.bytes());
        std::fs::write(&path, &bytes).unwrap();
        let e = Shards::open(&folder.path().join("shards")).map(drop).unwrap_err();
        assert!(e.kind() == ErrorKind::InvalidFile && e.message().contains(told), "{e}");
    }
    // A header of huge lists must not be believed, whatever its checksum.
    for tokens in [usize::MAX, usize::MAX / 2, 1 << 60] {
        let mut bytes = whole.clone();
        bytes[..format::HEADER].copy_from_slice(&format::Header { tokens, ..header }.bytes());
        std::fs::write(&path, &bytes).unwrap();
        assert!(Shards::open(&folder.path().join("shards")).is_err());
    }
}

#[test]
fn stale_shards_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ShardSettings::default();
    let shards = build_at(folder.path(), "abc a.\nb\n\n大学\n", &settings).unwrap();
    let text = TextSettings::default();
    let (file, copy) = (folder.path().join("text"), folder.path().join("copy"));
    shards.check_inputs(std::slice::from_ref(&file), &text, &settings).unwrap();
    std::fs::copy(&file, &copy).unwrap();
    shards.check_inputs(std::slice::from_ref(&copy), &text, &settings).unwrap();
    std::fs::write(&copy, "abc b.\nb\n\n大学\n").unwrap();
    let refused = |result: Result<()>, told: &str| {
        let e = result.unwrap_err();
        assert!(e.kind() == ErrorKind::InvalidFile && e.message().contains(told), "{e}");
    };
    refused(shards.check_inputs(std::slice::from_ref(&copy), &text, &settings), "copy has changed");
    refused(shards.check_inputs(&[file.clone(), copy], &text, &settings), "made from 1 files, not from 2");
    let other = TextSettings { split: false, ..text.clone() };
    refused(shards.check_inputs(std::slice::from_ref(&file), &other, &settings), "in another way");
    let jieba = ShardSettings { words: WordRule::Jieba, ..settings.clone() };
    refused(shards.check_inputs(&[file], &text, &jieba), "in another way");
    refused(shards.check_tokenizer(&tokenizer(&VOCAB.replace('天', "人"))), "another tokenizer");
}

#[test]
fn nothing_is_left_of_shards_that_could_not_be_made() {
    let folder = tempfile::tempdir().unwrap();
    let e = build_at(folder.path(), " \n", &ShardSettings::default()).map(drop).unwrap_err();
    assert!(e.message().contains("no text"), "{e}");
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["text"]);
    build_at(folder.path(), "a", &ShardSettings::default()).unwrap();
    assert!(build_at(folder.path(), "a", &ShardSettings::default()).map(drop).unwrap_err().message().contains("exists"));
    let none = Shards::open(&folder.path().join("nowhere")).map(drop).unwrap_err();
    assert!(none.kind() == ErrorKind::Io && none.message().contains("shards.json"), "{none}");
}

#[test]
fn hostile_text_is_tokenised_in_bounded_parts() {
    let folder = tempfile::tempdir().unwrap();
    let text = "ab ".repeat(1 << 18) + "\n\n" + &"a".repeat(1 << 20) + "\nb\u{fffd}\n";
    let shards = build_at(folder.path(), &text, &ShardSettings::default()).unwrap();
    assert!((0..shards.sentences()).all(|sentence| shards.length(sentence) <= 256));
    assert!(shards.tokens() > 1 << 19 && shards.documents() == 2);
}
