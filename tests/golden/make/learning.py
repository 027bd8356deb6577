"""Makes tests/golden/learning: what PyTorch says that tiny models learn: losses, the gradient of every tensor, and twenty steps of AdamW.

Run:       python tests/golden/make/learning.py [model ...]      (all without arguments; CPU, a minute)
Versions:  requirements.txt beside this file; each expected.json names those that made it.

The models are those of tests/golden/families and tests/golden/heads; each folder here names its model's. A batch of a few sequences, padded for the
reference (one by one where padding would change its answers), with labels for some tokens and, where the model compares two texts, for each sequence. No dropout. Gradients are those of the first step,
under the names of the checkpoint. Steps: AdamW with decay 0.01 except for vectors (and MPNet's table of biases), gradients clipped to a norm of 1.
"""
import json
import shutil
import sys
import tempfile

import restated  # its classes open by `Auto`
from models import ROOT as MODELS, TORCH, VERSIONS

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForPreTraining, AutoModelForSequenceClassification

GOLDEN = MODELS.parent
ROOT = GOLDEN / "learning"
RATE, DECAY, STEPS = 1e-3, 0.01, 20

# Folder, class, and the losses: which of its outputs, and what its targets are.
PAIR = "next_sentence"
CASES = {
    "bert": ("heads/pretraining", AutoModelForPreTraining, ["fill_mask", PAIR]),
    "albert": ("families/albert/pretraining", AutoModelForPreTraining, ["fill_mask", PAIR]),
    "ernie": ("families/ernie/pretraining", AutoModelForPreTraining, ["fill_mask", PAIR]),
    "electra": ("families/electra/discriminator", AutoModelForPreTraining, ["replaced"]),
    "electra-generator": ("families/electra/fill-mask", AutoModelForMaskedLM, ["fill_mask"]),
    "mobilebert": ("families/mobilebert/pretraining", AutoModelForPreTraining, ["fill_mask", PAIR]),
    "big_bird": ("families/big_bird/pretraining", AutoModelForPreTraining, ["fill_mask", PAIR]),
    # Its first token sees all, with queries, keys and values of its own.
    "longformer-classify": ("families/longformer/classify", AutoModelForSequenceClassification, ["classify"]),
    "gpt": ("families/gpt/next-token", AutoModelForCausalLM, ["next_token"]),
    "gpt2": ("families/gpt2/next-token", AutoModelForCausalLM, ["next_token"]),
} | {name: (f"families/{name}/fill-mask", AutoModelForMaskedLM, ["fill_mask"])
     for name in ["roberta", "camembert", "distilbert", "mpnet", "modernbert", "modernbert-mean", "nomic", "gte", "deberta", "deberta-lm", "deberta-v2", "deberta-v3",
                  "mobilebert-first", "xlm", "flaubert", "longformer", "gte-new", "jina", "jina-reglu"]}
# Padding changes what these answer, or they take none.
ALONE = ["longformer-classify", "mobilebert", "big_bird", "gpt", "gpt2", "xlm", "flaubert", "longformer", "gte-new", "jina", "jina-reglu"]
LANGUAGES = ["xlm"]
LONG = ["big_bird", "longformer", "longformer-classify"]


