//! `cloze quantize`: the same model in a smaller file.
//!
//! [`super::store`] with a type that must be given; `formats` has the table of tensors that keep more bits.

use clap::{ArgMatches, Command};

use super::{Failure, Outcome, Verb, store};

pub(super) const VERB: Verb = Verb {
    name: "quantize",
    about: "A model to a GGUF file of fewer bits",
    examples: "Examples:
  cloze quantize -m models/minilm -o minilm-q8_0.gguf --type q8_0
  cloze quantize -m minilm.gguf -o minilm-q4_0.gguf --type q4_0
  cloze quantize -m models/minilm -o mixed.gguf --type q4_0 --tensor 'blk.*.ffn_down.weight=q8_0' --tensor token_embd.weight=q4_0

The encoder's linear layers get TYPE. Token embedding, pooler and heads get at least q8_0; norms, biases and embeddings
of positions and segments stay f32; where rows are no whole blocks of a type, the next type that fits takes its place.
--tensor makes exceptions, by the names that `cloze inspect` of a GGUF file lists. Quantise from the original, not
from a quantised file: losses add up.",
    build,
    run,
};

fn build(command: Command) -> Command {
    let arguments = store::arguments("The GGUF file to write");
    command.args(arguments.map(|flag| if flag.get_id() == "type" { flag.required(true) } else { flag }))
}

fn run(matches: &ArgMatches) -> Outcome {
    let out = store::out_path(matches);
    if !store::is_gguf(out) {
        return Err(Failure::Usage(format!("-o {}: quantised models are GGUF files; give a name that ends with .gguf", out.display())));
    }
    store::run(matches)
}
