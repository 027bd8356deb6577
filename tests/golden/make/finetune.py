"""Makes tests/golden/finetune: what PyTorch and sentence-transformers say that tiny models cost while they learn tasks.

Run:       python tests/golden/make/finetune.py      (CPU, half a minute)
Versions:  requirements.txt beside this file; expected.json names those that made it.

A case is a task, the model's folder, settings, the text of the file of examples, and the losses of ten steps. Each step sees all examples, so that their order
does not matter. No dropout, a constant rate, AdamW with decay 0.01 except for vectors, gradients clipped to a norm of 1. Labels, numbers and texts
are drawn by lot. Models are those of tests/golden/heads and tests/golden/models; those with heads that are not there are made here.
"""
import json
import random
import shutil

from models import ROOT as MODELS, TEXTS, TORCH, VERSIONS, bert, randomise, write_tokenizer

import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses
from transformers import (AutoModelForMultipleChoice, AutoModelForQuestionAnswering, AutoModelForSequenceClassification, AutoModelForTokenClassification,
                          AutoTokenizer, BertConfig, BertForMultipleChoice, BertForQuestionAnswering, BertForTokenClassification)

GOLDEN = MODELS.parent
ROOT = GOLDEN / "finetune"
RATE, DECAY, STEPS = 1e-3, 0.01, 10
WORDS = [w for text in TEXTS for w in text.split() if w.isalpha()]
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]

MADE = {
    "tag": dict(model=BertForTokenClassification, config=bert(24, 2, 2, 30, "gelu", 421, 40), labels=TAGS),
    "extract": dict(model=BertForQuestionAnswering, config=bert(24, 2, 2, 30, "gelu", 421, 40)),
    "choices": dict(model=BertForMultipleChoice, config=bert(24, 2, 2, 30, "gelu", 421, 40)),
    "crf": dict(model=BertForTokenClassification, config=bert(24, 2, 2, 30, "gelu", 421, 40), labels=TAGS),
}

# Transitions between tags, under the names of pytorch-crf.
CRF = {"crf.start_transitions": (len(TAGS),), "crf.end_transitions": (len(TAGS),), "crf.transitions": (len(TAGS), len(TAGS))}


def make_models():
    for i, (name, spec) in enumerate(MADE.items()):
        labels = spec.get("labels")
        more = dict(id2label=dict(enumerate(labels)), label2id={l: n for n, l in enumerate(labels)}) if labels else {}
        randomise(spec["model"](BertConfig(**spec["config"], **more)), 900 + i).save_pretrained(ROOT / name)
        write_tokenizer(dict(config=spec["config"], style="new"), ROOT / name)
    chance = torch.Generator().manual_seed(77)
    file = ROOT / "crf" / "model.safetensors"
    save_file({**load_file(file), **{name: torch.rand(shape, generator=chance) - 0.5 for name, shape in CRF.items()}}, file, metadata=dict(format="pt"))


def text(lot, least, most):
    return " ".join(lot.choices(WORDS, k=lot.randint(least, most)))


def learn(parameters, cost, quick=(), times=1):
    """Losses of the steps of a model with these named parameters; those of a loss, `quick`, learn `times` as fast and do not decay."""
    parameters = [(n, p) for n, p in parameters if p.requires_grad]
    groups = [dict(params=[p for _, p in parameters if (p.dim() < 2) == plain], weight_decay=0.0 if plain else DECAY) for plain in (False, True)]
    groups.append(dict(params=list(quick), weight_decay=0.0, lr=RATE * times))
    parameters = parameters + [("", p) for p in quick]
    optimiser = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.999), eps=1e-8)
    found = []
    for _ in range(STEPS):
        optimiser.zero_grad()
        loss = cost()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for _, p in parameters], 1.0)
        optimiser.step()
        found.append(float(loss.detach()))
    return found


def lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def classify(folder, rows, cost, auto=AutoModelForSequenceClassification, limit=None):
    """Steps of a model that reads texts or pairs; `cost` compares its logits with the rows."""
    model, tokenizer = auto.from_pretrained(GOLDEN / folder, **TORCH).eval(), AutoTokenizer.from_pretrained(GOLDEN / folder)
    limit = limit or model.config.max_position_embeddings
    pairs = [row["pair"] for row in rows] if "pair" in rows[0] else None
    inputs = tokenizer([row["text"] for row in rows], pairs, padding=True, truncation=True, max_length=limit, return_tensors="pt")
    return learn(model.named_parameters(), lambda: cost(model(**inputs).logits))


