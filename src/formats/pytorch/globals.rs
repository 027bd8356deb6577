//! Which names may a pickle use, and what do they stand for?
//!
//! A table of every name that `torch.save` of a state dict writes. Nothing is looked up in any other place.

use crate::error::{ErrorKind, Result, fail};
use crate::quant::Dtype;

/// What numbers a storage holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// Numbers that are computed with, as they lie.
    Float(Dtype),
    /// Doubles, which become F32.
    Double,
    /// Whole numbers and truth values, of so many bytes: buffers, which are skipped.
    Whole(usize),
}

impl Element {
    /// Bytes of one.
    pub(super) fn size(self) -> usize {
        match self {
            Element::Float(dtype) => dtype.block_bytes(),
            Element::Double => 8,
            Element::Whole(size) => size,
        }
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// `_rebuild_tensor*`: a view of a storage.
    Tensor,
    /// `_rebuild_parameter*`: the tensor that is its first argument.
    Parameter,
    /// An ordered dictionary.
    Dict,
    /// `torch.Size`: the tuple that is its argument.
    Size,
    /// The type of a storage.
    Storage(Element),
    /// A value of no interest: a dtype, a device, a set.
    Other,
}

/// Modules, names, and what each stands for.
const KNOWN: &[(&[&str], &[&str], Known)] = &[
    (&["torch._utils"], &["_rebuild_tensor", "_rebuild_tensor_v2"], Known::Tensor),
    (&["torch._utils"], &["_rebuild_parameter", "_rebuild_parameter_with_state"], Known::Parameter),
    (&["collections"], &["OrderedDict"], Known::Dict),
    (&["torch"], &["Size"], Known::Size),
    (STORAGES, &["FloatStorage"], Known::Storage(Element::Float(Dtype::F32))),
    (STORAGES, &["HalfStorage"], Known::Storage(Element::Float(Dtype::F16))),
    (STORAGES, &["BFloat16Storage"], Known::Storage(Element::Float(Dtype::Bf16))),
    (STORAGES, &["DoubleStorage"], Known::Storage(Element::Double)),
    (STORAGES, &["LongStorage"], Known::Storage(Element::Whole(8))),
    (STORAGES, &["IntStorage"], Known::Storage(Element::Whole(4))),
    (STORAGES, &["ShortStorage"], Known::Storage(Element::Whole(2))),
    (STORAGES, &["CharStorage", "ByteStorage", "BoolStorage"], Known::Storage(Element::Whole(1))),
    (&["torch"], DTYPES, Known::Other),
    (STORAGES, TENSORS, Known::Other),
    (&["torch"], &["device"], Known::Other),
    (&["torch.serialization"], &["_get_layout"], Known::Other),
    (&["builtins", "__builtin__"], &["set", "frozenset"], Known::Other),
    (&["collections"], &["Counter", "defaultdict"], Known::Other),
    (&["_codecs"], &["encode"], Known::Other),
];

/// Storages of tensors on a GPU are types of their own.
const STORAGES: &[&str] = &["torch", "torch.cuda"];

/// Types of tensors, which tar archives name beside those of their storages.
const TENSORS: &[&str] =
    &["FloatTensor", "HalfTensor", "DoubleTensor", "LongTensor", "IntTensor", "ShortTensor", "CharTensor", "ByteTensor"];

const DTYPES: &[&str] = &["float32", "float16", "bfloat16", "float64", "int64", "int32", "int16", "int8", "uint8", "bool"];

/// What the name `module.name` stands for.
///
/// # Errors
/// `Unsupported` for every name that is not in the table.
pub(super) fn find(module: &str, name: &str) -> Result<Known> {
    let row = KNOWN.iter().find(|(modules, names, _)| modules.contains(&module) && names.contains(&name));
    match row {
        Some((_, _, known)) => Ok(*known),
        None => fail(
            ErrorKind::Unsupported,
            format!(
                "the pickle asks for {}, which a checkpoint of tensors does not need; nothing was run. If you trust the file, load it \
                 with PyTorch and save the tensors alone: torch.save(model.state_dict(), file)",
                format!("{module}.{name}").escape_debug()
            ),
        ),
    }
}
