//! Which names are most like this one?
//!
//! For messages about a tensor that is not where it should be: the names with the smallest edit distance (Wagner and Fischer, The
//! String-to-String Correction Problem, 1974).

use crate::error::{ErrorKind, Result, fail};

/// Names compared with, and bytes of a name: a message is worth no more time than that.
const COMPARED: usize = 2000;
const LONGEST: usize = 200;
/// Tensors that a message lists.
const LISTED: usize = 5;
/// Names that it gives for each.
const GIVEN: usize = 2;

/// The names of `others` that are most like `name`, the nearest first: those that differ by less than half.
pub fn nearest<'a>(name: &str, others: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<(usize, &str)> = others.into_iter().take(COMPARED).map(|other| (distance(name, other), other)).collect();
    found.sort_unstable();
    found.retain(|(distance, other)| *distance * 2 < name.len().max(other.len()));
    found.into_iter().map(|(_, other)| other).take(GIVEN).collect()
}

/// An error that lists the tensors `names`, about which `what` is to be said, each with the names that are most like it.
pub(super) fn told<T>(what: &str, names: &[&str], others: impl Fn(&str) -> Vec<String>) -> Result<T> {
    let line = |name: &&str| {
        let others = others(name);
        let near = nearest(name, others.iter().map(String::as_str));
        if near.is_empty() {
            format!("tensor {name:?} {what}")
        } else {
            format!("tensor {name:?} {what}; nearest are {}", near.join(" and "))
        }
    };
    let lines: Vec<String> = names.iter().take(LISTED).map(line).collect();
    let more = names.len().saturating_sub(LISTED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    fail(ErrorKind::InvalidTensor, lines.join("; ") + &more)
}

/// How many bytes must be put in, taken out or changed.
fn distance(a: &str, b: &str) -> usize {
    let cut = |text: &str| text.bytes().take(LONGEST).collect::<Vec<u8>>();
    let (a, b) = (cut(a), cut(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = changed.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_the_books() {
        for (a, b, d) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2), ("same", "same", 0)] {
            assert_eq!((distance(a, b), distance(b, a)), (d, d), "{a} {b}");
        }
    }

    #[test]
    fn the_nearest_come_first_and_strangers_not_at_all() {
        let names = ["encoder.layer.0.output.dense.weight", "encoder.layer.0.output.dense.bias", "pooler.dense.weight", "x"];
        assert_eq!(nearest("encoder.layer.0.output.dens.weight", names)[0], names[0]);
        assert!(nearest("completely.else", names).is_empty());
        let e = told::<()>("is unknown", &["pooler.dens.weight", "?"], |_| names.map(str::to_owned).to_vec()).unwrap_err();
        assert!(e.message().contains("nearest are pooler.dense.weight") && e.message().ends_with("tensor \"?\" is unknown"), "{e}");
    }
}
