"""Makes tests/golden/metrics: what other programs count on random answers.

Run:       python tests/golden/make/metrics.py [CMRC2018_EVALUATE]      (seconds)
Versions:  requirements-metrics.txt beside this file; each file names those that made it.

scikit-learn (classes, sets, squared errors), scipy (correlations), seqeval (entities), transformers 4's squad_metrics, which holds SQuAD's official
evaluation (answers), trec_eval through pytrec_eval (retrieval). CMRC2018_EVALUATE is squad-style-data/cmrc2018_evaluate.py of the repository
ymcui/cmrc2018; it is written for Python 2, so its functions are run here after small changes of spelling, with nltk's tokenizer of words. Without
it the old cmrc.json stays.
"""
import json
import random
import re
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1] / "metrics"


def write(name, packages, cases):
    line = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    versions = {package: version(package) for package in packages}
    head = f'"made_by":"tests/golden/make/metrics.py",\n"versions":{line(versions)}'
    (ROOT / f"{name}.json").write_text(f'{{{head},\n"cases":[\n' + ",\n".join(map(line, cases)) + "\n]}\n", encoding="utf-8")
    print(name, len(cases), flush=True)


def three(scores):
    return [float(score) for score in scores[:3]]


def classes():
    from sklearn import metrics
    rng = np.random.default_rng(1)
    cases = []
    for number, rows in [(2, 50), (2, 3), (2, 1), (3, 60), (5, 12), (7, 200), (4, 30)]:
        gold, answered = rng.integers(0, number, rows), rng.integers(0, number, rows)
        answered = np.where(rng.random(rows) < 0.5, gold, answered)
        cases.append((number, gold, answered))
    # One class alone, one that is never right, one that is never answered.
    cases += [(2, np.zeros(9, int), np.zeros(9, int)), (3, np.array([0, 1, 0, 1]), np.array([2, 2, 1, 0])), (3, np.array([0, 2, 2]), np.array([0, 0, 0])),
              (4, np.array([0, 1, 0, 1, 1]), np.array([0, 1, 2, 1, 0]))]
    made = []
    for number, gold, answered in cases:
        labels = list(range(number))
        scores = lambda average, **more: three(metrics.precision_recall_fscore_support(gold, answered, average=average, zero_division=0, **more))
        each = metrics.precision_recall_fscore_support(gold, answered, labels=labels, zero_division=0)
        made.append(dict(
            classes=number, gold=gold.tolist(), answered=answered.tolist(),
            accuracy=float(metrics.accuracy_score(gold, answered)), micro=scores("micro"), macro=scores("macro"), weighted=scores("weighted"),
            matthews=float(metrics.matthews_corrcoef(gold, answered)), confusion=metrics.confusion_matrix(gold, answered, labels=labels).tolist(),
            each=[[float(v) for v in column] for column in zip(*each)],
            binary=float(metrics.f1_score(gold, answered, zero_division=0)) if number == 2 else None))
    write("classes", ["scikit-learn", "numpy"], made)


def sets():
    from sklearn import metrics
    rng = np.random.default_rng(2)
    made = []
    for number, rows, likely in [(3, 20, 0.4), (6, 40, 0.2), (4, 1, 0.5), (5, 10, 0.0), (4, 15, 0.7)]:
        gold = rng.random((rows, number)) < likely
        answered = np.where(rng.random((rows, number)) < 0.7, gold, rng.random((rows, number)) < likely)
        scores = lambda average: three(metrics.precision_recall_fscore_support(gold, answered, average=average, zero_division=0))
        numbers = lambda matrix: [np.flatnonzero(row).tolist() for row in matrix]
        made.append(dict(classes=number, gold=numbers(gold), answered=numbers(answered), micro=scores("micro"), macro=scores("macro"),
                         subset=float(metrics.accuracy_score(gold, answered))))
    write("sets", ["scikit-learn", "numpy"], made)


