//! Which keys do the queries of one sequence see?
//!
//! [`Attention`] says it for sequences of every length; a [`Sight`] is what that comes to for one of them. A query sees up to three ranges
//! of keys: those near it, and those at the sequence's start and end that all queries see. Some queries see all keys ([`Sight::wide`]).
//! Executors ask for no product that nobody sees, so that the cost grows with the length and not with its square.

use std::ops::Range;

use super::attention::{Attention, Blocks, Far, Span, Start};

/// What the queries of one sequence see.
#[derive(Clone, Debug, PartialEq)]
pub struct Sight {
    near: Near,
    /// How many keys from the first on all queries see.
    start: usize,
    /// The first of the keys that all queries see up to the last.
    end: usize,
    /// Keys.
    tokens: usize,
    /// How often a key at the start counts, for a query that does not see all keys.
    times: f32,
}

/// The keys around a query.
#[derive(Clone, Debug, PartialEq)]
enum Near {
    Span(Span),
    /// Those of its block of this size, of the one before and of the one behind.
    Blocks(usize),
}

/// Up to three ranges of keys in their order, none of which meets the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranges {
    ranges: [Range<usize>; 3],
    count: usize,
}

impl Ranges {
    /// Appends a range, or joins it to the last where less than `gap` keys lie between.
    fn push(&mut self, range: Range<usize>, gap: usize) {
        if range.is_empty() {
            return;
        }
        match self.count.checked_sub(1).map(|last| &mut self.ranges[last]) {
            Some(last) if range.start < last.end.saturating_add(gap) => last.end = last.end.max(range.end),
            _ => {
                self.ranges[self.count] = range;
                self.count += 1;
            }
        }
    }

    /// First to last.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Range<usize>> {
        self.ranges[..self.count].iter()
    }
}

impl Sight {
    /// All keys.
    pub fn all(tokens: usize) -> Sight {
        Sight::span(Span::ALL, tokens)
    }

    fn span(span: Span, tokens: usize) -> Sight {
        Sight { near: Near::Span(span), start: 0, end: tokens, tokens, times: 1.0 }
    }

    /// What `attention` comes to in a sequence of the tokens `ids`, of which the first `seen` are keys.
    pub fn of(attention: &Attention, ids: &[u32], seen: usize) -> Sight {
        let plain = Sight::span(attention.span, seen);
        match attention.far {
            Far::None => plain,
            Far::Start(start) => Sight { start: start.tokens(ids).min(seen), ..plain },
            Far::End(separator) => {
                let end = ids.iter().position(|id| *id == separator).map_or(seen, |at| at + 2);
                Sight { end: end.min(seen), ..plain }
            }
            Far::Blocks(Blocks { whole, .. }) if ids.len() <= whole => Sight::all(seen),
            Far::Blocks(Blocks { size, times, .. }) => {
                let last = (ids.len() - 1) / size * size;
                Sight { near: Near::Blocks(size), start: size.min(seen), end: last.min(seen), tokens: seen, times }
            }
        }
    }

    /// Whether every query sees every key.
    fn is_whole(&self) -> bool {
        self.near == Near::Span(Span::ALL) && self.start == 0
    }

    /// The queries of `rows` that see all keys, at the sequence's start and at its end, although the others may not.
    pub fn wide(&self, rows: usize) -> [Range<usize>; 2] {
        if self.is_whole() {
            return [0..0, rows..rows];
        }
        let end = if self.end < self.tokens { self.end.max(self.start) } else { rows };
        [0..self.start.min(rows), end.min(rows)..rows]
    }

    /// How many of the keys `seen`, from the first on, count more than once for a query that does not see all, and how often.
    pub fn often(&self, seen: &Range<usize>) -> Option<(usize, f32)> {
        let count = self.start.saturating_sub(seen.start).min(seen.len());
        (self.times != 1.0 && count > 0).then_some((count, self.times))
    }

    fn near(&self, queries: &Range<usize>) -> Range<usize> {
        match self.near {
            Near::Span(span) => span.seen(queries.clone(), self.tokens),
            Near::Blocks(size) => {
                let (first, last) = (queries.start / size, (queries.end - 1) / size);
                first.saturating_sub(1) * size..(last.saturating_add(2)).saturating_mul(size).min(self.tokens)
            }
        }
    }

    /// The keys that one of `queries` sees, one query or several. Ranges begin at multiples of `panel`, and less than a panel between two is
    /// filled.
    pub fn seen(&self, queries: Range<usize>, panel: usize) -> Ranges {
        let mut ranges = Ranges::default();
        let from = |key: usize| key / panel * panel;
        let near = self.near(&queries);
        ranges.push(0..self.start, panel);
        ranges.push(from(near.start.min(near.end))..near.end, panel);
        ranges.push(from(self.end)..self.tokens, panel);
        ranges
    }

    /// Keys that `queries` queries side by side see together, at most.
    pub fn widest(&self, queries: usize) -> usize {
        let near = match self.near {
            Near::Span(span) => span.before.saturating_add(span.after).saturating_add(queries),
            // They may begin in one block and end in another.
            Near::Blocks(size) => size.saturating_mul(3).saturating_add(queries.next_multiple_of(size)),
        };
        near.saturating_add(self.start + self.tokens.saturating_sub(self.end)).min(self.tokens)
    }
}

