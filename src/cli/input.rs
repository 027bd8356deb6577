//! Which texts were given?
//!
//! Arguments, or standard input read in chunks: a chunk ends at [`MOST_TEXTS`] texts, at [`MOST_BYTES`], or where the next text
//! has not arrived yet, so that a stream of any length fits in memory and a slow one is answered as it comes.

use std::io::{BufRead, BufReader, IsTerminal, Read, Write};

use clap::ArgMatches;
use serde::Deserialize;
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind, Result, fail};
use crate::tasks::LONGEST_TEXT;

const MOST_TEXTS: usize = 256;
const MOST_BYTES: usize = 4 << 20;
/// What a full pipe holds; one read takes it all.
const BUFFER: usize = 64 << 10;
/// Bytes of a line at most: a text of the longest length and its line end, and for JSON a pair of them, escaped.
const LONGEST_LINE: usize = LONGEST_TEXT + 2;
const LONGEST_JSON_LINE: usize = 16 * LONGEST_TEXT;

/// One text with its companions.
#[derive(Debug)]
pub(super) struct Input {
    /// Its number, counted from 0 over the whole input.
    pub index: usize,
    pub text: String,
    /// The words that the text is made of, where these were given in its place.
    pub words: Option<Vec<String>>,
    pub pair: Option<String>,
    /// Any JSON value, given back with the answer to the letter: numbers of any size and form.
    pub id: Option<Box<RawValue>>,
}

/// Which JSON lines does a command take?
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// A line, for help and errors.
    pub shown: &'static str,
    pair: Pair,
    /// Whether words may stand in place of a text.
    words: bool,
}

/// Whether there is a second text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pair {
    Never,
    Maybe,
    Always,
}

/// Single texts.
pub(super) const TEXT: Form = Form { shown: "{\"text\": \"...\", \"id\": ...} (id optional)", pair: Pair::Never, words: false };
/// Texts, with or without a second one.
pub(super) const PAIR: Form =
    Form { shown: "{\"text\": \"...\", \"pair\": \"...\", \"id\": ...} (pair and id optional)", pair: Pair::Maybe, words: false };
/// Single texts, or lists of words.
pub(super) const WORDS: Form =
    Form { shown: "{\"text\": \"...\", \"id\": ...} or {\"words\": [\"...\"], \"id\": ...} (id optional)", pair: Pair::Never, words: true };
/// Pairs of texts: arguments come two by two, plain lines have a tab between the two.
pub(super) const TWO: Form =
    Form { shown: "{\"text\": \"...\", \"pair\": \"...\", \"id\": ...} (id optional)", pair: Pair::Always, words: false };

/// A line as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    words: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pair: Option<&'a RawValue>,
    #[serde(default)]
    id: Option<Box<RawValue>>,
}

/// A field that is there, `null` included.
fn present<'de: 'a, 'a, D: serde::Deserializer<'de>>(field: D) -> std::result::Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(field).map(Some)
}

/// The texts of a command, in chunks.
pub(super) struct Inputs {
    source: Source,
    /// The form of a JSON line; `None` where lines are plain texts.
    form: Option<Form>,
    /// Whether plain texts come in twos.
    twos: bool,
    /// Texts given so far.
    count: usize,
    /// Lines read so far.
    line: usize,
}

enum Source {
    Arguments(std::vec::IntoIter<String>),
    Stream(BufReader<Box<dyn std::io::Read>>),
}

impl Inputs {
    /// The texts among the arguments, or else standard input.
    pub fn open(matches: &ArgMatches, form: Form) -> Inputs {
        let twos = form.pair == Pair::Always;
        let form = matches.get_flag("json").then_some(form);
        let texts: Vec<String> = matches.get_many::<String>("texts").map(|texts| texts.cloned().collect()).unwrap_or_default();
        if !texts.is_empty() {
            return Inputs { source: Source::Arguments(texts.into_iter()), form, twos, count: 0, line: 0 };
        }
        let stdin = std::io::stdin();
        if stdin.is_terminal() {
            let _ = writeln!(std::io::stderr(), "Reading texts from the terminal, one a line; end with Ctrl-D.");
        }
        Inputs { twos, ..Inputs::stream(stdin, form) }
    }

    fn stream(reader: impl std::io::Read + 'static, form: Option<Form>) -> Inputs {
        Inputs { source: Source::Stream(BufReader::with_capacity(BUFFER, Box::new(reader))), form, twos: false, count: 0, line: 0 }
    }

