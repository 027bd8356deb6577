"""Makes tests/golden/sparse: tiny random SPLADE folders, each with the sparse weights that sentence-transformers gives for them.

Run:       python tests/golden/make/sparse.py [folder ...]      (all folders without arguments; CPU, half a minute)
Versions:  requirements.txt beside this file; each expected.json names those that made it.

expected.json has two lists. `cases`: request settings, texts and, for each, the ids and weights of `SparseEncoder.encode`, the largest
first. `rankings`: a query, documents and `SparseEncoder.similarity` of `encode_query` and `encode_document`, the dot product. fp32 on the
CPU, one text at a time. The folder "plain" has no model: it is tests/golden/fill_mask/tied, a BertForMaskedLM without modules.json.
"""
import json
import shutil
import sys
import tempfile
from pathlib import Path

from models import LONG, ROOT as MODELS, TEXTS, VERSIONS, bert, randomise, write_json, write_tokenizer

import torch
import transformers
from sentence_transformers import SparseEncoder
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sparse_encoder.modules import SpladePooling
from transformers import BertConfig, BertForMaskedLM

ROOT = MODELS.parent / "sparse"

FOLDERS = {
    # As SparseEncoder.save writes it today.
    "max": dict(config=bert(40, 4, 2, 70, "gelu", 421, 60), prompts={"query": "search: ", "document": "text: "}),
    # As version 5 wrote it, with MLMTransformer.
    "sum": dict(config=bert(24, 2, 1, 30, "gelu_new", 389, 40), old=True, strategy="sum", activation="log1p_relu"),
    "plain": None,
}
QUERIES = ["where does the fox live", "今天天气 😀"]
DOCUMENTS = TEXTS[:6] + [LONG[100:] + " " + LONG, "A fast model."]


def write_folder(name, spec):
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as trunk:
        model = randomise(BertForMaskedLM(BertConfig(**spec["config"])), 700 + list(FOLDERS).index(name))
        # About half of all random scores would be above 0.
        with torch.no_grad():
            model.cls.predictions.bias -= 4.0
        model.save_pretrained(trunk)
        write_tokenizer(dict(config=spec["config"], style="new"), Path(trunk))
        modules = [Transformer(trunk, transformer_task="fill-mask"),
                   SpladePooling(pooling_strategy=spec.get("strategy", "max"), activation_function=spec.get("activation", "relu"))]
        SparseEncoder(modules=modules, prompts=spec.get("prompts"), device="cpu").save(str(folder), create_model_card=False)
    if spec.get("old"):
        prefix = "sentence_transformers.sparse_encoder.models."
        write_json(folder / "modules.json", [dict(idx=0, name="0", path="", type=prefix + "MLMTransformer"),
                                             dict(idx=1, name="1", path="1_SpladePooling", type=prefix + "SpladePooling")])
        write_json(folder / "sentence_bert_config.json", dict(max_seq_length=spec["config"]["max_position_embeddings"], do_lower_case=False))
        write_json(folder / "1_SpladePooling/config.json", dict(pooling_strategy="sum", activation_function="log1p_relu", word_embedding_dimension=spec["config"]["vocab_size"]))


def answer(vector):
    vector = vector.coalesce()
    order = sorted(zip(vector.indices()[0].tolist(), vector.values().tolist()), key=lambda term: (-term[1], term[0]))
    return dict(ids=[i for i, w in order if w > 0], weights=[float(f"{w:.7g}") for _, w in order if w > 0])


def write_answers(name):
    folder = ROOT / name
    folder.mkdir(exist_ok=True, parents=True)
    model = SparseEncoder(str(folder) if FOLDERS[name] else str(MODELS.parent / "fill_mask/tied"), device="cpu", model_kwargs=dict(dtype=torch.float32))
    encode = lambda texts, **more: [answer(model.encode([t], batch_size=1, **more)[0]) for t in texts]
    cases = [dict(set={}, texts=TEXTS, answers=encode(TEXTS)), dict(set={"top": "7"}, texts=TEXTS, answers=encode(TEXTS, max_active_dims=7))]
    if model.prompts.get("query"):
        cases.append(dict(set={"prompt_name": "query"}, texts=TEXTS[:4], answers=encode(TEXTS[:4], prompt_name="query")))
    limit, model.max_seq_length = model.max_seq_length, 9
    cases.append(dict(set={"max_tokens": "9"}, texts=TEXTS[:7], answers=encode(TEXTS[:7])))
    model.max_seq_length = limit
    documents = [model.encode_document([d], batch_size=1)[0] for d in DOCUMENTS]
    rankings = [dict(query=q, documents=DOCUMENTS, scores=[float(model.similarity(model.encode_query([q])[0], d)) for d in documents]) for q in QUERIES]
    line = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    rows = lambda values: ",\n".join(map(line, values))
    (folder / "expected.json").write_text(f'{{"made_by":"tests/golden/make/sparse.py",\n"versions":{line(VERSIONS)},\n"cases":[\n{rows(cases)}\n],\n"rankings":[\n{rows(rankings)}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    for name in sys.argv[1:] or FOLDERS:
        if FOLDERS[name]:
            write_folder(name, FOLDERS[name])
        write_answers(name)
        for file in (ROOT / name).rglob("*"):
            if file.is_file():
                file.chmod(0o644)
        print(name, flush=True)
