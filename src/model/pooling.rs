//! How do token vectors become one vector, and from which layers?

use serde_json::Value;

use super::config::Fields;
use crate::error::{ErrorKind, Result, fail};

/// How the vectors of a text's tokens become one; special tokens count, as in sentence-transformers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pooling {
    /// The mean of all tokens.
    Mean,
    /// The first token.
    Cls,
    /// The largest value of each dimension.
    Max,
    /// The sum divided by the square root of the number of tokens.
    MeanSqrtLen,
    /// The last token.
    Last,
    /// The mean weighted by position: token `i` (from 0) weighs `i + 1` (SGPT).
    WeightedMean,
    /// BERT's pooler: a dense layer and tanh on the first token.
    Pooler,
}

impl Pooling {
    /// Every mode with the name that options use.
    pub const ALL: &'static [(&'static str, Pooling)] = &[
        ("mean", Pooling::Mean),
        ("cls", Pooling::Cls),
        ("max", Pooling::Max),
        ("mean_sqrt_len", Pooling::MeanSqrtLen),
        ("last", Pooling::Last),
        ("weighted_mean", Pooling::WeightedMean),
        ("pooler", Pooling::Pooler),
    ];

    /// The name that options use.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, p)| *p == self).map_or("", |(name, _)| name)
    }
}

/// Which layers' hidden states are used; layer 0 is the embeddings' output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LayerChoice {
    /// The last layer.
    #[default]
    Last,
    /// One layer, from 0 (embeddings); negative numbers count from the end, -1 is the last.
    One(i32),
    /// The last N layers side by side, the first of them first (the BERT paper's feature-based use, N = 4).
    Concat(usize),
    /// The mean of the last N layers.
    Mean(usize),
}

impl LayerChoice {
    /// Reads `last`, a number, `concat:N` or `mean:N`.
    ///
    /// # Errors
    /// `InvalidArgument` when `value` is none of these.
    pub fn parse(value: &str) -> Result<LayerChoice> {
        let count = |n: &str| n.parse::<usize>().ok().filter(|n| *n > 0);
        let parsed = match value.split_once(':') {
            None if value == "last" => Some(LayerChoice::Last),
            None => value.parse().ok().map(LayerChoice::One),
            Some(("concat", n)) => count(n).map(LayerChoice::Concat),
            Some(("mean", n)) => count(n).map(LayerChoice::Mean),
            Some(_) => None,
        };
        parsed.map_or_else(|| fail(ErrorKind::InvalidArgument, "not a choice of layers"), Ok)
    }

    /// The numbers of the layers chosen from `layers` layers (0 to `layers`, 0 = embeddings), first to last.
    ///
    /// # Errors
    /// `InvalidArgument` when the model has no such layer.
    pub fn resolve(self, layers: usize) -> Result<Vec<usize>> {
        let last = |n: usize| (n <= layers + 1).then(|| (layers + 1 - n..=layers).collect());
        let chosen = match self {
            LayerChoice::Last => last(1),
            LayerChoice::One(i) => usize::try_from(if i < 0 { i64::from(i) + layers as i64 + 1 } else { i64::from(i) })
                .ok()
                .filter(|i| *i <= layers)
                .map(|i| vec![i]),
            LayerChoice::Concat(n) | LayerChoice::Mean(n) => last(n),
        };
        let Some(chosen) = chosen else {
            return fail(
                ErrorKind::InvalidArgument,
                format!("layers {self}: the model has layers 0 (embeddings) to {layers}; choose among them"),
            );
        };
        Ok(chosen)
    }
}

impl std::fmt::Display for LayerChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LayerChoice::Last => f.write_str("last"),
            LayerChoice::One(i) => write!(f, "{i}"),
            LayerChoice::Concat(n) => write!(f, "concat:{n}"),
            LayerChoice::Mean(n) => write!(f, "mean:{n}"),
        }
    }
}

/// What the Pooling module of sentence-transformers says; a model without one is pooled by the mean, as there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolingModule {
    /// The modes whose results stand side by side.
    pub modes: Vec<Pooling>,
    /// Whether a prompt's tokens count.
    pub include_prompt: bool,
}

/// Names of sentence-transformers: the flag of its older files, the word of its newer ones; in the order of concatenation.
const SENTENCE_TRANSFORMERS: &[(&str, &str, Pooling)] = &[
    ("pooling_mode_cls_token", "cls", Pooling::Cls),
    ("pooling_mode_max_tokens", "max", Pooling::Max),
    ("pooling_mode_mean_tokens", "mean", Pooling::Mean),
    ("pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", Pooling::MeanSqrtLen),
    ("pooling_mode_weightedmean_tokens", "weightedmean", Pooling::WeightedMean),
    ("pooling_mode_lasttoken", "lasttoken", Pooling::Last),
];