    /// The next texts; none at the end.
    ///
    /// # Errors
    /// Names the line that is not UTF-8 or not the JSON expected.
    pub fn chunk(&mut self) -> Result<Vec<Input>> {
        let mut chunk: Vec<Input> = Vec::new();
        let mut bytes = 0;
        while chunk.len() < MOST_TEXTS && bytes < MOST_BYTES {
            let waiting = matches!(&self.source, Source::Stream(reader) if reader.buffer().is_empty());
            if waiting && !chunk.is_empty() {
                break;
            }
            let Some(mut input) = self.next()? else { break };
            input.index = self.count;
            self.count += 1;
            bytes += input.text.len() + input.pair.as_ref().map_or(0, String::len);
            chunk.push(input);
        }
        Ok(chunk)
    }

    fn next(&mut self) -> Result<Option<Input>> {
        let reader = match &mut self.source {
            Source::Arguments(texts) if self.twos => return two_arguments(texts),
            Source::Arguments(texts) => return Ok(texts.next().map(plain)),
            Source::Stream(reader) => reader,
        };
        loop {
            let longest = if self.form.is_some() { LONGEST_JSON_LINE } else { LONGEST_LINE };
            let Some(line) = read_line(reader, &mut self.line, longest)? else { return Ok(None) };
            let Some(form) = self.form else {
                return if self.twos {
                    two_in_a_line(&line).map(Some).map_err(|e| e.within(place(self.line)))
                } else {
                    Ok(Some(plain(line)))
                };
            };
            // Blank lines between JSON lines are no texts.
            if !line.trim().is_empty() {
                return parse(&line, form).map(Some).map_err(|e| e.within(place(self.line)));
            }
        }
    }
}

fn plain(text: String) -> Input {
    Input { index: 0, text, words: None, pair: None, id: None }
}

fn two(text: String, pair: String) -> Input {
    Input { pair: Some(pair), ..plain(text) }
}

fn two_arguments(texts: &mut std::vec::IntoIter<String>) -> Result<Option<Input>> {
    let Some(text) = texts.next() else { return Ok(None) };
    let Some(pair) = texts.next() else {
        return fail(ErrorKind::InvalidArgument, "texts come in pairs, and the last one is alone; give its second text");
    };
    Ok(Some(two(text, pair)))
}

fn two_in_a_line(line: &str) -> Result<Input> {
    match line.split_once('\t') {
        Some((text, pair)) => Ok(two(text.to_owned(), pair.to_owned())),
        None => fail(ErrorKind::InvalidArgument, "no tab between the two texts of a pair; put one there, or use --json"),
    }
}

fn place(line: usize) -> String {
    format!("standard input, line {line}")
}

/// One line without its end (`\n` or `\r\n`); the byte order mark that some editors put first is no part of a text.
fn read_line(reader: &mut impl BufRead, number: &mut usize, longest: usize) -> Result<Option<String>> {
    let mut bytes = Vec::new();
    *number += 1;
    match reader.take(longest as u64 + 1).read_until(b'\n', &mut bytes) {
        Ok(0) => return Ok(None),
        Ok(n) if n > longest => {
            let told = format!("{}: longer than {longest} bytes; cut it into several texts", place(*number));
            return fail(ErrorKind::TooLong, told);
        }
        Ok(_) => {}
        Err(e) => return fail(ErrorKind::Io, format!("standard input: {e}")),
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    if *number == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).map(Some).map_err(|e| {
        let at = e.utf8_error().valid_up_to() + 1;
        Error::new(
            ErrorKind::InvalidUtf8,
            format!("{}: byte {at} is not UTF-8; convert the text first, for example with iconv", place(*number)),
        )
    })
}

