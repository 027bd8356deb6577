//! Text -> tokens: what exactly will the model see?

use serde::Serialize;

use super::{Model, Request};
use crate::error::Result;
use crate::tokenizer::{OffsetMap, OffsetUnit, Sequence};

/// The tokens of one input, or of one window of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tokens {
    /// Index of the input in the call.
    pub index: usize,
    /// Number of the window of that input, 0 where it fits as a whole.
    pub window: usize,
    /// Token ids.
    pub ids: Vec<u32>,
    /// Token texts.
    pub tokens: Vec<String>,
    /// Start and end of each token in its own text, in the unit that the request asks for; (0, 0) for special tokens and for a
    /// prompt's, which stand in no text of the caller.
    pub offsets: Vec<(usize, usize)>,
    /// Segment of each token: 0 for the text, 1 for its pair.
    pub type_ids: Vec<u32>,
    /// Whether the template added the token.
    pub special: Vec<bool>,
    /// Tokens of the whole input, special tokens included, before anything was cut.
    pub total: usize,
    /// Whether tokens were left out.
    pub truncated: bool,
}

/// Where tokens stand in a caller's text that has a prompt before it.
pub(super) struct Places<'t> {
    prompt: usize,
    map: OffsetMap<'t>,
}

impl<'t> Places<'t> {
    pub fn new(text: &'t str, prompt: usize, unit: OffsetUnit) -> Self {
        Places { prompt, map: OffsetMap::new(text, unit) }
    }

    pub fn span(&self, (start, end): (usize, usize)) -> (usize, usize) {
        self.map.span((start.saturating_sub(self.prompt), end.saturating_sub(self.prompt)))
    }
}

impl Model {
    /// Cuts each text (with its pair, where it has one) into the tokens that the encoder would see: the prompt, the limit and
    /// the truncation policy of `request` apply. One entry an input, or several where the policy is `window`.
    ///
    /// # Errors
    /// `TooLong` under the policy `error`; `InvalidArgument` for a limit above the model's positions, and options that contradict each other.
    pub fn tokenize<T: AsRef<str>>(&self, inputs: &[(T, Option<T>)], request: &Request) -> Result<Vec<Tokens>> {
        request.check()?;
        let limit = self.limit(request)?;
        let prompt = self.prompt(request)?;
        let mut all = Vec::with_capacity(inputs.len());
        for (index, (text, pair)) in inputs.iter().enumerate() {
            let text = text.as_ref();
            let whole = super::forward::with_prompt(prompt, text);
            let pair = pair.as_ref().map(AsRef::as_ref);
            let encoded = self.tokenizer().encode(&whole, pair, &limit).map_err(|e| e.within(format!("text {index}")))?;
            let unit = request.offsets;
            let places = [Places::new(text, whole.len() - text.len(), unit), Places::new(pair.unwrap_or(""), 0, unit)];
            for (window, sequence) in encoded.windows.into_iter().enumerate() {
                let mut tokens = self.spell(sequence, &places);
                (tokens.index, tokens.window, tokens.total, tokens.truncated) = (index, window, encoded.total, encoded.truncated);
                all.push(tokens);
            }
        }
        Ok(all)
    }

    fn spell(&self, sequence: Sequence, places: &[Places<'_>; 2]) -> Tokens {
        let offset = |(range, text): (&(usize, usize), &Option<u8>)| match text {
            Some(text) => places[usize::from(*text != 0)].span(*range),
            None => (0, 0),
        };
        Tokens {
            index: 0,
            window: 0,
            tokens: sequence.ids.iter().map(|id| self.tokenizer().token(*id).unwrap_or_default()).collect(),
            offsets: sequence.offsets.iter().zip(&sequence.texts).map(offset).collect(),
            ids: sequence.ids,
            type_ids: sequence.type_ids,
            special: sequence.special,
            total: 0,
            truncated: false,
        }
    }
}
