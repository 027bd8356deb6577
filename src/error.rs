//! What went wrong, for machines and for people?
//!
//! An [`Error`] has a [`ErrorKind`], which maps one to one to the C ABI's `cloze_status` (numbers are never reused), and a
//! sentence that names the thing (file, tensor, flag, text) and says what to do. Every module returns it; `capi` and `cli`
//! show it.

use std::fmt;

/// The kind of an [`Error`]. The number is the `cloze_status` of the C ABI: fixed forever, retired numbers stay reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A required pointer was NULL (C ABI only).
    NullArgument = 1,
    /// An argument is outside what the call accepts.
    InvalidArgument = 2,
    /// A text is not valid UTF-8 (C ABI and files).
    InvalidUtf8 = 3,
    /// A file is missing or the system refused to read or write it.
    Io = 4,
    /// A file's content is malformed, truncated or inconsistent.
    InvalidFile = 5,
    /// The file is well formed but describes something this version does not support.
    Unsupported = 6,
    /// A tensor is missing, unknown or has the wrong shape or type.
    InvalidTensor = 7,
    /// A text has more tokens than the model accepts and the truncation policy is `error`.
    TooLong = 8,
    /// The caller's buffer is smaller than the result (C ABI only); the size needed is reported.
    BufferTooSmall = 9,
    /// The deadline passed; results finished before it are returned.
    DeadlineExceeded = 10,
    /// The call was cancelled; results finished before it are returned.
    Cancelled = 11,
    /// A result is NaN or infinite: the weights are damaged or overflow.
    NonFinite = 12,
    /// Memory for the model or the call could not be had.
    OutOfMemory = 13,
    /// A panic was caught at the library's boundary: a bug in Cloze, please report it.
    Panic = 14,
    /// The model's answers differ from the golden probes in its file by more than is allowed; the report is returned.
    VerificationFailed = 15,
}

impl ErrorKind {
    /// Every kind, in the order of its number.
    pub const ALL: [ErrorKind; 15] = [
        ErrorKind::NullArgument,
        ErrorKind::InvalidArgument,
        ErrorKind::InvalidUtf8,
        ErrorKind::Io,
        ErrorKind::InvalidFile,
        ErrorKind::Unsupported,
        ErrorKind::InvalidTensor,
        ErrorKind::TooLong,
        ErrorKind::BufferTooSmall,
        ErrorKind::DeadlineExceeded,
        ErrorKind::Cancelled,
        ErrorKind::NonFinite,
        ErrorKind::OutOfMemory,
        ErrorKind::Panic,
        ErrorKind::VerificationFailed,
    ];
}

/// An error: a kind for machines and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    context: String,
}

/// The result of every fallible call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of `kind`, described by a sentence that names the thing and says what to do.
    pub fn new(kind: ErrorKind, context: impl Into<String>) -> Self {
        Error { kind, context: context.into() }
    }

    /// The kind, which never changes meaning between versions.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The sentence; its wording may change between versions.
    pub fn message(&self) -> &str {
        &self.context
    }

    /// The same error, said to have happened in `place` (a file, a text's index).
    #[must_use]
    pub fn within(self, place: impl fmt::Display) -> Self {
        Error { kind: self.kind, context: format!("{place}: {}", self.context) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.context)
    }
}

impl std::error::Error for Error {}

/// Shorthand for the constructors below: `fail(Kind, sentence)` as an `Err`.
pub(crate) fn fail<T>(kind: ErrorKind, context: impl Into<String>) -> Result<T> {
    Err(Error::new(kind, context))
}

/// What a JSON reader calls things, and what people call them.
const JSON_WORDS: &[(&str, &str)] = &[
    ("type: map,", "type: object,"),
    ("type: sequence,", "type: list,"),
    ("type: unit value,", "type: null,"),
    (": integer `", ": number `"),
    (": floating point `", ": number `"),
    ("expected struct Tokenizer", "expected an object"),
    ("expected a map", "expected an object"),
    ("expected a sequence", "expected a list"),
    ("expected a tuple of size 2", "expected two numbers"),
    ("expected usize", "expected a whole number"),
    ("expected a boolean", "expected true or false"),
    ("invalid length", "invalid number of parts:"),
    ("EOF while parsing", "the file ends inside"),
];

/// A JSON reader's message, which names the place, without the words of its programming language.
pub(crate) fn json_message(error: &dyn fmt::Display) -> String {
    JSON_WORDS.iter().fold(error.to_string(), |message, (theirs, ours)| message.replace(theirs, ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_fixed_and_unique() {
        let numbers: Vec<i32> = ErrorKind::ALL.iter().map(|k| *k as i32).collect();
        assert_eq!(numbers, (1..=15).collect::<Vec<_>>(), "a kind's number must never change");
    }

    #[test]
    fn a_json_reader_speaks_to_people() {
        let message = |e: serde_json::Error| json_message(&e);
        let pair = serde_json::from_str::<(usize, usize)>("[3]").unwrap_err();
        assert_eq!(message(pair), "invalid number of parts: 1, expected two numbers at line 1 column 3");
        let number = serde_json::from_str::<usize>("-3").unwrap_err();
        assert_eq!(message(number), "invalid value: number `-3`, expected a whole number at line 1 column 2");
        let list = serde_json::from_str::<Vec<usize>>("{}").unwrap_err();
        assert_eq!(message(list), "invalid type: object, expected a list at line 1 column 0");
        let cut = serde_json::from_str::<Vec<usize>>("[1,").unwrap_err();
        assert_eq!(message(cut), "the file ends inside a value at line 1 column 3");
    }

    #[test]
    fn context_reads_from_the_outside_in() {
        let e = Error::new(ErrorKind::InvalidTensor, "tensor \"a\" is missing").within("model.safetensors");
        assert_eq!(e.to_string(), "model.safetensors: tensor \"a\" is missing");
        assert_eq!(e.kind(), ErrorKind::InvalidTensor);
    }
}
