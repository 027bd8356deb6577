"""How many short texts a minute do static vectors take? Cloze's library and command line beside model2vec, in one run.

    python benches/static_vectors.py TEXTS CLOZE LIBRARY [THREADS]

TEXTS has one text a line; CLOZE is the command, LIBRARY libcloze.so; THREADS is 2 unless said otherwise. Needs what
tests/golden/make/requirements-static.txt lists, and the tokenizer.json of a BERT model in models/minilm (`make model`). The model is
random, 256 numbers a token, as the vocabulary does not care; so is the file of whole words, of the texts' own words and 100 numbers each.
"""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

THREADS = int(sys.argv[4]) if len(sys.argv) > 4 else 2
# model2vec starts threads of joblib's or of rayon's, as the number of texts is; the processors hold for both.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
os.environ["RAYON_NUM_THREADS"] = str(THREADS)

import numpy as np
from model2vec import StaticModel
from tokenizers import Tokenizer, pre_tokenizers

TOKENIZER = os.environ.get("CLOZE_BENCH_TOKENIZER", "models/minilm/tokenizer.json")
RUNS = 5


def library(path, folder, texts):
    """Seconds of one call of cloze_encode for all texts, the best of some."""
    lib = ctypes.CDLL(path)
    lib.cloze_options_new.restype = lib.cloze_error_new.restype = ctypes.c_void_p
    lib.cloze_error_message.restype = ctypes.c_char_p
    lib.cloze_error_message.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    error = ctypes.c_void_p(lib.cloze_error_new())
    options = ctypes.c_void_p(lib.cloze_options_new())

    def ok(status):
        assert status == 0, lib.cloze_error_message(error, None)

    ok(lib.cloze_options_set(options, b"threads", str(THREADS).encode(), error))
    model = ctypes.c_void_p()
    ok(lib.cloze_model_load(str(folder).encode(), options, ctypes.byref(model), error))
    encoded = [text.encode() for text in texts]
    pointers = (ctypes.c_char_p * len(texts))(*encoded)
    lengths = (ctypes.c_size_t * len(texts))(*map(len, encoded))
    size = ctypes.c_size_t()
    ok(lib.cloze_encode_size(model, None, ctypes.c_size_t(len(texts)), ctypes.byref(size), error))
    vectors = np.empty(size.value // 4, np.float32)
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        ok(lib.cloze_encode(model, None, pointers, lengths, ctypes.c_size_t(len(texts)), vectors.ctypes.data_as(ctypes.c_void_p), size, ctypes.byref(size), None, error))
        seconds.append(time.perf_counter() - start)
    return min(seconds), vectors.reshape(len(texts), -1)


def command(cloze, folder, texts, *flags):
    """Seconds of the command over all texts on standard input, less those over none, which open the model."""
    def seconds(given):
        start = time.perf_counter()
        subprocess.run([cloze, "encode", "-m", folder, "--threads", str(THREADS), *flags], input=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        return time.perf_counter() - start

    line = (lambda text: json.dumps({"text": text})) if "--json" in flags else str
    lines = "".join(line(text) + "\n" for text in texts).encode()
    return min(seconds(lines) for _ in range(RUNS)) - min(seconds(b"") for _ in range(RUNS))


def best(call):
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main():
    texts = [line.rstrip("\n") for line in open(sys.argv[1]) if line.strip()]
    texts = (texts * (20_000 // len(texts) + 1))[:20_000]
    rng = np.random.default_rng(3)

    def row(name, seconds):
        print(json.dumps({"what": name, "threads": THREADS, "texts": len(texts), "seconds": round(seconds, 4), "millions_a_minute": round(len(texts) / seconds * 60 / 1e6, 2)}), flush=True)

    with tempfile.TemporaryDirectory() as room:
        tokenizer = Tokenizer.from_file(TOKENIZER)
        folder = Path(room) / "pieces"
        StaticModel(rng.normal(size=(tokenizer.get_vocab_size(), 256)).astype(np.float32), tokenizer, config={"model_type": "model2vec"}).save_pretrained(folder)
        model = StaticModel.from_pretrained(folder)
        expected = model.encode(texts)
        row("model2vec encode, WordPiece, 256", best(lambda: model.encode(texts)))
        row("model2vec tokenize alone", best(lambda: model.tokenize(texts)))
        seconds, vectors = library(sys.argv[3], folder, texts)
        assert np.abs(vectors - expected).max() < 1e-5
        row("cloze library, WordPiece, 256", seconds)
        row("cloze encode, WordPiece, 256", command(sys.argv[2], folder, texts))
        row("cloze encode --json, WordPiece, 256", command(sys.argv[2], folder, texts, "--json"))
        words = sorted({word for text in texts for word, _ in pre_tokenizers.Whitespace().pre_tokenize_str(text.lower())})
        file = Path(room) / "words.txt"
        with open(file, "w") as out:
            for word in words:
                out.write(word + " " + " ".join(f"{x:.5f}" for x in rng.normal(size=100)) + "\n")
        row("cloze library, words, 100", library(sys.argv[3], file, texts)[0])
        row("cloze encode, words, 100", command(sys.argv[2], file, texts))


if __name__ == "__main__":
    main()
