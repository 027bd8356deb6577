use proptest::prelude::*;

use super::*;
use crate::train::random::Purpose;

const VOCABULARY: usize = 1000;
const SPECIAL: &[u32] = &[0, 1, 2, 3, 4, 500, 999];
const MASK: u32 = 4;

fn replacements() -> Replacements {
    Replacements { mask: MASK, vocabulary: VOCABULARY, special: SPECIAL.to_vec() }
}

fn keys(i: u64) -> Keys {
    Keys { chosen: Key::new(1, Purpose::Masking, &[i]), replaced: Key::new(1, Purpose::Replacing, &[i]) }
}

fn scheme(name: &str) -> &'static Scheme {
    SCHEMES.iter().find(|scheme| scheme.name == name).unwrap()
}

/// A sequence as they occur: special tokens at both ends and in the middle, words of one to four tokens.
struct Sample {
    ids: Vec<u32>,
    text: Vec<bool>,
    starts: Vec<bool>,
}

impl Sample {
    fn new(i: u64, length: usize) -> Sample {
        let key = Key::new(2, Purpose::Texts, &[i]);
        let special = |place: usize| place == 0 || place + 1 == length || place == length / 2;
        let any = |place: usize| replacements().any(key.and(1), place as u64);
        Sample {
            ids: (0..length).map(|place| if special(place) { 2 } else { any(place) }).collect(),
            text: (0..length).map(|place| !special(place)).collect(),
            starts: (0..length).map(|place| special(place) || key.below(place as u64, 2) == 0).collect(),
        }
    }

    fn line(&self) -> Line<'_> {
        Line { ids: &self.ids, text: &self.text, starts: &self.starts, phrases: None }
    }
}

/// Whether `found` of `n` is what a share of `p` gives, up to `most` standard deviations.
fn binomial(found: u64, n: u64, p: f64, most: f64) -> bool {
    let deviation = (n as f64 * p * (1.0 - p)).sqrt();
    (found as f64 - n as f64 * p).abs() <= most * deviation.max(1.0)
}

#[test]
fn over_a_million_tokens_the_rates_are_those_asked_for() {
    for (name, rates) in [
        ("token", Rates::default()),
        ("token", Rates { masked: 0.4, as_mask: 0.5, as_random: 0.25, ..Rates::default() }),
        ("whole_word", Rates::default()),
    ] {
        let (mut able, mut hidden, mut mask, mut random, mut first_half) = (0u64, 0u64, 0u64, 0u64, 0u64);
        for i in 0..10_000 {
            let sample = Sample::new(i, 128 - (i % 40) as usize);
            let found = scheme(name).hide(&sample.line(), &rates, &replacements(), keys(i));
            able += sample.text.iter().filter(|text| **text).count() as u64;
            hidden += found.masked.len() as u64;
            for (place, id) in &found.masked {
                assert_eq!(*id, sample.ids[*place]);
                mask += u64::from(found.ids[*place] == MASK);
                random += u64::from(found.ids[*place] != MASK && found.ids[*place] != *id);
                first_half += u64::from(*place < sample.ids.len() / 2);
            }
        }
        assert!(able > 1_000_000, "{able}");
        // The number a sequence is drawn around its rate, so the sum is closer than a binomial one. Whole words leave a rest that is too short.
        if name == "token" {
            assert!(binomial(hidden, able, rates.masked, 3.0), "{name}: {hidden} of {able}");
        } else {
            let share = hidden as f64 / able as f64;
            assert!((0.145..=0.151).contains(&share), "{name}: {share}");
        }
        assert!(binomial(mask, hidden, rates.as_mask, 4.0), "{name}: {mask} of {hidden} became the mask");
        // One random token in the vocabulary is the same one again.
        let other = rates.as_random * (1.0 - 1.0 / (VOCABULARY - SPECIAL.len()) as f64);
        assert!(binomial(random, hidden, other, 4.0), "{name}: {random} of {hidden} became another");
        assert!(binomial(first_half, hidden, 0.5, 8.0), "{name}: {first_half} of {hidden} are in the first half");
    }
}

