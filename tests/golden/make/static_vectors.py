"""Static vectors, and what gensim, model2vec and sentence-transformers make of texts with them -> tests/golden/static.

    pip install -r requirements.txt && pip install --no-deps -r requirements-static.txt
    python static_vectors.py

Words: files of word2vec (text and binary), GloVe, fastText's .vec and GloVe's 840B kind, whose words may have spaces. The expected vector of
a text is gensim's mean of the vectors of its words; how a text becomes words is the rule of docs/models.md, done here with the `tokenizers`
package. Folders: tiny random models that model2vec and sentence-transformers save, with every kind of vocabulary and of table that they
have, and what they answer themselves.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import torch
from gensim.models import KeyedVectors
from model2vec import StaticModel
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, StaticEmbedding
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

OUT = Path(__file__).resolve().parent.parent / "static"
DIMENSIONS = 12

WORDS = """the , . of and to in a for is on that with was The Paris paris london river bank money sea ship ships sailed harbour at
 night morning rain sun don ' t 's 1990 3 14 new_york new york ( ) " ! ? ... über straße naïve 東京 漢字 🙂 search engine query document
 vector mean</s>""".split()
LOWER = [word for word in WORDS if word == word.lower()]

TEXTS = [
    "The ship sailed to Paris in the morning.",
    "the the the river",
    "Don't sail at night, in 1990!",
    "new_york and New York (3.14)",
    "über die Straße, naïve 🙂 東京 漢字 東京漢字",
    "zzz qqq xyzzy",
    "",
    "   \t\n ",
    "  search   engine\u00a0query\u3000document ...  ",
    "[UNK] [PAD] </s> mean</s>",
    "The harbour, the rain and the sea: " * 12 + "the bank of the river",
    "ships " * 700,
]


def texts_to_words(texts, lower):
    """The rule: lower-cased where the vocabulary is, then runs of letters, digits and underscores, or of anything else but spaces."""
    pre = pre_tokenizers.Whitespace()
    normal = normalizers.Lowercase() if lower else None
    return [[word for word, _ in pre.pre_tokenize_str(normal.normalize_str(text) if normal else text)] for text in texts]


def means(vectors, lower):
    rows = []
    for words in texts_to_words(TEXTS, lower):
        known = [word for word in words if word in vectors]
        zeros = np.zeros(vectors.vector_size, np.float32)
        mean = vectors.get_mean_vector(words, pre_normalize=False, post_normalize=False, ignore_missing=True) if words else zeros
        rows.append((mean if known else zeros, len(known), len(words)))
    return rows


def keyed(words, rng):
    vectors = KeyedVectors(DIMENSIONS)
    vectors.add_vectors(words, rng.normal(size=(len(words), DIMENSIONS)).astype(np.float32))
    return vectors


def word_files():
    rng = np.random.default_rng(5)
    cases = []

    def case(name, lower, **load):
        vectors = KeyedVectors.load_word2vec_format(str(OUT / name), **load)
        assert len(vectors) > 40
        rows = means(vectors, lower)
        cases.append(answers(name, [row[0] for row in rows], tokens=[row[1] for row in rows], total=[row[2] for row in rows]))

    keyed(WORDS, rng).save_word2vec_format(str(OUT / "word2vec.txt"))
    case("word2vec.txt", False)
    keyed(WORDS, rng).save_word2vec_format(str(OUT / "word2vec.bin"), binary=True)
    case("word2vec.bin", False, binary=True)
    # As word2vec's own program writes it: the end of a line behind each row.
    rows = keyed(LOWER, rng)
    with open(OUT / "lines.bin", "wb") as file:
        file.write(f"{len(LOWER)} {DIMENSIONS}\n".encode())
        for word in LOWER:
            file.write(word.encode() + b" " + rows[word].tobytes() + b"\n")
    case("lines.bin", True, binary=True)
    keyed(LOWER, rng).save_word2vec_format(str(OUT / "glove.txt"), write_header=False)
    case("glove.txt", True, no_header=True)
    # fastText ends each line with a space; a word that is there twice counts once.
    rows = keyed(WORDS, rng)
    lines = [f"{word} " + " ".join(f"{x:.4f}" for x in rows[word]) + " " for word in WORDS]
    lines.append("the " + "9.5 " * DIMENSIONS)
    (OUT / "fasttext.vec").write_text(f"{len(lines)} {DIMENSIONS}\n" + "\n".join(lines) + "\n")
    case("fasttext.vec", False)
    spaced_words(rng, cases)
    return cases


def spaced_words(rng, cases):
    """GloVe's 840B kind: gensim does not read words with spaces, so the same vectors are given to it without these words."""
    rows = keyed(WORDS, rng)
    text = {word: " ".join(f"{x:.5g}" for x in rows[word]) for word in WORDS}
    odd = {word: " ".join(f"{x:.5g}" for x in rng.normal(size=DIMENSIONS)) for word in [". . .", "at name@domain.com", "1 1/2"]}
    lines = [f"{word} {numbers}" for word, numbers in text.items()]
    lines[3:3] = [f"{word} {numbers}" for word, numbers in odd.items()]
    (OUT / "glove-840b.txt").write_text("\n".join(lines) + "\n")
    plain = OUT / "plain.tmp"
    plain.write_text("\n".join(f"{word} {numbers}" for word, numbers in text.items()) + "\n")
    rows = means(KeyedVectors.load_word2vec_format(str(plain), no_header=True), False)
    plain.unlink()
    cases.append(answers("glove-840b.txt", [row[0] for row in rows], tokens=[row[1] for row in rows], total=[row[2] for row in rows]))


