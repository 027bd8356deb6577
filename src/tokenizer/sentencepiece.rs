//! What does a model of SentencePiece say?
//!
//! `sentencepiece.bpe.model` and `spiece.model` are protocol buffers: a list of pieces with scores and kinds, and two settings
//! that matter here. The fields are those of `sentencepiece_model.proto` (google/sentencepiece); others are skipped. The file is hostile until
//! checked: every length is held against what is left.

use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::Bytes;
use crate::quant::protobuf::{Message, Value};

/// What is read of a model.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Model {
    /// Pieces by id, with their scores.
    pub pieces: Vec<(String, f64)>,
    /// Which of them are controls or were defined by the user: found in a text before all else.
    pub added: Vec<Added>,
    /// The compiled normaliser, empty for none.
    pub charsmap: Vec<u8>,
}

/// A piece that is found in a text before all else.
#[derive(Debug, PartialEq)]
pub(super) struct Added {
    pub id: usize,
    /// A control (`<s>`) rather than a piece of text.
    pub special: bool,
}

/// Numbers of fields.
const PIECES: u64 = 1;
const TRAINER: u64 = 2;
const NORMALIZER: u64 = 3;
const PIECE: (u64, u64, u64) = (1, 2, 3); // text, score, kind
const MODEL_TYPE: u64 = 3;
const CHARSMAP: u64 = 2;

/// Values of a piece's kind; a piece without one is `NORMAL` (1).
const CONTROL: u64 = 3;
const USER_DEFINED: u64 = 4;
/// The value of the model's type that is read here, which is also that of a model without one.
const UNIGRAM: u64 = 1;

impl Model {
    /// Reads the file.
    ///
    /// # Errors
    /// `InvalidFile` where it is no model of SentencePiece, `Unsupported` for one that is not a unigram model.
    pub fn read(bytes: &Bytes) -> Result<Model> {
        let mut model = Model::default();
        for field in fields(bytes) {
            match field? {
                (PIECES, Value::Bytes(piece)) => model.add(&piece)?,
                (TRAINER, Value::Bytes(trainer)) => check_type(&trainer)?,
                (NORMALIZER, Value::Bytes(normalizer)) => {
                    for field in fields(&normalizer) {
                        if let (CHARSMAP, Value::Bytes(map)) = field? {
                            model.charsmap = map.to_vec();
                        }
                    }
                }
                _ => {}
            }
        }
        if model.pieces.is_empty() {
            return Err(damaged("it has no pieces"));
        }
        Ok(model)
    }

    fn add(&mut self, message: &Bytes) -> Result<()> {
        let (mut text, mut score, mut kind) = (String::new(), 0.0, 1);
        for field in fields(message) {
            match field? {
                (n, Value::Bytes(bytes)) if n == PIECE.0 => {
                    text =
                        std::str::from_utf8(&bytes).map_err(|_| damaged(format!("piece {} is not UTF-8", self.pieces.len())))?.to_owned();
                }
                (n, Value::Fixed32(bytes)) if n == PIECE.1 => score = f64::from(f32::from_le_bytes(bytes)),
                (n, Value::Number(number)) if n == PIECE.2 => kind = number,
                _ => {}
            }
        }
        let id = self.pieces.len();
        if !score.is_finite() {
            return Err(damaged(format!("the score of piece {id}, {text:?}, is not a number")));
        }
        if matches!(kind, CONTROL | USER_DEFINED) {
            self.added.push(Added { id, special: kind == CONTROL });
        }
        self.pieces.push((text, score));
        Ok(())
    }
}

fn check_type(trainer: &Bytes) -> Result<()> {
    for field in fields(trainer) {
        if let (MODEL_TYPE, Value::Number(kind)) = field?
            && kind != UNIGRAM
        {
            return fail(
                ErrorKind::Unsupported,
                format!("its model_type is {kind}, and only {UNIGRAM} (unigram) is read; give the folder a tokenizer.json"),
            );
        }
    }
    Ok(())
}

/// The fields of a message.
fn fields(message: &Bytes) -> impl Iterator<Item = Result<(u64, Value)>> {
    Message::new(message.clone()).map(|field| field.map_err(|_| damaged("it is cut off, or no protocol buffer")))
}

fn damaged(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidFile, format!("this is no model of SentencePiece: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, content.len() as u8], content].concat()
    }

    fn piece(text: &str, score: f32, kind: u8) -> Vec<u8> {
        field(1, &[field(1, text.as_bytes()), vec![2 << 3 | 5], score.to_le_bytes().to_vec(), vec![3 << 3, kind]].concat())
    }

    fn sound() -> Vec<u8> {
        let unknown = [9 << 3, 0xff, 0x01, 10 << 3 | 1, 0, 0, 0, 0, 0, 0, 0, 0];
        let pieces = [piece("<unk>", 0.0, 2), piece("<s>", 0.0, 3), piece("\u{2581}a", -1.5, 1), piece("x", -2.0, 4)].concat();
        [pieces, field(2, &[3 << 3, 1]), field(3, &field(2, b"map")), unknown.to_vec()].concat()
    }

    #[test]
    fn pieces_kinds_and_the_normaliser_are_read_and_other_fields_skipped() {
        let model = Model::read(&Bytes::owned(sound())).unwrap();
        assert_eq!(model.pieces[2], ("\u{2581}a".to_owned(), -1.5));
        assert_eq!(model.added, [Added { id: 1, special: true }, Added { id: 3, special: false }]);
        assert_eq!((model.pieces.len(), model.charsmap.as_slice()), (4, b"map".as_slice()));
    }

    #[test]
    fn what_is_no_unigram_model_is_refused_with_the_reason() {
        for (bytes, told) in [
            (vec![], "no pieces"),
            (b"not a model".to_vec(), "cut off"),
            (piece("a", f32::NAN, 1), "score"),
            (field(1, &field(1, &[0xff])), "UTF-8"),
            ([sound(), vec![0xff; 12]].concat(), "cut off"),
            ([sound(), vec![1 << 3 | 2, 0xff, 0xff, 0xff, 0xff, 0x0f]].concat(), "cut off"),
            ([sound(), field(2, &[3 << 3, 2])].concat(), "model_type is 2"),
        ] {
            let e = Model::read(&Bytes::owned(bytes)).unwrap_err();
            assert!(e.message().contains(told), "{e}");
        }
    }

    proptest! {
        #[test]
        fn damaged_files_never_panic(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
            let mut bytes = sound();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if cut {
                bytes.truncate(at);
            }
            let _ = Model::read(&Bytes::owned(bytes));
        }
    }
}
