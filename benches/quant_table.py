#!/usr/bin/env python3
"""What does each type of a quantised file cost, and what does it save? A Markdown table of one model.

    python3 benches/quant_table.py --model models/minilm --texts texts.txt --stsb en-test.csv > table.md
    python3 benches/quant_table.py --model models/minilm --texts texts.txt --no-time --types q8_0 q4_0

Makes a GGUF file of each type with `cloze quantize` and encodes the lines of TEXTS with it, at f32 and in eight bits. Columns:

  stored      the type of most of the linear layers' numbers; another than the one asked for where rows are no whole blocks of it
  MB          size of the file
  cosine      with the vectors that the model gives at f32, mean and worst
  neighbours  the share of each text's ten nearest among TEXTS, by the model at f32, that are still among its ten nearest
  STS-B       Spearman's correlation (x 100) of cosines with people's scores; a CSV of sentence, sentence, score
  ms          median of one passage of 128 tokens, `cloze bench` on --threads; left out with --no-time

Needs numpy and a release build of cloze (--cloze, else target/release/cloze).
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

TYPES = "f32 f16 bf16 q8_0 q8_k q6_k q5_k q5_1 q5_0 q4_k q4_1 q4_0 iq4_nl q3_k q2_k".split()
NEIGHBOURS = 10
PASSAGE = 128


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cloze", default=os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "release", "cloze"))
    parser.add_argument("--model", required=True, help="a folder or a GGUF file, not quantised")
    parser.add_argument("--texts", required=True, help="one text a line")
    parser.add_argument("--stsb", help="STS-B as CSV; without it, no such column")
    parser.add_argument("--types", nargs="+", default=TYPES)
    parser.add_argument("--precisions", nargs="+", default=["f32", "int8"])
    parser.add_argument("--threads", type=int, default=1, help="of the timing")
    parser.add_argument("--seconds", type=int, default=3, help="of the timing")
    parser.add_argument("--no-time", action="store_true")
    return parser.parse_args()


def lines(command, given=""):
    """The JSON lines that a command prints."""
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def encode(cloze, model, precision, texts):
    """Vectors of length 1, (texts, dimensions)."""
    given = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    answers = lines([cloze, "encode", "-m", model, "--json", "--normalize", "--precision", precision], given)
    return np.array([answer["embedding"] for answer in answers], dtype=np.float64)


def nearest(vectors):
    """The numbers of each vector's nearest, itself left out."""
    similar = vectors @ vectors.T
    np.fill_diagonal(similar, -np.inf)
    return [set(row) for row in np.argsort(-similar, axis=1, kind="stable")[:, :NEIGHBOURS].tolist()]


def ranks(values):
    """Ranks from 1, the mean where values are equal."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[places]


def spearman(a, b):
    return float(np.corrcoef(ranks(np.asarray(a)), ranks(np.asarray(b)))[0, 1])


class Bench:
    """Everything that is measured of one file at one precision."""

    def __init__(self, given, folder):
        self.given = given
        self.folder = folder
        with open(given.texts, encoding="utf-8") as file:
            self.texts = [line.rstrip("\n") for line in file if line.strip()]
        if len(self.texts) <= NEIGHBOURS:
            sys.exit(f"{given.texts}: {len(self.texts)} texts; more than {NEIGHBOURS} are needed")
        self.pairs = None
        if given.stsb:
            with open(given.stsb, encoding="utf-8", newline="") as file:
                self.pairs = [(a, b, float(score)) for a, b, score in csv.reader(file)]
        self.expected = encode(given.cloze, given.model, "f32", self.texts)
        self.neighbours = nearest(self.expected)

    def workload(self):
        path = os.path.join(self.folder, "passage.json")
        if not os.path.exists(path):
            described = lines([self.given.cloze, "inspect", "-m", self.given.model, "--json"])[0]["model"]
            length, vocabulary = min(PASSAGE, described["positions"]), described["vocabulary"]
            ids = [i * 7919 % vocabulary for i in range(1, length + 1)]
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"sequences": [ids]}, file)
        return path

    def measure(self, file, precision):
        """The cells behind the size."""
        got = encode(self.given.cloze, file, precision, self.texts)
        cosines = (got * self.expected).sum(1)
        stayed = np.mean([len(a & b) / NEIGHBOURS for a, b in zip(self.neighbours, nearest(got))])
        cells = [f"{cosines.mean():.5f}", f"{cosines.min():.5f}", f"{stayed:.4f}"]
        if self.pairs:
            sides = [encode(self.given.cloze, file, precision, [pair[i] for pair in self.pairs]) for i in (0, 1)]
            cells.append(f"{100 * spearman((sides[0] * sides[1]).sum(1), [pair[2] for pair in self.pairs]):.2f}")
        if not self.given.no_time:
            command = [self.given.cloze, "bench", "-m", file, "--workload", self.workload(), "--precision", precision, "--json"]
            timed = lines([*command, "--threads", str(self.given.threads), "--seconds", str(self.given.seconds)])
            cells.append(f"{timed[0]['median_ms']:.2f}")
        return cells


def stored(cloze, file):
    """The type of most numbers of the linear layers."""
    counts = {}
    for tensor in lines([cloze, "inspect", "-m", file, "--json"])[0]["tensors"]:
        if tensor["name"].startswith("blk.") and len(tensor["shape"]) > 1:
            counts[tensor["dtype"]] = counts.get(tensor["dtype"], 0) + int(np.prod(tensor["shape"]))
    return max(counts, key=counts.get)


def main():
    given = arguments()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(given, folder)
        head = ["type", "stored", "MB", "precision", "cosine mean", "worst", "neighbours"]
        head += ["STS-B"] if given.stsb else []
        head += [] if given.no_time else ["ms"]
        print("| " + " | ".join(head) + " |")
        print("|" + "---|" * len(head), flush=True)
        for kind in given.types:
            file = os.path.join(folder, f"{kind}.gguf")
            lines([given.cloze, "quantize", "-m", given.model, "-o", file, "--type", kind, "--json"])
            for precision in given.precisions:
                size = f"{os.path.getsize(file) / 1e6:.1f}"
                cells = [kind, stored(given.cloze, file).lower(), size, precision, *bench.measure(file, precision)]
                print("| " + " | ".join(cells) + " |", flush=True)
            os.remove(file)


if __name__ == "__main__":
    main()
