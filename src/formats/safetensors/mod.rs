//! Safetensors: tensors of a Hugging Face folder.
//!
//! [`read()`] checks a file and shares its bytes; [`write()`] writes one, tensor by tensor.

mod read;
mod write;

pub use read::read;
pub use write::write;
