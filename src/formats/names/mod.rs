//! What is a tensor called in a Hugging Face checkpoint, and what in a GGUF file?
//!
//! One [`Family`] a family, one row a layer (weight and bias go together): Hugging Face's name, llama.cpp's name and what the
//! layer is. `{}` stands for the number of a layer. The names on the right are those of llama.cpp's `llama-arch.cpp`: it refuses
//! a file with a tensor that it does not know. Tensors without a row keep their name behind `cloze.`; such files open only here.
//!
//! `convert` and `package` translate whole checkpoints; `stored_type` chooses types by [`Role`]. The rows stand in `rows`.

mod rows;

use serde_json::Value as Json;

use rows::{
    ALBERT, APART, ATTENTION, BARE_POOLER, BUFFERS, DEBERTA, DEBERTA_1, DEBERTA_2, DISTILBERT, EMBEDDINGS, FEED_FORWARD, GPT, GTE, JINA,
    LONGFORMER, MOBILEBERT, MODERNBERT, MPNET_ATTENTION, NOMIC, POOLER, ROBERTA_HEADS, TWO_LAYERS, XLM,
};

/// What a tensor is for: what decides its type in a quantised file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The matrix of a linear layer of the trunk.
    Linear,
    /// The embedding of tokens: large, read by row, and every later layer sees its error.
    TokenEmbedding,
    /// An embedding of positions or segments: small.
    SmallEmbedding,
    /// Weights and biases of one dimension.
    Vector,
    /// The matrix of a pooler, a dense module or another layer behind the trunk: small, and its error goes into the answer.
    Head,
}

/// A layer's names.
#[derive(Debug)]
struct Row {
    /// Hugging Face's, without a prefix for the trunk.
    theirs: &'static str,
    /// llama.cpp's.
    gguf: &'static str,
    role: Role,
    /// Whether the layer belongs to the trunk, whose prefix (`bert.`) goes before its name.
    trunk: bool,
    /// Whether the row is for checkpoints with a classifier ([`RANKS`]) alone, or for those without; `None` for all.
    ranks: Option<bool>,
}

/// The names of one family.
#[derive(Debug)]
pub struct Family {
    /// `model_type` in config.json.
    pub model_type: &'static str,
    /// Fields of config.json, and what they say where a file has no config.json of its own; the first tells the family from others of
    /// this `model_type`.
    pub marks: &'static [(&'static str, &'static str)],
    /// `general.architecture` of GGUF files.
    pub architecture: &'static str,
    /// What the trunk's names begin with in checkpoints of whole models.
    pub prefix: &'static str,
    /// The field of config.json with the padding id, and the usual id, where positions begin behind it: GGUF files leave the rows up to it
    /// out, as llama.cpp does.
    after_padding: Option<(&'static str, u64)>,
    /// Buffers that the model makes itself.
    buffers: &'static [&'static str],
    /// Tensors that are no layer's weight or bias: their names, and what they are for.
    whole: &'static [(&'static str, &'static str, Role)],
    /// Whether llama.cpp has keys for such models: it has none for those that are a table alone.
    pub in_llama_cpp: bool,
    rows: &'static [&'static [Row]],
}

const fn trunk(theirs: &'static str, gguf: &'static str, role: Role) -> Row {
    Row { theirs, gguf, role, trunk: true, ranks: None }
}

const fn head(theirs: &'static str, gguf: &'static str) -> Row {
    Row { theirs, gguf, role: Role::Head, trunk: false, ranks: None }
}

