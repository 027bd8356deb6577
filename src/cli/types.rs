//! How much of a model is stored in which type?
//!
//! One row a type, the largest first: what `inspect` finds and what `convert` and `quantize` wrote.

use serde::Serialize;

/// Tensors by type.
#[derive(Serialize, Default)]
#[serde(transparent)]
pub(super) struct Types(Vec<Row>);

#[derive(Serialize)]
struct Row {
    #[serde(rename = "type")]
    name: &'static str,
    tensors: usize,
    numbers: usize,
    bytes: usize,
}

impl Types {
    /// Counts a tensor.
    pub fn add(&mut self, name: &'static str, numbers: usize, bytes: usize) {
        let place = self.0.iter().position(|row| row.name == name).unwrap_or(self.0.len());
        if place == self.0.len() {
            self.0.push(Row { name, tensors: 0, numbers: 0, bytes: 0 });
        }
        let row = &mut self.0[place];
        (row.tensors, row.numbers, row.bytes) = (row.tensors + 1, row.numbers + numbers, row.bytes + bytes);
        self.0.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.name.cmp(b.name)));
    }

    /// Tensors, numbers and bytes in all.
    pub fn total(&self) -> (usize, usize, usize) {
        self.0.iter().fold((0, 0, 0), |(t, n, b), row| (t + row.tensors, n + row.numbers, b + row.bytes))
    }

    /// The table, for people.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let rows = self.0.iter().map(|row| format!("  {:<7} {:>7} {:>12} {:>10}", row.name, row.tensors, row.numbers, size(row.bytes)));
        std::iter::once(format!("  {:<7} {:>7} {:>12} {:>10}", "type", "tensors", "numbers", "size")).chain(rows)
    }
}

/// Bytes in a unit that shows them.
pub(super) fn size(bytes: usize) -> String {
    match bytes {
        0..100_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_given_in_a_unit_that_shows_them() {
        assert_eq!(size(1536), "1.5 kB");
        assert_eq!(size(46_881_792), "46.9 MB");
    }

    #[test]
    fn types_are_counted_and_the_largest_comes_first() {
        let mut types = Types::default();
        [("F32", 10, 40), ("Q8_0", 320, 340), ("F32", 5, 20)].into_iter().for_each(|(name, n, bytes)| types.add(name, n, bytes));
        assert_eq!(types.total(), (3, 335, 400));
        let lines: Vec<String> = types.lines().collect();
        assert!(lines.len() == 3 && lines[1].contains("Q8_0") && lines[2].contains("15"), "{lines:?}");
    }
}
