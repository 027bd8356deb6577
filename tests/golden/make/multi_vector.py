"""Makes tests/golden/late/multi-vector and multi-vector-min: tiny random models as sentence-transformers' MultiVectorEncoder saves them.

Run:       python tests/golden/make/multi_vector.py      (CPU, half a minute)
Versions:  requirements.txt beside this file; each expected.json names those that made it.

The files are those of late.py, which needs another environment: expected.json, vectors.f32 and tokens.json (of each vector the token and its place).
"""
import json
import shutil
import sys
import tempfile
from pathlib import Path

from models import VERSIONS, bert, randomise

import numpy as np
import torch
import transformers
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Dense, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer.modules import Normalize
from transformers import BertConfig, BertModel, BertTokenizerFast

GOLDEN = Path(__file__).resolve().parent.parent
ROOT = GOLDEN / "late"
OTHER = json.loads((ROOT / "pylate" / "expected.json").read_text(encoding="utf-8"))
QUERIES, TEXTS = (case["texts"] for case in OTHER["cases"])
DOCUMENTS = OTHER["rankings"][0]["documents"]
FOLDERS = {
    # Classic: filled up to a fixed length with mask tokens that others do not see; markers are special tokens in front.
    "multi-vector": dict(config=bert(32, 4, 2, 50, "gelu", 423, 60), dims=[24], markers=["[Q]", "[D]"], prompts={"query": "[Q] ", "document": "[D] "}, skip=[".", ",", "the"], normalize=True,
                         knobs=dict(document_length=40, query_expansion=dict(strategy="fixed", length=18))),
    # A least length, another token that all see, prompts that are texts, two layers, nothing skipped, lengths as they are.
    "multi-vector-min": dict(config=bert(24, 2, 1, 30, "gelu", 421, 48), dims=[28, 20], markers=[], prompts={"query": "the ", "document": "a text: "}, skip=None, normalize=False,
                             knobs=dict(query_length=30, query_expansion=dict(strategy="min", length=12, attend=True, token="[SEP]"))),
}


def write_folder(name, spec):
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        seed = 840 + list(FOLDERS).index(name)
        randomise(BertModel(BertConfig(**spec["config"])), seed).save_pretrained(scratch)
        tokenizer = BertTokenizerFast(tokenizer_file=str(GOLDEN / "models/tiny-gelu/tokenizer.json"), model_max_length=spec["config"]["max_position_embeddings"])
        tokenizer.add_special_tokens(dict(additional_special_tokens=spec["markers"])) if spec["markers"] else None
        tokenizer.save_pretrained(scratch)
        modules, width = [Transformer(scratch, **spec["knobs"])], spec["config"]["hidden_size"]
        for i, dim in enumerate(spec["dims"]):
            modules.append(randomise(Dense(width, dim, bias=i > 0, activation_function=torch.nn.Tanh() if i else torch.nn.Identity(), module_input_name="token_embeddings"), seed + 50 + i))
            width = dim
        modules.append(MultiVectorMask(skiplist_words=spec["skip"]))
        modules += [Normalize(module_input_name="token_embeddings")] if spec["normalize"] else []
        model = MultiVectorEncoder(modules=modules, prompts=spec["prompts"], device="cpu")
        model.save_pretrained(str(folder), create_model_card=False)


def tokens_of(model, text, query):
    """The token of each vector and its place in the text: (0, 0) for tokens that are not the text's."""
    prompts = model.prompts
    prompt = prompts.get("query") if query else prompts.get("document")
    features = model.preprocess([text], prompt=prompt, task="query" if query else "document")
    features = {k: v for k, v in features.items()}
    ids = features["input_ids"][0].tolist()
    offsets = model.tokenizer((prompt or "") + text, truncation=True, max_length=len(ids), return_offsets_mapping=True, return_special_tokens_mask=True)
    places = [(0, 0) if special or end <= len(prompt or "") else (start - len(prompt or ""), end - len(prompt or "")) for (start, end), special in zip(offsets["offset_mapping"], offsets["special_tokens_mask"])]
    places += [(0, 0)] * (len(ids) - len(places))
    mask = model(dict(features), task="query" if query else "document")["attention_mask"][0].bool().tolist()
    kept = [i for i, on in enumerate(mask) if on]
    return dict(ids=[ids[i] for i in kept], offsets=[places[i] for i in kept])


@torch.inference_mode()
def write_answers(name):
    folder = ROOT / name
    model = MultiVectorEncoder(str(folder), device="cpu")
    encode = lambda text, query: np.asarray((model.encode_query if query else model.encode_document)([text], show_progress_bar=False, convert_to_numpy=True)[0], dtype="<f4")
    cases, arrays, spelled = [], [], []
    for query, texts in [(True, QUERIES), (False, TEXTS)]:
        vectors = [encode(text, query) for text in texts]
        tokens = [tokens_of(model, text, query) for text in texts]
        assert [len(t["ids"]) for t in tokens] == [len(v) for v in vectors], (name, query)
        cases.append(dict(query=query, texts=texts, rows=[len(v) for v in vectors]))
        arrays += vectors
        spelled.append(tokens)
    np.concatenate(arrays).tofile(folder / "vectors.f32")
    documents = [encode(text, False) for text in DOCUMENTS]
    score = lambda q, d: float(model.similarity([torch.tensor(q)], [torch.tensor(d)])[0, 0])
    rankings = [dict(query=q, documents=DOCUMENTS, scores=[score(encode(q, True), d) for d in documents]) for q in QUERIES[:3]]
    made_by = "tests/golden/make/multi_vector.py"
    write = lambda file, value: (folder / file).write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    write("expected.json", dict(made_by=made_by, versions=VERSIONS, dimensions=int(arrays[0].shape[1]), cases=cases, rankings=rankings))
    write("tokens.json", dict(made_by=made_by, cases=spelled))


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
        print(name, sum(f.stat().st_size for f in (ROOT / name).rglob("*") if f.is_file()) // 1024, "KB", flush=True)
