use std::collections::BTreeSet;

use super::*;
use crate::train::masking::SCHEMES;
use crate::train::shards::{ShardSettings, test_tokenizer};
use crate::train::text::{TextSettings, Texts};

const CLS: u32 = 2;
const SEP: u32 = 3;
const MASK: u32 = 4;
/// The id of the first word of the text; the words of the text have ids one after the other, so that an id tells its place.
const FIRST: u32 = 5;

/// A corpus whose documents have sentences of so many words.
struct Made {
    /// (document, sentence) of each word.
    places: Vec<(usize, usize)>,
    text: String,
    tokenizer: Arc<Tokenizer>,
}

impl Made {
    fn new(documents: &[Vec<usize>]) -> Made {
        let (mut places, mut text) = (Vec::new(), String::new());
        for (document, sentences) in documents.iter().enumerate() {
            for (sentence, words) in sentences.iter().enumerate() {
                for _ in 0..*words {
                    text += &format!("w{} ", places.len());
                    places.push((document, sentence));
                }
                text.push('\n');
            }
            text.push('\n');
        }
        let vocab: String =
            "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n".to_owned() + &(0..places.len()).map(|i| format!("w{i}\n")).collect::<String>();
        Made { places, text, tokenizer: Arc::new(test_tokenizer(&vocab)) }
    }

    /// Documents of different numbers of sentences of different lengths.
    fn usual(documents: usize) -> Made {
        let key = Key::new(77, Purpose::Texts, &[]);
        let lengths = |document: u64| {
            let key = key.and(document);
            (0..1 + key.below(0, 12)).map(|sentence| 1 + key.place(1 + sentence, 15)).collect()
        };
        Made::new(&(0..documents as u64).map(lengths).collect::<Vec<_>>())
    }

    fn corpus(&self, settings: &[(&str, &str)]) -> Result<Corpus> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("text"), &self.text).unwrap();
        let mut texts = Texts::open(&[folder.path().join("text")], &TextSettings::default()).unwrap();
        let shard_settings = ShardSettings { shard_tokens: 5000, ..ShardSettings::default() };
        let shards = Shards::build(&folder.path().join("shards"), &mut texts, &self.tokenizer, &shard_settings, &mut |_| {}).unwrap();
        let mut chosen = ExampleSettings { max_length: 32, ..ExampleSettings::default() };
        for (name, value) in settings {
            chosen.set(name, value).unwrap();
        }
        Corpus::new(shards, Arc::clone(&self.tokenizer), chosen)
    }

    /// The two texts of an example as numbers of words, what was hidden restored.
    fn texts(example: &Example) -> [Vec<usize>; 2] {
        let mut ids = example.ids.clone();
        example.masked.iter().for_each(|(place, id)| ids[*place] = *id);
        assert_eq!((ids[0], ids[ids.len() - 1], ids.len()), (CLS, SEP, example.segments.len()));
        let of = |segment| {
            let here = ids.iter().zip(&example.segments).filter(|(id, at)| **at == segment && **id >= FIRST);
            here.map(|(id, _)| (id - FIRST) as usize).collect()
        };
        [of(0), of(1)]
    }

    fn document(&self, words: &[usize]) -> usize {
        let documents: BTreeSet<usize> = words.iter().map(|word| self.places[*word].0).collect();
        assert_eq!(documents.len(), 1, "a text is of one document: {words:?}");
        *documents.first().unwrap()
    }
}

fn follow(words: &[usize]) -> bool {
    words.windows(2).all(|pair| pair[0] + 1 == pair[1])
}

fn epoch(corpus: &Corpus, epoch: u64) -> Vec<Example> {
    (0..corpus.len()).map(|index| corpus.example(epoch, index).unwrap()).collect()
}

#[test]
fn next_sentences_follow_and_random_ones_are_from_another_document() {
    let made = Made::usual(300);
    let corpus = made.corpus(&[]).unwrap();
    let (mut next, mut all) = (0u32, 0u32);
    for e in 0..6 {
        for example in epoch(&corpus, e) {
            assert!(example.ids.len() <= 32);
            let [first, second] = Made::texts(&example);
            assert!(!first.is_empty() && !second.is_empty() && follow(&first) && follow(&second));
            let (a, b) = (made.document(&first), made.document(&second));
            match example.label {
                // The end of the first and the start of the second may have been cut off.
                Some(0) => assert!(a == b && first.last() < second.first()),
                Some(1) => assert_ne!(a, b),
                other => panic!("{other:?}"),
            }
            next += u32::from(example.label == Some(0));
            all += 1;
        }
    }
    let off = (f64::from(next) - f64::from(all) / 2.0) / (f64::from(all) / 4.0).sqrt();
    assert!(all > 2000 && off.abs() < 4.0, "{next} of {all} are next sentences");
}

