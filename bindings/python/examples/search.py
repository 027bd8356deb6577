"""Search in a text file, a passage a line: the nearest passages by vectors, then the best of these by a cross-encoder.

    python search.py models/minilm passages.txt "how much is postage" [--rerank models/reranker]
"""

from __future__ import annotations

import argparse

import cloze


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model")
    options.add_argument("passages")
    options.add_argument("query")
    options.add_argument("--rerank", help="a cross-encoder")
    options.add_argument("--top", type=int, default=5)
    asked = options.parse_args()
    with open(asked.passages, encoding="utf-8") as file:
        passages = [line.strip() for line in file if line.strip()]

    with cloze.Model(asked.model) as model:
        vectors = model.encode(passages, normalize=True)
        scores = vectors @ model.encode(asked.query, normalize=True)
    nearest = (-scores).argsort()[: asked.top].tolist()
    found = [(float(scores[number]), passages[number]) for number in nearest]

    if asked.rerank:
        with cloze.Model(asked.rerank) as judge:
            ranking = judge.rerank(asked.query, [passages[number] for number in nearest])
        found = [(rank.score, passages[nearest[rank.document]]) for rank in ranking]
    for place, (score, passage) in enumerate(found, 1):
        print(f"{place:2}. {score:6.2f}  {passage}")


if __name__ == "__main__":
    main()
