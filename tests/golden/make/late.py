"""Makes tests/golden/late: tiny random late-interaction models, each with the token vectors and scores that PyLate gives for them.

Run:       python tests/golden/make/late.py      (CPU, half a minute)
Versions:  requirements-late.txt beside this file; each expected.json names those that made it.

Two layouts: "pylate", as PyLate saves it, and "colbert", as colbert-ir's checkpoints are (bert.*, linear.weight, artifact.metadata), which
PyLate opens too. expected.json has `cases`: whether texts are queries, texts, of each the number of vectors; the vectors stand in
vectors.f32, case after case; and `rankings`: a query, documents, and the sums of `pylate.scores.colbert_scores`. fp32, one text at a time.
"""
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # everything is here; nothing is asked for

import numpy as np
import pylate
import sentence_transformers
import torch
import transformers
from pylate import models, scores
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertModel

GOLDEN = Path(__file__).resolve().parent.parent
ROOT = GOLDEN / "late"
TOKENIZER = GOLDEN / "models" / "tiny-gelu" / "tokenizer.json"
LONG = ("the water and the river come from a great house in the city before any people ask for it. some say a fox ran through the park "
        "and over the lazy dog, on the same day; others know that the weather was good")
TEXTS = ["The quick brown fox jumps over the lazy dog.", "", "a", "今天天气很好，我们去公园。", "I ❤️ search 🔍 and 👩‍💻!", "Price: $3.50 (20% off) -- e-mail: a.b@c.org", LONG, "... !!!"]


def bert(hidden, heads, layers, inner, act, vocab, positions):
    return dict(hidden_size=hidden, num_attention_heads=heads, num_hidden_layers=layers, intermediate_size=inner, hidden_act=act, vocab_size=vocab, max_position_embeddings=positions)


def randomise(module, seed):
    """Lively weights, as models.py makes them; that needs a newer sentence-transformers than PyLate does."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in module.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            gain = 2.2 if "query" in name or "key" in name else 0.7 if "output.dense" in name else 1.5
            p.copy_(1 + 0.2 * noise if "LayerNorm.weight" in name else 0.3 * noise if p.ndim == 1 else 0.5 * noise if "embeddings" in name else noise * gain / p.shape[1] ** 0.5)
    return module.eval()


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_tokenizer(folder, positions, markers):
    """That of tests/golden/models/tiny-gelu, its last two words replaced by markers where the layout has them in the vocabulary."""
    made = json.loads(TOKENIZER.read_text(encoding="utf-8"))
    words = made["model"]["vocab"]
    for marker, word in zip(markers, sorted(words, key=words.get)[-2:]):
        words[marker] = words.pop(word)
    write_json(folder / "tokenizer.json", made)
    write_json(folder / "tokenizer_config.json", dict(tokenizer_class="BertTokenizer", model_max_length=positions, do_lower_case=True))


FOLDERS = {
    "colbert": dict(config=bert(40, 4, 2, 70, "gelu", 421, 60), metadata=dict(query_maxlen=20, doc_maxlen=40, dim=24, mask_punctuation=True, attend_to_mask_tokens=False,
                    query_token_id="[unused0]", doc_token_id="[unused1]", similarity="cosine")),
    "pylate": dict(config=bert(24, 2, 1, 30, "gelu_new", 421, 40), query_length=16, document_length=33, attend=True, skip=[".", ",", "the"]),
}
QUERIES = ["where does the fox live?", "今天天气 😀", "", LONG]
DOCUMENTS = TEXTS[:6] + [LONG[100:] + " " + LONG, "A fast model."]


def write_folder(name, spec):
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        trunk = folder if "metadata" in spec else Path(scratch)
        seed = 800 + list(FOLDERS).index(name)
        model = randomise(BertModel(BertConfig(**spec["config"])), seed)
        model.save_pretrained(trunk)
        if "metadata" in spec:
            write_tokenizer(trunk, spec["config"]["max_position_embeddings"], ["[unused0]", "[unused1]"])
            tensors = {"bert." + n: t for n, t in load_file(trunk / "model.safetensors").items()}
            tensors["linear.weight"] = randomise(torch.nn.Linear(spec["config"]["hidden_size"], spec["metadata"]["dim"], bias=False), seed + 50).weight.detach()
            save_file(tensors, trunk / "model.safetensors", metadata={"format": "pt"})
            config = json.loads((trunk / "config.json").read_text())
            write_json(trunk / "config.json", config | {"architectures": ["HF_ColBERT"]})
            write_json(trunk / "artifact.metadata", spec["metadata"])
        else:
            write_tokenizer(trunk, spec["config"]["max_position_embeddings"], [])
            model = models.ColBERT(str(trunk), embedding_size=20, query_length=spec["query_length"], document_length=spec["document_length"], device="cpu",
                                   attend_to_expansion_tokens=spec["attend"], skiplist_words=spec["skip"])
            randomise(model[1], seed + 50)
            model.save(str(folder), create_model_card=False)
            (folder / "README.md").unlink(missing_ok=True)


def write_answers(name):
    folder = ROOT / name
    model = models.ColBERT(str(folder), device="cpu")
    encode = lambda texts, query: [model.encode([t], is_query=query, show_progress_bar=False)[0] for t in texts]
    cases, arrays = [], []
    for query, texts in [(True, QUERIES), (False, TEXTS + [DOCUMENTS[6]])]:
        vectors = encode(texts, query)
        cases.append(dict(query=query, texts=texts, rows=[len(v) for v in vectors]))
        arrays += [np.asarray(v, dtype="<f4") for v in vectors]
    np.concatenate(arrays).tofile(folder / "vectors.f32")
    documents = encode(DOCUMENTS, False)
    rankings = [dict(query=q, documents=DOCUMENTS, scores=[float(scores.colbert_scores([encode([q], True)[0]], [d])[0, 0]) for d in documents]) for q in QUERIES[:3]]
    versions = {m.__name__: m.__version__ for m in (transformers, sentence_transformers, torch)} | {"pylate": pylate.__version__}
    write_json(folder / "expected.json", dict(made_by="tests/golden/make/late.py", versions=versions, dimensions=int(arrays[0].shape[1]), cases=cases, rankings=rankings))


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    for name in sys.argv[1:] or FOLDERS:
        write_folder(name, FOLDERS[name])
        write_answers(name)
        for file in (ROOT / name).rglob("*"):
            if file.is_file():
                file.chmod(0o644)
        print(name, flush=True)
