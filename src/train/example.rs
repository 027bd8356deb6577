//! What does one sequence ask of a model?

/// One sequence of tokens and what is to be learned from it. Never padded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// (tokens): what the model sees, special tokens included, masked places already replaced.
    pub ids: Vec<u32>,
    /// (tokens): 0 in the first text, 1 in the second, as the tokenizer's template says.
    pub segments: Vec<u32>,
    /// (place in `ids` whose output is asked, the id that it should give), by ascending place, each place once. For masked language
    /// modelling the id that stood there; for left-to-right the id of the next place. May be empty where nothing can be masked.
    pub masked: Vec<(usize, u32)>,
    /// Masked spans as half-open ranges of places, ascending, apart from each other: `start - 1` and `end` are the tokens outside, which
    /// were not masked. Only the masking schemes with spans fill it.
    pub spans: Vec<(usize, usize)>,
    /// Next sentence prediction: 0 = the second text follows the first, 1 = it is from another document, as BERT counts. Sentence order
    /// prediction: 0 = in order, 1 = swapped. `None` without an objective of pairs.
    pub label: Option<u32>,
    /// (tokens): ELECTRA: whether a token is another than the text's. Empty without this objective.
    pub replaced: Vec<bool>,
}
