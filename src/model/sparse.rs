//! How do the scores of tokens become sparse weights, according to the model's files?
//!
//! The SpladePooling module of sentence-transformers; a model without one is read as SPLADE-max. Formal et al., SPLADE: Sparse Lexical
//! and Expansion Model for First Stage Ranking (2021), sums over tokens; SPLADE v2 (2021) takes the largest. Geng et al., Towards
//! Competitive Search Relevance For Inference-Free Learned Sparse Retrievers (2024), takes the logarithm twice.

use serde_json::Value;

use super::config::Fields;
use crate::engine::graph::Terms;
use crate::error::{ErrorKind, Result, fail};

/// The sparse weights of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SparseModule {
    /// Whether the model's files say that it is a sparse encoder.
    pub declared: bool,
    /// How the tokens' scores become one weight.
    pub terms: Terms,
}

impl SparseModule {
    /// Reads the module's config.json, for a vocabulary of so many tokens.
    ///
    /// # Errors
    /// `Unsupported` naming a word that is not here, `InvalidFile` for a field of the wrong type or another width.
    pub(super) fn read(config: Option<&Value>, vocabulary: usize) -> Result<SparseModule> {
        let Some(config) = config else { return Ok(SparseModule::default()) };
        let fields = Fields::new("the SpladePooling module's config.json", config)?;
        for name in ["embedding_dimension", "word_embedding_dimension"] {
            if fields.size_or(name, vocabulary)? != vocabulary {
                return fields.wrong(name, &format!("{vocabulary}, the vocabulary"));
            }
        }
        let sum = choice(&fields, "pooling_strategy", &[("max", false), ("sum", true)])?;
        let twice = choice(&fields, "activation_function", &[("relu", false), ("log1p_relu", true)])?;
        Ok(SparseModule { declared: true, terms: Terms { sum, twice } })
    }
}

/// What the word of a field stands for; the first word where it is absent.
fn choice(fields: &Fields<'_>, name: &str, words: &[(&str, bool)]) -> Result<bool> {
    if fields.get(name).is_none() {
        return Ok(words[0].1);
    }
    let said = fields.text(name)?;
    match words.iter().find(|(word, _)| *word == said) {
        Some((_, value)) => Ok(*value),
        None => {
            let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            let told = format!("the SpladePooling module's config.json: {name} {said:?} is not supported; supported: {}", known.join(", "));
            fail(ErrorKind::Unsupported, told)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_word_of_the_module_is_read_and_others_are_named() {
        let read = |config: Value| SparseModule::read(Some(&config), 100);
        assert_eq!(SparseModule::read(None, 100).unwrap(), SparseModule::default());
        assert_eq!(read(json!({})).unwrap().terms, Terms { sum: false, twice: false });
        let other = read(json!({"pooling_strategy": "sum", "activation_function": "log1p_relu", "embedding_dimension": 100})).unwrap();
        assert_eq!((other.declared, other.terms), (true, Terms { sum: true, twice: true }));
        for (config, kind, says) in [
            (json!({"pooling_strategy": "mean"}), ErrorKind::Unsupported, "mean"),
            (json!({"activation_function": 3}), ErrorKind::InvalidFile, "activation_function"),
            (json!({"word_embedding_dimension": 99}), ErrorKind::InvalidFile, "99"),
        ] {
            let e = read(config).unwrap_err();
            assert!(e.kind() == kind && e.message().contains(says), "{e}");
        }
    }
}