/// A family of this name, with BERT's tensors.
const fn family(model_type: &'static str, architecture: &'static str, prefix: &'static str, rows: &'static [&'static [Row]]) -> Family {
    Family { model_type, marks: &[], architecture, prefix, after_padding: None, buffers: BUFFERS, whole: &[], in_llama_cpp: true, rows }
}

/// RoBERTa and its relatives: BERT to llama.cpp, without the rows of positions up to the padding id.
const fn roberta(model_type: &'static str) -> Family {
    let rows = &[EMBEDDINGS, ATTENTION, FEED_FORWARD, ROBERTA_HEADS];
    Family { after_padding: Some(("pad_token_id", 1)), ..family(model_type, "bert", "roberta.", rows) }
}

/// Static vectors: a table, perhaps with `weights` of its rows and a `mapping` from ids to rows.
const fn table(model_type: &'static str) -> Family {
    let whole = &[("embeddings", "token_embd.weight", Role::TokenEmbedding)];
    Family {
        model_type,
        marks: &[],
        architecture: model_type,
        prefix: "",
        after_padding: None,
        buffers: &[],
        whole,
        in_llama_cpp: false,
        rows: &[],
    }
}

/// Every family. A new one is one entry. Where llama.cpp computes the same, it has llama.cpp's architecture, and BERT, which comes first,
/// stands for files that do not say more. Others have an architecture of their own, so that llama.cpp refuses them rather than
/// computing something else.
const FAMILIES: &[Family] = &[
    family("bert", "bert", "bert.", &[EMBEDDINGS, ATTENTION, FEED_FORWARD, POOLER, &[head("classifier", "cls.output")]]),
    roberta("roberta"),
    roberta("camembert"),
    roberta("xlm-roberta"),
    family("distilbert", "bert", "distilbert.", &[EMBEDDINGS, DISTILBERT]),
    family(
        "electra",
        "electra",
        "electra.",
        &[EMBEDDINGS, ATTENTION, FEED_FORWARD, &[trunk("embeddings_project", "token_embd_up", Role::Linear)], TWO_LAYERS],
    ),
    family("albert", "albert", "albert.", &[EMBEDDINGS, ALBERT, BARE_POOLER, &[head("classifier", "cls.output")]]),
    family(
        "ernie",
        "ernie",
        "ernie.",
        &[
            EMBEDDINGS,
            &[trunk("embeddings.task_type_embeddings", "task_types", Role::SmallEmbedding)],
            ATTENTION,
            FEED_FORWARD,
            POOLER,
            &[head("classifier", "cls.output")],
        ],
    ),
    family("mpnet", "mpnet", "mpnet.", &[EMBEDDINGS, MPNET_ATTENTION, FEED_FORWARD, POOLER, TWO_LAYERS]),
    family("modernbert", "modern-bert", "model.", &[MODERNBERT]),
    family("nomic_bert", "nomic-bert", "nomic_bert.", &[NOMIC, POOLER, &[head("classifier", "cls.output")]]),
    family("gte", "gte", "gte.", &[GTE, POOLER, &[head("classifier", "cls.output")]]),
    Family {
        marks: &[("position_embedding_type", "alibi"), ("feed_forward_type", "geglu")],
        ..family("bert", "jina-bert-v2", "bert.", &[EMBEDDINGS, ATTENTION, JINA, POOLER, &[head("classifier", "cls.output")]])
    },
    family("new", "gte-new", "new.", &[GTE, APART, POOLER, &[head("classifier", "cls.output")]]),
    family("longformer", "longformer", "longformer.", &[EMBEDDINGS, ATTENTION, LONGFORMER, FEED_FORWARD, POOLER, TWO_LAYERS]),
    family("big_bird", "big-bird", "bert.", &[EMBEDDINGS, ATTENTION, FEED_FORWARD, BARE_POOLER, TWO_LAYERS]),
    family("deberta-v2", "deberta-v2", "deberta.", &[EMBEDDINGS, DEBERTA, DEBERTA_2, FEED_FORWARD]),
    family("deberta", "deberta", "deberta.", &[EMBEDDINGS, DEBERTA, DEBERTA_1, FEED_FORWARD]),
    family(
        "mobilebert",
        "mobilebert",
        "mobilebert.",
        &[EMBEDDINGS, ATTENTION, FEED_FORWARD, MOBILEBERT, POOLER, &[head("classifier", "cls.output")]],
    ),
    family("xlm", "xlm", "transformer.", &[XLM]),
    family("flaubert", "flaubert", "transformer.", &[XLM]),
    // llama.cpp has a gpt2 with the matrices turned, which generates.
    family(
        "gpt2",
        "gpt2-encoder",
        "transformer.",
        &[
            &[
                trunk("wte", "token_embd", Role::TokenEmbedding),
                trunk("wpe", "position_embd", Role::SmallEmbedding),
                trunk("ln_f", "output_norm", Role::Vector),
            ],
            GPT,
        ],
    ),
    family(
        "openai-gpt",
        "gpt-encoder",
        "transformer.",
        &[
            &[trunk("tokens_embed", "token_embd", Role::TokenEmbedding), trunk("positions_embed", "position_embd", Role::SmallEmbedding)],
            GPT,
        ],
    ),
    table("model2vec"),
    table("static-embedding"),
];

/// Query, key and value as one matrix, which other converters write, and the rows that it is split into.
pub const FUSED: (&str, [&str; 3]) = ("attn_qkv", ["attn_q", "attn_k", "attn_v"]);

/// The tensor by which a file ranks: llama.cpp pools such a model by its classifier.
pub const RANKS: &str = "cls.output.weight";

/// What stands before the name of a tensor that GGUF has no name for.
pub const OWN: &str = "cloze.";

/// TensorFlow's names of a norm's parameters, and today's.
const OLD_PARAMETERS: &[(&str, &str)] = &[("gamma", "weight"), ("beta", "bias")];

/// Tensors that some checkpoints hold although they are another one, whose name follows (the trunk's without its prefix): what
/// `transformers` ties.
const COPIES: &[(&str, &str)] = &[
    ("cls.predictions.decoder.weight", "embeddings.word_embeddings.weight"),
    ("cls.predictions.decoder.bias", "cls.predictions.bias"),
    ("lm_head.decoder.weight", "embeddings.word_embeddings.weight"),
    ("decoder.weight", "embeddings.tok_embeddings.weight"),
    ("lm_head.weight", "wte.weight"),
    ("pred_layer.proj.weight", "embeddings.weight"),
];

/// A tensor's name in a GGUF file, and what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// Decides its type, together with its shape.
    pub role: Role,
    /// Whether llama.cpp knows a tensor of this name.
    pub shared: bool,
}

