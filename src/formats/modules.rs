//! Which modules does `modules.json` list, and can they be run in that order?
//!
//! Supported is what embedding models use: one Transformer, one Pooling, any number of Dense, one Normalize, in this order; and what
//! sparse encoders use: one Transformer (of older versions MLMTransformer) and one SpladePooling; and what PyLate uses: one
//! Transformer and dense layers on its tokens; and MultiVectorEncoder: the same, one MultiVectorMask and perhaps one Normalize, in either order; and static vectors: one StaticEmbedding, any number of Dense, one Normalize. Anything else would give other vectors in
//! silence, so it is an error. `sentence` reads the files of each module.

use serde::Deserialize;

use super::source::inside;
use crate::error::{ErrorKind, Result, fail};

/// The modules that are run, in the only order that is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Transformer,
    /// A table of vectors, whose mean it takes.
    Static,
    Pooling,
    Dense,
    Normalize,
    Splade,
    /// A dense layer on every token, of PyLate and of MultiVectorEncoder.
    TokenDense,
    /// Which tokens' vectors count, of MultiVectorEncoder.
    Mask,
}

const KINDS: [(&str, Kind); 8] = [
    ("Transformer", Kind::Transformer),
    ("MLMTransformer", Kind::Transformer),
    ("StaticEmbedding", Kind::Static),
    ("Pooling", Kind::Pooling),
    ("Dense", Kind::Dense),
    ("Normalize", Kind::Normalize),
    ("SpladePooling", Kind::Splade),
    ("MultiVectorMask", Kind::Mask),
];

/// The class of PyLate's dense layers.
const TOKEN_DENSE: &str = "pylate.models.Dense.Dense";

/// One entry of `modules.json`. `idx` and `name` are labels: the order of the list is the order of the modules.
#[derive(Deserialize)]
#[serde(expecting = "an object with path and type")]
pub(super) struct Entry {
    path: String,
    #[serde(rename = "type")]
    class: String,
}

/// The kind and the folder (empty for the model's own) of each entry, in an order that can be run.
pub(super) fn classify(entries: Vec<Entry>) -> Result<Vec<(Kind, String)>> {
    let classify_one = |Entry { path, class }: Entry| {
        // sentence_transformers.models.Pooling up to version 5, sentence_transformers.sentence_transformer.modules.pooling.Pooling
        // since; a class of another package may share the last name, but not what it does.
        let known = class.strip_prefix("sentence_transformers.").and_then(|rest| rest.rsplit('.').next());
        let kind =
            if class == TOKEN_DENSE { Some(&Kind::TokenDense) } else { KINDS.iter().find(|(n, _)| Some(*n) == known).map(|(_, k)| k) };
        let Some(kind) = kind else {
            return fail(
                ErrorKind::Unsupported,
                format!(
                    "module {path:?} is a {class}; this version runs Transformer, StaticEmbedding, Pooling, Dense, Normalize, SpladePooling and MultiVectorMask of sentence_transformers, and Dense of pylate"
                ),
            );
        };
        let dir = if matches!(path.as_str(), "" | "." | "./") { Some(String::new()) } else { inside(&path) };
        match dir {
            Some(dir) => Ok((*kind, dir)),
            None => fail(ErrorKind::InvalidFile, format!("the module path {path:?} leaves the model's folder")),
        }
    };
    let modules: Vec<(Kind, String)> = entries.into_iter().map(classify_one).collect::<Result<_>>()?;
    if modules.iter().any(|(kind, _)| *kind == Kind::Mask) {
        return multi_vector(modules);
    }
    check_order(&modules)?;
    Ok(modules)
}

