//! Where do the tensors of a checkpoint stand in the weights that are made of them?
//!
//! Most weights are tensors, one above the other. Some hold a tensor otherwise: turned, its rows or columns in another order, beside another
//! one. A [`Part`] says how, so that a weight is filled from its tensors when a model is opened, and the tensors found in it again when what was
//! learned is saved.

use std::ops::Range;
use std::sync::Arc;

/// A tensor that a weight is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name in a checkpoint of a whole model.
    pub name: String,
    /// Its shape there.
    pub shape: Vec<usize>,
    /// The rows of the weight in which its numbers stand.
    pub rows: Range<usize>,
    /// How they stand there.
    pub(super) form: Form,
}

/// How a tensor's numbers stand in the rows of a weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A row in a row, from the first column on.
    Rows,
    /// Row `i` in the row `order[i]`.
    OrderedRows(Arc<[usize]>),
    /// Column `i` in the column `order[i]`.
    OrderedColumns(Arc<[usize]>),
    /// A row in a column, from this column on.
    Turned(usize),
}

impl Part {
    /// The tensor `name` of `shape`, whose rows are the weight's from row `first` on.
    pub(super) fn plain(name: String, shape: &[usize], first: usize) -> Part {
        let rows = first..first + shape.first().copied().unwrap_or(1);
        Part { name, shape: shape.to_vec(), rows, form: Form::Rows }
    }

    /// The tensor `name` of (rows, columns), each row a column of the weight from column `column` on.
    pub(super) fn turned(name: String, shape: [usize; 2], column: usize) -> Part {
        Part { name, shape: shape.to_vec(), rows: 0..shape[1], form: Form::Turned(column) }
    }

    /// The tensor's numbers in its own order, where `numbers` are those of the weight's [`Part::rows`], `width` a row.
    #[cfg(feature = "train")]
    pub fn taken(&self, numbers: &[f32], width: usize) -> Vec<f32> {
        let mut out = vec![0.0; self.shape.iter().product()];
        self.each(width, |own, there| out[own] = numbers[there]);
        out
    }

    /// Puts the tensor's `numbers` into a weight of rows of `width` numbers.
    pub(super) fn place(&self, numbers: &[f32], weight: &mut [f32], width: usize) {
        let rows = &mut weight[self.rows.start * width..self.rows.end * width];
        self.each(width, |own, there| rows[there] = numbers[own]);
    }

    /// Visits the place of each number in the tensor, and that in the weight's rows.
    fn each(&self, width: usize, mut visit: impl FnMut(usize, usize)) {
        let rows = self.shape.first().copied().unwrap_or(1);
        let columns: usize = self.shape.iter().skip(1).product();
        for row in 0..rows {
            for column in 0..columns {
                let there = match &self.form {
                    Form::Rows => row * width + column,
                    Form::OrderedRows(order) => order[row] * width + column,
                    Form::OrderedColumns(order) => row * width + order[column],
                    Form::Turned(first) => column * width + first + row,
                };
                visit(row * columns + column, there);
            }
        }
    }
}

#[cfg(all(test, feature = "train"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_placed_is_taken_again() {
        let part = |shape: &[usize], rows: Range<usize>, form| Part { name: String::new(), shape: shape.to_vec(), rows, form };
        let cases = [
            (part(&[2, 3], 1..3, Form::Rows), 4, vec![0, 0, 0, 0, 1, 2, 3, 0, 4, 5, 6, 0]),
            (part(&[2, 3], 0..2, Form::OrderedRows([1, 0].into())), 3, vec![4, 5, 6, 1, 2, 3]),
            (part(&[2, 3], 0..2, Form::OrderedColumns([2, 0, 1].into())), 3, vec![2, 3, 1, 5, 6, 4]),
            (part(&[2, 3], 0..3, Form::Turned(1)), 3, vec![0, 1, 4, 0, 2, 5, 0, 3, 6]),
            (part(&[3], 2..5, Form::Rows), 1, vec![0, 0, 1, 2, 3]),
        ];
        for (part, width, expected) in cases {
            let numbers: Vec<f32> = (1..=part.shape.iter().product::<usize>()).map(|x| x as f32).collect();
            let mut weight = vec![0.0; expected.len()];
            part.place(&numbers, &mut weight, width);
            assert_eq!(weight.iter().map(|x| *x as i32).collect::<Vec<_>>(), expected);
            assert_eq!(part.taken(&weight[part.rows.start * width..part.rows.end * width], width), numbers);
        }
    }
}