fn parse(line: &str, form: Form) -> Result<Input> {
    let wrong = |told: String| Error::new(ErrorKind::InvalidArgument, format!("{told}; with --json each line is an object {}", form.shown));
    if !line.trim_start().starts_with('{') {
        let told =
            format!("not a JSON object; with --json each line must be one, like {}; without --json lines are plain texts", form.shown);
        return fail(ErrorKind::InvalidArgument, told);
    }
    let Line { text, words, pair, id } = serde_json::from_str(line).map_err(|e| wrong(json_fault(&e)))?;
    if pair.is_some() && form.pair == Pair::Never {
        let told = "this command takes single texts; leave out \"pair\", or join both texts yourself";
        return fail(ErrorKind::InvalidArgument, told);
    }
    if pair.is_none() && form.pair == Pair::Always {
        return Err(wrong("\"pair\" is missing".to_owned()));
    }
    let string = |name: &str, value: &RawValue| {
        let value = value.get();
        if !value.starts_with('"') {
            return Err(wrong(format!("\"{name}\" is {}, not a string", kind(value))));
        }
        serde_json::from_str::<String>(value).map_err(|e| wrong(format!("\"{name}\": {}", json_fault(&e))))
    };
    let pair = pair.map(|pair| string("pair", pair)).transpose()?;
    // Between the parts of an id a carriage return is a space, which no reader takes for the end of a line.
    let id = id.map(|id| if id.get().contains('\r') { RawValue::from_string(id.get().replace('\r', " ")).unwrap_or(id) } else { id });
    if !form.words && words.is_some() {
        return Err(wrong("unknown field \"words\"".to_owned()));
    }
    let words: Option<Vec<String>> = match words {
        None => None,
        Some(_) if text.is_some() => return Err(wrong("both \"text\" and \"words\"".to_owned())),
        Some(words) => Some(serde_json::from_str(words.get()).map_err(|_| wrong("\"words\" is no list of strings".to_owned()))?),
    };
    let text = match (&words, text) {
        (Some(words), _) => words.join(" "),
        (None, Some(text)) => string("text", text)?,
        (None, None) => return Err(wrong("missing field \"text\"".to_owned())),
    };
    Ok(Input { index: 0, text, words, pair, id })
}

/// What is wrong with a line of JSON, in plain words.
fn json_fault(error: &serde_json::Error) -> String {
    let words = error.to_string();
    // The reader counts lines in what it was given: always one. What it expected is said by the caller.
    let words = words.split(" at line 1 column ").next().and_then(|w| w.split(", expected").next()).unwrap_or_default();
    match error.classify() {
        Category::Eof => "not valid JSON: the line ends too early".to_owned(),
        Category::Data => words.replace('`', "\""),
        _ => format!("not valid JSON: {words} at column {}", error.column()),
    }
}

