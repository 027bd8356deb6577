//! Which kernels can this machine run, and which are in use?
//!
//! One table of functions an instruction set. [`all`] lists those that this machine can run, the best first; [`choose`] takes
//! one by name, by `CLOZE_ISA`, or the best. A new instruction set is one file and one row here.

use super::attention_bf16::Bf16;
use super::dot::{DotTile, QuantiseRow};
use super::gemm::Tile;
use super::{avx2, avx512, portable, reference};
use crate::engine::graph::Activation;
use crate::error::{ErrorKind, Result, fail};

/// Inputs and outputs of one row's layer normalisation.
#[derive(Clone, Copy)]
pub(super) struct NormRow {
    pub x: *const f32,
    /// Added to `x`; null for nothing.
    pub y: *const f32,
    /// May be `x` or `y`.
    pub out: *mut f32,
    pub width: usize,
    pub weight: *const f32,
    /// Null for no shift.
    pub bias: *const f32,
    pub epsilon: f32,
}

/// The functions of one instruction set. Each may only be called where `available` is true; [`all`] yields no other table.
pub struct Kernels {
    /// The name that `CLOZE_ISA` and the option `isa` use.
    pub name: &'static str,
    /// Whether this machine has the instructions.
    pub(super) available: fn() -> bool,
    /// Most rows of a matrix tile.
    pub(super) tile_rows: usize,
    /// One matrix tile.
    pub(super) tile: unsafe fn(&Tile),
    /// Most rows of an int8 tile.
    pub(super) dot_rows: usize,
    /// One int8 tile.
    pub(super) dot_tile: unsafe fn(&DotTile),
    /// See [`super::dot::quantise_row`].
    pub(super) quantise_row: unsafe fn(&QuantiseRow<'_>),
    /// Products of bf16 numbers, where the instruction set has them: attention of int8 models.
    pub(super) bf16: Option<&'static Bf16>,
    /// Applies an activation to `rows` rows of one panel, `stride` numbers apart.
    pub(super) activate: unsafe fn(Activation, *mut f32, rows: usize, stride: usize),
    /// As `activate` for outputs of int8 products: an absolute error up to 1e-4, or 3e-6 of the input.
    pub(super) activate_int8: unsafe fn(Activation, *mut f32, rows: usize, stride: usize),
    /// See [`super::rowwise::softmax`].
    pub(super) softmax: unsafe fn(row: *mut f32, n: usize, padded: usize, scale: f32) -> f32,
    /// See [`super::rowwise::add_norm`].
    pub(super) add_norm: unsafe fn(&NormRow),
    /// What learning needs beside these.
    #[cfg(feature = "train")]
    pub(super) learn: &'static super::learn::kernels::Kernels,
}

impl std::fmt::Debug for Kernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Every table of this build, the best first; `reference` is the definition that the others are tested against.
const TABLES: &[&Kernels] =
    &[&avx512::BF16, &avx512::VNNI, &avx512::KERNELS, &avx2::VNNI, &avx2::KERNELS, &portable::KERNELS, &reference::KERNELS];

/// The tables that this machine can run, the best first.
pub fn all() -> impl Iterator<Item = &'static Kernels> {
    TABLES.iter().copied().filter(|k| (k.available)())
}

/// The table called `name`; without a name, the one that `CLOZE_ISA` names (empty and `auto` name none), or the best one.
///
/// # Errors
/// `InvalidArgument` when this machine has no such table; the message says who asked for it and lists those there are.
pub fn choose(name: Option<&str>) -> Result<&'static Kernels> {
    let variable = std::env::var_os("CLOZE_ISA").map(|v| v.to_string_lossy().into_owned()).filter(|v| !v.is_empty() && v != "auto");
    let wish = name.map(|n| ("option isa", n.to_owned())).or_else(|| variable.map(|v| ("environment variable CLOZE_ISA", v)));
    let Some((asked_by, wish)) = wish else {
        return all().next().map_or_else(|| fail(ErrorKind::Unsupported, "no kernels for this machine"), Ok);
    };
    if let Some(found) = all().find(|k| k.name == wish) {
        return Ok(found);
    }
    let names: Vec<_> = all().map(|k| k.name).collect();
    fail(ErrorKind::InvalidArgument, format!("{asked_by} = {wish:?}: this machine has {}; choose one of them", names.join(", ")))
}
