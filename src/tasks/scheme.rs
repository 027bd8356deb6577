//! What does a label say of an entity: its kind, and whether the entity begins, goes on or ends there?
//!
//! Labels such as `B-PER` join both; taggers differ in the letters and in when a new entity begins (Ramshaw and Marcus, Text
//! Chunking using Transformation-Based Learning, 1995; Ratinov and Roth, Design Challenges in Named Entity Recognition, 2009).
//! Models err, so what a scheme forbids has a meaning here, too: an entity that goes on without having begun begins there.

/// How labels say where an entity begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheme {
    /// `B-` begins every entity, `I-` goes on. Labels without such a letter go on, too: neighbours of one label are one entity.
    Bio,
    /// `I-` begins an entity and goes on; `B-` begins one next to another of its kind. Read as `Bio` is.
    Iob1,
    /// `B-` begins, `I-` or `M-` goes on, `L-` or `E-` ends, `U-`, `S-` or `W-` is an entity of one token or word.
    Bilou,
    /// Every label stands for itself, as for parts of speech.
    Single,
}

impl Scheme {
    /// Every scheme by name.
    pub const ALL: &'static [(&'static str, Scheme)] =
        &[("bio", Scheme::Bio), ("iob1", Scheme::Iob1), ("bilou", Scheme::Bilou), ("single", Scheme::Single)];

    /// The scheme that labels look like: `Bilou` where one has a letter that only it knows, with a kind that others have, too.
    pub(super) fn of(labels: &[String]) -> Scheme {
        let begun: Vec<&str> = labels.iter().filter_map(|label| label.strip_prefix("B-")).collect();
        let ends = |label: &String| match label.split_once('-') {
            Some((letter, kind)) => begun.contains(&kind) && LETTERS.iter().any(|(l, place)| *l == letter && *place >= Place::Last),
            None => false,
        };
        if labels.iter().any(ends) { Scheme::Bilou } else { Scheme::Bio }
    }

    /// What a label says.
    pub(super) fn read(self, label: &str) -> Mark<'_> {
        let letters = match self {
            Scheme::Bio | Scheme::Iob1 => &LETTERS[..2],
            Scheme::Bilou => LETTERS,
            Scheme::Single => return Mark { place: Place::Alone, kind: label },
        };
        let split = label.split_once('-').filter(|(_, kind)| !kind.is_empty());
        let known = split.and_then(|(letter, kind)| Some((letters.iter().find(|(l, _)| *l == letter)?.1, kind)));
        let (place, kind) = known.unwrap_or((Place::Inside, label));
        Mark { place, kind }
    }
}

/// Where in an entity a label stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(super) enum Place {
    First,
    Inside,
    Last,
    Alone,
}

/// The letters before the hyphen; the first two are those of `Bio`.
const LETTERS: &[(&str, Place)] = &[
    ("B", Place::First),
    ("I", Place::Inside),
    ("M", Place::Inside),
    ("L", Place::Last),
    ("E", Place::Last),
    ("U", Place::Alone),
    ("S", Place::Alone),
    ("W", Place::Alone),
];

/// A label, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark<'l> {
    pub place: Place,
    pub kind: &'l str,
}

impl Mark<'_> {
    /// Whether an entity that had this label last goes on with the next.
    pub fn goes_on(self, next: Mark<'_>) -> bool {
        self.kind == next.kind && matches!(self.place, Place::First | Place::Inside) && matches!(next.place, Place::Inside | Place::Last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many entities labels are, with where each begins.
    fn begins(scheme: Scheme, labels: &[&str]) -> Vec<usize> {
        (0..labels.len())
            .filter(|i| labels[*i] != "O" && (*i == 0 || !scheme.read(labels[i - 1]).goes_on(scheme.read(labels[*i]))))
            .collect()
    }

    #[test]
    fn entities_begin_where_their_scheme_says() {
        assert_eq!(begins(Scheme::Bio, &["B-A", "I-A", "B-A", "O", "I-A", "I-B", "I-B"]), [0, 2, 4, 5]);
        assert_eq!(begins(Scheme::Iob1, &["I-A", "I-A", "B-A", "I-A"]), [0, 2]);
        assert_eq!(begins(Scheme::Bilou, &["B-A", "I-A", "L-A", "U-A", "I-A", "L-A", "L-A"]), [0, 3, 4, 6]);
        assert_eq!(begins(Scheme::Bilou, &["B-A", "M-A", "E-A", "S-B", "B-B", "B-B"]), [0, 3, 4, 5]);
        assert_eq!(begins(Scheme::Bio, &["NOUN", "NOUN", "VERB"]), [0, 2]);
        assert_eq!(begins(Scheme::Single, &["NOUN", "NOUN", "B-A", "I-A"]), [0, 1, 2, 3]);
    }

    #[test]
    fn schemes_are_told_by_their_labels() {
        let of = |labels: &[&str]| Scheme::of(&labels.iter().map(|l| (*l).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["O", "B-A", "I-A"]), Scheme::Bio);
        assert_eq!(of(&["O", "I-A"]), Scheme::Bio);
        assert_eq!(of(&["O", "B-A", "I-A", "L-A", "U-A"]), Scheme::Bilou);
        assert_eq!(of(&["O", "B-A", "M-A", "E-A", "S-A"]), Scheme::Bilou);
        assert_eq!(of(&["U-TURN", "B-A", "I-A"]), Scheme::Bio, "no letter of an entity that others begin");
        assert_eq!(Scheme::Bio.read("E-COLI"), Mark { place: Place::Inside, kind: "E-COLI" });
        assert_eq!(Scheme::Bio.read("B-"), Mark { place: Place::Inside, kind: "B-" });
    }
}
