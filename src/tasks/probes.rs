//! Which answers does a model file promise?
//!
//! Golden probes: a few texts and the vectors that the model gave for them at f32 before its numbers were stored in smaller
//! types. They travel in the settings of a GGUF file (`cloze.probes.*`; not as tensors, since llama.cpp refuses tensors that it
//! does not know); [`Model::verify`] computes them again.

use super::{Model, Request, Tolerance};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::formats::Source;
use crate::formats::gguf::{Array, Metadata, Value};

/// What the keys begin with.
const PREFIX: &str = "cloze.probes.";
const TEXTS: &str = "cloze.probes.texts";
const VECTORS: &str = "cloze.probes.vectors";
const DIMENSIONS: &str = "cloze.probes.dimensions";
const LOWEST_COSINE: &str = "cloze.probes.lowest_cosine";
const LARGEST_ERROR: &str = "cloze.probes.largest_error";

/// What models are asked, besides a text that is longer than they take: languages, scripts, lengths, and what tokenizers
/// stumble over.
const ASKED: &[&str] = &[
    "How do I reset my password?",
    "Forgotten credentials can be renewed on the account page.",
    "The quick brown fox jumps over the lazy dog, and then it sleeps for the rest of the afternoon in the shade of a tree.",
    "Shipping is free above forty euros; below that it costs four euros ninety and takes from two to five working days.",
    "Interest rates were left unchanged on Thursday, and shares of banks fell by 2.5 % within the hour.",
    "The mitral valve lies between the left atrium and the left ventricle of the heart.",
    "今天天气很好，我们去公园散步吧。",
    "人工智能正在改变搜索引擎理解用户问题的方式。",
    "東京は夜の七時、電車が駅に着いた。",
    "Où se trouve la bibliothèque ? Crème brûlée, naïveté, Straße, Łódź.",
    "fn main() { let total: u64 = (1..=10).map(|n| n * n).sum(); println!(\"{total}\"); }",
    "SELECT name, COUNT(*) FROM users WHERE created_at >= '2024-01-01' GROUP BY name;",
    "",
    "I ❤️ search 🔍 👩\u{200d}👩\u{200d}👧 🇫🇷 🙂",
    "[MASK] a b c 12345 -- !? https://example.com/a?b=c&d=%20",
];

/// Repeated until it is longer than the model takes.
const LONG: &str = "The committee met in the old town hall on a rainy Tuesday evening to talk about the bridge. ";

/// A text of more tokens than this is not made: it would be slow to verify and say nothing new.
const LONGEST: usize = 1024;

/// A file with more probes than this is refused: comparing each with all others would take for ever.
const MOST: usize = 1000;

/// Texts, the vectors that the model gave for them, and how near its answers must stay.
#[derive(Clone, Debug, PartialEq)]
pub struct Probes {
    pub(super) texts: Vec<String>,
    /// (texts, dimensions)
    pub(super) vectors: Vec<f32>,
    pub(super) dimensions: usize,
    /// What the file allows.
    pub tolerance: Tolerance,
}

impl Probes {
    /// Asks `model` the built-in texts. The tolerance is that of the same numbers on another processor.
    ///
    /// # Errors
    /// `InvalidArgument` for a model that does not compute at f32, `NonFinite` when a vector is not finite.
    pub fn make(model: &Model) -> Result<Probes> {
        let precision = &model.describe().precision;
        if precision != "f32" {
            return fail(ErrorKind::InvalidArgument, format!("probes are made at f32; this model was opened with precision {precision}"));
        }
        // A word has at least one token.
        let words = model.describe().max_tokens.min(LONGEST);
        let long = LONG.repeat(words.div_ceil(LONG.split_whitespace().count()) + 1);
        let texts: Vec<String> = ASKED.iter().map(|text| (*text).to_owned()).chain([long.trim_end().to_owned()]).collect();
        let (vectors, dimensions) = ask(model, &texts)?;
        Ok(Probes { texts, vectors, dimensions, tolerance: Tolerance::of_types([]) })
    }

    /// The probes of a model's files; `None` where they have none, as all folders.
    ///
    /// # Errors
    /// As [`Probes::read`].
    pub fn of(source: &Source) -> Result<Option<Probes>> {
        source.gguf().map_or(Ok(None), |gguf| Self::read(gguf.metadata()).map_err(|e| e.within(source.describe())))
    }

