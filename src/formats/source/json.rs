//! What does a small JSON file of a model say?

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Source;
use crate::error::{Error, ErrorKind, Result, fail, json_message};

impl Source {
    /// A JSON file, `None` where there is none of that name.
    ///
    /// # Errors
    /// `InvalidFile` when it is malformed; the message names file, line and column.
    pub fn json(&self, name: &str) -> Result<Option<Value>> {
        self.parse(name)
    }

    /// A JSON object that must be there.
    ///
    /// # Errors
    /// `Io` when it is missing, `InvalidFile` when it is malformed or not an object.
    pub fn require_object(&self, name: &str) -> Result<Value> {
        self.object(name)?.map_or_else(|| self.missing(name), Ok)
    }

    /// A JSON object, `None` where there is no file of that name.
    ///
    /// # Errors
    /// `InvalidFile` when it is malformed or not an object.
    pub fn object(&self, name: &str) -> Result<Option<Value>> {
        match self.json(name)? {
            Some(value) if !value.is_object() => {
                fail(ErrorKind::InvalidFile, format!("{}: a JSON object {{...}} is expected at its top", self.label(name)))
            }
            value => Ok(value),
        }
    }

    /// A JSON file of a known form, `None` where there is none of that name.
    pub(in super::super) fn parse<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let Some(bytes) = self.read(name)? else { return Ok(None) };
        // serde_json's message ends in "at line L column C".
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|e| Error::new(ErrorKind::InvalidFile, format!("{}: the JSON is malformed: {}", self.label(name), json_message(&e))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::memory;
    use super::*;

    #[test]
    fn malformed_json_is_an_error_with_file_line_and_column() {
        let cases = [
            ("{\n  \"a\": 1,\n  oops\n}", "line 3 column 3"),
            ("", "line 1 column 0"),
            ("{\"a\": 1} x", "line 1 column 10"),
            ("[1, 2", "line 1 column 5"),
        ];
        for (text, place) in cases {
            let e = memory(&[("config.json", text)]).unwrap().json("config.json").unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidFile);
            assert!(e.message().contains("config.json") && e.message().contains(place), "{e}");
        }
        let latin1 = Source::memory(vec![("config.json".to_owned(), b"{\"a\":\"\xe9\"}".to_vec())]).unwrap();
        assert!(latin1.json("config.json").unwrap_err().message().contains("line 1"));
        let deep = "[".repeat(100_000);
        assert!(memory(&[("config.json", &deep)]).unwrap().json("config.json").is_err());
    }

    #[test]
    fn json_that_is_not_an_object_is_refused_where_one_is_needed() {
        let source = memory(&[("list.json", "[]"), ("config.json", "{}")]).unwrap();
        assert_eq!(source.require_object("list.json").unwrap_err().kind(), ErrorKind::InvalidFile);
        assert_eq!(source.require_object("none.json").unwrap_err().kind(), ErrorKind::Io);
        assert!(source.require_object("config.json").unwrap().is_object());
        assert!(source.object("none.json").unwrap().is_none());
    }
}
