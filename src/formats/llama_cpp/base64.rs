//! Bytes as text, for the compiled normaliser of SentencePiece in tokenizer.json (RFC 4648, with padding).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().enumerate().fold(0u32, |bits, (i, b)| bits | u32::from(*b) << (16 - 8 * i));
        for place in 0..4 {
            let used = place <= chunk.len();
            text.push(if used { ALPHABET[(bits >> (18 - 6 * place) & 63) as usize] as char } else { '=' });
        }
    }
    text
}

/// The bytes of `text`, `None` where it is no base64.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let chunks = text.len() / 4;
    for (i, chunk) in text.chunks(4).enumerate() {
        // Padding stands at the end alone.
        let padding = chunk.iter().rev().take_while(|c| **c == b'=').count();
        if padding > 2 || padding > 0 && i + 1 < chunks {
            return None;
        }
        let value = |c: &u8| ALPHABET.iter().position(|a| a == c);
        let bits = chunk[..4 - padding].iter().try_fold(0u32, |bits, c| Some(bits << 6 | value(c)? as u32))? << (6 * padding);
        bytes.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_examples_of_the_rfc_hold() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(super::encode(bytes.as_bytes()), text);
            assert_eq!(super::decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(super::encode(&[0xff, 0xfe, 0xfd]), "//79");
        assert_eq!(super::decode("//79").as_deref(), Some(&[0xff, 0xfe, 0xfd][..]));
    }

    #[test]
    fn what_is_no_base64_is_nothing() {
        for text in ["Zg=", "Zg", "Z===", "====", "Zg==Zg==", "Zm9v!A==", "Zm 9"] {
            assert_eq!(super::decode(text), None, "{text}");
        }
    }
}
