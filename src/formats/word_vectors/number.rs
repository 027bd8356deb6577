//! Which number does a field of a text write?
//!
//! The nearest f64, rounded to f32, as Python and numpy read it. Short decimals, which is what word vectors consist of, are two exact
//! f64 and one division, hence rounded once (Clinger, How to Read Floating Point Numbers Accurately, 1990); the rest is left to the
//! standard library.

/// Powers of ten that are exact in f64.
const POWERS: [f64; 23] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22];

/// Whole numbers up to here are exact in f64.
const EXACT: u64 = 1 << 53;

/// The number, or `None` for what is none. It may be infinite or NaN.
pub(super) fn parse(field: &[u8]) -> Option<f32> {
    let value = match short(field) {
        Some(value) => value,
        None => std::str::from_utf8(field).ok()?.parse::<f64>().ok()?,
    };
    Some(value as f32)
}

/// Whether a field that may be a word is rather a number: "inf" and "nan" are words.
pub(super) fn looks_like_one(field: &[u8]) -> bool {
    field.iter().any(u8::is_ascii_digit) && field.first().is_some_and(|b| !b.is_ascii_alphabetic()) && parse(field).is_some()
}

/// A decimal without an exponent, of few digits.
fn short(field: &[u8]) -> Option<f64> {
    let (negative, digits) = match field {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (mut whole, mut behind, mut point) = (0u64, 0usize, false);
    if digits.is_empty() || digits.len() > 19 || digits == b"." {
        return None;
    }
    for byte in digits {
        match byte {
            b'0'..=b'9' => {
                whole = whole * 10 + u64::from(byte - b'0');
                behind += usize::from(point);
            }
            b'.' if !point => point = true,
            _ => return None,
        }
    }
    let value = if whole <= EXACT { whole as f64 / POWERS[behind] } else { return None };
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn short_decimals_are_what_the_standard_library_reads(text in "-?[0-9]{0,12}\\.?[0-9]{0,12}") {
            let expected = text.parse::<f64>().ok().map(|x| (x as f32).to_bits());
            prop_assert_eq!(parse(text.as_bytes()).map(f32::to_bits), expected, "{}", text);
        }

        #[test]
        fn every_f32_is_read_as_it_is_printed(bits in any::<u32>()) {
            let value = f32::from_bits(bits);
            prop_assume!(value.is_finite());
            for text in [format!("{value}"), format!("{value:e}"), format!("{value:.6}")] {
                prop_assert_eq!(parse(text.as_bytes()), Some(text.parse::<f64>().unwrap() as f32), "{}", text);
            }
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "-", ".", "-.", "1,5", "0x1", "1.2.3", "--1", "1e", "one", "\u{ff11}"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse(b"-0.0").map(f32::to_bits), Some((-0f32).to_bits()));
        assert!(parse(b"1e39").unwrap().is_infinite() && parse(b"nan").unwrap().is_nan());
        let number_like: Vec<bool> = ["1", "-.5", "+2e3", "inf", "nan", ".", "e5", "1/2"].map(|t| looks_like_one(t.as_bytes())).to_vec();
        assert_eq!(number_like, [true, true, true, false, false, false, false, false]);
    }
}
