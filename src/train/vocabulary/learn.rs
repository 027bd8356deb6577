//! How do counted words become pieces, always the same?
//!
//! The crate's trainers number the characters of words in the order in which a hash table gives them, cut the alphabet where a sort is
//! unstable, and add numbers in an order that depends on the threads. So the alphabet is chosen here, and stands in the vocabulary before the
//! trainer sees a word; after that its ties are broken by ids. The trainer of unigram gets sorted words, a single thread, and scores that are
//! put in order again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::models::unigram::{Unigram, UnigramTrainer};
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::utils::parallelism::set_parallelism;
use tokenizers::{AddedToken, ModelWrapper, Tokenizer};

use super::count::Words;
use super::{VocabularySettings, WordReport};
use crate::error::{Error, ErrorKind, Result, fail};

/// Gives the tokenizer the pieces that the words are best made of.
pub(super) fn model(inner: &mut Tokenizer, words: Words, settings: &VocabularySettings) -> Result<WordReport> {
    let mut sorted: Vec<(String, u64)> = words.counts.into_iter().collect();
    sorted.sort_unstable();
    let alphabet = Alphabet::of(&sorted, settings);
    let different = sorted.len();
    let occurrences = sorted.iter().map(|(_, count)| count).sum();
    // A word with a character that the vocabulary lacks is an unknown word, and has no pieces.
    sorted.retain(|(word, _)| word.chars().all(|c| alphabet.kept.contains(&c)));
    let report = WordReport { words: different, occurrences, long: words.long, characters: (alphabet.kept.len(), alphabet.left_out) };
    let model = match inner.get_model() {
        ModelWrapper::Unigram(_) => ModelWrapper::Unigram(unigram(sorted, &alphabet, settings)?),
        ModelWrapper::WordPiece(_) => {
            let bpe = pairs(&sorted, &alphabet, settings)?;
            let mut pieces = WordPiece::from_bpe(&bpe);
            pieces.unk_token = unknown(settings);
            pieces.max_input_chars_per_word = super::count::LONGEST_WORD;
            ModelWrapper::WordPiece(pieces)
        }
        _ => ModelWrapper::BPE(pairs(&sorted, &alphabet, settings)?),
    };
    inner.with_model(model);
    Ok(report)
}

fn unknown(settings: &VocabularySettings) -> String {
    settings.kind.special.iter().find(|(name, _)| *name == "unk_token").map(|(_, token)| (*token).to_owned()).unwrap_or_default()
}

/// The characters of a vocabulary.
struct Alphabet {
    kept: BTreeSet<char>,
    left_out: usize,
}

impl Alphabet {
    fn of(words: &[(String, u64)], settings: &VocabularySettings) -> Alphabet {
        let mut counts: BTreeMap<char, u64> = BTreeMap::new();
        for (word, count) in words {
            word.chars().for_each(|c| *counts.entry(c).or_default() += count);
        }
        let all: u64 = counts.values().sum();
        let mut by_count: Vec<(char, u64)> = counts.into_iter().filter(|(_, count)| *count >= settings.min_frequency).collect();
        let different = by_count.len();
        by_count.sort_by_key(|&(c, count)| (std::cmp::Reverse(count), c));
        let enough = settings.coverage * all as f64;
        let mut covered = 0;
        let wanted = by_count
            .iter()
            .take_while(|(_, count)| {
                (covered as f64) < enough && {
                    covered += count;
                    true
                }
            })
            .count();
        let rare = by_count.split_off(wanted.min(settings.alphabet.unwrap_or(usize::MAX)));
        // Braces are rare in prose, and yet what the next text may be full of.
        by_count.extend(rare.into_iter().filter(|(c, _)| c.is_ascii_graphic() && settings.alphabet.is_none()));
        // Bytes are all there: no text is unknown.
        let bytes = if settings.kind.name == "bpe" { ByteLevel::alphabet().into_iter().collect() } else { Vec::new() };
        let left_out = different - by_count.len();
        let kept: BTreeSet<char> = by_count.into_iter().map(|(c, _)| c).chain(bytes).collect();
        Alphabet { kept, left_out }
    }
}

/// Pieces by merging the pair that occurs most often, again and again. A tie is won by the pair whose pieces came first.
fn pairs(words: &[(String, u64)], alphabet: &Alphabet, settings: &VocabularySettings) -> Result<BPE> {
    let mut first = settings.special();
    first.extend(alphabet.kept.iter().map(char::to_string));
    let prefix = settings.kind.continuing;
    if let Some(prefix) = prefix {
        let inside: BTreeSet<char> = words.iter().flat_map(|(word, _)| word.chars().skip(1)).collect();
        first.extend(inside.iter().map(|c| format!("{prefix}{c}")));
    }
    check_room(first.len(), settings, alphabet)?;
    let scale = scale(words);
    let mut trainer = BpeTrainer::builder()
        .show_progress(false)
        .vocab_size(settings.size)
        .min_frequency(settings.min_frequency.div_ceil(scale))
        // The trainer only numbers them; it does not care what they are.
        .special_tokens(first.into_iter().map(|token| AddedToken::from(token, true)).collect());
    if let Some(prefix) = prefix {
        trainer = trainer.continuing_subword_prefix(prefix.to_owned());
    }
    let counts = words.iter().map(|(word, count)| (word.as_str().into(), count.div_ceil(scale))).collect();
    let trainer = trainer.build();
    let mut bpe = BPE::default();
    trainer.do_train(&counts, &mut bpe).map_err(|e| Error::new(ErrorKind::InvalidArgument, format!("no vocabulary could be made: {e}")))?;
    Ok(bpe)
}

