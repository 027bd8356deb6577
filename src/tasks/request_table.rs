//! How does each option of a request read its words?
//!
//! One row an option; [`Request::set`] finds it by name, and every face loops over the rows.

use std::time::Duration;

use super::options::threads;
use super::request::{Aggregation, Output, Prompt, Request, Windows};
use super::scheme::Scheme;
use super::settings::{BOOLEAN, Setting, choice, number};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::model::labels::Score;
use crate::model::pooling::{LayerChoice, Pooling};
use crate::tokenizer::{OffsetUnit, Truncation};

/// Every option that [`Request::set`] knows.
pub(super) const ROWS: &[Setting<Request>] = &[
    Setting {
        name: "pooling",
        values: "model, or one or several (joined by +) of mean, cls, max, mean_sqrt_len, last, weighted_mean, pooler",
        help: "How token vectors become one vector; several are concatenated",
        apply: |r, v| {
            r.pooling = model_or(v, pooling)?;
            Ok(())
        },
    },
    Setting {
        name: "normalize",
        values: "model, true or false",
        help: "Scale vectors to length 1",
        apply: |r, v| {
            r.normalize = model_or(v, |v| choice(v, BOOLEAN))?;
            Ok(())
        },
    },
    Setting {
        name: "dimensions",
        values: "all, or a number from 1 to the model's dimensions",
        help: "Keep this many leading values (Matryoshka), before normalising",
        apply: |r, v| {
            r.dimensions = if v == "all" { None } else { Some(number(v, 1)?) };
            Ok(())
        },
    },
    Setting {
        name: "prompt_name",
        values: "the name of one of the model's prompts, or an empty name for no prompt",
        help: "Put the model's prompt of this name before each text",
        apply: |r, v| {
            r.prompt = Prompt::Named(v.to_owned());
            Ok(())
        },
    },
    Setting {
        name: "prompt",
        values: "any text",
        help: "Put this text before each text",
        apply: |r, v| {
            r.prompt = Prompt::Text(v.to_owned());
            Ok(())
        },
    },
    Setting {
        name: "language",
        values: "none, or the name of one of the model's languages",
        help: "Which language the texts are in, for models that tell languages apart (XLM)",
        apply: |r, v| {
            r.language = if v == "none" { None } else { Some(v.to_owned()) };
            Ok(())
        },
    },
    Setting {
        name: "truncation",
        values: "model, error, left, right or window",
        help: "What happens to texts longer than the limit: an error, a cut on that side, or overlapping windows whose vectors are averaged",
        apply: |r, v| {
            r.truncation = model_or(v, |v| choice(v, Truncation::ALL))?;
            Ok(())
        },
    },
    Setting {
        name: "max_tokens",
        values: "model, or a number from 3 to the model's positions",
        help: "Longest input in tokens, special tokens included",
        apply: |r, v| {
            r.max_tokens = model_or(v, |v| number(v, 3))?;
            Ok(())
        },
    },
    Setting {
        name: "overlap",
        values: "auto, or a number of tokens smaller than a window",
        help: "Tokens that neighbouring windows share; auto is an eighth of the limit, for answers 128 or half the limit",
        apply: |r, v| {
            r.overlap = if v == "auto" { None } else { Some(number(v, 0)?) };
            Ok(())
        },
    },
    Setting {
        name: "layers",
        values: "last; a layer's number (0 = embeddings, -1 = last); concat:N or mean:N of the last N layers",
        help: "Which layers' hidden states make the vectors",
        apply: |r, v| {
            r.layers = LayerChoice::parse(v)?;
            Ok(())
        },
    },
    Setting {
        name: "vectors",
        values: "text, token or sparse",
        help: "One vector a text, one a token, or sparse weights of the vocabulary",
        apply: |r, v| {
            (r.token_vectors, r.sparse) = choice(v, &[("text", (false, false)), ("token", (true, false)), ("sparse", (false, true))])?;
            Ok(())
        },
    },
    Setting {
        name: "role",
        values: "document or query",
        help: "What a late-interaction model (ColBERT) reads the texts as",
        apply: |r, v| {
            r.as_query = choice(v, &[("document", false), ("query", true)])?;
            Ok(())
        },
    },
    Setting {
        name: "threshold",
        values: "a number from 0",
        help: "Of sparse weights, leave out those below this",
        apply: |r, v| {
            let number = v.parse::<f32>().ok().filter(|n| n.is_finite() && *n >= 0.0);
            r.threshold = number.ok_or_else(|| Error::new(ErrorKind::InvalidArgument, "not a number from 0"))?;
            Ok(())
        },
    },
    Setting {
        name: "output",
        values: "f32, f16, int8 or binary",
        help: "Number type of the vectors",
        apply: |r, v| {
            r.output = choice(v, Output::ALL)?;
            Ok(())
        },
    },
    Setting {
        name: "offsets",
        values: "byte, utf16 or codepoint",
        help: "Unit of offsets into the text",
        apply: |r, v| {
            r.offsets = choice(v, OffsetUnit::ALL)?;
            Ok(())
        },
    },
    Setting {
        name: "activation",
        values: "model, identity, sigmoid or softmax",
        help: "How raw numbers (logits) become scores; it never changes an order",
        apply: |r, v| {
            r.activation = model_or(v, |v| choice(v, Score::ALL))?;
            Ok(())
        },
    },
    Setting {
        name: "top",
        values: "all, or a number from 1",
        help: "Keep this many of the best documents, sparse weights, labels, answers or fills; unless said otherwise all, of answers one, of fills 5",
        apply: |r, v| {
            r.top = Some(if v == "all" { usize::MAX } else { number(v, 1)? });
            Ok(())
        },
    },
    Setting {
        name: "windows",
        values: "first, max or mean",
        help: "Inputs longer than the limit: only what fits, or the largest or the mean logit of overlapping windows",
        apply: |r, v| {
            r.windows = choice(v, Windows::ALL)?;
            Ok(())
        },
    },
    Setting {
        name: "hypothesis",
        values: "a sentence with {} where the label goes",
        help: "What zero-shot classification asks of each label; This example is {}. unless said otherwise",
        apply: |r, v| {
            if !v.contains("{}") {
                return fail(ErrorKind::InvalidArgument, "it has no {} for the label");
            }
            r.hypothesis = Some(v.to_owned());
            Ok(())
        },
    },
    Setting {
        name: "multi_label",
        values: "true or false",
        help: "Let several labels of a zero-shot classification be true at once",
        apply: |r, v| {
            r.multi_label = choice(v, BOOLEAN)?;
            Ok(())
        },
    },
    Setting {
        name: "aggregation",
        values: "model, none, simple, first, average or max",
        help: "How labels of tokens become entities: not at all, neighbours of one kind joined, or word by word first; as the model's files say unless said otherwise, or simple",
        apply: |r, v| {
            r.aggregation = model_or(v, |v| choice(v, Aggregation::ALL))?;
            Ok(())
        },
    },
    Setting {
        name: "scheme",
        values: "auto, bio, iob1, bilou or single",
        help: "How labels say where an entity begins and ends; auto looks at them, single joins nothing",
        apply: |r, v| {
            r.scheme = if v == "auto" { None } else { Some(choice(v, Scheme::ALL)?) };
            Ok(())
        },
    },
    Setting {
        name: "max_answer",
        values: "a number of tokens from 1",
        help: "The longest answer to a question, in tokens; 15 unless said otherwise",
        apply: |r, v| {
            r.max_answer = Some(number(v, 1)?);
            Ok(())
        },
    },
    Setting {
        name: "no_answer_threshold",
        values: "none, or a number",
        help: "Leave out answers whose logit is more than this below that of no answer (SQuAD 2; 0 is usual)",
        apply: |r, v| {
            r.no_answer_threshold = if v == "none" { None } else { Some(finite(v)?) };
            Ok(())
        },
    },
    Setting {
        name: "threads",
        values: "a number from 1 to 1024, or auto",
        help: "Threads of this call, the calling thread included; auto is what the model was opened with",
        apply: |r, v| {
            r.threads = threads(v)?;
            Ok(())
        },
    },
    Setting {
        name: "deadline_ms",
        values: "none, or milliseconds",
        help: "Stop after this time and return what is finished",
        apply: |r, v| {
            r.deadline = if v == "none" { None } else { Some(Duration::from_millis(number(v, 0)? as u64)) };
            Ok(())
        },
    },
];

