//! Which of a text's tokens go into which window?
//!
//! Pure arithmetic over token counts; `encode` cuts the tokens accordingly.

use std::ops::Range;

use super::Truncation;
use crate::error::{ErrorKind, Result, fail};

/// How many tokens a window may have, and what becomes of the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Tokens of a window at most, special tokens included.
    pub max_tokens: usize,
    /// What happens to longer inputs.
    pub truncation: Truncation,
    /// Tokens that neighbouring windows share; only [`Truncation::Window`] reads it.
    pub overlap: usize,
}

/// One window: which tokens of the text, and which of the pair's second text.
pub(super) type Window = [Range<usize>; 2];

/// The windows of a text with `tokens` tokens and a second text with `pair` tokens, where the template adds `special` tokens.
pub(super) fn windows(tokens: usize, pair: Option<usize>, special: usize, limit: &Limit) -> Result<Vec<Window>> {
    let Some(room) = limit.max_tokens.checked_sub(special) else {
        let told = format!("a limit of {} tokens is too small: the {special} special tokens alone are more", limit.max_tokens);
        return fail(ErrorKind::InvalidArgument, told);
    };
    let second = pair.unwrap_or(0);
    if limit.truncation == Truncation::Window && pair.is_none() {
        let slid = slide(tokens, room, limit)?;
        return Ok(slid.into_iter().map(|w| [w, 0..0]).collect());
    }
    let total = tokens.saturating_add(second);
    if total <= room {
        return Ok(vec![[0..tokens, 0..second]]);
    }
    match limit.truncation {
        Truncation::Error => too_long(total.saturating_add(special), limit.max_tokens),
        Truncation::Window => second_slides(tokens, second, room, limit),
        Truncation::Right => {
            let kept = longest_first(tokens, pair, room);
            Ok(vec![[0..kept.0, 0..kept.1]])
        }
        Truncation::Left => {
            let kept = longest_first(tokens, pair, room);
            Ok(vec![[tokens - kept.0..tokens, second - kept.1..second]])
        }
    }
}

fn too_long<T>(total: usize, limit: usize) -> Result<T> {
    let told = format!(
        "the input has {total} tokens, special tokens included, and the limit is {limit}: shorten it, or set truncation to left, right or window"
    );
    fail(ErrorKind::TooLong, told)
}

/// Windows of a pair: each holds the whole first text and a part of the second, as `only_second` of the reference.
fn second_slides(tokens: usize, second: usize, room: usize, limit: &Limit) -> Result<Vec<Window>> {
    let Some(room) = room.checked_sub(tokens).filter(|&room| room > 0) else {
        let told = format!(
            "the first text of the pair has {tokens} tokens, and a window of {} leaves no room for the second: shorten the first text or raise the limit",
            limit.max_tokens
        );
        return fail(ErrorKind::TooLong, told);
    };
    let slid = slide(second, room, limit)?;
    Ok(slid.into_iter().map(|w| [0..tokens, w]).collect())
}

/// Windows of `room` tokens over `tokens` tokens; neighbours share exactly the overlap, the last one may be shorter.
fn slide(tokens: usize, room: usize, limit: &Limit) -> Result<Vec<Range<usize>>> {
    let Some(step) = room.checked_sub(limit.overlap).filter(|&step| step > 0) else {
        let told = format!(
            "an overlap of {} tokens is too large for windows that have room for {room}: windows could not move on; lower the overlap or raise the limit",
            limit.overlap
        );
        return fail(ErrorKind::InvalidArgument, told);
    };
    let count = tokens.saturating_sub(room).div_ceil(step) + 1;
    Ok((0..count).map(|i| i * step..tokens.min(i * step + room)).collect())
}

