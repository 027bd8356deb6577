//! Where does a byte of a text stand when counted in the caller's unit?

use super::OffsetUnit;

/// Bytes between two counted places; a question costs at most one block.
const BLOCK: usize = 64;

/// Translates byte offsets of one text into another unit. Making it reads the text once, each question is constant time.
#[derive(Debug)]
pub struct OffsetMap<'t> {
    text: &'t [u8],
    unit: OffsetUnit,
    /// Units before each block of the text; empty where units are bytes.
    before: Vec<usize>,
}

impl<'t> OffsetMap<'t> {
    /// A map for `text`.
    pub fn new(text: &'t str, unit: OffsetUnit) -> Self {
        let before = if unit == OffsetUnit::Byte || text.is_ascii() { Vec::new() } else { count(text.as_bytes(), unit) };
        OffsetMap { text: text.as_bytes(), unit, before }
    }

    /// How many units stand before this byte. Past the end counts as the end; inside a character counts that character.
    pub fn get(&self, byte: usize) -> usize {
        let byte = byte.min(self.text.len());
        if self.before.is_empty() {
            return byte;
        }
        let block = byte / BLOCK;
        self.before[block] + units(&self.text[block * BLOCK..byte], self.unit)
    }

    /// A start and an end.
    pub fn span(&self, (start, end): (usize, usize)) -> (usize, usize) {
        (self.get(start), self.get(end))
    }
}

/// Units before each block and, where the text ends on a block, before its end.
fn count(text: &[u8], unit: OffsetUnit) -> Vec<usize> {
    let mut before = Vec::with_capacity(text.len() / BLOCK + 1);
    let mut total = 0;
    for block in text.chunks(BLOCK) {
        before.push(total);
        total += units(block, unit);
    }
    before.push(total);
    before
}

/// Units whose first byte is in `bytes`. Each character has one byte that is not a continuation; those of 4 bytes are two
/// units of UTF-16.
fn units(bytes: &[u8], unit: OffsetUnit) -> usize {
    let characters = bytes.iter().filter(|&&b| b & 0xC0 != 0x80).count();
    match unit {
        OffsetUnit::Byte => bytes.len(),
        OffsetUnit::CodePoint => characters,
        OffsetUnit::Utf16 => characters + bytes.iter().filter(|&&b| b >= 0xF0).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive(text: &str, byte: usize, unit: OffsetUnit) -> usize {
        match unit {
            OffsetUnit::Byte => byte,
            OffsetUnit::Utf16 => text[..byte].encode_utf16().count(),
            OffsetUnit::CodePoint => text[..byte].chars().count(),
        }
    }

    proptest! {
        #[test]
        fn every_unit_agrees_with_counting_from_the_start(text in "[a-zé漢😀\u{301}]{0,300}") {
            for (_, unit) in OffsetUnit::ALL {
                let map = OffsetMap::new(&text, *unit);
                for byte in (0..=text.len()).filter(|&b| text.is_char_boundary(b)) {
                    prop_assert_eq!(map.get(byte), naive(&text, byte, *unit));
                }
                prop_assert_eq!(map.get(text.len() + 9), naive(&text, text.len(), *unit));
            }
        }
    }

    #[test]
    fn texts_around_a_block_are_counted_to_their_end() {
        for length in [0, 1, 63, 64, 65, 127, 128, 129] {
            let text = format!("{}é", "x".repeat(length));
            let map = OffsetMap::new(&text, OffsetUnit::CodePoint);
            assert_eq!(map.span((length, text.len())), (length, length + 1));
        }
    }
}
