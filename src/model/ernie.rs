//! ERNIE: BERT with a fourth embedding, of the type of task.
//!
//! Sun et al., ERNIE 2.0: A Continual Pre-training Framework for Language Understanding (2020). Where config.json says
//! `use_task_id`, the row of task type 0 is added to every token, as in `transformers` where a caller gives no type; without it
//! (ERNIE 1.0) the graph is BERT's. Chinese models have ReLU.

use super::bert::BERT;
use super::config::Fields;
use super::loader::Loader;
use super::postnorm::{self, Family, Table};
use super::trunk::Trunk;
use crate::error::Result;

const ERNIE: &Family = &Family {
    name: "ernie",
    prefix: "ernie.",
    tables: &[
        Table::Words("embeddings.word_embeddings"),
        Table::Segments("embeddings.token_type_embeddings"),
        Table::Positions("embeddings.position_embeddings"),
        Table::Tasks("embeddings.task_type_embeddings"),
    ],
    ..BERT
};

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    postnorm::build(ERNIE, config, loader)
}
