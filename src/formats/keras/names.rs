//! What is a Keras tensor called in a Hugging Face folder?
//!
//! A tensor's path is the layers around it, from the model's first, and its own name. The rules are those by which transformers 4
//! names the TensorFlow classes' weights (`convert_tf_weight_name_to_pt_weight_name` in `modeling_tf_pytorch_utils.py`); they need no list of families.

/// Keras's names of parameters, and PyTorch's.
const PARAMETERS: &[(&str, &str)] = &[("kernel", "weight"), ("embeddings", "weight"), ("gamma", "weight"), ("beta", "bias")];
/// Which of them lie (inputs, outputs).
const TURNED: &str = "kernel";
/// Between a layer's list and its number in it.
const IN_LIST: &str = "_._";
/// A layer that stands in another place than in PyTorch: what is before these is dropped.
const MOVED: &str = "___";

/// Where a tensor goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// Its name in a Hugging Face folder.
    pub(super) ours: String,
    /// Whether its axes change places.
    pub(super) turned: bool,
}

/// The name of the tensor at `path`, `None` where the path is not one that Keras writes.
pub(super) fn target(path: &[String]) -> Option<Name> {
    let (last, layers) = path.split_last()?;
    let last = last.split_once(':').map_or(last.as_str(), |(name, _)| name);
    let mut parts: Vec<&str> = Vec::new();
    for layer in layers.iter().flat_map(|layer| layer.split(IN_LIST)).chain([last]) {
        let layer = layer.rsplit_once(MOVED).map_or(layer, |(_, after)| after);
        parts.extend(layer.split('/').filter(|part| !part.is_empty()));
    }
    let turned = parts.last().is_some_and(|last| *last == TURNED);
    if let Some(last) = parts.last_mut()
        && let Some((_, ours)) = PARAMETERS.iter().find(|(theirs, _)| theirs == last)
    {
        *last = ours;
    }
    (!parts.is_empty()).then(|| Name { ours: parts.join("."), turned })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rules_of_transformers() {
        // What `convert_tf_weight_name_to_pt_weight_name` of transformers 4.57 gives for a model's name and the path.
        let cases = [
            ("bert/encoder/layer_._11/attention/self/query/kernel:0", "bert.encoder.layer.11.attention.self.query.weight", true),
            ("bert/embeddings/word_embeddings/weight:0", "bert.embeddings.word_embeddings.weight", false),
            ("bert/embeddings/position_embeddings/embeddings:0", "bert.embeddings.position_embeddings.weight", false),
            ("bert/embeddings/LayerNorm/gamma:0", "bert.embeddings.LayerNorm.weight", false),
            ("bert/embeddings/LayerNorm/beta:0", "bert.embeddings.LayerNorm.bias", false),
            ("mlm___cls/predictions/bias:0", "cls.predictions.bias", false),
            ("classifier/kernel:0", "classifier.weight", true),
        ];
        for (path, ours, turned) in cases {
            let path: Vec<String> = path.split('/').map(str::to_owned).collect();
            assert_eq!(target(&path), Some(Name { ours: ours.to_owned(), turned }), "{path:?}");
        }
        assert_eq!(target(&[]), None);
        assert_eq!(target(&["/".to_owned()]), None);
    }
}
