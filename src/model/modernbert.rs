//! ModernBERT: norms in front, rotary positions, windows of attention, gated feed-forward layers, hardly a bias.
//!
//! Warner et al., Smarter, Better, Faster, Longer: A Modern Bidirectional Encoder (2024). Every third layer looks at all tokens, the
//! others at a window, with another base of their rotary positions. The first layer has no norm in front of its attention, since
//! the embeddings are normalised; one more norm comes behind the last. What config.json says of biases and of windows is read as
//! `ModernBertModel` of `transformers` reads it.

use serde_json::Value;

use super::bert::{CHOICE, CHOOSE, linear};
use super::config::Fields;
use super::heads::{self, Activates, Ground, Input, Kind, LayerRow, Row, Width};
use super::languages::Languages;
use super::loader::Loader;
use super::rotary;
use super::trunk::{Sizes, Trunk};
use crate::engine::Graph;
use crate::engine::graph::{Activation, Attention, Half, Index, Lookup, Norm, Rotary, Span, ValueId, WeightId};
use crate::error::{ErrorKind, Result, fail};

/// What the classes put between hidden states and their last layer.
const DENSE: LayerRow =
    LayerRow::Dense { name: "head.dense", bias: "classifier_bias", activation: Activates::AsOr("classifier_activation", Activation::Gelu) };
const NORM: LayerRow = LayerRow::Norm { name: "head.norm" };

const fn classifier(width: Width) -> LayerRow {
    linear("classifier", width)
}

/// The heads of its classes in `transformers`. Tensors `head.` alone belong to a masked language model.
pub(super) const HEADS: &[Row] = &[
    Row {
        kind: Kind::Classify,
        classes: &["ForSequenceClassification"],
        tensors: "classifier.",
        input: Input::Stated("classifier_pooling"),
        crf: None,
        layers: &[DENSE, NORM, classifier(Width::Labels)],
    },
    Row {
        kind: Kind::Tag,
        classes: &["ForTokenClassification"],
        tensors: "classifier.",
        input: Input::Tokens,
        crf: Some(super::crf::TENSORS),
        layers: &[DENSE, NORM, classifier(Width::Labels)],
    },
    Row {
        kind: Kind::Extract,
        classes: &["ForQuestionAnswering"],
        tensors: "classifier.",
        input: Input::Tokens,
        crf: None,
        layers: &[DENSE, NORM, classifier(Width::Fixed(2))],
    },
    Row { input: Input::Stated("classifier_pooling"), layers: &[DENSE, NORM, CHOICE], ..CHOOSE },
    Row {
        kind: Kind::FillMask,
        classes: &["ForMaskedLM"],
        tensors: "head.",
        input: Input::Picked,
        crf: None,
        layers: &[DENSE, NORM, LayerRow::Decoder { weight: "decoder.weight", biases: &["decoder.bias"] }],
    },
];

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    let options = Options::read(config)?;
    loader.set_prefix("model.");
    let sizes = options.sizes.clone();
    let mut trunk = Builder { options: &options, loader, graph: Graph::new() };
    let tokens = trunk.loader.table("embeddings.tok_embeddings.weight", sizes.vocabulary, sizes.hidden)?;
    let norm = trunk.norm("embeddings.norm")?;
    let embedded = trunk.graph.embed(vec![Lookup { table: tokens, index: Index::Token }], Some(norm), sizes.hidden);
    let mut hidden_states = vec![embedded];
    for layer in 0..sizes.layers {
        hidden_states.push(trunk.layer(layer, hidden_states[layer])?);
    }
    // As in the reference, the last hidden state is the normalised one.
    let last = trunk.norm("final_norm")?;
    hidden_states[sizes.layers] = trunk.graph.norm(hidden_states[sizes.layers], last);
    let Builder { graph, .. } = trunk;
    let ground = Ground { hidden: sizes.hidden, pooler: false, tokens, epsilon: options.epsilon, norm_bias: options.norm_bias };
    let heads::Found { heads, unanswered } = heads::take(HEADS, config, loader, &ground)?;
    loader.refuse_leftovers(|name| unanswered.iter().any(|head| name.starts_with(head)))?;
    Ok(Trunk {
        family: "modernbert",
        sizes,
        graph,
        hidden_states,
        of_heads: Vec::new(),
        pooler: None,
        heads,
        languages: Languages::default(),
    })
}

