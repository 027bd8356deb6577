"""Makes tests/golden/tokenizer: what the reference's tokenizers do with nasty texts.

    pip install transformers tokenizers
    python tests/golden/make/tokenizer.py

The reference is `transformers` with its fast tokenizers; the versions stand in each file. The vocabulary is made here, from the
texts themselves and nothing random, small enough to commit. Each model is a folder: tokenizer.json and tokenizer_config.json;
vocab.txt is shared. The reference must agree with itself on both ways to open a model, or nothing is written.
"""

import json
import shutil
import tempfile
import unicodedata
from pathlib import Path

import tokenizers
import transformers
from transformers import AutoTokenizer, BertTokenizer

HERE = Path(__file__).resolve().parent.parent / "tokenizer"
VERSIONS = {"transformers": transformers.__version__, "tokenizers": tokenizers.__version__}

# Ordinary text, from which the vocabulary takes words and pieces of words.
PROSE = """The quick brown fox jumps over the lazy dog. How do I reset my password? Embedded language understanding for search:
Straße und Fuß, naïve café, Ångström, İstanbul'da ılık bir gün, ΟΔΥΣΣΕΥΣ και Ὀδυσσεύς, Привет мир, ещё раз, tokenization of unaffable
words, running runner ran, antidisestablishmentarianism, électroencéphalographie, coöperate, résumé, São Paulo, Zürich, señor, piñata"""

SCRIPTS = [
    # Latin: accents composed, decomposed, stacked, in odd order
    "café", "cafe\u0301", "Ångström A\u030angstro\u0308m", "re\u0301sume\u0301 résumé", "coöperate naïve façade",
    "Z\u0351\u036b\u0343\u036aa\u0322l\u034dg\u0334o\u0336", "a\u0323\u0307 a\u0307\u0323 ạ̇", "\u0301starts with a mark", "e\u0301\u0301\u0301\u0301\u0301",
    "o\u0327\u0301\u0308", "ﬁ ﬂ ﬀ ﬃ ſ ligatures", "ﬃ", "Ǆ ǅ ǆ Ǳ ǲ", "K \u212a Å \u212b Ω \u2126", "Æsir æther Œuvre œuvre", "Łódź Øre đ ħ",
    "ẞ ß Straße STRASSE Fuß", "İstanbul ISTANBUL ıstanbul istanbul", "I\u0307 i\u0307 İ ı", "DİYARBAKIR ığdır", "ŉ ǰ ΐ ΰ ẖ ẗ", "Ａｂｃ１２３！ full width",
    "𝐁𝐨𝐥𝐝 𝒮𝒸𝓇𝒾𝓅𝓉 𝟘𝟙𝟚", "ᴀʙᴄ ᵃᵇᶜ ₁₂₃ ¹²³", "Việt Nam Tiếng Việt", "Tie\u0302\u0301ng Vie\u0323\u0302t",
    # Greek, Cyrillic, Armenian, Georgian, Cherokee
    "ΟΔΥΣΣΕΥΣ", "Ὀδυσσεύς ὈΔΥΣΣΕΎΣ", "ΑΣ ΑΣΑ Σ σ ς ΑΣ.", "ᾳ ᾼ ῼ ΄ ΅", "Привет, мир! ЁЖ ёж Й й", "И\u0306 и\u0306 Е\u0308", "ᲀ Ꙋ ꙋ ҈", "Հայերեն և", "ქართული ᲥᲐᲠᲗᲣᲚᲘ", "ᏣᎳᎩ ꮳꮃꭹ",
    # CJK and its extension blocks, compatibility forms, radicals, kana, Hangul
    "漢字", "中文和English混排text", "我爱北京天安门。", "㐀㐁䶵", "𠀀𠀁𪛖", "𪜀𫜴", "𫝀𫠝", "𫠠𬺡 extension E", "𬺰𮯠 extension F", "𰀀𱍊 extension G", "𱍐𲎯 extension H",
    "豈更車 compatibility", "丽丸乁 supplement", "⼀⼁⺀ radicals", "〇〡〢〆々〻", "㈠㊀㍻㌀㏿", "日本語テキスト", "ひらがな カタカナ", "ｶﾞｷﾞ ﾊﾟ half width", "か\u3099 が は\u309a ぱ", "ヴ ヷ ゞ ヾ",
    "한국어 텍스트", "\u1112\u1161\u11ab\u1100\u1173\u11af", "가각힣", "ㄱㄴㄷ ㅏ ﾡ", "注音ㄅㄆㄇ", "漢\ufe00字\U000e0100", "。、「」『』【】・…", "ＣＪＫ：（１）、［２］",
    # Arabic, Hebrew, Indic, South-East Asian and others
    "العربية", "اَلْعَرَبِيَّةُ", "ﷺ ﷽ ﻻ", "هـــذا ١٢٣ ۴۵۶", "עברית", "שָׁלוֹם עֲלֵיכֶם", "ﬡ שׁ שּׁ", "אבג\u200fabc\u200e", "हिन्दी में क्षत्रिय", "ज़ ज\u093c क़", "বাংলা", "தமிழ் கொ",
    "తెలుగు", "ಕನ್ನಡ", "മലയാളം", "ไทยภาษา น้ำ", "ພາສາລາວ", "ខ្មែរ", "မြန်မာ", "བོད་སྐད", "አማርኛ፡ጽሑፍ።", "ᠮᠣᠩᠭᠣᠯ", "ߒߞߏ", "𐤀𐤁 𒀀𒁹 𓀀", "𞤀𞤣𞤤𞤢𞤥", "ⴰⴱ", "ᚠᚢᚦ",
]