/// By what counts are divided so that the trainer's sums of them, which have 31 bits, hold.
fn scale(words: &[(String, u64)]) -> u64 {
    let mut pairs: HashMap<(char, char), u64> = HashMap::new();
    for (word, count) in words {
        word.chars().zip(word.chars().skip(1)).for_each(|pair| *pairs.entry(pair).or_default() += count);
    }
    // Twice the room that the sum needs, since division rounds up.
    pairs.into_values().max().unwrap_or(0).div_ceil(1 << 30).max(1)
}

fn check_room(needed: usize, settings: &VocabularySettings, alphabet: &Alphabet) -> Result<()> {
    if needed <= settings.size {
        return Ok(());
    }
    let told = format!(
        "a vocabulary of {} tokens has no room: the text has {} characters, which need {needed} with the special tokens; make it larger, or limit the alphabet",
        settings.size,
        alphabet.kept.len(),
    );
    fail(ErrorKind::InvalidArgument, told)
}

/// The pieces of which the text is likeliest made (Kudo, "Subword regularization", 2018).
fn unigram(words: Vec<(String, u64)>, alphabet: &Alphabet, settings: &VocabularySettings) -> Result<Unigram> {
    let special = settings.special();
    check_room(special.len() + alphabet.kept.len(), settings, alphabet)?;
    let words: Vec<(String, u64)> = words.into_iter().filter(|(_, count)| *count >= settings.min_frequency).collect();
    if words.is_empty() {
        return fail(ErrorKind::InvalidArgument, "no word of the text occurs as often as asked; lower the frequency, or give more text");
    }
    // The sum of all counts must fit 32 bits.
    let scale = words.iter().map(|(_, count)| count).sum::<u64>().div_ceil(1 << 31).max(1);
    let sentences = words.into_iter().map(|(word, count)| (word, u32::try_from(count.div_ceil(scale)).unwrap_or(u32::MAX))).collect();
    let invalid = |reason: String| Error::new(ErrorKind::InvalidArgument, format!("no vocabulary could be made: {reason}"));
    let trainer = UnigramTrainer::builder()
        .show_progress(false)
        .vocab_size(u32::try_from(settings.size).unwrap_or(u32::MAX))
        .special_tokens(special.iter().map(|token| AddedToken::from(token.clone(), true)).collect())
        .unk_token(Some(unknown(settings)))
        .build()
        .map_err(|e| invalid(e.to_string()))?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|e| invalid(e.to_string()))?;
    // Within the pool the crate cuts work into as many parts as the pool has threads; without parallelism it adds them in their order.
    set_parallelism(false);
    let trained = pool.install(|| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut model = Unigram::default();
            trainer.do_train(sentences, &mut model).map(|_| model)
        }))
    });
    let model = trained.map_err(|_| invalid("the trainer panicked; the text may have too few different words".to_owned()))?;
    let model = model.map_err(|e| invalid(e.to_string()))?;
    in_order(&model, special.len()).map_err(|e| invalid(e.to_string()))
}

/// The same model with its scores in an order that is always the same: the trainer gives characters that were not found any more rising
/// scores from the lowest one on, in the order of a hash table.
fn in_order(model: &Unigram, special: usize) -> tokenizers::Result<Unigram> {
    const STEP: f64 = 0.0001;
    let mut pieces: Vec<(String, f64)> = model.iter().cloned().collect();
    let mut learned = pieces.split_off(special);
    let lowest = learned.iter().map(|(_, score)| *score).fold(f64::INFINITY, f64::min);
    let given = |(piece, score): &(String, f64)| {
        let steps = (score - lowest) / STEP;
        piece.chars().nth(1).is_none() && (steps - steps.round()).abs() < 1e-6
    };
    let places: Vec<usize> = (0..learned.len()).filter(|&i| given(&learned[i])).collect();
    let mut characters: Vec<String> = places.iter().map(|&i| learned[i].0.clone()).collect();
    let mut scores: Vec<f64> = places.iter().map(|&i| learned[i].1).collect();
    characters.sort_unstable();
    scores.sort_by(|a, b| b.total_cmp(a));
    for ((place, piece), score) in places.into_iter().zip(characters).zip(scores) {
        learned[place] = (piece, score);
    }
    learned.sort_by(|(a, x), (b, y)| y.total_cmp(x).then_with(|| a.cmp(b)));
    pieces.extend(learned);
    Unigram::from(pieces, Some(1), model.byte_fallback())
}