/// What config.json says.
struct Options {
    sizes: Sizes,
    epsilon: f32,
    activation: Activation,
    norm_bias: bool,
    attention_bias: bool,
    mlp_bias: bool,
    /// Attention and rotary positions of a layer that looks at all tokens, and of one with a window.
    global: (Attention, Rotary),
    local: (Attention, Rotary),
    /// Which of the two each layer has.
    windowed: Vec<bool>,
}

impl Options {
    fn read(config: &Fields<'_>) -> Result<Options> {
        let sizes = Sizes {
            vocabulary: config.size("vocab_size")?,
            hidden: config.size("hidden_size")?,
            layers: config.size("num_hidden_layers")?,
            heads: config.size("num_attention_heads")?,
            intermediate: config.size("intermediate_size")?,
            positions: config.size("max_position_embeddings")?,
            segments: 1,
        };
        if !sizes.hidden.is_multiple_of(2 * sizes.heads) {
            let told =
                format!("config.json: hidden_size {} is not an even number for each of num_attention_heads {}", sizes.hidden, sizes.heads);
            return fail(ErrorKind::InvalidFile, told);
        }
        if sizes.layers > 1024 {
            return fail(ErrorKind::InvalidFile, format!("config.json: num_hidden_layers {} is above 1024", sizes.layers));
        }
        let head_size = sizes.hidden / sizes.heads;
        let (global_base, local_base) = bases(config)?;
        let side = config.size_or("local_attention", 128)? / 2;
        let plain = Attention::plain(sizes.heads, head_size);
        let rotary = |base| Rotary { head_size, frequencies: rotary::frequencies(base, head_size) };
        Ok(Options {
            epsilon: config.epsilon_or("norm_eps", 1e-5)?,
            activation: config.activation_or("hidden_activation", Activation::Gelu)?,
            norm_bias: config.flag_or("norm_bias", false)?,
            attention_bias: config.flag_or("attention_bias", false)?,
            mlp_bias: config.flag_or("mlp_bias", false)?,
            local: (Attention { span: Span { before: side, after: side }, ..plain.clone() }, rotary(local_base)),
            global: (plain, rotary(global_base)),
            windowed: windowed(config, sizes.layers)?,
            sizes,
        })
    }
}

/// The bases of rotary positions of global and of local layers.
fn bases(config: &Fields<'_>) -> Result<(f64, f64)> {
    config.only("rope_scaling", &Value::Null)?;
    let older = (rotary::base(config, "global_rope_theta", 160_000.0)?, rotary::base(config, "local_rope_theta", 10_000.0)?);
    let Some(parameters) = config.get("rope_parameters") else { return Ok(older) };
    let kinds = Fields::new("config.json: rope_parameters", parameters)?;
    let one = |kind: &str, otherwise: f64| match kinds.get(kind) {
        None => Ok(otherwise),
        Some(value) => Ok(rotary::stated(&Fields::new(&format!("config.json: rope_parameters.{kind}"), value)?)?.unwrap_or(otherwise)),
    };
    Ok((one("full_attention", older.0)?, one("sliding_attention", older.1)?))
}

/// Which layers have a window: those that `layer_types` says, else all but every third (`global_attn_every_n_layers`).
fn windowed(config: &Fields<'_>, layers: usize) -> Result<Vec<bool>> {
    let Some(types) = config.get("layer_types") else {
        let period = config.size_or("global_attn_every_n_layers", 3)?;
        return Ok((0..layers).map(|layer| !layer.is_multiple_of(period)).collect());
    };
    const EXPECTED: &str = "\"full_attention\" or \"sliding_attention\" for each layer";
    let kind = |kind: &Value| match kind.as_str() {
        Some("full_attention") => Ok(false),
        Some("sliding_attention") => Ok(true),
        _ => config.wrong("layer_types", EXPECTED),
    };
    match types.as_array() {
        Some(types) if types.len() == layers => types.iter().map(kind).collect(),
        _ => config.wrong("layer_types", EXPECTED),
    }
}

struct Builder<'a> {
    options: &'a Options,
    loader: &'a mut Loader,
    graph: Graph,
}