SYMBOLS = [
    # Emoji: plain, presentation, skin tones, sequences, flags, keycaps, tags
    "😀", "hi😀there", "😀😃😄", "👍🏽", "👩‍👩‍👧‍👦", "👨🏿‍🚀 launch", "🏳️‍🌈", "🇩🇪🇫🇷🇯", "1️⃣ #️⃣", "❤️ ❤ ❤︎", "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "☺☻♥♦", "🫠🫱🏻‍🫲🏿", "a🤷🏼‍♀️b",
    # Punctuation and symbols
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "«quotes» „quotes“ ‚x‘ ‹y›", "don't won’t it's", "e.g. U.S.A. Ph.D.", "wait...what?!‽", "a–b—c―d‐e‑f−g", "¡¿§¶†‡•‣", "100% ±5 ×3 ÷2 ≤≥≠≈", "€100 £5 ¥7 ₿1 ¢", "∀x∈ℝ: ∑∫√∞ ∂", "←↑→↓⇒⟨⟩",
    "©®™℠ №℡", "½ ⅓ ¼ ⅷ Ⅷ ①⑳", "^ ` ´ ¨ ¯ ¸ ˇ ˘", "_under_score_ __init__", "٪ ؟ ، ؛ ॥ ।", "⸮ ⹀ 〜 ～", "a\u0338b ≠ =\u0338", "|║│┃█▓▒░", "⠓⠑⠇⠇⠕ braille", "♪♫♬𝄞",
    # Digits, addresses, code
    "0123456789", "3.14159 1,000,000 1e-10 0xFF", "2024-01-31T12:00:00Z", "+49 (0)30 123456-78", "https://example.com/a?b=c&d=%20#frag", "user.name+tag@example.co.uk", "192.168.0.1 ::1 fe80::1%eth0", "C:\\Users\\x\\file.txt",
    "fn main() { println!(\"{}\", x[0] as u32); }", "SELECT * FROM t WHERE a='b';", "<div class=\"a\">&amp;&lt;</div>", "a->b::c<d>&&e||!f", "$\\frac{1}{2}$", "git commit -m 'x' && ls | wc -l", "camelCaseAndPascalCase snake_case kebab-case", "١٢٣٤٥ १२३ ๑๒๓ 𝟏𝟐",
]