def cases():
    lot = random.Random(5)
    F = torch.nn.functional
    # Labels of texts and of pairs; classes that weigh differently.
    names = ["contradiction", "neutral", "entailment"]
    numbers = lambda rows: torch.tensor([names.index(row["label"]) for row in rows])
    rows = [dict(text=text(lot, 1, 30), label=lot.choice(names)) for _ in range(12)]
    yield "labels", "classify", "heads/labels-three", {}, "jsonl", lines(rows), classify("heads/labels-three", rows, lambda z: F.cross_entropy(z, numbers(rows)))
    pairs = [dict(text=text(lot, 1, 30), pair=text(lot, 1, 60), label=lot.choice(names)) for _ in range(9)]
    yield "pairs", "classify", "heads/labels-three", {}, "jsonl", lines(pairs), classify("heads/labels-three", pairs, lambda z: F.cross_entropy(z, numbers(pairs)))
    weights = [0.5, 1.0, 2.5]
    yield ("weights", "classify", "heads/labels-three", {"class_weights": "0.5,1,2.5"}, "jsonl", lines(rows),
           classify("heads/labels-three", rows, lambda z: F.cross_entropy(z, numbers(rows), weight=torch.tensor(weights))))
    # Sets of labels, and numbers.
    labels = ["news", "sport", "天气", "😀"]
    several = [dict(text=text(lot, 1, 20), label=lot.sample(labels, lot.randint(0, 3))) for _ in range(10)]
    sets = torch.tensor([[float(label in row["label"]) for label in labels] for row in several])
    yield ("sets", "multi_label", "heads/labels-multi", {}, "jsonl", lines(several),
           classify("heads/labels-multi", several, lambda z: F.binary_cross_entropy_with_logits(z, sets)))
    measured = [dict(text=text(lot, 1, 20), pair=text(lot, 1, 20), label=round(lot.uniform(-1, 4), 2)) for _ in range(8)]
    right = torch.tensor([row["label"] for row in measured])
    yield "numbers", "regression", "heads/regression", {}, "jsonl", lines(measured), classify("heads/regression", measured, lambda z: F.mse_loss(z[:, 0], right))
    # Documents that answer a query, or not.
    scored = [dict(text=text(lot, 1, 6), pair=text(lot, 1, 30), label=lot.choice([0, 1])) for _ in range(10)]
    relevant = torch.tensor([float(row["label"]) for row in scored])
    yield ("documents", "rerank", "heads/rerank-sigmoid", {}, "jsonl", lines(scored),
           classify("heads/rerank-sigmoid", scored, lambda z: F.binary_cross_entropy_with_logits(z[:, 0], relevant)))
    yield from words(lot)
    yield from questions(lot)
    yield from choices(lot)
    yield from vectors(lot)
    yield from chains(random.Random(6))
    yield from related(random.Random(7))


def words(lot):
    """Tags of words: of each word its first token's."""
    folder = "finetune/tag"
    sentences = [[(word, lot.choice(TAGS)) for word in text(lot, 1, 14).split()] for _ in range(8)]
    tokenizer = AutoTokenizer.from_pretrained(GOLDEN / folder)
    inputs = tokenizer([[w for w, _ in s] for s in sentences], is_split_into_words=True, padding=True, return_tensors="pt")
    labels = []
    for i, sentence in enumerate(sentences):
        ids, row = inputs.word_ids(i), []
        for place, word in enumerate(ids):
            asked = word is not None and (place == 0 or ids[place - 1] != word)
            row.append(TAGS.index(sentence[word][1]) if asked else -100)
        labels.append(row)
    model = AutoModelForTokenClassification.from_pretrained(GOLDEN / folder, **TORCH).eval()
    content = "\n".join("".join(f"{word} {tag}\n" for word, tag in sentence) for sentence in sentences)
    yield "tags", "tag", folder, {}, "conll", content, learn(model.named_parameters(), lambda: model(**inputs, labels=torch.tensor(labels)).loss)