def numbers():
    from scipy import stats
    from sklearn import metrics
    rng = np.random.default_rng(3)
    lists = [(np.round(rng.uniform(0, 5, n), digits), np.round(rng.uniform(0, 5, n), digits)) for n, digits in [(30, 6), (50, 0), (2, 3), (9, 1)]]
    lists += [(a, np.round(a + rng.normal(0, 0.3, len(a)), 2)) for a, _ in lists[:2]]
    lists += [(np.ones(5), np.arange(5.0)), (np.arange(4.0), np.arange(4.0) * 2 + 1), (np.arange(4.0), -np.arange(4.0)), (1e8 + np.arange(5.0), np.array([1.0, 2, 2, 5, 4]))]
    made = []
    for gold, answered in lists:
        finite = lambda value: None if np.isnan(value) else float(value)
        made.append(dict(gold=gold.tolist(), answered=answered.tolist(), mse=float(metrics.mean_squared_error(gold, answered)),
                         pearson=finite(stats.pearsonr(gold, answered)[0]), spearman=finite(stats.spearmanr(gold, answered)[0])))
    write("numbers", ["scipy", "scikit-learn", "numpy"], made)


def entities():
    from seqeval.metrics import accuracy_score
    from seqeval.metrics.sequence_labeling import precision_recall_fscore_support
    from seqeval.metrics.v1 import precision_recall_fscore_support as strict
    from seqeval.scheme import IOB2, IOBES
    rng = random.Random(4)
    made = []
    for letters, scheme in [("BI", IOB2), ("BIES", IOBES)] * 4:
        tags = ["O", "O"] + [f"{letter}-{kind}" for letter in letters for kind in ("PER", "LOC", "creative-work")]
        # Letters alone are tags of a kind without a name.
        tags += [letter for letter in letters if len(made) >= 6]
        sentences = lambda: [[rng.choice(tags) for _ in range(n)] for n in lengths]
        lengths = [rng.randint(1, 9) for _ in range(12)]
        gold = sentences()
        answered = [[tag if rng.random() < 0.8 else rng.choice(tags) for tag in sentence] for sentence in gold]
        of = lambda function, **more: three(function(gold, answered, zero_division=0, **more))
        made.append(dict(
            gold=gold, answered=answered, ends="E" in letters, accuracy=float(accuracy_score(gold, answered)),
            micro=of(precision_recall_fscore_support, average="micro"), macro=of(precision_recall_fscore_support, average="macro"),
            each=[[float(v) for v in column] for column in zip(*precision_recall_fscore_support(gold, answered, average=None, zero_division=0))],
            strict_micro=of(strict, average="micro", scheme=scheme), strict_macro=of(strict, average="macro", scheme=scheme)))
    write("entities", ["seqeval", "numpy"], made)


WORDS = ["the", "The", "a", "an", "An", "theory", "Paris", "Naïve", "3.5", "U.S.", "well-known", "$5", "don't", "“the”", "co_op", "漢字", "the漢", "…", "!", "", "é", "a.", "\u00a0", "ſ", "İ"]


def texts(rng, words, most):
    return "".join(rng.choice(words) + rng.choice([" ", " ", "  ", "", "-"]) for _ in range(rng.randint(0, most)))


