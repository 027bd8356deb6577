//! `cloze convert`: a folder as one GGUF file, a GGUF file as a folder, or either in another type.
//!
//! The work is in [`super::store`].

use clap::Command;

use super::{Verb, store};

pub(super) const VERB: Verb = Verb {
    name: "convert",
    about: "A model folder to a GGUF file, or the other way round",
    examples: "Examples:
  cloze convert -m models/minilm -o minilm.gguf
  cloze convert -m models/minilm -o minilm-f16.gguf --type f16
  cloze convert -m minilm.gguf -o minilm-again
  cloze convert -m minilm.gguf -o minilm-f16 --type f16 --json

A name that ends with .gguf becomes a GGUF file, any other a folder with safetensors. Without --type numbers stay
as they are, but for what the form does not have: in a folder, quantised tensors become f32. A GGUF file also gets
golden probes, texts and the vectors that the model gives for them at f32, which `cloze verify` computes again.
OUT appears when it is whole: an error leaves nothing behind, a killed process .OUT.PID-N.partial, which may be deleted.",
    build,
    run: store::run,
};

fn build(command: Command) -> Command {
    command.args(store::arguments("The file to write, if it ends with .gguf, or else the folder"))
}