    /// Reads the probes from a file's settings; `None` where there are none.
    ///
    /// # Errors
    /// `InvalidFile` when some of them are missing, or do not fit each other.
    pub fn read(metadata: &Metadata) -> Result<Option<Probes>> {
        if !metadata.iter().any(|(key, _)| key.starts_with(PREFIX)) {
            return Ok(None);
        }
        let damaged = |told: String| Error::new(ErrorKind::InvalidFile, format!("{told}; the probes are damaged, convert the model again"));
        let texts = metadata.texts(TEXTS)?.unwrap_or_default();
        let vectors = metadata.numbers(VECTORS)?.unwrap_or_default();
        let dimensions = metadata.count(DIMENSIONS)?.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        if texts.is_empty() || dimensions == 0 || texts.len().checked_mul(dimensions) != Some(vectors.len()) {
            let (texts, values) = (texts.len(), vectors.len());
            return Err(damaged(format!("{TEXTS} has {texts} texts, {VECTORS} {values} numbers, {DIMENSIONS} is {dimensions}")));
        }
        if texts.len() > MOST {
            return Err(damaged(format!("{TEXTS} has {} texts, expected at most {MOST}", texts.len())));
        }
        if let Some(at) = vectors.iter().position(|v| !(*v as f32).is_finite()) {
            return Err(damaged(format!("{VECTORS}: number {at} is {}", vectors[at])));
        }
        let share = |key: &str| match metadata.number(key)? {
            Some(n) if (0.0..=1.0).contains(&n) => Ok(n as f32),
            other => Err(damaged(format!("{key} is {other:?}, expected a number from 0 to 1"))),
        };
        let tolerance = Tolerance { lowest_cosine: share(LOWEST_COSINE)?, largest_error: share(LARGEST_ERROR)? };
        Ok(Some(Probes { texts: texts.to_vec(), vectors: vectors.into_iter().map(|v| v as f32).collect(), dimensions, tolerance }))
    }

    /// Writes the probes into the settings of a file, in place of those that are there.
    pub fn write(&self, metadata: &mut Metadata) {
        Self::remove(metadata);
        metadata.set(TEXTS, Value::Array(Array::String(self.texts.clone())));
        metadata.set(VECTORS, Value::Array(Array::F32(self.vectors.clone())));
        metadata.set(DIMENSIONS, Value::U32(self.dimensions as u32));
        metadata.set(LOWEST_COSINE, Value::F32(self.tolerance.lowest_cosine));
        metadata.set(LARGEST_ERROR, Value::F32(self.tolerance.largest_error));
    }

    /// Removes the probes from the settings of a file.
    pub fn remove(metadata: &mut Metadata) {
        metadata.remove(|key| key.starts_with(PREFIX));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Values of a vector.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }
}

/// The vectors of `texts`, one after another, and the values of each, as the model is used when nothing else is asked for.
pub(super) fn ask(model: &Model, texts: &[String]) -> Result<(Vec<f32>, usize)> {
    let answer = model.encode(texts, &Request::default())?;
    Ok((answer.vectors.as_f32().unwrap_or_default().to_vec(), answer.dimensions))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probes() -> Probes {
        let model = Model::load(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/models/tiny-gelu"), &Default::default()).unwrap();
        Probes::make(&model).unwrap()
    }

    #[test]
    fn probes_go_into_settings_and_come_back() {
        let made = probes();
        assert_eq!((made.len(), made.dimensions(), made.vectors.len()), (16, 48, 16 * 48));
        assert!(made.texts.contains(&String::new()));
        assert!(made.texts[15].split_whitespace().count() > 64, "the last text is longer than the model takes");
        let mut metadata = Metadata::default();
        metadata.set("general.name", Value::String("x".into()));
        assert_eq!(Probes::read(&metadata).unwrap(), None);
        made.write(&mut metadata);
        made.write(&mut metadata);
        assert_eq!(metadata.len(), 6);
        assert_eq!(Probes::read(&metadata).unwrap(), Some(made));
        Probes::remove(&mut metadata);
        assert_eq!(metadata.len(), 1);
    }

    #[test]
    fn probes_that_do_not_fit_together_are_refused_by_name() {
        let mut sound = Metadata::default();
        probes().write(&mut sound);
        for key in [TEXTS, VECTORS, DIMENSIONS, LOWEST_COSINE, LARGEST_ERROR] {
            let mut damaged = sound.clone();
            damaged.remove(|k| k == key);
            let e = Probes::read(&damaged).unwrap_err();
            assert!(e.kind() == ErrorKind::InvalidFile && e.message().contains(key), "{key}: {e}");
        }
        let nan = |n: usize| Value::Array(Array::F32(vec![f32::NAN; n]));
        for (key, value) in [
            (DIMENSIONS, Value::U64(u64::MAX)),
            (DIMENSIONS, Value::U32(0)),
            (DIMENSIONS, Value::String("48".into())),
            (VECTORS, nan(16 * 48)),
            (VECTORS, Value::Array(Array::F64(vec![1e300; 16 * 48]))),
            (VECTORS, Value::Array(Array::String(vec!["x".into()]))),
            (TEXTS, Value::Array(Array::String(vec!["x".into()]))),
            (TEXTS, Value::Array(Array::String(vec![]))),
            (LOWEST_COSINE, Value::F32(f32::NAN)),
            (LOWEST_COSINE, Value::F32(-1.0)),
            (LARGEST_ERROR, Value::F32(f32::INFINITY)),
        ] {
            let mut damaged = sound.clone();
            damaged.set(key, value);
            let e = Probes::read(&damaged).unwrap_err();
            assert!(e.kind() == ErrorKind::InvalidFile && e.message().contains(key), "{key}: {e}");
        }
        let count = MOST + 1;
        let many = Probes { texts: vec![String::new(); count], vectors: vec![0.0; count], dimensions: 1, ..probes() };
        many.write(&mut sound);
        assert!(Probes::read(&sound).unwrap_err().message().contains("at most 1000"));
    }
}
