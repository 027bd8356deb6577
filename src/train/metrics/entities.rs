//! How good are tags of words, by whole entities? As seqeval counts: an entity is right if its kind and both its ends are.
//!
//! [`Reading::Lenient`] is seqeval's default and that of the script of CoNLL 2000: what a scheme forbids has a meaning, too, so that an
//! entity may begin without a `B-`. The strict readings take only what their scheme allows: `B-` and any number of `I-`, or with ends `B-`, `I-`
//! ..., `E-` or `S-` alone. `L-` and `U-` are read as `E-` and `S-`.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use super::{Counts, Shares, check_lengths, share};
use crate::error::{Error, ErrorKind, Result, fail};

/// Which tags make an entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// Whatever looks like one.
    #[default]
    Lenient,
    /// IOB2's alone.
    StrictIob2,
    /// IOBES's (BILOU's) alone.
    StrictIobes,
}

impl Reading {
    /// Every reading by name.
    pub const ALL: &'static [(&'static str, Reading)] =
        &[("lenient", Reading::Lenient), ("strict_iob2", Reading::StrictIob2), ("strict_iobes", Reading::StrictIobes)];
}

/// An entity: its kind and its words.
pub type Entity<'t> = (&'t str, Range<usize>);

/// What was found of the entities that are there.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityScores {
    /// Of each kind, by its name.
    pub kinds: BTreeMap<String, Counts>,
    /// Words with the right tag, and all words.
    pub tags: (u64, u64),
}

impl EntityScores {
    /// Compares sentences of tags.
    ///
    /// # Errors
    /// `InvalidArgument` for lists or sentences of different lengths, or none.
    pub fn of<S: AsRef<str>>(gold: &[Vec<S>], answered: &[Vec<S>], reading: Reading) -> Result<EntityScores> {
        check_lengths(gold.len(), answered.len())?;
        let mut scores = EntityScores { kinds: BTreeMap::new(), tags: (0, 0) };
        for (number, (gold, answered)) in gold.iter().zip(answered).enumerate() {
            if gold.len() != answered.len() {
                let told = format!("{} words have {} tags", gold.len(), answered.len());
                return fail(ErrorKind::InvalidArgument, told).map_err(|e: Error| e.within(format!("sentence {number}")));
            }
            let same = gold.iter().zip(answered).filter(|(gold, answered)| gold.as_ref() == answered.as_ref());
            scores.tags.0 += same.count() as u64;
            scores.tags.1 += gold.len() as u64;
            let wanted: HashSet<Entity<'_>> = entities(gold, reading).into_iter().collect();
            for (kind, _) in &wanted {
                scores.kind(kind).wanted += 1;
            }
            for entity in entities(answered, reading) {
                let counts = scores.kind(entity.0);
                counts.found += 1;
                counts.right += u64::from(wanted.contains(&entity));
            }
        }
        Ok(scores)
    }

    fn kind(&mut self, kind: &str) -> &mut Counts {
        self.kinds.entry(kind.to_owned()).or_default()
    }

    /// Of all entities: what is called F1 of a tagger.
    pub fn overall(&self) -> Shares {
        self.kinds.values().copied().sum::<Counts>().shares()
    }

    /// The mean over the kinds.
    pub fn macro_mean(&self) -> Shares {
        Shares::mean(self.kinds.values().copied().map(Counts::shares))
    }

    /// The share of words with the right tag.
    pub fn accuracy(&self) -> f64 {
        share(self.tags.0, self.tags.1)
    }
}

/// A tag's letter, with ends called alike, and its kind.
#[derive(Clone, Copy, PartialEq)]
struct Tag<'t> {
    letter: char,
    kind: &'t str,
}

impl<'t> Tag<'t> {
    const OUTSIDE: Tag<'static> = Tag { letter: 'O', kind: "_" };

    fn read(text: &'t str) -> Tag<'t> {
        let mut rest = text.chars();
        let letter = match rest.next().unwrap_or('O') {
            'L' => 'E',
            'U' => 'S',
            letter => letter,
        };
        let kind = rest.as_str().split_once('-').map_or(rest.as_str(), |(_, kind)| kind);
        Tag { letter, kind: if kind.is_empty() { "_" } else { kind } }
    }

    /// Whether it is a part of an entity at all.
    fn inside(self) -> bool {
        !matches!(self.letter, 'O' | '.')
    }

    /// Whether an entity that this tag belongs to is over when `next` comes.
    fn ends_before(self, next: Tag<'_>) -> bool {
        match self.letter {
            'E' | 'S' => true,
            'B' | 'I' if matches!(next.letter, 'B' | 'S' | 'O') => true,
            _ => self.inside() && self.kind != next.kind,
        }
    }

    /// Whether an entity begins with this tag behind `before`.
    fn begins_behind(self, before: Tag<'_>) -> bool {
        match self.letter {
            'B' | 'S' => true,
            'E' | 'I' if matches!(before.letter, 'E' | 'S' | 'O') => true,
            _ => self.inside() && self.kind != before.kind,
        }
    }
}

/// The entities that tags make, in their order.
pub fn entities<S: AsRef<str>>(tags: &[S], reading: Reading) -> Vec<Entity<'_>> {
    let tags: Vec<Tag<'_>> = tags.iter().map(|tag| Tag::read(tag.as_ref())).collect();
    match reading {
        Reading::Lenient => lenient(&tags),
        Reading::StrictIob2 => strict(&tags, false),
        Reading::StrictIobes => strict(&tags, true),
    }
}

fn lenient<'t>(tags: &[Tag<'t>]) -> Vec<Entity<'t>> {
    let mut found = Vec::new();
    let (mut before, mut begun) = (Tag::OUTSIDE, 0);
    for (i, tag) in tags.iter().copied().chain([Tag::OUTSIDE]).enumerate() {
        if before.ends_before(tag) {
            found.push((before.kind, begun..i));
        }
        if tag.begins_behind(before) {
            begun = i;
        }
        before = tag;
    }
    found
}

fn strict<'t>(tags: &[Tag<'t>], with_ends: bool) -> Vec<Entity<'t>> {
    let mut found = Vec::new();
    let mut i = 0;
    while i < tags.len() {
        let begun = tags[i];
        let start = i;
        i += 1;
        if begun.letter == 'S' && with_ends {
            found.push((begun.kind, start..i));
        }
        if begun.letter != 'B' {
            continue;
        }
        let goes_on = |letter: char, i: usize| tags.get(i).is_some_and(|tag| *tag == Tag { letter, kind: begun.kind });
        while goes_on('I', i) {
            i += 1;
        }
        let ended = with_ends && goes_on('E', i);
        i += usize::from(ended);
        if ended || !with_ends {
            found.push((begun.kind, start..i));
        }
    }
    found
}
