//! Which texts does an int8 model see once, when it is opened?
//!
//! The columns that int8 must not quantise are a property of the model and show on any text (`engine::cpu::calibrate`). A few
//! sentences of several languages and kinds, so that every tokenizer finds words in them.

use crate::error::Result;
use crate::tokenizer::{Limit, Tokenizer, Truncation};

const TEXTS: &[&str] = &[
    "The harbour was quiet, except for three gulls; at 6:45 the first ferry left for the islands (about 40 minutes away).",
    "How do I return an order that arrived damaged? Invoice no. 2024-0917, total $118.50.",
    "fn main() { let total: u64 = items.iter().map(|i| i.price * i.count).sum(); }",
    "今天下午三点在图书馆开会，请带上上周的报告。",
    "Der Zug nach München fährt heute von Gleis 7; où se trouve la gare la plus proche?",
];

/// Tokens of each text at most: a hundred in all is enough, and opening stays quick.
const LONGEST: usize = 48;

/// Token ids of the texts.
pub(super) fn ids(tokenizer: &Tokenizer) -> Result<Vec<Vec<u32>>> {
    let max_tokens = LONGEST.max(tokenizer.special_tokens(false));
    let limit = Limit { max_tokens, truncation: Truncation::Right, overlap: 0 };
    let encode = |text: &&str| Ok(tokenizer.encode(text, None, &limit)?.windows.into_iter().map(|w| w.ids).collect::<Vec<_>>());
    Ok(TEXTS.iter().map(encode).collect::<Result<Vec<_>>>()?.concat())
}