impl Family {
    /// The family of a `model_type`, where nothing else marks it.
    pub fn of_model_type(model_type: &str) -> Option<&'static Family> {
        FAMILIES.iter().find(|f| f.model_type == model_type && f.marks.is_empty())
    }

    /// The family that a config.json is of.
    pub fn of_config(config: &Json) -> Option<&'static Family> {
        let model_type = config.get("model_type")?.as_str()?;
        let is_marked = |f: &&Family| {
            f.model_type == model_type && f.marks.first().is_some_and(|(field, said)| config.get(field).is_some_and(|v| v == said))
        };
        FAMILIES.iter().find(is_marked).or_else(|| Family::of_model_type(model_type))
    }

    /// The family of a `general.architecture`.
    pub fn of_architecture(architecture: &str) -> Option<&'static Family> {
        FAMILIES.iter().find(|f| f.architecture == architecture)
    }

    /// The architectures that are known.
    pub fn architectures() -> impl Iterator<Item = &'static str> {
        FAMILIES.iter().map(|f| f.architecture)
    }

    fn rows(&self) -> impl Iterator<Item = &'static Row> {
        self.rows.iter().flat_map(|rows| rows.iter())
    }

    /// The rows of a checkpoint that has a classifier, or has none.
    fn rows_where(&self, ranks: bool) -> impl Iterator<Item = &'static Row> {
        self.rows().filter(move |row| row.ranks.is_none_or(|only| only == ranks))
    }

    /// Whether a checkpoint with the tensor `name` has a classifier that llama.cpp knows.
    pub fn ranks_by(&self, name: &str) -> bool {
        self.to_gguf(name, true).name == RANKS
    }

    /// How many rows of the table of positions GGUF files leave out, given config.json.
    pub fn skipped_positions(&self, config: &Json) -> usize {
        let id = |(field, usual): (&str, u64)| config.get(field).and_then(Json::as_u64).unwrap_or(usual);
        // A padding id beyond any table is refused with the table.
        self.after_padding.map_or(0, |stated| usize::try_from(id(stated)).map_or(usize::MAX, |id| id.saturating_add(1)))
    }

    /// Whether query, key and value are one matrix in the family's own checkpoints too.
    pub fn is_fused(&self) -> bool {
        self.rows().any(|row| row.gguf.ends_with(FUSED.0))
    }

    /// Whether a tensor is a buffer that the model makes itself.
    pub fn is_buffer(&self, name: &str) -> bool {
        self.buffers.contains(&name.strip_prefix(self.prefix).unwrap_or(name))
    }

    /// The names under which the tensor may stand that `name` is a copy of, if it may be one.
    pub fn original(&self, name: &str) -> Option<[String; 2]> {
        let (_, original) = COPIES.iter().find(|(copy, _)| *copy == name)?;
        Some([format!("{}{original}", self.prefix), (*original).to_owned()])
    }

    /// The GGUF name of the Hugging Face tensor `name` of a checkpoint that has a classifier or, without `ranks`, none.
    pub fn to_gguf(&self, name: &str, ranks: bool) -> Named {
        let bare = name.strip_prefix(self.prefix).unwrap_or(name);
        if let Some((_, gguf, role)) = self.whole.iter().find(|(theirs, ..)| *theirs == bare) {
            return Named { name: (*gguf).to_owned(), role: *role, shared: true };
        }
        let (layer, parameter) = bare.rsplit_once('.').unwrap_or((bare, ""));
        let parameter = OLD_PARAMETERS.iter().find(|(old, _)| *old == parameter).map_or(parameter, |(_, new)| new);
        let row = self.rows_where(ranks).find_map(|row| Some((row, number(row.theirs, layer)?)));
        match row.filter(|_| matches!(parameter, "weight" | "bias")) {
            Some((row, number)) => {
                let role = if parameter == "bias" { Role::Vector } else { row.role };
                Named { name: format!("{}.{parameter}", fill(row.gguf, &number)), role, shared: true }
            }
            None => {
                // What is no weight of a layer is a table of numbers of its own, such as a crf's transitions.
                let role = if parameter == "weight" { Role::Head } else { Role::Vector };
                Named { name: format!("{OWN}{name}"), role, shared: false }
            }
        }
    }

    /// The Hugging Face name of the GGUF tensor `name`, the trunk's behind `prefix`; `ranks` as in [`Family::to_gguf`]. `None` for a name
    /// that is not here.
    pub fn to_theirs(&self, name: &str, prefix: &str, ranks: bool) -> Option<String> {
        if let Some(own) = name.strip_prefix(OWN) {
            return Some(own.to_owned());
        }
        if let Some((theirs, ..)) = self.whole.iter().find(|(_, gguf, _)| *gguf == name) {
            return Some((*theirs).to_owned());
        }
        let (layer, parameter) = name.rsplit_once('.')?;
        if !matches!(parameter, "weight" | "bias") {
            return None;
        }
        let (row, number) = self.rows_where(ranks).find_map(|row| Some((row, number(row.gguf, layer)?)))?;
        let prefix = if row.trunk { prefix } else { "" };
        Some(format!("{prefix}{}.{parameter}", fill(row.theirs, &number)))
    }
}

