"""Makes tests/golden/labelled: what Python's csv module reads from random files, and how many rows the real files in ../shared/data have.

Run:       python tests/golden/make/labelled.py      (a few seconds; without ../shared/data the old data.json stays)
Versions:  Python alone; each file names it.

csv.json: files of random characters, of which many are quotes, delimiters and line ends, with the records that a strict csv.reader gives
for them (RFC 4180), or null where it refuses. Records of one cell of white space are left out. data.json: for each real file the
number of its rows, characters of their texts, and how often each label occurs, by Python's csv and json and by splitting lines.
"""
import collections
import csv
import io
import json
import platform
import random
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1] / "labelled"
DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data"


def strict(text, delimiter):
    try:
        return [row for row in csv.reader(io.StringIO(text, newline=None), delimiter=delimiter, strict=True) if row and not (len(row) == 1 and not row[0].strip())]
    except csv.Error:
        return None


def files():
    rng = random.Random(7)
    made = []
    for delimiter in ",\t;":
        alphabet = ["a", "é", "漢", " ", '"', '"', delimiter, delimiter, "\n", "\r\n", ",", "\t"]
        for _ in range(120):
            text = "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 14)))
            made.append(dict(delimiter=delimiter, text=text, rows=strict(text, delimiter)))
        for quoting in (csv.QUOTE_ALL, csv.QUOTE_MINIMAL):
            for end in ("\n", "\r\n"):
                rows = [["".join(rng.choice(alphabet[:9]) for _ in range(rng.randint(0, 6))) + "x" for _ in range(3)] for _ in range(5)]
                out = io.StringIO(newline="")
                csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=end).writerows(rows)
                assert strict(out.getvalue(), delimiter) == rows
                made.append(dict(delimiter=delimiter, text=out.getvalue(), rows=rows))
    return made


def summary(texts, labels):
    return dict(rows=len(texts), characters=sum(map(len, texts)), labels=dict(sorted(collections.Counter(labels).items())))


def conll(path):
    sentences, words, tags = 0, [], []
    inside = False
    for line in path.read_text(encoding="utf-8").split("\n"):
        if not line.strip():
            sentences, inside = sentences + inside, False
            continue
        word, tag = line.split("\t")
        inside = True
        words.append(word)
        tags.append(tag.strip())
    return dict(summary(words, tags), sentences=sentences + inside)


def questions(path):
    data = json.loads(path.read_text(encoding="utf-8"))["data"]
    qas = [(p["context"], qa) for article in data for p in article["paragraphs"] for qa in p["qas"]]
    answers = [(context, a) for context, qa in qas for a in qa["answers"]]
    wrong = sum(context[a["answer_start"]:a["answer_start"] + len(a["text"])] != a["text"] for context, a in answers)
    return dict(rows=len(qas), contexts=sum(len(a["paragraphs"]) for a in data), characters=sum(len(qa["question"]) for _, qa in qas), answers=len(answers), wrong=wrong)


def cranfield(folder):
    documents = (folder / "cran.all.1400").read_text().split(".I ")[1:]
    queries = (folder / "cran.qry").read_text().split(".I ")[1:]
    lines = [line.split() for line in (folder / "cranqrel").read_text().splitlines() if line.strip()]
    return dict(documents=len(documents), queries=len(queries), judgements=len(lines), grades=dict(sorted(collections.Counter(line[2] for line in lines).items())))


def data():
    found = {}
    for name in ("train", "dev", "test"):
        lines = (DATA / f"sst2/{name}.tsv").read_text(encoding="utf-8").split("\n")[1:]
        rows = [line.split("\t") for line in lines if line]
        found[f"sst2/{name}.tsv"] = summary([r[0] for r in rows], [r[1] for r in rows])
        with open(DATA / f"stsb/en-{name}.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, strict=True))
        found[f"stsb/en-{name}.csv"] = dict(summary([a + b for a, b, _ in rows], []), sum=round(sum(float(s) for _, _, s in rows), 6))
        found[f"wnut17/{name}.conll"] = conll(DATA / f"wnut17/{name}.conll")
    found["xquad/xquad.en.json"] = questions(DATA / "xquad/xquad.en.json")
    found["cmrc2018/trial.json"] = questions(DATA / "cmrc2018/trial.json")
    found["cranfield"] = cranfield(DATA / "cranfield")
    return found


if __name__ == "__main__":
    ROOT.mkdir(exist_ok=True, parents=True)
    line = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    head = f'"made_by":"tests/golden/make/labelled.py",\n"versions":{line(dict(python=platform.python_version()))}'
    (ROOT / "csv.json").write_text(f'{{{head},\n"files":[\n' + ",\n".join(map(line, files())) + "\n]}\n", encoding="utf-8")
    if DATA.exists():
        (ROOT / "data.json").write_text(f'{{{head},\n"files":{{\n' + ",\n".join(f"{line(k)}:{line(v)}" for k, v in data().items()) + "\n}}\n", encoding="utf-8")
