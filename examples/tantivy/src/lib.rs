//! How does a search program that has an index get better answers on top?
//!
//! Two stages: tantivy finds candidates by their words (BM25), [`cloze::Model::rerank`] reads query and candidates together, or compares their vectors,
//! and puts the best first. [`Engine`] holds both; `main.rs` is a command around it.

use cloze::{Model, Request};
use tantivy::collector::TopDocs;
use tantivy::query::QueryParser;
use tantivy::schema::{FAST, Field, STORED, Schema, TextFieldIndexing, TextOptions, Value};
use tantivy::{Index, IndexReader, TantivyDocument, doc};

/// What can go wrong: the index's errors and the model's.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// An index of passages with the model that ranks what it finds.
pub struct Engine {
    reader: IndexReader,
    parser: QueryParser,
    text: Field,
    number: Field,
    model: Model,
}

/// A passage that answers a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Which of the passages, from 0.
    pub number: usize,
    /// Its text.
    pub text: String,
    /// Its place among the candidates by words, from 0.
    pub by_words: usize,
    /// The model's score: the higher the better, comparable within one query.
    pub score: f32,
}

impl Engine {
    /// Indexes `passages`, one document each, in memory.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn new(passages: &[String], model: Model) -> Result<Engine, Error> {
        let mut schema = Schema::builder();
        let words = TextFieldIndexing::default().set_tokenizer("en_stem").set_index_option(tantivy::schema::IndexRecordOption::WithFreqs);
        let text = schema.add_text_field("text", TextOptions::default().set_indexing_options(words).set_stored());
        let number = schema.add_u64_field("number", FAST | STORED);
        let index = Index::create_in_ram(schema.build());
        let mut writer = index.writer_with_num_threads(1, 20_000_000)?;
        for (i, passage) in passages.iter().enumerate() {
            writer.add_document(doc!(text => passage.as_str(), number => i as u64))?;
        }
        writer.commit()?;
        let parser = QueryParser::for_index(&index, vec![text]);
        Ok(Engine { reader: index.reader()?, parser, text, number, model })
    }

    /// The passages that share words with `query`, the best `candidates` by BM25 first.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn find(&self, query: &str, candidates: usize) -> Result<Vec<(usize, String)>, Error> {
        // People's questions hold what the query language takes for operators; what it makes nothing of is left out.
        let (parsed, _) = self.parser.parse_query_lenient(query);
        let searcher = self.reader.searcher();
        let found = searcher.search(&parsed, &TopDocs::with_limit(candidates.max(1)).order_by_score())?;
        let mut passages = Vec::with_capacity(found.len());
        for (_, address) in found {
            let document: TantivyDocument = searcher.doc(address)?;
            let number = document.get_first(self.number).and_then(|v| v.as_u64()).ok_or("a document without a number")?;
            let text = document.get_first(self.text).and_then(|v| v.as_str()).unwrap_or_default();
            passages.push((number as usize, text.to_owned()));
        }
        Ok(passages)
    }

    /// The best `top` of `candidates` passages, by the model.
    ///
    /// # Errors
    /// As [`Engine::find`], and when the model cannot rank: [`cloze::Model::rerank`].
    pub fn search(&self, query: &str, candidates: usize, top: usize) -> Result<Vec<Hit>, Error> {
        let found = self.find(query, candidates)?;
        let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        let ranking = self.model.rerank(query, &texts, &Request { top: Some(top), ..Request::default() })?;
        let hit = |place: &cloze::Ranked| {
            let (number, text) = &found[place.index];
            Hit { number: *number, text: text.clone(), by_words: place.index, score: place.score }
        };
        Ok(ranking.ranked.iter().map(hit).collect())
    }
}