/// `None` for the word `model`, otherwise what `parse` makes of the value.
fn model_or<T>(value: &str, parse: impl Fn(&str) -> Result<T>) -> Result<Option<T>> {
    if value == "model" { Ok(None) } else { parse(value).map(Some) }
}

fn finite(value: &str) -> Result<f32> {
    match value.parse::<f32>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => fail(ErrorKind::InvalidArgument, "not a number"),
    }
}

fn pooling(value: &str) -> Result<Vec<Pooling>> {
    let modes: Vec<Pooling> = value.split('+').map(|name| choice(name, Pooling::ALL)).collect::<Result<_>>()?;
    let repeated = modes.iter().enumerate().any(|(i, m)| modes[..i].contains(m));
    if repeated { fail(ErrorKind::InvalidArgument, "a mode is named twice") } else { Ok(modes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_value_is_accepted() {
        let mut r = Request::default();
        for (name, value) in [
            ("pooling", "cls+mean"),
            ("normalize", "false"),
            ("dimensions", "64"),
            ("prompt_name", "query"),
            ("language", "en"),
            ("truncation", "window"),
            ("max_tokens", "128"),
            ("overlap", "16"),
            ("layers", "concat:4"),
            ("vectors", "sparse"),
            ("vectors", "token"),
            ("role", "query"),
            ("threshold", "0.5"),
            ("output", "int8"),
            ("offsets", "utf16"),
            ("activation", "sigmoid"),
            ("top", "3"),
            ("windows", "max"),
            ("hypothesis", "About {}."),
            ("multi_label", "true"),
            ("aggregation", "average"),
            ("scheme", "bilou"),
            ("max_answer", "30"),
            ("no_answer_threshold", "-1.5"),
            ("threads", "2"),
            ("deadline_ms", "20"),
        ] {
            r.set(name, value).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        assert_eq!(r.pooling, Some(vec![Pooling::Cls, Pooling::Mean]));
        assert_eq!(r.layers, LayerChoice::Concat(4));
        assert_eq!(r.deadline, Some(Duration::from_millis(20)));
        r.set("pooling", "model").unwrap();
        assert_eq!(r.pooling, None);
    }

    #[test]
    fn bad_values_are_refused_by_name() {
        let mut r = Request::default();
        for (name, value) in [
            ("pooling", "average"),
            ("pooling", "mean+mean"),
            ("pooling", ""),
            ("threads", "0"),
            ("max_tokens", "2"),
            ("dimensions", "0"),
            ("layers", "concat:0"),
            ("output", "f64"),
            ("offsets", "bytes "),
            ("deadline_ms", "-1"),
            ("vectors", "dense"),
            ("threshold", "-1"),
            ("threshold", "NaN"),
            ("top", "0"),
            ("activation", "tanh"),
            ("windows", "last"),
            ("aggregation", "word"),
            ("scheme", "bio2"),
            ("max_answer", "0"),
            ("no_answer_threshold", "nan"),
            ("hypothesis", "About a label."),
            ("no_such", "1"),
        ] {
            let e = r.set(name, value).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidArgument);
            assert!(e.message().contains(name), "{e}");
        }
    }
}