/// What a JSON value is, by its first character.
fn kind(value: &str) -> &'static str {
    match value.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b't' | b'f') => "true or false",
        Some(b'n') => "null",
        _ => "a number",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], json: bool) -> Result<Vec<Input>> {
        let mut inputs = Inputs::stream(std::io::Cursor::new(bytes.to_vec()), json.then_some(PAIR));
        let mut all = Vec::new();
        loop {
            let chunk = inputs.chunk()?;
            if chunk.is_empty() {
                return Ok(all);
            }
            all.extend(chunk);
        }
    }

    fn texts(bytes: &[u8]) -> Vec<String> {
        read(bytes, false).unwrap().into_iter().map(|i| i.text).collect()
    }

    #[test]
    fn lines_end_in_either_way_and_empty_lines_are_texts() {
        assert_eq!(texts(b"a\r\n\nb\n"), ["a", "", "b"]);
        assert_eq!(texts(b"a\nb"), ["a", "b"]);
        assert_eq!(texts(b""), [""; 0]);
        assert_eq!(texts(b"\n"), [""]);
        assert_eq!(texts(b"a\rb\r\r\n"), ["a\rb\r"], "only one carriage return belongs to the line's end");
        assert_eq!(texts(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n"), ["a", "\u{feff}b"]);
        assert_eq!(texts(b"a\0b\n"), ["a\0b"]);
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let mut inputs = Inputs::stream(std::io::repeat(b'a'), None);
        let e = inputs.chunk().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::TooLong);
        assert!(e.message().contains("line 1"), "{e}");
        let mut longest = vec![b'a'; LONGEST_TEXT];
        longest.extend(b"\r\n");
        assert_eq!(texts(&longest)[0].len(), LONGEST_TEXT);
    }

    #[test]
    fn json_lines_carry_pair_and_id() {
        let all = read(b"{\"text\":\"a\"}\n\n{\"text\":\"b\",\"pair\":\"c\\n\",\"id\":[1]}\r\n", true).unwrap();
        let parts = |input: &Input| (input.index, input.text.clone(), input.pair.clone(), input.id.as_ref().map(ToString::to_string));
        assert_eq!(parts(&all[0]), (0, "a".to_owned(), None, None));
        assert_eq!(parts(&all[1]), (1, "b".to_owned(), Some("c\n".to_owned()), Some("[1]".to_owned())));
    }

    #[test]
    fn an_id_is_kept_to_the_letter() {
        assert_eq!(read(b"{\"text\":\"a\",\"id\":[1,\r2]}\r\n", true).unwrap()[0].id.as_ref().unwrap().get(), "[1, 2]");
        for id in ["12345678901234567890123456789", "1.0", "1e400", "-0", "\"\\u00e9\"", "{\"b\":1,\"a\":2, \"b\":3}"] {
            let line = format!("{{\"text\":\"a\",\"id\":{id}}}\n");
            assert_eq!(read(line.as_bytes(), true).unwrap()[0].id.as_ref().unwrap().get(), id);
        }
        assert!(read(b"{\"text\":\"a\",\"id\":null}", true).unwrap()[0].id.is_none());
    }

    #[test]
    fn a_bad_line_is_named() {
        for (bytes, json, expected) in [
            (&b"a\nb\xff\n"[..], false, "line 2: byte 2 is not UTF-8"),
            (b"{\"text\":\"a\"}\n{\"txt\":\"b\"}\n", true, "line 2: unknown field \"txt\"; with --json each line is an object {\"text\""),
            (b"{\"text\":\"a\"}\n\n{}\n", true, "line 3: missing field \"text\";"),
            (b"\"a\"\n", true, "line 1: not a JSON object; with --json"),
            (b"a text\n", true, "without --json lines are plain texts"),
            (b"[\"a\"]\n", true, "line 1: not a JSON object"),
            (b"{\"text\":1}\n", true, "line 1: \"text\" is a number, not a string;"),
            (b"{\"text\":null}\n", true, "line 1: \"text\" is null, not a string;"),
            (b"{\"text\":\"a\",\"pair\":[]}\n", true, "line 1: \"pair\" is a list, not a string;"),
            (b"{\"text\":\"a\",\"text\":\"b\"}\n", true, "line 1: duplicate field \"text\";"),
            (b"{\"text\":\"a\"} x\n", true, "line 1: not valid JSON: trailing characters at column 14"),
            (b"{\"text\":\"a\n", true, "line 1: not valid JSON: the line ends too early"),
            (b"{\"text\":\"\\ud800\"}\n", true, "line 1: \"text\": not valid JSON"),
        ] {
            let message = read(bytes, json).unwrap_err().message().to_owned();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn a_command_of_single_texts_knows_no_pair() {
        let message = parse("{\"txt\":\"a\"}", TEXT).unwrap_err().message().to_owned();
        assert!(!message.contains("pair"), "{message}");
        let message = parse("{\"text\":\"a\",\"pair\":\"b\"}", TEXT).unwrap_err().message().to_owned();
        assert!(message.contains("leave out \"pair\""), "{message}");
    }

    #[test]
    fn words_stand_in_place_of_a_text_where_a_command_takes_them() {
        let input = parse("{\"words\":[\"New\",\"York\"],\"id\":1}", WORDS).unwrap();
        assert_eq!((input.text.as_str(), input.words.unwrap().len()), ("New York", 2));
        assert!(parse("{\"text\":\"a\"}", WORDS).unwrap().words.is_none());
        for (line, form, expected) in [
            ("{\"words\":[\"a\"]}", TEXT, "unknown field \"words\""),
            ("{\"words\":[\"a\"],\"text\":\"a\"}", WORDS, "both \"text\" and"),
            ("{\"words\":\"a\"}", WORDS, "no list of strings"),
            ("{\"words\":[1]}", WORDS, "no list of strings"),
            ("{}", WORDS, "missing field \"text\""),
        ] {
            let message = parse(line, form).unwrap_err().message().to_owned();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn long_input_comes_in_chunks_and_keeps_its_numbers() {
        let bytes: Vec<u8> = (0..1000).flat_map(|i| format!("text {i}\n").into_bytes()).collect();
        let mut inputs = Inputs::stream(std::io::Cursor::new(bytes), None);
        let first = inputs.chunk().unwrap();
        assert_eq!((first.len(), first[255].index), (MOST_TEXTS, 255));
        assert_eq!(inputs.chunk().unwrap()[0].text, "text 256");
    }

    #[test]
    fn a_slow_stream_is_answered_as_it_comes() {
        /// Gives one line a read, as a pipe does whose writer is slow.
        struct Slow(usize);
        impl std::io::Read for Slow {
            fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
                self.0 += 1;
                out[..2].copy_from_slice(b"a\n");
                Ok(if self.0 > 3 { 0 } else { 2 })
            }
        }
        let mut inputs = Inputs::stream(Slow(0), None);
        assert_eq!((0..4).map(|_| inputs.chunk().unwrap().len()).collect::<Vec<_>>(), [1, 1, 1, 0]);
    }
}