def answers():
    from types import SimpleNamespace
    from transformers.data.metrics import squad_metrics
    rng = random.Random(5)
    made = []
    for unanswerable, odds_from, threshold in [(0.0, None, None), (0.4, None, None), (0.4, 0.0, 1.0), (0.4, 0.0, 0.5), (0.6, -5.0, 0.0), (1.0, 0.0, 0.3), (0.9, 0.1, 0.2)]:
        examples, predictions, odds = [], {}, {}
        for i in range(40):
            gold = [] if rng.random() < unanswerable else [texts(rng, WORDS, 4) for _ in range(rng.randint(1, 3))]
            answered = rng.choice(gold) if gold and rng.random() < 0.4 else texts(rng, WORDS, 4)
            if gold and rng.random() < 0.3:
                answered = answered.upper() + "."
            examples.append(SimpleNamespace(qas_id=str(i), answers=[{"text": g} for g in gold]))
            predictions[str(i)] = answered
            odds[str(i)] = round(rng.uniform(odds_from or 0, 1 if (odds_from or 0) >= 0 else 5) + (0.2 if gold == [] else 0), 6)
        given = odds if odds_from is not None else None
        scores = squad_metrics.squad_evaluate(examples, predictions, given, 1.0 if threshold is None else threshold)
        scores = {k: v for k, v in scores.items() if given or not k.startswith("best")}
        made.append(dict(gold=[[a["text"] for a in e.answers] for e in examples], answered=list(predictions.values()),
                         odds=list(odds.values()) if given else None, threshold=threshold, scores=scores))
    write("answers", ["transformers"], made)


CHINESE = ["生命", "数", "，", "。", "《跑跑》", "卡丁车", "BERT", "gpt 4", "3.5", "50%", "1,000", "(a)", "x,y", "……", " ", "是", "什么?", "-", "２０１８", "U.S", "a.", "end."]


def cmrc(script):
    import nltk
    source = Path(script).read_text(encoding="utf-8")
    source = source[:source.index("if __name__")].replace("from __future__ import print_function", "")
    for old, new in [("reload(sys)\n", ""), ("sys.setdefaultencoding('utf8')\n", ""), (".decode('utf-8')", ""), ("ur'", "r'")]:
        source = source.replace(old, new)
    tokenizer = nltk.tokenize.NLTKWordTokenizer()
    nltk.word_tokenize = tokenizer.tokenize
    official = {"nltk": nltk, "re": re}
    exec(source, official)
    rng = random.Random(6)
    made = []
    for _ in range(150):
        gold = ["".join(rng.choice(CHINESE) for _ in range(rng.randint(1, 6))) for _ in range(rng.randint(1, 3))]
        answered = rng.choice(gold) if rng.random() < 0.2 else "".join(rng.choice(CHINESE) for _ in range(rng.randint(0, 6)))
        if rng.random() < 0.4:
            answered = gold[0][rng.randint(0, 2):] + rng.choice(CHINESE)
        made.append(dict(gold=gold, answered=answered, exact=official["calc_em_score"](gold, answered), f1=official["calc_f1_score"](gold, answered)))
    write("cmrc", ["nltk"], made)


def retrieval():
    import pytrec_eval
    rng = random.Random(7)
    wanted = {"map", "recip_rank", "ndcg", "ndcg_cut.1,5,10,100", "P.1,5,10,100", "recall.1,5,10,100"}
    made = []
    for grades, digits, queries in [([0, 1], 6, 8), ([0, 0, 1, 2, 3], 1, 8), ([-1, 0, 1], 0, 6), ([0], 2, 3)]:
        documents = [f"d{i}" for i in range(60)] + ["D", "é"]
        judged = {f"q{q}": {d: rng.choice(grades) for d in rng.sample(documents, rng.randint(1, 25))} for q in range(queries)}
        run = {f"q{q}": {d: round(rng.uniform(0, 4), digits) for d in rng.sample(documents, rng.randint(1, 40))} for q in range(1, queries + 1)}
        found = pytrec_eval.RelevanceEvaluator(judged, wanted).evaluate(run)
        made.append(dict(judged=judged, run=run, queries=found))
    # Scores that are equal as f32 alone.
    judged, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.00000001, "b": 1.0}}
    made.append(dict(judged=judged, run=run, queries=pytrec_eval.RelevanceEvaluator(judged, wanted).evaluate(run)))
    write("retrieval", ["pytrec-eval-terrier"], made)


if __name__ == "__main__":
    ROOT.mkdir(exist_ok=True, parents=True)
    classes()
    sets()
    numbers()
    entities()
    answers()
    retrieval()
    if len(sys.argv) > 1:
        cmrc(sys.argv[1])