def answers(name, vectors, **more):
    return {"name": name, "vectors": [[float(f"{x:.9g}") for x in row] for row in np.asarray(vectors, np.float32).tolist()], **more}


CORPUS = [" ".join(WORDS)] * 4 + TEXTS[:5] * 3


def wordpiece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=150, special_tokens=special))
    # What it adds around texts is left out by all static models.
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.train_from_iterator(
        [text.replace("🙂", "") for text in CORPUS], trainers.UnigramTrainer(vocab_size=120, special_tokens=["<pad>", "<unk>"], unk_token="<unk>")
    )
    return tokenizer


def byte_level():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet))
    return tokenizer


def word_level():
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(["[PAD]", "[UNK]", *WORDS])}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def model2vec_folders():
    rng = np.random.default_rng(6)
    cases = []

    def case(name, tokenizer, *, model_type=True, modules=True, clusters=None, weights=False, dtype=np.float32, int8=False, **options):
        count = tokenizer.get_vocab_size()
        rows = clusters or count
        table = rng.normal(size=(rows, DIMENSIONS)).astype(dtype)
        if int8:
            table = np.rint(np.clip(table * 40, -127, 127)).astype(np.int8)
        config = {"model_type": "model2vec", "architectures": ["StaticModel"], "hidden_dim": DIMENSIONS} if model_type else {}
        model = StaticModel(
            table,
            tokenizer,
            config=config,
            weights=rng.uniform(0.1, 2, size=count).astype(np.float32) if weights else None,
            token_mapping=rng.integers(0, rows, size=count).astype(np.int64) if clusters else None,
            **options,
        )
        model.save_pretrained(OUT / name)
        (OUT / name / "README.md").unlink()
        if not modules:
            (OUT / name / "modules.json").unlink()
        read = StaticModel.from_pretrained(OUT / name)
        if read.embedding.dtype == np.float16:
            # It rounds its answers to the type of the table; they are compared before that.
            read.embedding = read.embedding.astype(np.float32)
        cases.append(answers(name, read.encode(TEXTS), tokens=[len(ids) for ids in seen(read)]))

    def seen(model):
        cut = model.max_length and model.max_length * model.median_token_length
        return model.tokenize([text[:cut] if cut else text for text in TEXTS])

    case("wordpiece", wordpiece(), normalize=True)
    case("short", wordpiece(), max_length=7, modules=False, model_type=True)
    case("shared-rows", unigram(), clusters=20, weights=True, dtype=np.float16, model_type=False)
    case("unigram", unigram(), max_length=None)
    case("byte-level", byte_level(), weights=True, normalize=True, max_length=40)
    case("word-level", word_level(), int8=True)
    case("doubles", word_level(), dtype=np.float64, max_length=30)
    return cases


def sentence_transformers_folders():
    torch.manual_seed(7)
    cases = []

    def case(name, modules):
        SentenceTransformer(modules=modules, device="cpu").save(str(OUT / name))
        (OUT / name / "README.md").unlink()
        read = SentenceTransformer(str(OUT / name), device="cpu")
        tokens = [len(encoding.ids) for encoding in read[0].tokenizer.encode_batch(TEXTS, add_special_tokens=False)]
        cases.append(answers(name, read.encode(TEXTS, batch_size=4), tokens=tokens))

    tokenizer = wordpiece()
    tokenizer.enable_truncation(20)
    case("sentence", [StaticEmbedding(tokenizer, embedding_dim=DIMENSIONS), Normalize()])
    case("sentence-dense", [StaticEmbedding(word_level(), embedding_dim=DIMENSIONS), Dense(DIMENSIONS, 5)])
    nest(OUT / "sentence-dense")
    return cases


def nest(folder):
    """The layout in which the first module has a folder of its own."""
    own = folder / "0_StaticEmbedding"
    own.mkdir()
    for name in ["model.safetensors", "tokenizer.json"]:
        (folder / name).rename(own / name)
    modules = json.loads((folder / "modules.json").read_text())
    modules[0]["path"] = "0_StaticEmbedding"
    (folder / "modules.json").write_text(json.dumps(modules, indent=2))
    SentenceTransformer(str(folder), device="cpu").encode(TEXTS[:1])


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    cases = word_files() + model2vec_folders() + sentence_transformers_folders()
    expected = {"script": "tests/golden/make/static_vectors.py", "texts": TEXTS, "cases": cases}
    (OUT / "expected.json").write_text(json.dumps(expected, ensure_ascii=False))


if __name__ == "__main__":
    main()
