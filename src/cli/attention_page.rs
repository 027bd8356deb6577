//! Attention maps -> one page of HTML.
//!
//! The page is `attention_page.html` with the numbers in it: no network, no other file. Weights travel as 16-bit numbers in base64
//! (RFC 4648), 65535 for 1. What a text says never becomes markup: it is JSON in which `<`, `>` and `&` are escaped, and the script puts
//! it on the page as text.

use serde::Serialize;

use crate::error::{ErrorKind, Result, fail};
use crate::tasks::Maps;

const PAGE: &str = include_str!("attention_page.html");

/// Where the numbers go.
const PLACE: &str = "{{DATA}}";

/// Bytes of weights in a page at most; a browser holds them several times.
const MOST_BYTES: usize = 64 << 20;

#[derive(Serialize)]
struct Data<'a> {
    version: &'a str,
    layers: usize,
    heads: usize,
    tokens: &'a [String],
    special: &'a [bool],
    segments: &'a [u32],
    truncated: bool,
    weights: String,
}

/// The page.
///
/// # Errors
/// `TooLong` for maps that would make it larger than a browser opens with ease.
pub(super) fn page(maps: &Maps) -> Result<String> {
    let bytes = maps.attention.len().div_ceil(3) * 8;
    if bytes > MOST_BYTES {
        let told = format!(
            "a page with {} maps of {} tokens would have {} MiB, and {} MiB is the most: shorten the text, set --max-tokens, or take --json",
            maps.layers * maps.heads,
            maps.tokens.ids.len(),
            bytes >> 20,
            MOST_BYTES >> 20
        );
        return fail(ErrorKind::TooLong, told);
    }
    let weight = |w: &f32| ((w * 65535.0).round() as u16).to_le_bytes();
    let data = Data {
        version: env!("CARGO_PKG_VERSION"),
        layers: maps.layers,
        heads: maps.heads,
        tokens: &maps.tokens.tokens,
        special: &maps.tokens.special,
        segments: &maps.tokens.type_ids,
        truncated: maps.tokens.truncated,
        weights: base64(&maps.attention.iter().flat_map(weight).collect::<Vec<u8>>()),
    };
    let json = serde_json::to_string(&data).unwrap_or_default();
    Ok(PAGE.replacen(PLACE, &harmless(&json), 1))
}

/// JSON that no HTML parser takes for markup.
fn harmless(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number = three.iter().enumerate().fold(0u32, |n, (i, b)| n | u32::from(*b) << (16 - 8 * i));
        for i in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * i)) as usize & 63];
            out.push(if i <= three.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_has_the_values_of_the_rfc() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        assert_eq!(base64(&[0xff, 0xff, 0xff, 0xfb]), "////+w==");
    }

    #[test]
    fn a_text_never_becomes_markup() {
        let escaped = harmless("\"</script><b>&amp;\u{2028}\"");
        assert!(!escaped.contains(['<', '>', '&', '\u{2028}']), "{escaped}");
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), "</script><b>&amp;\u{2028}");
    }

    #[test]
    fn the_page_asks_for_nothing_from_elsewhere() {
        assert_eq!(PAGE.matches(PLACE).count(), 1);
        for word in ["http://", "https://", " src=", "import(", "fetch(", "@import", "url("] {
            assert!(!PAGE.replace("http://www.w3.org/2000/svg", "").contains(word), "{word}");
        }
        assert!(PAGE.contains("Content-Security-Policy"));
    }
}
