"""How good and how fast is fine-tuning? `cloze-train finetune` beside PyTorch with transformers, in one run: same data, settings and seeds.

    python benches/finetune.py CLOZE_TRAIN MODEL DATA [TASK ...] [--rows N] [--seeds N] [--epochs N]

CLOZE_TRAIN is the command, MODEL a BERT folder, DATA a folder with sst2/, stsb/ and wnut17/. Tasks: sst2 (labels), stsb (a number for a pair), vectors (STS by
cosine), wnut (entities). Needs torch, transformers, sentence-transformers, scipy, scikit-learn and seqeval.

The reference is a plain loop: AdamW, a rate that rises over a tenth of the steps and falls in a line, gradients clipped to 1, dropout as config.json says, batches of 32,
drawn at random as transformers.Trainer does, or grouped by length as it does when told to. Without Trainer it has less to do than with it. Tokens are real ones, without
padding; seconds are those of the steps, without evaluation.
"""

import argparse
import csv
import json
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

import torch
from scipy.stats import spearmanr
from seqeval.metrics import f1_score
from sklearn.metrics import accuracy_score
from transformers import AutoModel, AutoModelForSequenceClassification, AutoModelForTokenClassification, AutoTokenizer

BATCH, LIMIT = 32, 128


def labels(path, rows):
    """Texts and labels of SST-2, some of them chosen by lot, always the same."""
    with open(path, encoding="utf-8") as file:
        all_rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    random.Random(1).shuffle(all_rows)
    return [dict(text=text, label=label) for text, label in (all_rows[:rows] if rows else all_rows)]


def numbers(path, rows):
    with open(path, encoding="utf-8") as file:
        found = [dict(text=a, pair=b, label=float(n)) for a, b, n in csv.reader(file)]
    return found[:rows] if rows else found


def sentences(path, rows):
    found = [[]]
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if line.strip():
            found[-1].append(line.split("\t"))
        elif found[-1]:
            found.append([])
    found = [dict(tokens=[w[0] for w in words], tags=[w[-1].strip() for w in words]) for words in found if words]
    return found[:rows] if rows else found


TASKS = {
    "sst2": dict(task="classify", read=labels, train="sst2/train.tsv", dev="sst2/test.tsv", figure="accuracy"),
    "stsb": dict(task="regression", read=numbers, train="stsb/en-train.csv", dev="stsb/en-dev.csv", figure="spearman"),
    "vectors": dict(task="encode", read=numbers, train="stsb/en-train.csv", dev="stsb/en-dev.csv", figure="spearman"),
    "wnut": dict(task="tag", read=sentences, train="wnut17/train.conll", dev="wnut17/dev.conll", figure="f1"),
}