/// The modules of a MultiVectorEncoder, whose dense layers work on tokens.
fn multi_vector(mut modules: Vec<(Kind, String)>) -> Result<Vec<(Kind, String)>> {
    modules.iter_mut().filter(|(kind, _)| *kind == Kind::Dense).for_each(|(kind, _)| *kind = Kind::TokenDense);
    let kinds: Vec<Kind> = modules.iter().map(|(kind, _)| *kind).collect();
    let dense = kinds.iter().skip(1).take_while(|kind| **kind == Kind::TokenDense).count();
    let ends = [&[Kind::Mask][..], &[Kind::Mask, Kind::Normalize], &[Kind::Normalize, Kind::Mask]];
    if kinds[0] == Kind::Transformer && ends.contains(&&kinds[1 + dense..]) {
        return Ok(modules);
    }
    let told =
        "a MultiVectorMask stands behind one Transformer and any number of Dense, with at most one Normalize beside it; the list has";
    fail(ErrorKind::Unsupported, format!("{told} {kinds:?}"))
}

fn check_order(modules: &[(Kind, String)]) -> Result<()> {
    const ORDER: &str = "this version runs one Transformer, one Pooling, any number of Dense and one Normalize, in this order";
    match modules.first() {
        None => return fail(ErrorKind::InvalidFile, "the list of modules is empty"),
        Some((Kind::Transformer | Kind::Static, _)) => {}
        Some((other, dir)) => return fail(ErrorKind::Unsupported, format!("the first module, {dir:?}, is a {other:?}; {ORDER}")),
    }
    for pair in modules.windows(2) {
        let [(before, _), (kind, dir)] = pair else { continue };
        if kind == before && !matches!(kind, Kind::Dense | Kind::TokenDense) {
            return fail(ErrorKind::Unsupported, format!("module {dir:?} is a second {kind:?}; {ORDER}"));
        }
        if kind < before {
            return fail(ErrorKind::Unsupported, format!("module {dir:?}, a {kind:?}, comes after a {before:?}; {ORDER}"));
        }
        if *before == Kind::Static && !matches!(kind, Kind::Dense | Kind::Normalize) {
            let told = format!("module {dir:?}, a {kind:?}, comes after a StaticEmbedding; Dense and Normalize may");
            return fail(ErrorKind::Unsupported, told);
        }
        if *kind == Kind::Splade && *before != Kind::Transformer {
            let told = format!("module {dir:?}, a SpladePooling, comes after a {before:?}; it reads what the Transformer gives");
            return fail(ErrorKind::Unsupported, told);
        }
        if *kind == Kind::TokenDense && !matches!(before, Kind::Transformer | Kind::TokenDense) {
            let told = format!("module {dir:?}, a dense layer on tokens, comes after a {before:?}; it reads what the Transformer gives");
            return fail(ErrorKind::Unsupported, told);
        }
        if *before == Kind::Transformer && !matches!(kind, Kind::Pooling | Kind::Splade | Kind::TokenDense) {
            return fail(ErrorKind::Unsupported, format!("module {dir:?}, a {kind:?}, comes without a Pooling before it; {ORDER}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    const TRANSFORMER: (&str, &str) = ("models.Transformer", "");
    const POOLING: (&str, &str) = ("models.Pooling", "1_Pooling");
    const DENSE: (&str, &str) = ("models.Dense", "2_Dense");
    const NORMALIZE: (&str, &str) = ("models.Normalize", "3_Normalize");
    const SPLADE: (&str, &str) = ("sparse_encoder.modules.splade_pooling.SpladePooling", "1_SpladePooling");
    const STATIC: (&str, &str) = ("sentence_transformer.modules.static_embedding.StaticEmbedding", "0_StaticEmbedding");
    const MLM: (&str, &str) = ("sparse_encoder.models.MLMTransformer", "");

    fn list(entries: &[(&str, &str)]) -> Result<Vec<(Kind, String)>> {
        classify(
            entries
                .iter()
                .map(|(class, path)| Entry { path: (*path).to_owned(), class: format!("sentence_transformers.{class}") })
                .collect(),
        )
    }

    fn error(entries: &[(&str, &str)]) -> Error {
        list(entries).unwrap_err()
    }

    #[test]
    fn class_names_of_every_version_of_sentence_transformers_are_known() {
        let v6 = [
            ("base.modules.transformer.Transformer", "0_Transformer/"),
            ("sentence_transformer.modules.pooling.Pooling", "1_Pooling"),
            ("base.modules.dense.Dense", "./2_Dense"),
            ("base.modules.dense.Dense", "3_Dense"),
            ("base.modules.normalize.Normalize", ""),
        ];
        let expected = [
            (Kind::Transformer, "0_Transformer"),
            (Kind::Pooling, "1_Pooling"),
            (Kind::Dense, "2_Dense"),
            (Kind::Dense, "3_Dense"),
            (Kind::Normalize, ""),
        ];
        assert_eq!(list(&v6).unwrap(), expected.map(|(kind, dir)| (kind, dir.to_owned())));
        assert!(list(&[TRANSFORMER, POOLING, DENSE, NORMALIZE]).is_ok() && list(&[TRANSFORMER]).is_ok());
        assert_eq!(list(&[MLM, SPLADE]).unwrap()[1], (Kind::Splade, "1_SpladePooling".to_owned()));
        assert!(list(&[TRANSFORMER, SPLADE]).is_ok());
        assert!(list(&[STATIC]).is_ok() && list(&[STATIC, DENSE, NORMALIZE]).is_ok());
    }

    #[test]
    fn a_module_of_another_kind_is_refused_by_name() {
        for class in [
            "sentence_transformers.models.LSTM",
            "pylate.models.Dense",
            "custom_st.Transformer",
            "Pooling",
            "",
            "sentence_transformers.Poolingx",
        ] {
            let entries = [("sentence_transformers.models.Transformer", ""), (class, "1_X")];
            let entries = entries.map(|(class, path)| Entry { path: path.to_owned(), class: class.to_owned() });
            let e = classify(entries.into()).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Unsupported);
            assert!(e.message().contains(class) && e.message().contains("1_X"), "{e}");
        }
    }

    #[test]
    fn an_order_that_would_give_other_vectors_is_refused() {
        let cases: [(&[(&str, &str)], &str); 13] = [
            (&[TRANSFORMER, POOLING, NORMALIZE, DENSE], "\"2_Dense\", a Dense, comes after a Normalize"),
            (&[TRANSFORMER, POOLING, POOLING], "second Pooling"),
            (&[TRANSFORMER, POOLING, DENSE, POOLING], "a Pooling, comes after a Dense"),
            (&[TRANSFORMER, TRANSFORMER, POOLING], "second Transformer"),
            (&[TRANSFORMER, POOLING, NORMALIZE, NORMALIZE], "second Normalize"),
            (&[TRANSFORMER, DENSE, POOLING], "without a Pooling"),
            (&[TRANSFORMER, NORMALIZE], "without a Pooling"),
            (&[POOLING, TRANSFORMER], "the first module"),
            (&[TRANSFORMER, POOLING, SPLADE], "a SpladePooling, comes after a Pooling"),
            (&[MLM, SPLADE, NORMALIZE], "a Normalize, comes after a Splade"),
            (&[STATIC, POOLING], "comes after a StaticEmbedding"),
            (&[STATIC, STATIC], "second Static"),
            (&[TRANSFORMER, STATIC], "without a Pooling"),
        ];
        for (entries, says) in cases {
            let e = error(entries);
            assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
            assert!(e.message().contains(says), "{e}");
        }
        assert_eq!(error(&[]).kind(), ErrorKind::InvalidFile);
    }

    #[test]
    fn a_module_outside_the_folder_is_refused() {
        for path in ["../1_Pooling", "/1_Pooling", "a/../../b", "a\\b"] {
            let e = error(&[TRANSFORMER, ("models.Pooling", path)]);
            assert_eq!(e.kind(), ErrorKind::InvalidFile);
            assert!(e.message().contains("leaves the model's folder"), "{e}");
        }
    }
}