def questions(lot):
    """Answers in contexts that do not fit a window, and questions without one."""
    folder, limit, stride = "finetune/extract", 32, 8
    tokenizer = AutoTokenizer.from_pretrained(GOLDEN / folder)
    asked, paragraphs = [], []
    for i in range(6):
        context = text(lot, 20, 60)
        qas = []
        for k in range(2):
            spans = context.split(" ")
            first = lot.randrange(len(spans))
            count = lot.randint(1, 3)
            start = len(" ".join(spans[:first])) + (1 if first else 0)
            answer = " ".join(spans[first:first + count])
            none = lot.random() < 0.3
            qas.append(dict(id=f"{i}-{k}", question=text(lot, 2, 6), is_impossible=none, answers=[] if none else [dict(text=answer, answer_start=start)]))
            asked.append((qas[-1], context))
        paragraphs.append(dict(context=context, qas=qas))
    inputs = tokenizer([q["question"] for q, _ in asked], [c for _, c in asked], truncation="only_second", max_length=limit, stride=stride,
                       return_overflowing_tokens=True, return_offsets_mapping=True)
    starts, ends = [], []
    for window, sample in enumerate(inputs["overflow_to_sample_mapping"]):
        question, offsets, of = asked[sample][0], inputs["offset_mapping"][window], inputs.sequence_ids(window)
        own = [i for i, s in enumerate(of) if s == 1]
        answer = question["answers"][0] if question["answers"] else None
        begin, finish = (answer["answer_start"], answer["answer_start"] + len(answer["text"])) if answer else (0, 0)
        if not answer or offsets[own[0]][0] > begin or offsets[own[-1]][1] < finish:
            starts.append(0), ends.append(0)
            continue
        starts.append(max(i for i in own if offsets[i][0] <= begin))
        ends.append(min(i for i in own if offsets[i][1] >= finish))
    model = AutoModelForQuestionAnswering.from_pretrained(GOLDEN / folder, **TORCH).eval()
    # One window at a time: the reference lets padding take part in the softmax over places.
    windows = [{k: torch.tensor([inputs[k][i]]) for k in ("input_ids", "token_type_ids", "attention_mask")} for i in range(len(starts))]
    places = [dict(start_positions=torch.tensor([s]), end_positions=torch.tensor([e])) for s, e in zip(starts, ends)]
    cost = lambda: torch.stack([model(**window, **place).loss for window, place in zip(windows, places)]).mean()
    content = json.dumps(dict(version="2.0", data=[dict(title="t", paragraphs=paragraphs)]), ensure_ascii=False)
    yield ("answers", "extract", folder, {"max_length": str(limit), "overlap": str(stride)}, "json", content,
           learn(model.named_parameters(), cost))


def choices(lot):
    """A beginning and what may follow."""
    folder = "finetune/choices"
    rows = [dict(text=text(lot, 1, 8), choices=[text(lot, 1, 9) for _ in range(3)], label=lot.randrange(3)) for _ in range(7)]
    model, tokenizer = AutoModelForMultipleChoice.from_pretrained(GOLDEN / folder, **TORCH).eval(), AutoTokenizer.from_pretrained(GOLDEN / folder)
    pairs = [(row["text"], choice) for row in rows for choice in row["choices"]]
    inputs = tokenizer([a for a, _ in pairs], [b for _, b in pairs], padding=True, truncation=True, max_length=40, return_tensors="pt")
    given = {k: v.view(len(rows), 3, -1) for k, v in inputs.items()}
    labels = torch.tensor([row["label"] for row in rows])
    yield "choices", "multiple_choice", folder, {}, "jsonl", lines(rows), learn(model.named_parameters(), lambda: model(**given, labels=labels).loss)


def vectors(lot):
    """Vectors of two texts, of texts among others, and of the first numbers of each."""
    folder = "models/tiny-gelu"
    pairs = [dict(text=text(lot, 1, 12), pair=text(lot, 1, 12), label=round(lot.random(), 3)) for _ in range(8)]
    numbers = torch.tensor([row["label"] for row in pairs])
    for name, settings, made, labels in [
        ("cosine", {}, losses.CosineSimilarityLoss, numbers),
        ("contrast", {"vector_loss": "contrast"}, losses.MultipleNegativesRankingLoss, None),
        ("lengths", {"lengths": "8,24"}, lambda m: losses.MatryoshkaLoss(m, losses.CosineSimilarityLoss(m), [24, 8]), numbers),
    ]:
        model = SentenceTransformer(str(GOLDEN / folder), device="cpu", model_kwargs=dict(attn_implementation="eager")).eval()
        cost = made(model)
        # A fresh dictionary each time: modules write their results into it.
        inputs = lambda: [model.preprocess([row[side] for row in pairs]) for side in ("text", "pair")]
        found = learn(model.named_parameters(), lambda: total(cost(inputs(), labels)))
        yield name, "encode", folder, settings, "jsonl", lines(pairs), found


