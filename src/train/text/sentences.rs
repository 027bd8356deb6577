//! Where do the sentences of a text end, in English and in Chinese?
//!
//! Rules, no model. `。！？…` end a sentence where they stand; `.!?` end one where space follows and what comes next can begin a
//! sentence, unless the word before is an abbreviation, an initial or the number of a list. Closing quotes and brackets belong to
//! the sentence that they close. An empty line ends a sentence too.

/// Abbreviations behind which a sentence goes on, whatever follows; lower case, without the last full stop.
const ABBREVIATIONS: &[&str] = &[
    "al", "capt", "cf", "col", "dept", "dr", "e.g", "ed", "eds", "eq", "eqs", "esp", "fig", "figs", "gen", "gov", "hon", "i.e", "jr", "lt",
    "messrs", "mr", "mrs", "ms", "mt", "no", "nos", "op", "p", "pp", "prof", "rep", "rev", "sec", "sen", "sgt", "sr", "st", "viz", "vol",
    "vols", "vs",
];

/// They end a sentence where they stand.
const FULL_WIDTH: &[char] = &['。', '！', '？', '…', '｡'];
const NARROW: &[char] = &['.', '!', '?'];
/// They belong to what they close.
const CLOSING: &[char] = &['"', '\'', ')', ']', '}', '”', '’', '»', '」', '』', '）', '】', '》', '〉', '］', '｝'];
/// A sentence may begin with them.
const OPENING: &[char] = &['"', '\'', '(', '[', '{', '“', '‘', '«', '¿', '¡', '-', '–', '—', '*', '`', '<', '_', '#', '$'];

/// The sentences of a text, without the space around them; none is empty.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                return None;
            }
            let (sentence, after) = rest.split_at(end_of_first(rest));
            rest = after;
            if !sentence.trim().is_empty() {
                return Some(sentence.trim());
            }
        }
    })
}

/// The byte behind the first sentence.
fn end_of_first(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\n' && text[at + 1..].trim_start_matches([' ', '\t', '\r']).starts_with('\n') {
            return at;
        }
        let (full, narrow) = (FULL_WIDTH.contains(&c), NARROW.contains(&c));
        if !full && !narrow {
            continue;
        }
        let ends_with = |c: &char| FULL_WIDTH.contains(c) || NARROW.contains(c);
        let mut end = at + c.len_utf8();
        let mut strong = full;
        let mut marks = 1;
        while let Some((at, c)) = chars.next_if(|(_, c)| ends_with(c)) {
            end = at + c.len_utf8();
            strong |= FULL_WIDTH.contains(&c);
            marks += 1;
        }
        while let Some((at, c)) = chars.next_if(|(_, c)| CLOSING.contains(c)) {
            end = at + c.len_utf8();
        }
        let alone = marks == 1 && c == '.';
        if strong || (begins_sentence(&text[end..]) && !(alone && goes_on(&text[..at]))) {
            return end;
        }
    }
    text.len()
}

/// Whether space follows, and then something that a sentence can begin with.
fn begins_sentence(after: &str) -> bool {
    let next = after.trim_start();
    if next.is_empty() {
        return true;
    }
    let first = next.trim_start_matches(OPENING).chars().next();
    next.len() < after.len() && first.is_none_or(|c| !c.is_lowercase() && (c.is_alphanumeric() || next.starts_with(OPENING)))
}

/// Whether a full stop behind this text does not end its sentence.
fn goes_on(before: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || OPENING.contains(&c)).next().unwrap_or_default();
    let initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase) && word != "I";
    // "1. First", but not "in 1901. Then".
    let number = word.len() == before.len() && word.len() <= 3 && !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    initial || number || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts whose sentences are divided by `|`, with a space where there is one.
    const CASES: &[&str] = &[
        "One. |Two! |Three? |Four",
        "He said \"Go.\" |She went.",
        "Dr. Smith met Mrs. Jones at St. Mary's. |They spoke.",
        "See Fig. 3 and pp. 4 to 6, e.g. The Times. |Done.",
        "J. R. R. Tolkien wrote it. |So did I. |He read.",
        "The price is 3.50 dollars. |It rose to 4.5 today.",
        "Version 1.2.3 is out. |Use foo.bar() now.",
        "1. First item is here. |2. Second item is here.",
        "It was so in 1901. |Then it changed.",
        "Wait... what? |Yes... |No.",
        "Really?! |Yes.",
        "the u.s. is large. |(It is.) |[So it is.]",
        "etc. and so on. |Next.",
        "一句。|两句！|三句？|四句",
        "他说：“走吧。”|她走了。",
        "（完。）|下一句……|再一句",
        "他用Python 3.11写的。|很快！",
        "我爱你。 |Really. |好",
        "First paragraph\n\n|Second paragraph without end",
        "wrapped\nline. |Next",
        "No end mark",
        "\"Quoted start.\" |'Another.' |Third.",
        "?",
        "Ends with space.   ",
    ];

    #[test]
    fn sentences_end_where_a_reader_says() {
        for case in CASES {
            let expected: Vec<&str> = case.split('|').map(str::trim).collect();
            let text = case.replace('|', "");
            assert_eq!(sentences(&text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn no_text_has_no_sentence_and_no_letter_is_lost() {
        assert_eq!(sentences(" \n\n \t").count(), 0);
        for case in CASES {
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let text = case.replace('|', "");
            assert_eq!(letters(&sentences(&text).collect::<String>()), letters(&text));
        }
    }

    #[test]
    fn a_million_marks_take_no_longer_than_a_million_letters() {
        let text = "... ".repeat(50_000) + &".".repeat(1_000_000) + &"a. ".repeat(100_000) + &"\n ".repeat(300_000);
        assert!(sentences(&text).count() > 0);
    }
}
