"""Makes tests/golden/learning: what PyTorch says that tiny models learn: losses, the gradient of every tensor, and twenty steps of AdamW.

Run:       python tests/golden/make/learning.py      (CPU, half a minute)
Versions:  requirements.txt beside this file; each expected.json names those that made it.

The models are those of tests/golden/families and tests/golden/heads; each folder here names its model's. A batch of a few sequences, padded for the
reference, with labels for some tokens and, where the model compares two texts, for each sequence. No dropout. Gradients are those of the first step,
under the names of the checkpoint. Steps: AdamW with decay 0.01 except for vectors (and MPNet's table of biases), gradients clipped to a norm of 1.
"""
import json
import shutil
import tempfile

from models import ROOT as MODELS, TORCH, VERSIONS

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForMaskedLM, AutoModelForPreTraining

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
} | {name: (f"families/{name}/fill-mask", AutoModelForMaskedLM, ["fill_mask"])
     for name in ["roberta", "camembert", "distilbert", "mpnet", "modernbert", "modernbert-mean", "nomic", "gte"]}


def batch(config, losses):
    """Sequences, their segments, and labels."""
    generator = torch.Generator().manual_seed(11)
    number = lambda low, high: int(torch.randint(low, high, (1,), generator=generator))
    longest = 18
    two = getattr(config, "type_vocab_size", 1) > 1
    rows = []
    for tokens in (3, longest, 9, longest // 2 + 1):
        ids = [number(5, config.vocab_size) for _ in range(tokens)]
        row = dict(ids=ids, type_ids=[int(two and i > tokens // 2) for i in range(tokens)])
        if "fill_mask" in losses:
            row["masked"] = [[i, number(5, config.vocab_size)] for i in range(tokens) if i % 3 == 1]
        if PAIR in losses:
            row["next"] = number(0, 2)
        if "replaced" in losses:
            row["replaced"] = [number(0, 2) for _ in range(tokens)]
        rows.append(row)
    return rows, two


def padded(rows, pad, of, fill):
    longest = max(len(row["ids"]) for row in rows)
    return torch.tensor([of(row) + [fill] * (longest - len(row["ids"])) for row in rows])


def losses_of(model, rows, losses, two):
    pad = model.config.pad_token_id or 0
    mask = padded(rows, pad, lambda row: [1] * len(row["ids"]), 0)
    types = dict(token_type_ids=padded(rows, pad, lambda row: row["type_ids"], 0)) if two else {}
    out = model(input_ids=padded(rows, pad, lambda row: row["ids"], pad), attention_mask=mask, **types)
    found = {}
    if "fill_mask" in losses:
        logits = out.prediction_logits if hasattr(out, "prediction_logits") else out.logits
        at = [(i, place, label) for i, row in enumerate(rows) for place, label in row["masked"]]
        picked = torch.stack([logits[i, place] for i, place, _ in at])
        found["fill_mask"] = torch.nn.functional.cross_entropy(picked, torch.tensor([label for _, _, label in at]))
    if PAIR in losses:
        logits = out.seq_relationship_logits if hasattr(out, "seq_relationship_logits") else out.sop_logits
        found[PAIR] = torch.nn.functional.cross_entropy(logits, torch.tensor([row["next"] for row in rows]))
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


def write(name, source, auto, losses):
    config = AutoConfig.from_pretrained(GOLDEN / source)
    # One order of additions for all of them; what attention computes is the same.
    model = auto.from_pretrained(GOLDEN / source, **TORCH).eval()
    rows, two = batch(config, losses)
    vector = lambda n, p: p.dim() < 2 or "relative_attention_bias" in n
    groups = [dict(params=[p for n, p in model.named_parameters() if vector(n, p) == plain], weight_decay=0.0 if plain else DECAY) for plain in (False, True)]
    optimiser = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.999), eps=1e-8)
    steps = []
    for step in range(STEPS):
        optimiser.zero_grad()
        found = losses_of(model, rows, losses, two)
        sum(found.values()).backward()
        if step == 0:
            gradients = as_checkpoint(model)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        steps.append(dict(norm=float(norm)) | {k: float(v) for k, v in found.items()})
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
    for name, case in CASES.items():
        write(name, *case)