def batch(name, config, losses):
    """Sequences, their segments, and labels."""
    generator = torch.Generator().manual_seed(11)
    number = lambda low, high: int(torch.randint(low, high, (1,), generator=generator))
    longest = 40 if name in LONG else 18
    # BigBird's tokenizer gives none.
    two = getattr(config, "type_vocab_size", 1) > 1 and name != "big_bird"
    rows = []
    # After a text that it sees whole the reference sees all texts whole.
    lengths = (24, longest, 30, 27) if name == "big_bird" else (3, longest, 9, longest // 2 + 1)
    for index, tokens in enumerate(lengths):
        ids = [number(5, config.vocab_size) for _ in range(tokens)]
        # The segments of XLM are languages: 0 for none.
        row = dict(ids=ids, type_ids=[index] * tokens if name in LANGUAGES else [int(two and i > tokens // 2) for i in range(tokens)])
        if "next_token" in losses:
            row["masked"] = [[i, ids[i + 1]] for i in range(tokens - 1)]
        if "fill_mask" in losses:
            row["masked"] = [[i, number(5, config.vocab_size)] for i in range(tokens) if i % 3 == 1]
        if "classify" in losses:
            row["label"] = number(0, config.num_labels)
        if PAIR in losses:
            row["next"] = number(0, 2)
        if "replaced" in losses:
            row["replaced"] = [number(0, 2) for _ in range(tokens)]
        rows.append(row)
    return rows, two


def padded(rows, pad, of, fill):
    longest = max(len(row["ids"]) for row in rows)
    return torch.tensor([of(row) + [fill] * (longest - len(row["ids"])) for row in rows])


def losses_of(name, model, rows, losses, two):
    """By their names, each a mean over all rows."""
    if name not in ALONE:
        return answers(name, model, rows, losses, two)
    one_by_one = [answers(name, model, [row], losses, two) for row in rows]
    counts = dict.fromkeys([PAIR, "classify"], [1] * len(rows))
    count = lambda loss: counts.get(loss) or [len(row["masked"]) for row in rows]
    return {loss: sum(one[loss] * n for one, n in zip(one_by_one, count(loss))) / sum(count(loss)) for loss in losses}


def answers(name, model, rows, losses, two):
    pad = model.config.pad_token_id or 0
    mask = padded(rows, pad, lambda row: [1] * len(row["ids"]), 0)
    types = dict(token_type_ids=padded(rows, pad, lambda row: row["type_ids"], 0)) if two else {}
    if name in ALONE:
        language = rows[0]["type_ids"][0] if name in LANGUAGES else 0
        types |= dict(langs=torch.full_like(mask, language - 1)) if language else {}
    else:
        types |= dict(attention_mask=mask)
    out = model(input_ids=padded(rows, pad, lambda row: row["ids"], pad), **types)
    found = {}
    for loss in [loss for loss in losses if loss in ("fill_mask", "next_token")]:
        logits = out.prediction_logits if hasattr(out, "prediction_logits") else out.logits
        at = [(i, place, label) for i, row in enumerate(rows) for place, label in row["masked"]]
        picked = torch.stack([logits[i, place] for i, place, _ in at])
        found[loss] = torch.nn.functional.cross_entropy(picked, torch.tensor([label for _, _, label in at]))
    if PAIR in losses:
        logits = out.seq_relationship_logits if hasattr(out, "seq_relationship_logits") else out.sop_logits
        found[PAIR] = torch.nn.functional.cross_entropy(logits, torch.tensor([row["next"] for row in rows]))
    if "classify" in losses:
        found["classify"] = torch.nn.functional.cross_entropy(out.logits, torch.tensor([row["label"] for row in rows]))
    if "replaced" in losses:
        at = mask.bool()
        labels = padded(rows, pad, lambda row: row["replaced"], 0)[at].float()
        found["replaced"] = torch.nn.functional.binary_cross_entropy_with_logits(out.logits[at], labels)
    return found


def as_checkpoint(model):
    """The gradients under the names, and in the shapes, that a checkpoint gives the parameters: saved in the parameters' place."""
    kept = {n: p.data for n, p in model.named_parameters()}
    for parameter in model.parameters():
        parameter.data = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.clone()
    with tempfile.TemporaryDirectory() as scratch:
        model.save_pretrained(scratch)
        saved = {n: t.clone() for n, t in load_file(f"{scratch}/model.safetensors").items() if t.is_floating_point()}
    for name, parameter in model.named_parameters():
        parameter.data = kept[name]
    return {n: t for n, t in saved.items() if t.abs().max() > 0}


def jina(folder, **_):
    """The restated class: its folder says that it is BERT."""
    said = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    own = {k: v for k, v in said.items() if k not in ("model_type", "architectures", "auto_map", "dtype", "transformers_version")}
    model = AutoModelForMaskedLM.from_config(restated.JinaConfig(**own))
    model.load_state_dict(load_file(folder / "model.safetensors"))
    return model


def write(name, source, auto, losses):
    config = AutoConfig.from_pretrained(GOLDEN / source)
    # One order of additions for all of them; what attention computes is the same.
    model = (jina if name.startswith("jina") else auto.from_pretrained)(GOLDEN / source, **TORCH).eval()
    rows, two = batch(name, config, losses)
    write_steps(name, source, model, rows, losses, lambda model: losses_of(name, model, rows, losses, two))


def write_steps(name, source, model, rows, losses, found_by):
    """Steps of a model by the losses that `found_by` finds, and the gradients of the first."""
    vector = lambda n, p: p.dim() < 2 or "relative_attention_bias" in n
    groups = [dict(params=[p for n, p in model.named_parameters() if vector(n, p) == plain], weight_decay=0.0 if plain else DECAY) for plain in (False, True)]
    optimiser = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.999), eps=1e-8)
    steps = []
    for step in range(STEPS):
        optimiser.zero_grad()
        found = found_by(model)
        sum(found.values()).backward()
        if step == 0:
            gradients = as_checkpoint(model)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        steps.append(dict(norm=float(norm)) | {k: float(v.detach()) for k, v in found.items()})
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    save_file(gradients, folder / "gradients.safetensors")
    line = lambda value: json.dumps(value, separators=(",", ":"))
    head = dict(made_by="tests/golden/make/learning.py", versions=VERSIONS, model=source, losses=losses, rate=RATE, decay=DECAY)
    lines = [f"{line(k)}:{line(v)}" for k, v in head.items()]
    lists = [f'"{k}":[\n' + ",\n".join(map(line, v)) + "\n]" for k, v in (("rows", rows), ("steps", steps))]
    (folder / "expected.json").write_text("{" + ",\n".join(lines + lists) + "}\n")
    for file in folder.iterdir():
        file.chmod(0o644)
    print(f"{name}: {len(gradients)} tensors, losses {steps[0]} -> {steps[-1]}", flush=True)


if __name__ == "__main__":
    torch.manual_seed(0)
    for name in sys.argv[1:] or CASES:
        write(name, *CASES[name])