impl Start {
    /// How many tokens of a sequence they are.
    fn tokens(self, ids: &[u32]) -> usize {
        match self {
            Start::First => 1.min(ids.len()),
            Start::Before(end) => ids.iter().position(|id| *id == end).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attention(span: Span, far: Far) -> Attention {
        Attention { span, far, ..Attention::plain(1, 8) }
    }

    /// What `query` sees, key by key.
    fn keys(sight: &Sight, query: usize) -> Vec<usize> {
        sight.seen(query..query + 1, 1).iter().cloned().flatten().collect()
    }

    #[test]
    fn a_window_and_the_start_are_seen_once_each() {
        let span = Span { before: 2, after: 2 };
        let ids = [7, 7, 7, 9, 7, 7, 9, 7, 7, 7];
        let none = Sight::of(&attention(span, Far::None), &ids, 10);
        assert_eq!((keys(&none, 0), keys(&none, 5), none.wide(10)), (vec![0, 1, 2], vec![3, 4, 5, 6, 7], [0..0, 10..10]));
        let first = Sight::of(&attention(span, Far::Start(Start::First)), &ids, 10);
        assert_eq!((keys(&first, 1), keys(&first, 6), first.wide(10)), (vec![0, 1, 2, 3], vec![0, 4, 5, 6, 7, 8], [0..1, 10..10]));
        let question = Sight::of(&attention(span, Far::Start(Start::Before(9))), &ids, 10);
        assert_eq!((keys(&question, 4), keys(&question, 9)), (vec![0, 1, 2, 3, 4, 5, 6], vec![0, 1, 2, 7, 8, 9]));
        assert_eq!(Sight::of(&attention(span, Far::Start(Start::Before(1))), &ids, 10).wide(10), [0..0, 10..10], "no such token");
        let answer = Sight::of(&attention(span, Far::End(9)), &ids, 10);
        assert_eq!((keys(&answer, 0), keys(&answer, 4), answer.wide(10)), (vec![0, 1, 2, 5, 6, 7, 8, 9], (2..10).collect(), [0..0, 5..10]));
        let none = Sight::of(&attention(span, Far::End(1)), &ids, 10);
        assert_eq!((keys(&none, 0), none.wide(10)), (vec![0, 1, 2], [0..0, 10..10]));
        let last = Sight::of(&attention(span, Far::End(9)), &ids[..4], 4);
        assert_eq!((keys(&last, 0), last.wide(4)), (vec![0, 1, 2], [0..0, 4..4]));
    }

    #[test]
    fn blocks_see_their_neighbours_the_first_and_the_last() {
        let far = Far::Blocks(Blocks { size: 2, whole: 12, times: 2.0 });
        let long = Sight::of(&attention(Span::ALL, far), &[0; 15], 15);
        assert_eq!(long.wide(15), [0..2, 14..15]);
        assert_eq!(keys(&long, 2), [0, 1, 2, 3, 4, 5, 14]);
        assert_eq!(keys(&long, 7), [0, 1, 4, 5, 6, 7, 8, 9, 14]);
        assert_eq!(keys(&long, 13), [0, 1, 10, 11, 12, 13, 14]);
        assert_eq!((long.often(&(0..6)), long.often(&(4..10))), (Some((2, 2.0)), None));
        let short = Sight::of(&attention(Span::ALL, far), &[0; 12], 12);
        assert_eq!((short.wide(12), keys(&short, 5).len(), short.often(&(0..12))), ([0..0, 12..12], 12, None));
    }

    #[test]
    fn ranges_of_panels_hold_what_each_query_sees_and_no_more_than_is_stated() {
        for far in [
            Far::None,
            Far::Start(Start::First),
            Far::Start(Start::Before(3)),
            Far::End(3),
            Far::Blocks(Blocks { size: 16, whole: 100, times: 4.0 }),
        ] {
            for tokens in [1, 31, 64, 101, 200, 500] {
                let ids: Vec<u32> = (0..tokens as u32).map(|i| if i == 40 { 3 } else { 7 }).collect();
                let sight = Sight::of(&attention(Span { before: 20, after: 20 }, far), &ids, tokens);
                for first in (0..tokens).step_by(24) {
                    let queries = first..(first + 24).min(tokens);
                    let together = sight.seen(queries.clone(), 32);
                    assert!(together.iter().all(|r| r.start % 32 == 0));
                    for query in queries {
                        for seen in sight.seen(query..query + 1, 1).iter() {
                            assert!(together.iter().any(|r| r.start <= seen.start && seen.end <= r.end), "{far:?} {tokens} {query}");
                        }
                    }
                    let exact: usize = sight.seen(first..(first + 24).min(tokens), 1).iter().map(Range::len).sum();
                    assert!(exact <= sight.widest(24), "{far:?} {tokens} {first}");
                }
            }
        }
    }
}