def ours(args, task, train, dev, seed, scratch):
    """The score, the seconds of the steps, and the tokens of `cloze-train finetune`."""
    for name, rows in (("train", train), ("dev", dev)):
        (scratch / f"{name}.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    out = scratch / f"ours-{seed}"
    more = ["--max-length", str(LIMIT), "--rate", str(args.rate), "--epochs", str(args.epochs), "--seed", str(seed), "--threads", str(args.threads)]
    command = [args.cloze_train, "finetune", "-m", args.model, "--task", task["task"], "--train", scratch / "train.jsonl", "--dev", scratch / "dev.jsonl", "-o", out]
    told = subprocess.run([*map(str, command), *more, "--log-every", "1"], check=True, capture_output=True, text=True)
    events = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    score = max(e[task["figure"]] for e in events if e["event"] == "evaluated")
    steps = [e for e in events if e["event"] == "step"]
    tokens = sum(e["tokens"] for e in steps)
    int8 = dict(pair.rsplit(" ", 1) for pair in told.stdout.splitlines()[1].removeprefix("int8: ").split("  "))
    return score, seconds_of(events), tokens, float(int8[task["figure"]])


def seconds_of(events):
    """Seconds of the steps alone: what was seen of the clock at each step, less what evaluations took."""
    # tokens_per_second counts from the beginning, evaluations too; the steps of the first epoch come before any.
    first = []
    for event in events:
        if event["event"] == "evaluated":
            break
        if event["event"] == "step":
            first.append(event)
    tokens = sum(e["tokens"] for e in first)
    every = sum(e["tokens"] for e in events if e["event"] == "step")
    return tokens / first[-1]["tokens_per_second"] * every / tokens


def batches(examples, seed, grouped):
    """An epoch's batches as transformers makes them: at random, or of similar lengths within 50 batches."""
    order = torch.randperm(len(examples), generator=torch.Generator().manual_seed(seed)).tolist()
    if grouped:
        mega = 50 * BATCH
        order = [i for at in range(0, len(order), mega) for i in sorted(order[at:at + mega], key=lambda i: -len(examples[i]["input_ids"]))]
    return [order[at:at + BATCH] for at in range(0, len(order), BATCH)]


def theirs(args, name, task, train, dev, seed, grouped):
    torch.manual_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    names = sorted({tag for row in train for tag in row["tags"]}) if name == "wnut" else ["0", "1"]
    encode = lambda row: tokenizer(row["text"], row.get("pair"), truncation=True, max_length=LIMIT)
    if name == "wnut":
        model, examples = AutoModelForTokenClassification.from_pretrained(args.model, num_labels=len(names)), [tagged(tokenizer, row, names) for row in train]
    elif name == "vectors":
        model, examples = AutoModel.from_pretrained(args.model), []
        for row in train:
            a, b = (tokenizer(row[side], truncation=True, max_length=LIMIT)["input_ids"] for side in ("text", "pair"))
            examples.append(dict(input_ids=a + b, a=a, b=b, label=row["label"] / 5))
    else:
        model = AutoModelForSequenceClassification.from_pretrained(args.model, num_labels=1 if name == "stsb" else 2)
        examples = [dict(encode(row), label=row["label"] if name == "stsb" else int(row["label"])) for row in train]
    plain = lambda n, p: p.dim() < 2
    groups = [dict(params=[p for n, p in model.named_parameters() if plain(n, p) == way], weight_decay=0.0 if way else 0.01) for way in (False, True)]
    optimiser = torch.optim.AdamW(groups, lr=args.rate, eps=1e-8, fused=True)
    steps = args.epochs * -(-len(examples) // BATCH)
    warmup = steps // 10
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: (s + 1) / warmup if s + 1 <= warmup else max(0.0, (steps - s - 1) / (steps - warmup)))
    model.train()
    started, tokens = time.perf_counter(), 0
    for epoch in range(args.epochs):
        for batch in batches(examples, seed * 100 + epoch, grouped):
            chosen = [examples[i] for i in batch]
            tokens += sum(len(e["input_ids"]) for e in chosen)
            optimiser.zero_grad()
            cost(model, tokenizer, name, chosen).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
    seconds = time.perf_counter() - started
    model.eval()
    with torch.inference_mode():
        return score(model, tokenizer, name, dev, names), seconds, tokens


def padded(tokenizer, rows):
    return tokenizer.pad([dict(input_ids=row) for row in rows], return_tensors="pt")


def pooled(model, inputs):
    states, mask = model(**inputs).last_hidden_state, inputs["attention_mask"][..., None].float()
    return (states * mask).sum(1) / mask.sum(1)


def cost(model, tokenizer, name, chosen):
    if name == "vectors":
        a, b = (pooled(model, padded(tokenizer, [e[side] for e in chosen])) for side in ("a", "b"))
        return torch.nn.functional.mse_loss(torch.cosine_similarity(a, b), torch.tensor([e["label"] for e in chosen]))
    kept = [{k: e[k] for k in ("input_ids", "token_type_ids", "attention_mask") if k in e} for e in chosen]
    inputs = tokenizer.pad(kept, return_tensors="pt")
    if name == "wnut":
        longest = inputs["input_ids"].shape[1]
        return model(**inputs, labels=torch.tensor([e["labels"] + [-100] * (longest - len(e["labels"])) for e in chosen])).loss
    return model(**inputs, labels=torch.tensor([e["label"] for e in chosen])).loss


def tagged(tokenizer, row, names):
    inputs = tokenizer(row["tokens"], is_split_into_words=True, truncation=True, max_length=LIMIT)
    words = inputs.word_ids()
    asked = lambda i, w: w is not None and words[i - 1] != w
    return dict(inputs, labels=[names.index(row["tags"][w]) if asked(i, w) else -100 for i, w in enumerate(words)])


def score(model, tokenizer, name, dev, names):
    if name == "wnut":
        said = []
        for row in dev:
            inputs = tokenizer(row["tokens"], is_split_into_words=True, truncation=True, max_length=512, return_tensors="pt")
            best, tags = model(**inputs).logits[0].argmax(-1).tolist(), ["O"] * len(row["tags"])
            for i, w in reversed(list(enumerate(inputs.word_ids()))):
                if w is not None:
                    tags[w] = names[best[i]]
            said.append(tags)
        return f1_score([row["tags"] for row in dev], said)
    said = []
    for at in range(0, len(dev), BATCH):
        rows = dev[at:at + BATCH]
        if name == "vectors":
            a, b = (pooled(model, tokenizer([r[side] for r in rows], padding=True, truncation=True, max_length=LIMIT, return_tensors="pt")) for side in ("text", "pair"))
            said += torch.cosine_similarity(a, b).tolist()
            continue
        pairs = [r["pair"] for r in rows] if "pair" in rows[0] else None
        logits = model(**tokenizer([r["text"] for r in rows], pairs, padding=True, truncation=True, max_length=LIMIT, return_tensors="pt")).logits
        said += (logits[:, 0] if name == "stsb" else logits.argmax(-1)).tolist()
    if name == "sst2":
        return accuracy_score([int(r["label"]) for r in dev], said)
    return spearmanr([r["label"] for r in dev], said).statistic


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cloze_train"), parser.add_argument("model"), parser.add_argument("data", type=Path), parser.add_argument("tasks", nargs="*")
    for name, value in (("rows", 0), ("seeds", 3), ("epochs", 3), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rate", type=float, default=5e-5)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:args.threads])
    print("| task | seed | engine | score | int8 | seconds | real tokens/s |\n|---|---|---|---|---|---|---|")
    for name in args.tasks or TASKS:
        task = TASKS[name]
        train, dev = task["read"](args.data / task["train"], args.rows), task["read"](args.data / task["dev"], 0)
        for seed in range(1, args.seeds + 1):
            with tempfile.TemporaryDirectory() as scratch:
                found, seconds, tokens, int8 = ours(args, task, train, dev, seed, Path(scratch))
            print(f"| {name} | {seed} | cloze-train | {found:.4f} | {int8:.4f} | {seconds:.1f} | {tokens / seconds:,.0f} |", flush=True)
            for grouped in (False, True):
                found, seconds, tokens = theirs(args, name, task, train, dev, seed, grouped)
                way = "grouped by length" if grouped else "at random"
                print(f"| {name} | {seed} | PyTorch, {way} | {found:.4f} | | {seconds:.1f} | {tokens / seconds:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
