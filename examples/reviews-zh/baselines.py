#!/usr/bin/env python3
"""What simpler methods make of the same reviews: bags of characters, and means of word vectors, each with a logistic regression.

    python3 examples/reviews-zh/baselines.py FOLDER      (needs scikit-learn, gensim and jieba)
"""

import sys
from pathlib import Path

import jieba
import numpy as np
from gensim.models import Word2Vec
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression


def read(path):
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    return [row[0] for row in rows], [row[1] for row in rows]


def main():
    folder = Path(sys.argv[1])
    (train, labels), (test, right) = read(folder / "train.tsv"), read(folder / "test.tsv")
    for name, made in [
        ("bag of characters", CountVectorizer(analyzer="char", binary=True)),
        ("bag of one and two characters, tf-idf", TfidfVectorizer(analyzer="char", ngram_range=(1, 2), min_df=2)),
    ]:
        model = LogisticRegression(max_iter=2000).fit(made.fit_transform(train), labels)
        print(f"{name}: accuracy {model.score(made.transform(test), right):.4f}", flush=True)
    words = [jieba.lcut(text) for text in train]
    vectors = Word2Vec(words, vector_size=200, window=5, min_count=2, sg=1, epochs=10, seed=1, workers=1).wv
    mean = lambda text: np.mean([vectors[w] for w in text if w in vectors] or [np.zeros(200)], axis=0)
    model = LogisticRegression(max_iter=2000).fit([mean(text) for text in words], labels)
    print(f"mean of word2vec: accuracy {model.score([mean(jieba.lcut(text)) for text in test], right):.4f}")


if __name__ == "__main__":
    main()