INVISIBLE = [
    # Nothing, spaces, controls and things that look like nothing
    "", " ", "   ", "\t", "\n", "\r\n", " \t\n\r ", "\u00a0", "\u3000", "\u2002\u2003\u2009\u200a", "\u2028\u2029", "\u0085", "\u1680", "\u202f\u205f", "a\u00a0b\u3000c\u2003d\u2028e\u0085f",
    "a\tb\nc\rd\x0be\x0cf", " leading and trailing ", "double  spaces   here", "\x00", "a\x00b", "\x01\x02\x1b[31mred\x1b[0m", "\x7f\x80\x9f", "\ufffd", "a\ufffdb \ufffd\ufffd", "\ufeff", "\ufeffstart with a mark", "mid\ufeffdle",
    "zero\u200bwidth", "zero\u200cwidth\u200djoin", "\u200b", "word\u2060joiner", "soft\u00adhyphen", "\u200e\u200f", "\u202aembed\u202c \u202eoverride\u202c", "\u2066iso\u2069late", "\ue000 private \uf8ff", "\U000f0000\U0010fffd",
    "\ud7ff next to surrogates \ue000", "\ufffe\uffff not characters", "\U0001fffe\U0010ffff", "\u0378\u0379 unassigned", "\u034f grapheme joiner", "\u180e mongolian", "\u2800 blank braille", "\u115f\u1160 fillers", "\u061c mark", "\ufff9anno\ufffatation\ufffb",
    "\u0301", "\u0301\u0302", " \u0301 ", "a \u0301b", "\u20dd\u0488 enclosing", "\u0e33 \u0eb3",
]

SPECIAL = [
    # Text that spells special tokens
    "[MASK]", "The [MASK] sat.", " [MASK] ", "a[MASK]b", "[CLS]", "[SEP]", "[CLS] a [SEP] b [SEP]", "[PAD][PAD]", "[UNK]", "[sep]", "[mask] [Mask]", "[ MASK ]", "[MASK", "MASK]", "[[MASK]]", "[MASK][MASK]", "[M\u0301ASK]", "[MASK]\u0301",
    "[MA\u200bSK]", "\u3000[MASK]\u00a0", "[MASK].[MASK]!", "##ing", "## a ##", "[unused1]", "[unused0]", "<s> </s> <mask>", "xx[SEP]yy", "[SEP]漢[SEP]", "Wörter WÖRTER wörter worter", "aWörterb", "<ent> <ENT> x<ent>y", "newword NewWord renewword newwords",
]

LONG = [
    "a" * 99, "a" * 100, "a" * 101, "b" * 200, "é" * 100, "e\u0301" * 100, "e\u0301" * 60, "漢" * 101, "😀" * 100, "😀" * 101, "x" + "\u0301" * 120, "un" * 50 + "able", "-" * 120, "ab" * 50 + " " + "ab" * 51,
    "ß" * 100, "İ" * 50, "İ" * 51, "a\u00ad" * 100, "Antidisestablishmentarianism électroencéphalographie", "Donaudampfschifffahrtsgesellschaftskapitän",
    "English русский 中文 العربية हिन्दी ไทย 한국어 日本語 עברית ελληνικά all in one", "a漢b字c かなkana한글hangul", "aбв", "Ѕсаm (with Cyrillic letters)", PROSE.replace("\n", " "),
]

TEXTS = SCRIPTS + SYMBOLS + INVISIBLE + SPECIAL + LONG

PAIRS = [
    ("How do I reset my password?", "the quick brown fox jumps over the lazy dog"), ("café", "漢字 and kana かな"), ("", ""), ("a", ""), ("", "b"), ("[SEP]", "[CLS] x"), ("  ", "\u200b"),
    ("unaffable runner", PROSE.replace("\n", " ")), (PROSE.replace("\n", " "), "unaffable runner"), (PROSE[:200], PROSE[200:]), ("😀😃", "👩‍👩‍👧‍👦 e\u0301"),
]

# name -> options of tokenizer_config.json
MODELS = {
    "uncased": {"do_lower_case": True, "strip_accents": None, "tokenize_chinese_chars": True},
    "cased": {"do_lower_case": False, "strip_accents": None, "tokenize_chinese_chars": True},
    "cased_strip": {"do_lower_case": False, "strip_accents": True, "tokenize_chinese_chars": True},
    "uncased_keep": {"do_lower_case": True, "strip_accents": False, "tokenize_chinese_chars": True},
    "no_cjk": {"do_lower_case": False, "strip_accents": False, "tokenize_chinese_chars": False},
}


def vocabulary():
    """Special tokens, characters, words and pieces of words; some characters are left out, so that [UNK] occurs."""
    pieces = ["[unused0]", "[PAD]", "[unused1]", "[UNK]", "[SEP]", "[CLS]", "[MASK]"]

    def spread(text):
        stripped = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
        return [text, text.lower(), stripped, stripped.lower(), unicodedata.normalize("NFD", text)]

    characters = sorted({c for text in TEXTS for form in spread(text) for c in form if not c.isspace() and unicodedata.category(c)[0] != "C"})
    characters = [c for c in characters if c.isascii() or ord(c) % 4 != 3]
    pieces += characters + ["##" + c for c in characters if c.isascii() or ord(c) % 2 == 0]
    for word in sorted({w.strip(".,:?") for form in spread(PROSE) for w in form.split()}):
        if len(word) < 9:
            pieces.append(word)
        pieces += [word[:3], word[:5], "##" + word[-3:], "##" + word[3:6]]
    return list(dict.fromkeys(p for p in pieces if p not in ("##", "")))