#[test]
fn sentences_are_in_order_or_swapped_half_of_the_time() {
    let made = Made::usual(300);
    let corpus = made.corpus(&[("sequences", "sentence_order")]).unwrap();
    let (mut swapped, mut all) = (0u32, 0u32);
    for e in 0..6 {
        for example in epoch(&corpus, e) {
            let [first, second] = Made::texts(&example);
            if first.is_empty() || second.is_empty() {
                // A document of a single token.
                assert_eq!(first.len() + second.len(), 1);
                continue;
            }
            assert!(follow(&first) && follow(&second));
            assert_eq!(made.document(&first), made.document(&second));
            let label = example.label.unwrap();
            assert_eq!(label == 1, first[0] > second[0]);
            swapped += label;
            all += 1;
        }
    }
    let off = (f64::from(swapped) - f64::from(all) / 2.0) / (f64::from(all) / 4.0).sqrt();
    assert!(all > 2000 && off.abs() < 4.0, "{swapped} of {all} are swapped");
}

#[test]
fn an_example_is_a_function_of_seed_epoch_and_index() {
    let made = Made::usual(60);
    for row in SEQUENCES {
        let corpus = made.corpus(&[("sequences", row.name)]).unwrap();
        let all: Vec<Vec<Example>> = (0..3).map(|e| epoch(&corpus, e)).collect();
        let again = made.corpus(&[("sequences", row.name)]).unwrap();
        for (e, index) in [(2, 5), (0, 0), (1, corpus.len() - 1), (2, 5)] {
            assert_eq!(again.example(e, index).unwrap(), all[e as usize][index]);
        }
        let other = made.corpus(&[("sequences", row.name), ("data_seed", "7")]).unwrap();
        assert_ne!(epoch(&other, 0), all[0]);
        // Another epoch has another order, and hides other tokens of the same text.
        assert_ne!(all[0], all[1]);
        let [a, b] = [0, 1].map(|e| corpus.example_of(e, 3).unwrap());
        assert_ne!(a.masked, b.masked, "{}", row.name);
        assert!(corpus.example(0, corpus.len()).unwrap_err().message().contains("there is no example"));
    }
}

#[test]
fn an_epoch_has_each_sentence_once_where_nothing_is_random() {
    let made = Made::usual(200);
    for name in ["single", "packed", "sentence_order"] {
        let corpus = made.corpus(&[("sequences", name), ("short_share", "0"), ("max_length", "40")]).unwrap();
        let mut seen = vec![0; made.places.len()];
        let mut lengths = 0;
        for example in epoch(&corpus, 4) {
            assert!(example.ids.len() <= 40);
            lengths += example.ids.len();
            Made::texts(&example).concat().into_iter().for_each(|word| seen[word] += 1);
        }
        assert!(seen.iter().all(|n| *n == 1), "{name}");
        let mean = lengths as f64 / corpus.len() as f64;
        assert!(name != "packed" || mean > 33.0, "packed sequences are nearly full: {mean}");
    }
}

#[test]
fn packed_documents_have_a_separator_between_them() {
    let made = Made::new(&[vec![2, 3], vec![2], vec![1, 1]]);
    let corpus = made.corpus(&[("sequences", "packed"), ("masked", "0")]).unwrap();
    assert_eq!(corpus.len(), 1);
    let w = |word: u32| FIRST + word;
    let example = corpus.example(0, 0).unwrap();
    assert_eq!(example.ids, [CLS, w(0), w(1), w(2), w(3), w(4), SEP, w(5), w(6), SEP, w(7), w(8), SEP]);
    assert_eq!((example.label, example.masked.len()), (None, 0));
}