#[test]
fn spans_are_apart_and_as_long_as_spanbert_says() {
    let (mut hidden, mut able, mut lengths) = (0usize, 0usize, Vec::new());
    for i in 0..4000 {
        let mut sample = Sample::new(i, 300);
        sample.starts.fill(true);
        let found = scheme("span").hide(&sample.line(), &Rates::default(), &replacements(), keys(i));
        assert_eq!(found.spans.iter().map(|(start, end)| end - start).sum::<usize>(), found.masked.len());
        let of_spans: Vec<usize> = found.spans.iter().flat_map(|(start, end)| *start..*end).collect();
        assert_eq!(of_spans, found.masked.iter().map(|(place, _)| *place).collect::<Vec<_>>());
        for pair in found.spans.windows(2) {
            assert!(pair[0].1 < pair[1].0, "{:?}", found.spans);
        }
        for (start, end) in &found.spans {
            assert!(*start > 0 && *end < sample.ids.len(), "a span has tokens on both sides");
            let masks = (*start..*end).filter(|&place| found.ids[place] == MASK).count();
            assert!(masks == 0 || masks == end - start, "one draw decides for a span");
            lengths.push(end - start);
        }
        (hidden, able) = (hidden + found.masked.len(), able + 297);
    }
    let share = hidden as f64 / able as f64;
    assert!((0.148..=0.152).contains(&share), "{share}");
    // The mean of the cut distribution is 3.8; the last span of a sequence gets what is left.
    let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
    assert!((3.3..=3.85).contains(&mean) && *lengths.iter().max().unwrap() == 10, "{mean}");
}

#[test]
fn phrases_are_found_on_the_borders_of_words_the_longest_first() {
    let vocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n##a\n##b\n##c\n";
    let tokenizer = crate::train::shards::test_tokenizer(vocab);
    let phrases = Phrases::read("a b\n\na b c\nab c\nzzz\n", &tokenizer).unwrap();
    let joined = |text: &str| {
        let content = tokenizer.content(text).unwrap();
        let starts: Vec<bool> = (0..content.tokens()).map(|i| !content.continues_word(i)).collect();
        let text = vec![true; content.tokens()];
        let line = Line { ids: content.ids(), text: &text, starts: &starts, phrases: Some(&phrases) };
        phrases.join(content.ids(), &line.words()).into_iter().map(|unit| (unit.start, unit.end)).collect::<Vec<_>>()
    };
    assert_eq!(joined("a b a b c a"), [(0, 2), (2, 5), (5, 6)]);
    assert_eq!(joined("ab c"), [(0, 3)]);
    // "bc" is a word of which "b" is a part.
    assert_eq!(joined("a bc"), [(0, 1), (1, 3)]);
    let e = Phrases::read("zzz\n", &tokenizer).unwrap_err();
    assert!(e.message().contains("no phrase that the vocabulary knows"), "{e}");
}

#[test]
fn random_tokens_are_any_but_special_ones() {
    let mut counts = vec![0u32; VOCABULARY];
    let key = Key::new(0, Purpose::Replacing, &[]);
    (0..500_000).for_each(|i| counts[replacements().any(key, i) as usize] += 1);
    assert!(SPECIAL.iter().all(|id| counts[*id as usize] == 0));
    assert!(counts.iter().enumerate().all(|(id, n)| SPECIAL.contains(&(id as u32)) || (350..670).contains(n)));
}

#[test]
fn a_sequence_of_one_long_word_hides_it_if_it_may() {
    let sample = Sample { ids: vec![10; 6], text: vec![true; 6], starts: [true, false, false, false, false, false].to_vec() };
    for name in ["whole_word", "span", "phrase"] {
        let hide = |most| scheme(name).hide(&sample.line(), &Rates { most, ..Rates::default() }, &replacements(), keys(0)).masked.len();
        assert_eq!((hide(usize::MAX), hide(6), hide(5)), (6, 6, 0), "{name}");
    }
}

proptest! {
    #[test]
    fn nothing_special_is_hidden_and_no_word_is_split(
        i in any::<u64>(), length in 0usize..80, masked in 0.0f64..1.0, most in 1usize..60, which in 0..SCHEMES.len(),
    ) {
        let sample = Sample::new(i, length);
        let (scheme, rates) = (&SCHEMES[which], Rates { masked, most, ..Rates::default() });
        let found = scheme.hide(&sample.line(), &rates, &replacements(), keys(i));
        prop_assert_eq!(found.ids.len(), length);
        prop_assert!(found.masked.len() <= most);
        prop_assert!(found.masked.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let hidden = |place: usize| found.masked.iter().any(|(at, _)| *at == place);
        for place in 0..length {
            if hidden(place) {
                prop_assert!(sample.text[place]);
                prop_assert!(found.ids[place] == MASK || !SPECIAL.contains(&found.ids[place]));
            } else {
                prop_assert_eq!(found.ids[place], sample.ids[place]);
            }
            let continues = place > 0 && sample.text[place] && sample.text[place - 1] && !sample.starts[place];
            if continues && scheme.name != "token" {
                prop_assert_eq!(hidden(place), hidden(place - 1));
            }
        }
        let again = scheme.hide(&sample.line(), &rates, &replacements(), keys(i));
        prop_assert_eq!(found, again);
    }
}
