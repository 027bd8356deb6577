//! How are files of text read?

use crate::error::Result;
use crate::tasks::Setting;
use crate::tasks::settings::{BOOLEAN, choice, set};

/// How documents stand in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextForm {
    /// A sentence a line, an empty line between documents.
    #[default]
    Sentences,
    /// A document a line.
    Documents,
    /// A JSON object a line, with the document in one of its fields.
    JsonLines,
}

impl TextForm {
    /// Every form by name.
    pub const ALL: &'static [(&'static str, TextForm)] =
        &[("sentences", TextForm::Sentences), ("documents", TextForm::Documents), ("jsonl", TextForm::JsonLines)];
}

/// How files are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextSettings {
    /// How documents stand in the files.
    pub form: TextForm,
    /// The field of JSON lines that has the text.
    pub field: String,
    /// Whether documents are cut into sentences by the rules of `sentences`; otherwise each is one sentence. Sentences that have lines of their own
    /// are never cut further.
    pub split: bool,
}

impl Default for TextSettings {
    fn default() -> Self {
        TextSettings { form: TextForm::default(), field: "text".to_owned(), split: true }
    }
}

impl TextSettings {
    /// Every option that [`TextSettings::set`] knows.
    pub const SETTINGS: &'static [Setting<TextSettings>] = &[
        Setting {
            name: "form",
            values: "sentences, documents or jsonl",
            help: "How documents stand in the files: a sentence a line with empty lines between documents, a document a line, or a JSON object a line",
            apply: |s, v| {
                s.form = choice(v, TextForm::ALL)?;
                Ok(())
            },
        },
        Setting {
            name: "field",
            values: "the name of a field",
            help: "Where the document is in each JSON object; text if not given",
            apply: |s, v| {
                s.field = v.to_owned();
                Ok(())
            },
        },
        Setting {
            name: "split",
            values: "true or false",
            help: "Cut documents into sentences, which is done unless told otherwise; sentences that have lines of their own are never cut",
            apply: |s, v| {
                s.split = choice(v, BOOLEAN)?;
                Ok(())
            },
        },
    ];

    /// Sets the option called `name`.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is not in [`TextSettings::SETTINGS`] and for a value that its row does not take.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        set(Self::SETTINGS, self, name, value)
    }
}