def make_folder(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        # Texts are escaped: invisible and right-to-left characters would confuse readers of the file.
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=name == "texts.json", separators=(",", ":"))
        (folder / name).write_text(text + "\n", encoding="utf-8", newline="\n")


def plain(encoding):
    """One encoding in few bytes."""
    return {
        "ids": encoding.ids,
        "offsets": [n for o in encoding.offsets for n in o],
        "type_ids": "".join(map(str, encoding.type_ids)),
        "special": "".join(map(str, encoding.special_tokens_mask)),
    }


def encode(tokenizer, text, pair=None, **options):
    """The windows of one text or pair. A batch of one: outside a batch the reference takes an empty second text for none."""
    return [plain(e) for e in tokenizer([text], None if pair is None else [pair], **options).encodings]


def cuts(tokenizer):
    """Truncation on both sides, and windows, of single texts and pairs."""
    found = []
    long_texts = [i for i, t in enumerate(TEXTS) if len(t) > 90 or t in ("中文和English混排text", "a[MASK]b", "")]
    for side in ("right", "left"):
        tokenizer.truncation_side = side
        for i in long_texts[::2]:
            for n in (2, 3, 12):
                found.append({"text": i, "max_tokens": n, "truncation": side, "windows": encode(tokenizer, TEXTS[i], truncation=True, max_length=n)})
        for i, (a, b) in enumerate(PAIRS):
            for n in (3, 4, 8, 17, 40, 41):
                found.append({"pair": i, "max_tokens": n, "truncation": side, "windows": encode(tokenizer, a, b, truncation="longest_first", max_length=n)})
    tokenizer.truncation_side = "right"
    for i in long_texts[::3]:
        for n, overlap in ((12, 0), (12, 3), (40, 20)):
            windows = encode(tokenizer, TEXTS[i], truncation=True, max_length=n, stride=overlap, return_overflowing_tokens=True)
            found.append({"text": i, "max_tokens": n, "truncation": "window", "overlap": overlap, "windows": windows})
    for i, (a, b) in enumerate(PAIRS):
        first = len(tokenizer([a], add_special_tokens=False).input_ids[0])
        for room, overlap in ((7, 2), (20, 0)):
            n = first + 3 + room
            windows = encode(tokenizer, a, b, truncation="only_second", max_length=n, stride=overlap, return_overflowing_tokens=True)
            found.append({"pair": i, "max_tokens": n, "truncation": "window", "overlap": overlap, "windows": windows})
    return found


def both_ways(vocab, files):
    """The tokenizer opened from vocab.txt and, as saved from there, from tokenizer.json."""
    with tempfile.TemporaryDirectory() as at:
        at = Path(at)
        make_folder(at / "vocab", {**files, "vocab.txt": "\n".join(vocab)})
        from_vocab = BertTokenizer.from_pretrained(at / "vocab")
        saved = json.loads(from_vocab.backend_tokenizer.to_str())
        make_folder(at / "json", {**files, "tokenizer.json": saved, "config.json": {"model_type": "bert"}})
        from_json = AutoTokenizer.from_pretrained(at / "json")
        # Settings that a saved tokenizer may carry, and that must have no effect.
        saved["truncation"] = {"direction": "Right", "max_length": 7, "strategy": "LongestFirst", "stride": 1}
        saved["padding"] = {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 1, "pad_type_id": 0, "pad_token": "[PAD]"}
        return from_vocab, from_json, saved


def expect(tokenizer, with_cuts):
    made = {"made_by": "tests/golden/make/tokenizer.py", **VERSIONS, "single": [encode(tokenizer, t)[0] for t in TEXTS], "pairs": [encode(tokenizer, a, b)[0] for a, b in PAIRS]}
    if with_cuts:
        made["cuts"] = cuts(tokenizer)
    return made