/// What stands for each `{}` in `name`, with points between; empty where the pattern has none, `None` where it does not match.
pub(super) fn number(pattern: &str, name: &str) -> Option<String> {
    let mut parts = pattern.split("{}");
    let mut rest = name.strip_prefix(parts.next()?)?;
    let mut numbers: Vec<&str> = Vec::new();
    for part in parts {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, behind) = rest.split_at(digits);
        // "01" is another name.
        if !number.parse::<usize>().is_ok_and(|value| value.to_string() == number) {
            return None;
        }
        numbers.push(number);
        rest = behind.strip_prefix(part)?;
    }
    rest.is_empty().then(|| numbers.join("."))
}

/// The name that has these numbers in place of each `{}`.
pub(super) fn fill(pattern: &str, numbers: &str) -> String {
    numbers.split('.').fold(pattern.to_owned(), |name, number| name.replacen("{}", number, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bert() -> &'static Family {
        Family::of_model_type("bert").unwrap()
    }

    #[test]
    fn every_name_goes_there_and_back() {
        for family in FAMILIES {
            for (row, parameter) in family.rows().flat_map(|row| ["weight", "bias"].map(|parameter| (row, parameter))) {
                let number = if row.theirs.matches("{}").count() == 2 { "11.3" } else { "11" };
                let theirs = format!("{}{}.{parameter}", if row.trunk { family.prefix } else { "" }, fill(row.theirs, number));
                let ranks = row.ranks.unwrap_or(false);
                let named = family.to_gguf(&theirs, ranks);
                assert!(named.shared && !named.name.contains("cloze"), "{named:?}");
                assert_eq!(named.role == Role::Vector, parameter == "bias" || row.role == Role::Vector);
                assert_eq!(family.to_theirs(&named.name, family.prefix, ranks), Some(theirs.clone()));
                let bare = theirs.trim_start_matches(family.prefix);
                assert_eq!(family.to_gguf(bare, ranks), named);
                assert_eq!(family.to_theirs(&named.name, "", ranks).as_deref(), Some(bare));
            }
        }
        let albert = Family::of_model_type("albert").unwrap();
        let set = "albert.encoder.albert_layer_groups.1.albert_layers.0.ffn_output.weight";
        assert_eq!(albert.to_gguf(set, false).name, "blk.1.0.ffn_down.weight");
    }

    #[test]
    fn names_that_are_not_here_are_kept_apart() {
        for name in ["cls.predictions.bias", "encoder.layer.x.output.dense.weight", "encoder.layer.01.output.dense.weight", "a", ""] {
            let named = bert().to_gguf(name, false);
            assert_eq!((named.name.as_str(), named.shared), (format!("cloze.{name}").as_str(), false));
            assert_eq!(bert().to_theirs(&named.name, "bert.", false).as_deref(), Some(name));
        }
        for name in ["blk.0.attn_x.weight", "token_embd", "blk.0.attn_q.scale", "output_norm.weight", ""] {
            assert_eq!(bert().to_theirs(name, "", false), None, "{name}");
        }
    }

    #[test]
    fn heads_keep_eight_bits_and_transitions_all_of_theirs() {
        assert_eq!(bert().to_gguf("qa_outputs.weight", false).role, Role::Head);
        assert_eq!(bert().to_gguf("classifier.weight", false).role, Role::Head);
        for name in ["crf.transitions", "crf.start_transitions", "crf.end_transitions"] {
            assert_eq!(bert().to_gguf(name, false).role, Role::Vector);
        }
    }

    #[test]
    fn old_names_and_buffers_are_known() {
        assert_eq!(bert().to_gguf("bert.encoder.layer.3.output.LayerNorm.gamma", false).name, "blk.3.layer_output_norm.weight");
        assert_eq!(bert().to_gguf("bert.embeddings.LayerNorm.beta", false).name, "token_embd_norm.bias");
        assert!(bert().is_buffer("bert.embeddings.position_ids") && bert().is_buffer("embeddings.position_ids"));
        assert!(!bert().is_buffer("embeddings.word_embeddings.weight"));
    }
}