/// How many tokens of each text stay where all are more than `room`: the longer one loses first, then both lose alike, as
/// `longest_first` of the reference.
fn longest_first(tokens: usize, pair: Option<usize>, room: usize) -> (usize, usize) {
    let Some(second) = pair else { return (room, 0) };
    let short = tokens.min(second).min(room / 2);
    if tokens > second { (room - short, short) } else { (short, room - short) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limit(max_tokens: usize, truncation: Truncation, overlap: usize) -> Limit {
        Limit { max_tokens, truncation, overlap }
    }

    /// The same, one token at a time: the longer text loses one; where both are alike, the one that was not longer at first.
    fn one_by_one(tokens: usize, second: usize, room: usize) -> (usize, usize) {
        let (mut a, mut b) = (tokens, second);
        while a + b > room {
            if a > b || (a == b && tokens <= second) { a -= 1 } else { b -= 1 }
        }
        (a, b)
    }

    proptest! {
        #[test]
        fn windows_cover_every_token_within_the_limit_and_share_the_overlap(
            tokens in 0usize..400, pair in proptest::option::of(0usize..400), special in 0usize..4, max in 1usize..64, overlap in 0usize..40,
        ) {
            let limit = limit(max, Truncation::Window, overlap);
            let Ok(windows) = windows(tokens, pair, special, &limit) else { return Ok(()) };
            let sliding = usize::from(pair.is_some());
            let all = [tokens, pair.unwrap_or(0)];
            prop_assert_eq!(windows[0][sliding].start, 0);
            prop_assert_eq!(windows.last().unwrap()[sliding].end, all[sliding]);
            for w in &windows {
                prop_assert!(w[0].len() + w[1].len() + special <= max);
                prop_assert_eq!(&w[1 - sliding], &(0..all[1 - sliding]));
            }
            for two in windows.windows(2) {
                prop_assert_eq!(two[0][sliding].end - two[1][sliding].start, overlap);
                prop_assert!(two[1][sliding].end > two[0][sliding].end, "each window adds something");
            }
        }

        #[test]
        fn a_cut_keeps_as_much_as_fits_and_takes_it_from_the_longer_text(
            tokens in 0usize..90, second in 0usize..90, special in 0usize..4, max in 4usize..80,
        ) {
            let right = windows(tokens, Some(second), special, &limit(max, Truncation::Right, 0)).unwrap();
            let left = windows(tokens, Some(second), special, &limit(max, Truncation::Left, 0)).unwrap();
            let (a, b) = one_by_one(tokens, second, max - special);
            prop_assert_eq!(&right, &vec![[0..a, 0..b]]);
            prop_assert_eq!(&left, &vec![[tokens - a..tokens, second - b..second]]);
        }
    }

    #[test]
    fn an_input_that_fits_is_one_whole_window_under_every_policy() {
        for (_, truncation) in Truncation::ALL {
            assert_eq!(windows(5, None, 2, &limit(7, *truncation, 1)).unwrap(), vec![[0..5, 0..0]]);
            assert_eq!(windows(2, Some(2), 3, &limit(7, *truncation, 1)).unwrap(), vec![[0..2, 0..2]]);
            assert_eq!(windows(0, None, 2, &limit(7, *truncation, 1)).unwrap(), vec![[0..0, 0..0]]);
        }
    }

    #[test]
    fn too_long_inputs_and_impossible_limits_say_what_to_do() {
        let told = |tokens, pair, limit: Limit| {
            let e = windows(tokens, pair, 2, &limit).unwrap_err();
            (e.kind(), e.message().to_owned())
        };
        let (kind, message) = told(11, None, limit(12, Truncation::Error, 0));
        assert!(kind == ErrorKind::TooLong && message.contains("13 tokens") && message.contains("12"), "{message}");
        let (kind, message) = told(1, None, limit(1, Truncation::Right, 0));
        assert!(kind == ErrorKind::InvalidArgument && message.contains("special"), "{message}");
        let (kind, message) = told(1, None, limit(12, Truncation::Window, 10));
        assert!(kind == ErrorKind::InvalidArgument && message.contains("overlap"), "{message}");
        let (kind, message) = told(10, Some(5), limit(12, Truncation::Window, 0));
        assert!(kind == ErrorKind::TooLong && message.contains("first text"), "{message}");
        let (kind, message) = told(8, Some(5), limit(12, Truncation::Window, 2));
        assert!(kind == ErrorKind::InvalidArgument && message.contains("overlap"), "{message}");
    }

    #[test]
    fn a_limit_of_the_special_tokens_alone_keeps_nothing_else() {
        assert_eq!(windows(9, None, 2, &limit(2, Truncation::Right, 0)).unwrap(), vec![[0..0, 0..0]]);
        assert_eq!(windows(9, Some(9), 3, &limit(3, Truncation::Left, 0)).unwrap(), vec![[9..9, 9..9]]);
    }
}