def models(vocab):
    for name, options in MODELS.items():
        files = {"tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "model_max_length": 512, **options}}
        if name == "no_cjk":  # Special tokens as objects, one of which swallows the space before it.
            mask = {"content": "[MASK]", "lstrip": True, "rstrip": False, "normalized": False, "single_word": False}
            files["special_tokens_map.json"] = {"mask_token": mask, "cls_token": {"content": "[CLS]"}, "additional_special_tokens": ["[unused1]"]}
        if name == "cased_strip":  # Words added to the vocabulary, in all their variants.
            flags = [("Wörter", True, False, False), ("<ent>", False, True, False), ("newword", False, False, True)]
            added = {str(vocab.index(t)): {"content": t, "special": True} for t in ("[PAD]", "[UNK]", "[SEP]", "[CLS]", "[MASK]")}
            for i, (content, normalized, special, single_word) in enumerate(flags):
                added[str(len(vocab) + i)] = {"content": content, "normalized": normalized, "special": special, "single_word": single_word, "lstrip": False, "rstrip": False}
            files["tokenizer_config.json"]["added_tokens_decoder"] = added
        from_vocab, from_json, saved = both_ways(vocab, files)
        made, again = (expect(t, name in ("uncased", "no_cjk")) for t in (from_vocab, from_json))
        assert made == again, f"{name}: the reference does not agree with itself"
        make_folder(HERE / name, {**files, "tokenizer.json": saved, "expected.json": made})


def settings(vocab):
    """Which of tokenizer.json and tokenizer_config.json has the last word on lower-casing, accents and CJK splitting."""
    texts = ["Hello CAFÉ 漢字", "İ É e\u0301 [MASK]"]
    made = []
    for stored in ({"lowercase": False, "strip_accents": None}, {"lowercase": True, "strip_accents": False}):
        for kind in ("BertTokenizer", "BertTokenizerFast", "PreTrainedTokenizerFast", None):
            for options in ({}, {"do_lower_case": True}, {"do_lower_case": False}, {"do_lower_case": True, "strip_accents": True, "tokenize_chinese_chars": False}):
                if kind is None and set(options) != {"do_lower_case", "strip_accents", "tokenize_chinese_chars"}:
                    continue  # Without a class the reference goes by the model's family, which a tokenizer does not know.
                config = {**options, **({"tokenizer_class": kind} if kind else {})}
                base = json.loads((HERE / "cased" / "tokenizer.json").read_text(encoding="utf-8"))
                base["normalizer"].update(stored)
                with tempfile.TemporaryDirectory() as at:
                    make_folder(Path(at), {"tokenizer.json": base, "tokenizer_config.json": config, "config.json": {"model_type": "bert"}})
                    tokenizer = AutoTokenizer.from_pretrained(at)
                made.append({"stored": stored, "config": config, "ids": [tokenizer(t).input_ids for t in texts]})
    # What sentence-transformers does for do_lower_case of sentence_bert_config.json.
    with tempfile.TemporaryDirectory() as at:
        make_folder(Path(at), {"vocab.txt": "\n".join(vocab), "tokenizer_config.json": MODELS["cased"]})
        tokenizer = BertTokenizer.from_pretrained(at)
    inner = tokenizer.backend_tokenizer
    inner.normalizer = tokenizers.normalizers.Sequence([tokenizers.normalizers.Lowercase(), inner.normalizer])
    lower = [plain(e) for e in tokenizer(TEXTS).encodings]
    make_folder(HERE, {"settings.json": {"made_by": "tests/golden/make/tokenizer.py", **VERSIONS, "texts": texts, "cases": made, "lower_case_first": lower}})


def main():
    assert len(TEXTS) == len(set(TEXTS)), "a text stands twice"
    vocab = vocabulary()
    shutil.rmtree(HERE, ignore_errors=True)
    make_folder(HERE, {"vocab.txt": "\n".join(vocab), "texts.json": {"made_by": "tests/golden/make/tokenizer.py", **VERSIONS, "texts": TEXTS, "pairs": PAIRS}})
    models(vocab)
    settings(vocab)
    size = sum(f.stat().st_size for f in HERE.rglob("*") if f.is_file())
    print(f"{len(TEXTS)} texts, {len(PAIRS)} pairs, {len(vocab)} pieces, {len(MODELS)} models, {size} bytes in {HERE}")


if __name__ == "__main__":
    main()