#[test]
fn short_sequences_are_a_share_of_all() {
    let made = Made::new(&vec![vec![1; 500]; 4]);
    let mean = |share: &str| {
        let corpus = made.corpus(&[("sequences", "single"), ("short_share", share)]).unwrap();
        let examples = epoch(&corpus, 0);
        examples.iter().map(|example| example.ids.len()).sum::<usize>() as f64 / examples.len() as f64
    };
    let (none, all) = (mean("0"), mean("1"));
    // 2 special tokens and from 2 to 30 of text.
    assert!(none > 31.0 && (15.0..21.0).contains(&all), "{none} {all}");
}

#[test]
fn from_left_to_right_each_place_asks_for_the_next_word() {
    let made = Made::usual(20);
    let corpus = made.corpus(&[("sequences", "packed"), ("learning", "left_to_right")]).unwrap();
    for example in epoch(&corpus, 0) {
        assert!(!example.ids.contains(&MASK));
        let expected: Vec<(usize, u32)> =
            (0..example.ids.len() - 1).map(|place| (place, example.ids[place + 1])).filter(|(_, id)| *id >= FIRST).collect();
        assert_eq!(example.masked, expected);
    }
}

#[test]
fn every_scheme_hides_words_of_both_texts() {
    let made = Made::usual(50);
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("phrases");
    std::fs::write(&list, "w0 w1\nw17 w18 w19\n").unwrap();
    for scheme in SCHEMES {
        let mut settings = vec![("learning", scheme.name)];
        if scheme.phrases {
            settings.push(("phrases", list.to_str().unwrap()));
        }
        let corpus = made.corpus(&settings).unwrap();
        let mut hidden = [0; 2];
        for example in epoch(&corpus, 0) {
            assert!(example.masked.iter().all(|(_, id)| *id >= FIRST));
            assert_eq!(example.spans.is_empty(), !scheme.spans, "{}", scheme.name);
            example.masked.iter().for_each(|(place, _)| hidden[example.segments[*place] as usize] += 1);
        }
        assert!(hidden.iter().all(|n| *n > 50), "{}: {hidden:?}", scheme.name);
    }
}

#[test]
fn what_cannot_be_is_an_error() {
    let made = Made::usual(5);
    let one = Made::new(&[vec![3, 4, 5]]);
    let lonely = Made::new(&[vec![3], vec![4], vec![2]]);
    let refused = |corpus: Result<Corpus>, told: &str| {
        let e = corpus.unwrap_err();
        assert!(e.message().contains(told), "{e}");
    };
    refused(one.corpus(&[]), "need two documents or more");
    one.corpus(&[("sequences", "sentence_order")]).unwrap();
    refused(lonely.corpus(&[]), "need a document of two sentences or more");
    refused(made.corpus(&[("max_length", "4")]), "give 5 or more");
    refused(made.corpus(&[("learning", "phrase")]), "needs a list");
    refused(made.corpus(&[("phrases", "list")]), "leave it out");
    refused(made.corpus(&[("learning", "phrase"), ("phrases", "/nowhere")]), "/nowhere");
    refused(made.corpus(&[("as_mask", "0.9"), ("as_random", "0.2")]), "their sum");
    let mut settings = ExampleSettings::default();
    let e = settings.set("masked", "15").unwrap_err();
    assert!(e.message().contains("option masked = \"15\"") && e.message().contains("a share from 0 to 1"), "{e}");
}

#[test]
fn every_row_can_be_set_by_its_name() {
    let mut settings = ExampleSettings::default();
    for row in SEQUENCES {
        settings.set("sequences", row.name).unwrap();
        assert_eq!(settings.sequences.name, row.name);
    }
    for scheme in SCHEMES {
        settings.set("learning", scheme.name).unwrap();
        assert!(matches!(settings.learning, Learning::Masked(set) if set.name == scheme.name));
    }
}

#[test]
fn one_token_repeated_for_ever_makes_examples_too() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("text"), "a ".repeat(1 << 20) + "\n\n" + &"a ".repeat(1000)).unwrap();
    let tokenizer = Arc::new(test_tokenizer("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n"));
    let mut texts = Texts::open(&[folder.path().join("text")], &TextSettings::default()).unwrap();
    let shards = Shards::build(&folder.path().join("s"), &mut texts, &tokenizer, &ShardSettings::default(), &mut |_| {}).unwrap();
    let corpus = Corpus::new(shards, tokenizer, ExampleSettings::default()).unwrap();
    for index in 0..corpus.len().min(500) {
        let example = corpus.example(0, index).unwrap();
        assert!(example.ids.len() <= 128 && !example.masked.is_empty());
    }
}
