//! In which type is each tensor of a quantised file stored?
//!
//! Most of a model's numbers are in its linear layers; they get the type that is asked for. The rest is small or delicate, and
//! [`RULES`] guards it: one row a [`Role`], the same for all families (a family's own exception would be a row of its names).

use super::names::Role;
use crate::quant::Dtype;

/// How a role's type follows from the type asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// The type asked for.
    Asked,
    /// The type asked for, but not fewer than 8 bits a value.
    AtLeastEight,
    /// F32, whatever is asked for.
    Full,
}

/// llama.cpp adds vectors and the embeddings of segments and positions as F32; it ends the process where they are not.
const RULES: &[(Role, Rule)] = &[
    (Role::Linear, Rule::Asked),
    (Role::TokenEmbedding, Rule::AtLeastEight),
    (Role::SmallEmbedding, Rule::Full),
    (Role::Vector, Rule::Full),
    (Role::Head, Rule::AtLeastEight),
];

/// Types below 8 bits a value, and the type that takes their place where a row is no whole number of their blocks: the nearest
/// of blocks of 32 that is no worse, as in llama.cpp. Where that does not fit either, F16.
const NARROW: &[(Dtype, Option<Dtype>)] = &[
    (Dtype::Q2K, Some(Dtype::Iq4Nl)),
    (Dtype::Q3K, Some(Dtype::Iq4Nl)),
    (Dtype::Q4K, Some(Dtype::Q5_0)),
    (Dtype::Q5K, Some(Dtype::Q5_1)),
    (Dtype::Q6K, Some(Dtype::Q8_0)),
    (Dtype::Q4_0, None),
    (Dtype::Q4_1, None),
    (Dtype::Q5_0, None),
    (Dtype::Q5_1, None),
    (Dtype::Iq4Nl, None),
];

/// The type in which a tensor of this role and shape is stored in a file of type `asked`.
pub fn stored_type(asked: Dtype, role: Role, shape: &[usize]) -> Dtype {
    let rule = RULES.iter().find(|(r, _)| *r == role).map_or(Rule::Full, |(_, rule)| *rule);
    let wanted = match rule {
        _ if shape.len() < 2 => Dtype::F32,
        Rule::Full => Dtype::F32,
        Rule::AtLeastEight if NARROW.iter().any(|(t, _)| *t == asked) => Dtype::Q8_0,
        Rule::Asked | Rule::AtLeastEight => asked,
    };
    fitting(wanted, shape)
}

/// The type itself where rows are whole blocks of it, else the next that fits.
fn fitting(wanted: Dtype, shape: &[usize]) -> Dtype {
    let fits = |dtype: Dtype| !dtype.is_quantised() || shape.last().is_some_and(|row| row.is_multiple_of(dtype.block_elements()));
    let instead = NARROW.iter().find(|(t, _)| *t == wanted).and_then(|(_, instead)| *instead);
    let q8_0 = (wanted == Dtype::Q8K).then_some(Dtype::Q8_0);
    [Some(wanted), instead, q8_0].into_iter().flatten().find(|t| fits(*t)).unwrap_or(Dtype::F16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_layers_get_what_is_asked_and_the_rest_is_guarded() {
        for asked in Dtype::all().filter(|t| t.is_float()) {
            assert_eq!(stored_type(asked, Role::Linear, &[8, 512]), asked);
            assert_eq!(stored_type(asked, Role::Vector, &[512]), Dtype::F32);
            assert_eq!(stored_type(asked, Role::Linear, &[512]), Dtype::F32, "one dimension is never quantised");
            assert_eq!(stored_type(asked, Role::SmallEmbedding, &[2, 512]), Dtype::F32);
            for guarded in [stored_type(asked, Role::TokenEmbedding, &[99, 512]), stored_type(asked, Role::Head, &[99, 512])] {
                assert!(!guarded.is_quantised() || matches!(guarded, Dtype::Q8_0 | Dtype::Q8K), "{asked:?} {guarded:?}");
            }
        }
    }

    #[test]
    fn rows_that_are_no_whole_blocks_get_the_next_type_that_fits() {
        for (asked, row, stored) in [
            (Dtype::Q4K, 384, Dtype::Q5_0),
            (Dtype::Q2K, 384, Dtype::Iq4Nl),
            (Dtype::Q6K, 384, Dtype::Q8_0),
            (Dtype::Q8K, 384, Dtype::Q8_0),
            (Dtype::Q4K, 768, Dtype::Q4K),
            (Dtype::Q4K, 100, Dtype::F16),
            (Dtype::Q8_0, 100, Dtype::F16),
            (Dtype::F32, 100, Dtype::F32),
        ] {
            assert_eq!(stored_type(asked, Role::Linear, &[64, row]), stored, "{asked:?} {row}");
        }
    }
}