impl PoolingModule {
    /// Reads the module's config.json.
    ///
    /// # Errors
    /// `Unsupported` naming a mode that is not here, `InvalidFile` for a field of the wrong type or a width other than `hidden`.
    pub fn read(config: Option<&Value>, hidden: usize) -> Result<PoolingModule> {
        let Some(config) = config else { return Ok(PoolingModule { modes: vec![Pooling::Mean], include_prompt: true }) };
        let fields = Fields::new("the pooling module's config.json", config)?;
        for name in ["embedding_dimension", "word_embedding_dimension"] {
            let width = fields.size_or(name, hidden)?;
            if width != hidden {
                let told = format!("the pooling module's config.json: {name} is {width}, and the model's hidden states are {hidden} wide");
                return fail(ErrorKind::InvalidFile, told);
            }
        }
        let include_prompt = fields.flag_or("include_prompt", true)?;
        let modes = match fields.get("pooling_mode") {
            Some(Value::String(word)) => vec![by_word(word)?],
            Some(Value::Array(words)) if !words.is_empty() => {
                let word = |w: &Value| w.as_str().map_or_else(|| fields.wrong("pooling_mode", "words"), by_word);
                words.iter().map(word).collect::<Result<_>>()?
            }
            Some(_) => return fields.wrong("pooling_mode", "a word or a list of words"),
            None => by_flags(&fields)?,
        };
        Ok(PoolingModule { modes, include_prompt })
    }
}

fn by_word(word: &str) -> Result<Pooling> {
    match SENTENCE_TRANSFORMERS.iter().find(|(_, w, _)| *w == word) {
        Some((_, _, mode)) => Ok(*mode),
        None => fail(ErrorKind::Unsupported, format!("the pooling module's config.json: pooling_mode {word:?} is not supported")),
    }
}

fn by_flags(fields: &Fields<'_>) -> Result<Vec<Pooling>> {
    if let Some(unknown) = fields.names().find(|n| n.starts_with("pooling_mode_") && !SENTENCE_TRANSFORMERS.iter().any(|(f, _, _)| f == n))
    {
        return fail(ErrorKind::Unsupported, format!("the pooling module's config.json: {unknown:?} is not supported"));
    }
    let mut modes = Vec::new();
    for (flag, _, mode) in SENTENCE_TRANSFORMERS {
        if fields.flag_or(flag, false)? {
            modes.push(*mode);
        }
    }
    if modes.is_empty() {
        modes.push(Pooling::Mean);
    }
    Ok(modes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_flags_and_new_words_say_the_same() {
        let read = |v: Value| PoolingModule::read(Some(&v), 8).map(|m| (m.modes, m.include_prompt));
        let both = vec![Pooling::Cls, Pooling::Mean];
        let flags = serde_json::json!({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true, "pooling_mode_max_tokens": false});
        assert_eq!(read(flags).unwrap(), (both.clone(), true));
        let words = serde_json::json!({"pooling_mode": ["cls", "mean"], "include_prompt": false});
        assert_eq!(read(words).unwrap(), (both, false));
        assert_eq!(read(serde_json::json!({})).unwrap().0, [Pooling::Mean]);
        assert!(read(serde_json::json!({"word_embedding_dimension": 9})).is_err());
        for bad in [serde_json::json!({"pooling_mode": "median"}), serde_json::json!({"pooling_mode_median": true})] {
            assert!(read(bad).unwrap_err().message().contains("median"));
        }
    }

    #[test]
    fn layers_are_counted_from_either_end() {
        let resolve = |text: &str| LayerChoice::parse(text).unwrap().resolve(6);
        assert_eq!(resolve("last").unwrap(), [6]);
        assert_eq!(resolve("-1").unwrap(), [6]);
        assert_eq!(resolve("0").unwrap(), [0]);
        assert_eq!(resolve("-7").unwrap(), [0]);
        assert_eq!(resolve("concat:4").unwrap(), [3, 4, 5, 6]);
        assert_eq!(resolve("mean:7").unwrap(), [0, 1, 2, 3, 4, 5, 6]);
        for bad in ["7", "-8", "concat:8"] {
            assert!(resolve(bad).is_err(), "{bad}");
        }
        for text in ["last", "-2", "concat:4", "mean:3"] {
            assert_eq!(LayerChoice::parse(text).unwrap().to_string(), text);
        }
        for bad in ["", "first", "concat:0", "concat:-1", "sum:2"] {
            assert!(LayerChoice::parse(bad).is_err(), "{bad}");
        }
    }
}