impl Builder<'_> {
    fn layer(&mut self, layer: usize, input: ValueId) -> Result<ValueId> {
        let Options { sizes: Sizes { hidden, intermediate, .. }, activation, attention_bias, mlp_bias, .. } = *self.options;
        let (attention, rotary) = if self.options.windowed[layer] { &self.options.local } else { &self.options.global };
        let at = |part: &str| format!("layers.{layer}.{part}");
        let normed = if layer == 0 { input } else { self.normed(&at("attn_norm"), input)? };
        let qkv = self.linear(&at("attn.Wqkv"), normed, attention_bias, 3 * hidden)?;
        let turned = self.graph.rotate(qkv, rotary.clone());
        let mixed = self.graph.attention(turned, attention.clone());
        let projected = self.linear(&at("attn.Wo"), mixed, attention_bias, hidden)?;
        let attended = self.graph.add(projected, input);
        let normed = self.normed(&at("mlp_norm"), attended)?;
        let wide = self.linear(&at("mlp.Wi"), normed, mlp_bias, 2 * intermediate)?;
        let gated = self.graph.gate(wide, activation, Half::First);
        let narrow = self.linear(&at("mlp.Wo"), gated, mlp_bias, hidden)?;
        Ok(self.graph.add(narrow, attended))
    }

    fn normed(&mut self, name: &str, input: ValueId) -> Result<ValueId> {
        let norm = self.norm(name)?;
        Ok(self.graph.norm(input, norm))
    }

    fn norm(&mut self, name: &str) -> Result<Norm> {
        let mut vector = |part| self.loader.vector(&[format!("{name}.{part}")], self.options.sizes.hidden);
        let weight = vector("weight")?;
        let bias: Option<WeightId> = self.options.norm_bias.then(|| vector("bias")).transpose()?;
        Ok(Norm { weight, bias, epsilon: self.options.epsilon })
    }

    fn linear(&mut self, name: &str, input: ValueId, has_bias: bool, outputs: usize) -> Result<ValueId> {
        let inputs = self.graph.node(input).width;
        let weight = self.loader.matrix(&[format!("{name}.weight")], outputs, inputs)?;
        let bias = has_bias.then(|| self.loader.vector(&[format!("{name}.bias")], outputs)).transpose()?;
        Ok(self.graph.linear(input, weight, bias, Activation::Identity, outputs))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn options(more: Value) -> Result<Options> {
        let mut config = json!({"vocab_size": 10, "hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 8, "max_position_embeddings": 64});
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Options::read(&Fields::new("config.json", &config).unwrap())
    }

    #[test]
    fn configurations_of_both_versions_of_transformers_say_the_same() {
        let older = options(json!({"global_rope_theta": 500.0, "local_rope_theta": 20.0, "global_attn_every_n_layers": 2})).unwrap();
        let rope = json!({"full_attention": {"rope_type": "default", "rope_theta": 500.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 20.0}});
        let types = json!(["full_attention", "sliding_attention", "full_attention", "sliding_attention"]);
        let newer = options(json!({"rope_parameters": rope, "layer_types": types})).unwrap();
        assert_eq!(older.windowed, [false, true, false, true]);
        assert_eq!((&older.windowed, &older.global, &older.local), (&newer.windowed, &newer.global, &newer.local));
        assert_eq!(older.local.0.span, Span { before: 64, after: 64 });
        assert_ne!(older.local.1, older.global.1);
        assert_eq!(options(json!({})).unwrap().windowed, [false, true, true, false]);
    }

    #[test]
    fn wrong_values_are_errors_that_name_their_field() {
        for (value, told) in [
            (json!({"rope_scaling": {"type": "dynamic", "factor": 2.0}}), "rope_scaling"),
            (json!({"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}), "rope_parameters.full_attention: rope_type"),
            (json!({"rope_parameters": {"sliding_attention": {"rope_theta": 0}}}), "rope_parameters.sliding_attention: rope_theta"),
            (json!({"rope_parameters": 3}), "rope_parameters"),
            (json!({"local_rope_theta": null}), "local_rope_theta"),
            (json!({"global_rope_theta": "x"}), "global_rope_theta"),
            (json!({"layer_types": ["full_attention"]}), "layer_types"),
            (json!({"layer_types": ["a", "b", "c", "d"]}), "layer_types"),
            (json!({"global_attn_every_n_layers": 0}), "global_attn_every_n_layers"),
            (json!({"local_attention": -1}), "local_attention"),
            (json!({"num_attention_heads": 16}), "num_attention_heads"),
            (json!({"hidden_activation": "mish"}), "hidden_activation"),
            (json!({"norm_bias": "yes"}), "norm_bias"),
            (json!({"num_hidden_layers": 5000}), "num_hidden_layers"),
        ] {
            let e = options(value.clone()).err().unwrap_or_else(|| panic!("{value} was taken"));
            assert!(e.message().contains(told), "{value}: {e}");
        }
    }
}
