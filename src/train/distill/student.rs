//! What does a student begin as?
//!
//! Sanh et al., DistilBERT, a distilled version of BERT (2019): a model with half of its teacher's layers, which are every other one of the
//! teacher's; everything else is the teacher's own.

use serde_json::{Value, json};

use crate::error::{ErrorKind, Result, fail};
use crate::formats::Weights;

/// What config.json may call the number of layers.
const LAYERS: &[&str] = &["num_hidden_layers", "n_layers", "n_layer"];

/// Fields with an entry for each layer.
const BY_LAYER: &[&str] = &["layer_types", "attention_window"];

/// The config.json and the tensors of a student that has every other layer of the teacher, the first included.
///
/// # Errors
/// `Unsupported` for a teacher of one layer, or whose config.json does not say how many there are.
pub fn every_other(config: &Value, mut weights: Weights) -> Result<(Value, Weights)> {
    let stated = LAYERS.iter().find_map(|field| Some((*field, config[*field].as_u64()?)));
    let Some((field, layers)) = stated.filter(|(_, layers)| *layers > 1) else {
        let told =
            "a student of every other layer needs a teacher of several layers that its config.json counts; give --student or --preset";
        return fail(ErrorKind::Unsupported, told);
    };
    let mut student = config.clone();
    student[field] = json!(layers.div_ceil(2));
    for by_layer in BY_LAYER {
        if let Some(entries) = config[*by_layer].as_array().filter(|entries| entries.len() as u64 == layers) {
            student[*by_layer] = json!(entries.iter().step_by(2).collect::<Vec<_>>());
        }
    }
    // ALBERT's layers are one.
    if config["model_type"] != "albert" {
        let names: Vec<String> = weights.names().map(str::to_owned).collect();
        let layer = |name: &str| layer_of(name).filter(|(layer, _)| *layer < layers);
        for (name, layer, range) in names.iter().filter_map(|name| layer(name).map(|(layer, range)| (name, layer, range))) {
            let tensor = weights.take(name);
            if let (Some(tensor), true) = (tensor, layer % 2 == 0) {
                weights.insert(format!("{}{}{}", &name[..range.start], layer / 2, &name[range.end..]), tensor)?;
            }
        }
    }
    Ok((student, weights))
}

/// The number of the layer that a tensor belongs to, the first whole number between dots, and where it stands in the name.
fn layer_of(name: &str) -> Option<(u64, std::ops::Range<usize>)> {
    let mut start = 0;
    name.split('.').find_map(|part| {
        let range = start..start + part.len();
        start = range.end + 1;
        Some((part.parse().ok()?, range))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quant::{Bytes, Dtype, Tensor};

    #[test]
    fn every_other_layer_moves_up_and_the_rest_stays() {
        let mut weights = Weights::default();
        let mut put = |name: &str, x: f32| {
            let tensor = Tensor::new(Dtype::F32, vec![1], Bytes::owned(x.to_le_bytes())).unwrap();
            weights.insert(name.to_owned(), tensor).unwrap();
        };
        put("bert.embeddings.word_embeddings.weight", 9.0);
        (0..5).for_each(|layer| put(&format!("bert.encoder.layer.{layer}.output.dense.weight"), layer as f32));
        let config = json!({"model_type": "longformer", "num_hidden_layers": 5, "attention_window": [2, 4, 6, 8, 10]});
        let (config, weights) = every_other(&config, weights).unwrap();
        assert_eq!(config, json!({"model_type": "longformer", "num_hidden_layers": 3, "attention_window": [2, 6, 10]}));
        let kept: Vec<(&str, f32)> = weights.iter().map(|(name, tensor)| (name, tensor.to_f32()[0])).collect();
        let layer = |i: usize| format!("bert.encoder.layer.{i}.output.dense.weight");
        let expected = [("bert.embeddings.word_embeddings.weight", 9.0), (&layer(0), 0.0), (&layer(1), 2.0), (&layer(2), 4.0)];
        assert_eq!(kept, expected);
        assert!(every_other(&json!({"num_hidden_layers": 1}), Weights::default()).is_err());
    }
}
