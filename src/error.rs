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
}

impl ErrorKind {
    /// Every kind, in the order of its number.
    pub const ALL: [ErrorKind; 14] = [
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_fixed_and_unique() {
        let numbers: Vec<i32> = ErrorKind::ALL.iter().map(|k| *k as i32).collect();
        assert_eq!(numbers, (1..=14).collect::<Vec<_>>(), "a kind's number must never change");
    }

    #[test]
    fn context_reads_from_the_outside_in() {
        let e = Error::new(ErrorKind::InvalidTensor, "tensor \"a\" is missing").within("model.safetensors");
        assert_eq!(e.to_string(), "model.safetensors: tensor \"a\" is missing");
        assert_eq!(e.kind(), ErrorKind::InvalidTensor);
    }
}
