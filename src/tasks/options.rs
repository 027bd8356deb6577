//! How is a model opened?

use super::settings::{self, Setting, choice, number};
use crate::engine;
use crate::error::{ErrorKind, Result, fail};

/// Which arithmetic the encoder uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Precision {
    /// int8 for files whose matrices are quantised, f32 for all others.
    #[default]
    Auto,
    /// 32-bit floating point.
    F32,
    /// Eight-bit matrices, inputs quantised row by row; norms, attention, pooling and heads stay f32.
    Int8,
}

const PRECISIONS: &[(&str, Precision)] = &[("auto", Precision::Auto), ("f32", Precision::F32), ("int8", Precision::Int8)];

impl Precision {
    /// The engine's precision; `None` leaves it to the file.
    pub(super) fn engine(self) -> Option<engine::Precision> {
        match self {
            Precision::Auto => None,
            Precision::F32 => Some(engine::Precision::F32),
            Precision::Int8 => Some(engine::Precision::Int8),
        }
    }

    /// The word for what an engine computes in.
    pub(super) fn word(precision: engine::Precision) -> &'static str {
        match precision {
            engine::Precision::F32 => "f32",
            engine::Precision::Int8 => "int8",
        }
    }
}

/// How a model is opened: set once, before [`Model::load`](super::Model::load).
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads of one call, the calling thread included; `None` = as many as the affinity mask and the cgroup quota allow.
    pub threads: Option<usize>,
    /// Which arithmetic the encoder uses.
    pub precision: Precision,
    /// The instruction set to use (`avx512bf16`, `avx512vnni`, `avx512`, `avxvnni`, `avx2`, `portable`, `reference`), `None` = `CLOZE_ISA` or the best one.
    pub isa: Option<String>,
}

impl Options {
    /// Every option that [`Options::set`] knows.
    pub const SETTINGS: &'static [Setting<Options>] = &[
        Setting {
            name: "threads",
            values: "a number from 1 to 1024, or auto",
            help: "Threads of one call, the calling thread included; auto honours the affinity mask and the cgroup quota",
            apply: |o, v| {
                o.threads = threads(v)?;
                Ok(())
            },
        },
        Setting {
            name: "precision",
            values: "auto, f32 or int8",
            help: "Arithmetic of the encoder; auto is int8 for quantised files and f32 for all others",
            apply: |o, v| {
                o.precision = choice(v, PRECISIONS)?;
                Ok(())
            },
        },
        Setting {
            name: "isa",
            values: "auto, or an instruction set of this machine: avx512bf16, avx512vnni, avx512, avxvnni, avx2, portable, reference",
            help: "Instruction set of the kernels; auto takes the best one, or the one that CLOZE_ISA names",
            apply: |o, v| {
                o.isa = (v != "auto").then(|| v.to_owned());
                Ok(())
            },
        },
    ];

    /// Sets an option by name, as the command line and the C ABI do.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown name or value; the message lists what is known.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        settings::set(Self::SETTINGS, self, name, value)
    }
}

/// Reads a thread count: `auto` or a number.
pub(crate) fn threads(value: &str) -> Result<Option<usize>> {
    if value == "auto" {
        return Ok(None);
    }
    let threads = Some(number(value, 1)?);
    check_threads(threads).map(|()| threads)
}

/// Refuses a number of threads that no call can have.
pub(super) fn check_threads(threads: Option<usize>) -> Result<()> {
    match threads {
        None | Some(1..=1024) => Ok(()),
        Some(n) => fail(ErrorKind::InvalidArgument, format!("{n} threads: a call has from 1 to 1024")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_set_by_name_and_bad_values_are_named() {
        let mut o = Options::default();
        o.set("threads", "3").unwrap();
        o.set("isa", "avx2").unwrap();
        assert_eq!((o.threads, o.isa.as_deref()), (Some(3), Some("avx2")));
        for (name, value) in [("threads", "0"), ("threads", "x"), ("threads", "99999"), ("precision", "f8"), ("colour", "red")] {
            let e = o.set(name, value).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{name}={value}");
            assert!(e.message().contains(name), "{e}");
        }
        assert_eq!(o.threads, Some(3), "a refused value must not change the option");
    }
}