def path_cost(rows, tags, start, end, transitions):
    """Minus the logarithm of the probability of `tags` among all sequences, by the forward algorithm (Lafferty, McCallum and Pereira, 2001)."""
    score = start[tags[0]] + end[tags[-1]] + rows[range(len(tags)), tags].sum() + transitions[tags[:-1], tags[1:]].sum()
    sums = start + rows[0]
    for row in rows[1:]:
        sums = torch.logsumexp(sums[:, None] + transitions, 0) + row
    return torch.logsumexp(sums + end, 0) - score


def chains(lot):
    """Tags that follow each other: a conditional random field over the first tokens of words."""
    folder, times = "finetune/crf", 10
    sentences = [[(word, lot.choice(TAGS)) for word in text(lot, 1, 14).split()] for _ in range(8)]
    tokenizer = AutoTokenizer.from_pretrained(GOLDEN / folder)
    inputs = tokenizer([[w for w, _ in s] for s in sentences], is_split_into_words=True, padding=True, return_tensors="pt")
    firsts = []
    for i in range(len(sentences)):
        ids = inputs.word_ids(i)
        firsts.append([place for place, word in enumerate(ids) if word is not None and (place == 0 or ids[place - 1] != word)])
    tags = [torch.tensor([TAGS.index(tag) for _, tag in s]) for s in sentences]
    stored = load_file(GOLDEN / folder / "model.safetensors")
    start, end, transitions = own = [stored[name].requires_grad_() for name in CRF]
    model = AutoModelForTokenClassification.from_pretrained(GOLDEN / folder, **TORCH).eval()

    def cost():
        z = model(**inputs).logits
        return sum(path_cost(z[i, firsts[i]], tags[i], start, end, transitions) for i in range(len(tags))) / sum(map(len, tags))

    content = "\n".join("".join(f"{word} {tag}\n" for word, tag in sentence) for sentence in sentences)
    yield "chains", "tag", folder, {"crf_factor": str(times)}, "conll", content, learn(model.named_parameters(), cost, own, times)


def related(lot):
    """Which relation two texts have: a softmax over u, v and |u - v| that learns beside the model and is left behind. It begins from zeros."""
    folder, names = "models/tiny-gelu", ["contradiction", "neutral", "entailment"]
    rows = [dict(text=text(lot, 1, 12), pair=text(lot, 1, 12), label=names[i % 3] if i < 3 else lot.choice(names)) for i in range(9)]
    # Classes are numbered as they occur.
    numbers = torch.tensor([names.index(row["label"]) for row in rows])
    model = SentenceTransformer(str(GOLDEN / folder), device="cpu", model_kwargs=dict(attn_implementation="eager")).eval()
    cost = losses.SoftmaxLoss(model, model.get_embedding_dimension(), len(names))
    with torch.no_grad():
        [p.zero_() for p in cost.classifier.parameters()]
    inputs = lambda: [model.preprocess([row[side] for row in rows]) for side in ("text", "pair")]
    found = learn(model.named_parameters(), lambda: cost(inputs(), numbers), list(cost.classifier.parameters()))
    yield "related", "encode", folder, {"vector_loss": "relation"}, "jsonl", lines(rows), found


def total(loss):
    return sum(loss.values()) if isinstance(loss, dict) else loss


if __name__ == "__main__":
    torch.manual_seed(0)
    shutil.rmtree(ROOT, ignore_errors=True)
    ROOT.mkdir()
    make_models()
    found = []
    for name, task, model, settings, form, content, steps in cases():
        found.append(dict(name=name, task=task, model=model, settings=settings, form=form, content=content, losses=steps))
        print(f"{name}: {steps[0]:.6f} -> {steps[-1]:.6f}", flush=True)
    head = dict(made_by="tests/golden/make/finetune.py", versions=VERSIONS, rate=RATE, decay=DECAY)
    body = ",\n".join(json.dumps(case, ensure_ascii=False) for case in found)
    (ROOT / "expected.json").write_text(json.dumps(head)[:-1] + ',\n"cases": [\n' + body + "\n]}\n")
    for file in ROOT.rglob("*"):
        if file.is_file():
            file.chmod(0o644)
