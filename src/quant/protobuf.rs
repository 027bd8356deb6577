//! Which fields does a protobuf message have?
//!
//! The wire format (<https://protobuf.dev/programming-guides/encoding/>) without a schema: the readers of TensorFlow's index, of ONNX and
//! of SentencePiece's models name the few fields that they need by number. It stands here because `formats` and `tokenizer` both have such
//! files. A message within a message is read when it is asked for, so nothing here recurses;
//! a length is compared with what is there before anything is made of it.

use super::Bytes;
use crate::error::{Error, ErrorKind, Result};

/// The value of a field.
#[derive(Debug)]
pub(crate) enum Value {
    Number(u64),
    /// Four bytes, little endian.
    Fixed32([u8; 4]),
    /// Eight bytes, which none of the fields that are read has.
    Fixed64,
    /// A text, a message, or packed numbers.
    Bytes(Bytes),
}

impl Value {
    /// A number that may be negative.
    pub(crate) fn int(&self) -> Result<i64> {
        if let Value::Number(n) = self { Ok(n.cast_signed()) } else { Err(wrong()) }
    }

    /// A number that counts something.
    pub(crate) fn size(&self) -> Result<usize> {
        usize::try_from(self.int()?).map_err(|_| invalid("a size is negative"))
    }

    pub(crate) fn bytes(&self) -> Result<&Bytes> {
        if let Value::Bytes(bytes) = self { Ok(bytes) } else { Err(wrong()) }
    }

    /// Copied, since a mapped file could change between the check and the use.
    pub(crate) fn text(&self) -> Result<String> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| invalid("a text is not UTF-8"))
    }

    pub(crate) fn message(&self) -> Result<Message> {
        Ok(Message::new(self.bytes()?.clone()))
    }

    /// Numbers of a repeated field, one or packed.
    pub(crate) fn ints(&self) -> Result<Vec<i64>> {
        let Value::Bytes(packed) = self else { return Ok(vec![self.int()?]) };
        let mut at = 0;
        let mut numbers = Vec::new();
        while at < packed.len() {
            numbers.push(varint(packed, &mut at)?.cast_signed());
        }
        Ok(numbers)
    }
}

/// The fields of a message, in their order.
#[derive(Debug)]
pub(crate) struct Message {
    bytes: Bytes,
    at: usize,
}

impl Message {
    pub(crate) fn new(bytes: Bytes) -> Message {
        Message { bytes, at: 0 }
    }

    fn field(&mut self) -> Result<(u64, Value)> {
        let tag = varint(&self.bytes, &mut self.at)?;
        let value = match tag & 7 {
            0 => Value::Number(varint(&self.bytes, &mut self.at)?),
            1 => self.array::<8>().map(|_| Value::Fixed64)?,
            2 => {
                let len = usize::try_from(varint(&self.bytes, &mut self.at)?).map_err(|_| cut())?;
                let end = self.at.checked_add(len).ok_or_else(cut)?;
                let bytes = self.bytes.slice(self.at..end).ok_or_else(cut)?;
                self.at = end;
                Value::Bytes(bytes)
            }
            5 => Value::Fixed32(self.array()?),
            _ => return Err(invalid("a field has no known form")),
        };
        if tag >> 3 == 0 { Err(invalid("a field has the number 0")) } else { Ok((tag >> 3, value)) }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let array = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk().copied()).ok_or_else(cut)?;
        self.at += N;
        Ok(array)
    }
}

impl Iterator for Message {
    type Item = Result<(u64, Value)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.at = self.bytes.len();
        }
        Some(field)
    }
}

/// The number at `at`: seven bits a byte, the lowest first.
pub(crate) fn varint(bytes: &[u8], at: &mut usize) -> Result<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at).ok_or_else(cut)?;
        *at += 1;
        if shift == 63 && byte > 1 {
            break;
        }
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(invalid("a number has more than 64 bits"))
}

fn invalid(sentence: &str) -> Error {
    Error::new(ErrorKind::InvalidFile, sentence)
}

fn cut() -> Error {
    invalid("a field reaches past the end; the file is damaged or truncated, copy or download it again")
}

fn wrong() -> Error {
    invalid("a field has another form than it should")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &[u8]) -> Result<Vec<(u64, Value)>> {
        Message::new(Bytes::owned(bytes.to_vec())).collect()
    }

    #[test]
    fn fields_of_every_form_are_read() {
        // The examples of the specification: 150 as field 1, "testing" as field 2, 3, 270 and 86942 packed as field 6.
        let read =
            fields(b"\x08\x96\x01\x12\x07testing\x32\x06\x03\x8e\x02\x9e\xa7\x05\x1d\x01\x02\x03\x04\x21\x01\x02\x03\x04\x05\x06\x07\x08")
                .unwrap();
        assert!(matches!(read[0], (1, Value::Number(150))));
        assert_eq!((read[1].0, read[1].1.text().unwrap().as_str()), (2, "testing"));
        assert_eq!(read[2].1.ints().unwrap(), [3, 270, 86942]);
        assert!(matches!(read[3], (3, Value::Fixed32([1, 2, 3, 4]))));
        assert!(matches!(read[4], (4, Value::Fixed64)));
        let negative = fields(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").unwrap();
        assert_eq!(negative[0].1.int().unwrap(), -1);
        assert!(negative[0].1.size().is_err() && negative[0].1.bytes().is_err());
    }

    #[test]
    fn lengths_that_lie_and_forms_that_are_unknown_are_errors() {
        for bytes in [
            &b"\x08"[..],
            b"\x08\xff",
            b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
            b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x12\x08testing",
            b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x0b\x0c",
            b"\x1d\x01\x02",
            b"\x21\x01",
            b"\x02\x00",
        ] {
            assert!(fields(bytes).is_err(), "{bytes:?}");
        }
    }
}
