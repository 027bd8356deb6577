//! What do the letters of a picture look like?
//!
//! Five dots wide and seven high, two more below the line; drawn for this program, of the letters that its curves use.

/// Dots from one letter to the next, and how high one is above the line.
pub(super) const ADVANCE: usize = 6;
pub(super) const HEIGHT: usize = 7;

/// Rows from the top, the first dot of five the highest bit; rows 7 and 8 are below the line.
const LETTERS: &[(char, [u8; 9])] = &[
    ('0', [14, 17, 19, 21, 25, 17, 14, 0, 0]),
    ('1', [4, 12, 4, 4, 4, 4, 14, 0, 0]),
    ('2', [14, 17, 1, 2, 4, 8, 31, 0, 0]),
    ('3', [31, 2, 4, 2, 1, 17, 14, 0, 0]),
    ('4', [2, 6, 10, 18, 31, 2, 2, 0, 0]),
    ('5', [31, 16, 30, 1, 1, 17, 14, 0, 0]),
    ('6', [6, 8, 16, 30, 17, 17, 14, 0, 0]),
    ('7', [31, 1, 2, 4, 8, 8, 8, 0, 0]),
    ('8', [14, 17, 17, 14, 17, 17, 14, 0, 0]),
    ('9', [14, 17, 17, 15, 1, 2, 12, 0, 0]),
    ('a', [0, 0, 14, 1, 15, 17, 15, 0, 0]),
    ('b', [16, 16, 30, 17, 17, 17, 30, 0, 0]),
    ('c', [0, 0, 14, 17, 16, 17, 14, 0, 0]),
    ('d', [1, 1, 15, 17, 17, 17, 15, 0, 0]),
    ('e', [0, 0, 14, 17, 31, 16, 14, 0, 0]),
    ('f', [6, 9, 8, 28, 8, 8, 8, 0, 0]),
    ('g', [0, 0, 15, 17, 17, 17, 15, 1, 14]),
    ('h', [16, 16, 22, 25, 17, 17, 17, 0, 0]),
    ('i', [4, 0, 12, 4, 4, 4, 14, 0, 0]),
    ('j', [2, 0, 6, 2, 2, 2, 2, 18, 12]),
    ('k', [16, 16, 18, 20, 24, 20, 18, 0, 0]),
    ('l', [12, 4, 4, 4, 4, 4, 14, 0, 0]),
    ('m', [0, 0, 26, 21, 21, 21, 21, 0, 0]),
    ('n', [0, 0, 22, 25, 17, 17, 17, 0, 0]),
    ('o', [0, 0, 14, 17, 17, 17, 14, 0, 0]),
    ('p', [0, 0, 30, 17, 17, 17, 30, 16, 16]),
    ('q', [0, 0, 15, 17, 17, 17, 15, 1, 1]),
    ('r', [0, 0, 22, 25, 16, 16, 16, 0, 0]),
    ('s', [0, 0, 15, 16, 14, 1, 30, 0, 0]),
    ('t', [8, 8, 28, 8, 8, 9, 6, 0, 0]),
    ('u', [0, 0, 17, 17, 17, 19, 13, 0, 0]),
    ('v', [0, 0, 17, 17, 17, 10, 4, 0, 0]),
    ('w', [0, 0, 17, 17, 21, 21, 10, 0, 0]),
    ('x', [0, 0, 17, 10, 4, 10, 17, 0, 0]),
    ('y', [0, 0, 17, 17, 17, 17, 15, 1, 14]),
    ('z', [0, 0, 31, 2, 4, 8, 31, 0, 0]),
    ('.', [0, 0, 0, 0, 0, 12, 12, 0, 0]),
    (',', [0, 0, 0, 0, 0, 12, 12, 4, 8]),
    ('-', [0, 0, 0, 31, 0, 0, 0, 0, 0]),
    ('_', [0, 0, 0, 0, 0, 0, 0, 31, 0]),
    (' ', [0; 9]),
];

/// A box, for what has no letter here.
const OTHER: [u8; 9] = [31, 17, 17, 17, 17, 17, 31, 0, 0];

/// The dots of `letter`, (column, row) from the left and the top.
pub(super) fn dots(letter: char) -> impl Iterator<Item = (usize, usize)> {
    let rows = LETTERS.iter().find(|(known, _)| *known == letter.to_ascii_lowercase()).map_or(OTHER, |(_, rows)| *rows);
    (0..9).flat_map(move |row| (0..5).filter(move |column| rows[row] >> (4 - column) & 1 == 1).map(move |column| (column, row)))
}
