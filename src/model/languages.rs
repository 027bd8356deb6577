//! Which languages does a model know a text to be in?
//!
//! Models such as XLM add to each token the embedding of its language. `lang2id` in config.json gives languages their numbers; in a batch a
//! token's segment is that number plus one, and 0 where nobody said a language.

use super::config::Fields;
use crate::error::{Error, ErrorKind, Result};

/// The languages of a model, in the order of their numbers; none for a model that does not tell them apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Languages(Vec<String>);

/// More languages than this are damage.
const MOST: usize = 10_000;

impl Languages {
    /// What config.json says: `n_langs`, `use_lang_emb` and `lang2id`. A language without a name is called by its number.
    pub(super) fn read(config: &Fields<'_>) -> Result<Languages> {
        let count = config.size_or("n_langs", 1)?;
        if count == 1 || !config.flag_or("use_lang_emb", true)? {
            return Ok(Languages::default());
        }
        if count > MOST {
            return config.wrong("n_langs", "at most 10000");
        }
        let mut names: Vec<String> = (0..count).map(|number| number.to_string()).collect();
        let Some(stated) = config.get("lang2id") else { return Ok(Languages(names)) };
        const EXPECTED: &str = "an object from names to different numbers below n_langs";
        let Some(stated) = stated.as_object() else { return config.wrong("lang2id", EXPECTED) };
        let mut named = vec![false; count];
        for (name, number) in stated {
            match number.as_u64().and_then(|number| usize::try_from(number).ok()).filter(|number| *number < count && !named[*number]) {
                Some(number) => (names[number], named[number]) = (name.clone(), true),
                None => return config.wrong("lang2id", EXPECTED),
            }
        }
        Ok(Languages(names))
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Their names.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The segment of the tokens of a text in `language`; `None` for a model that has no languages and is asked for none.
    ///
    /// # Errors
    /// `InvalidArgument` for a language that the model does not have, naming those that it has.
    pub fn segment(&self, language: Option<&str>) -> Result<Option<u32>> {
        let Some(language) = language else { return Ok((!self.0.is_empty()).then_some(0)) };
        let place = self.0.iter().position(|name| name == language);
        let segment = place.and_then(|place| u32::try_from(place + 1).ok());
        segment.map(Some).ok_or_else(|| Error::new(ErrorKind::InvalidArgument, self.told(language)))
    }

    fn told(&self, language: &str) -> String {
        if self.0.is_empty() {
            return format!("language {language:?}: this model does not tell languages apart; leave language out");
        }
        format!("language {language:?}: the model has {}", self.0.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: serde_json::Value) -> Result<Languages> {
        Languages::read(&Fields::new("config.json", &value).unwrap())
    }

    #[test]
    fn languages_have_names_or_are_called_by_their_numbers() {
        let named = read(json!({"n_langs": 3, "lang2id": {"zh": 2, "en": 0}})).unwrap();
        assert_eq!(named.names(), ["en", "1", "zh"]);
        assert_eq!([None, Some("en"), Some("zh")].map(|l| named.segment(l).unwrap()), [Some(0), Some(1), Some(3)]);
        assert!(named.segment(Some("fr")).unwrap_err().message().contains("en, 1, zh"));
        for without in [json!({}), json!({"n_langs": 1}), json!({"n_langs": 2, "use_lang_emb": false})] {
            let languages = read(without).unwrap();
            assert_eq!(languages.segment(None).unwrap(), None);
            assert!(languages.segment(Some("en")).unwrap_err().message().contains("\"en\""));
        }
    }

    #[test]
    fn wrong_numbers_of_languages_are_refused_by_name() {
        for (value, told) in [
            (json!({"n_langs": 2, "lang2id": {"en": 2}}), "lang2id"),
            (json!({"n_langs": 2, "lang2id": {"en": 0, "fr": 0}}), "lang2id"),
            (json!({"n_langs": 2, "lang2id": ["en"]}), "lang2id"),
            (json!({"n_langs": 99_999}), "n_langs"),
            (json!({"n_langs": 2, "use_lang_emb": "yes"}), "use_lang_emb"),
        ] {
            assert!(read(value).unwrap_err().message().contains(told));
        }
    }
}
