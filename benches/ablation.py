"""What does a pretraining objective do for what comes after? The BERT paper's ablation in small: words and next sentences, words alone, words from left to right.

    python benches/ablation.py CLOZE_TRAIN SHARDS HELD-OUT TOKENIZER DATA OUT [--preset P] [--steps N] [--seeds N] [--rate R]

SHARDS, HELD-OUT and TOKENIZER are as `cloze-train pretrain` takes them, DATA a folder with sst2/ and stsb/. Each row is pretrained on the same text with the same sizes, steps
and seed, then fine-tuned on 2,000 rows of SST-2 (labels of texts), and on STS-B (a number for a pair), from seeds 1 to N. `nothing` is fine-tuned from its first weights.
Prints a table of means and, in brackets, least and greatest. Needs nothing but Python.
"""

import argparse
import csv
import json
import random
import subprocess
from pathlib import Path

ROWS = {
    "words and next sentences": ["--sequences", "next_sentence", "--learning", "token"],
    "words alone": ["--sequences", "single", "--learning", "token"],
    "left to right": ["--sequences", "single", "--learning", "left_to_right"],
    "nothing": None,
}
TASKS = {
    "SST-2, accuracy": dict(task="classify", figure="accuracy", epochs=4),
    "STS-B, Spearman": dict(task="regression", figure="spearman", epochs=4),
}


def run(command):
    subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)


def events(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def examples(data, out):
    """SST-2 as JSON lines, 2,000 of its rows by lot; STS-B with the names of its columns."""
    with open(data / "sst2/train.tsv", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    random.Random(1).shuffle(rows)
    with open(data / "sst2/test.tsv", encoding="utf-8") as file:
        test = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    files = {"classify": (out / "sst2-train.jsonl", out / "sst2-test.jsonl"), "regression": (out / "stsb-train.jsonl", out / "stsb-test.jsonl")}
    for path, found in zip(files["classify"], (rows[:2000], test), strict=True):
        path.write_text("".join(json.dumps(dict(text=text, label=label)) + "\n" for text, label in found), encoding="utf-8")
    for path, name in zip(files["regression"], ("en-train.csv", "en-test.csv"), strict=True):
        with open(data / "stsb" / name, encoding="utf-8") as file:
            found = [dict(text=a, pair=b, label=float(n)) for a, b, n in csv.reader(file)]
        path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("cloze_train", "shards", "held_out", "tokenizer", "data", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--preset", default="bert-tiny")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rate", default="1e-3")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    files = examples(args.data, args.out)
    print(f"| pretrained with | masked accuracy | {' | '.join(TASKS)} |\n|---|---|{'---|' * len(TASKS)}", flush=True)
    for name, flags in ROWS.items():
        folder, steps = args.out / name.replace(" ", "-"), args.steps if flags else 1
        begin = [args.cloze_train, "pretrain", "-o", folder, "--shards", args.shards, "--held-out", args.held_out, "-t", args.tokenizer]
        settings = ["--preset", args.preset, "--steps", steps, "--rate", args.rate if flags else "0", "--evaluate-every", steps, "--save-every", steps]
        if not (folder / "model").exists():
            run([*begin, *settings, "--beta2", "0.98", "--dropout", "0", *(flags or [])])
        seen = next(e for e in reversed(events(folder)) if e["event"] == "evaluated")
        learned = "" if flags is None else f"{seen['masked_accuracy']:.3f}"
        cells = []
        for task in TASKS.values():
            scores = []
            for seed in range(1, args.seeds + 1):
                tuned = args.out / f"{folder.name}-{task['task']}-{seed}"
                train, test = files[task["task"]]
                if not (tuned / "log.jsonl").exists():
                    run([args.cloze_train, "finetune", "-m", folder / "model", "--task", task["task"], "--train", train, "--dev", test, "-o", tuned,
                         "--epochs", task["epochs"], "--rate", "3e-4", "--seed", seed, "--max-length", "128"])
                # The last, not the best: the test rows choose nothing.
                last = next(e for e in reversed(events(tuned)) if e["event"] == "evaluated")
                scores.append(last[task["figure"]])
            cells.append(f"{sum(scores) / len(scores):.3f} ({min(scores):.3f} to {max(scores):.3f})")
        print(f"| {name} | {learned} | {' | '.join(cells)} |", flush=True)


main()
