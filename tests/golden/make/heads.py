"""Makes tests/golden/heads: tiny random BERT folders with heads, each with what the reference libraries answer for it.

Run:       python tests/golden/make/heads.py [folder ...]      (all folders without arguments; CPU, about a minute)
Versions:  requirements.txt beside this file; each expected.json names those that made it.

Beside the model's own files stands expected.json: a list of cases, each with a task, request settings, inputs and answers.
Answers come from `transformers` pipelines and `sentence_transformers.CrossEncoder`, in fp32 on the CPU, one input at a time.
Trunks, tokenizers and texts are those of models.py. What the reference has no call for (windows of a document, the relevance of
two classes) is computed here from the reference model's own logits.
"""
import json
import shutil
import sys

from models import LONG, PAIRS, TEXTS, TORCH, VERSIONS, ROOT as MODELS, bert, randomise, write_json, write_tokenizer

import torch
import transformers
from sentence_transformers import CrossEncoder, SentenceTransformer
from transformers import (AutoModelForSequenceClassification, AutoTokenizer, BertConfig, BertForMultipleChoice, BertForNextSentencePrediction, BertForPreTraining,
                          BertForSequenceClassification, pipeline)

ROOT = MODELS.parent / "heads"
IDENTITY = "torch.nn.modules.linear.Identity"
NLI = ["contradiction", "neutral", "entailment"]

FOLDERS = {
    # Three labels, nothing said of the problem: softmax. Serves as the NLI model of zero-shot, too.
    "labels-three": dict(config=bert(48, 4, 2, 70, "gelu", 421, 60), labels=NLI, tasks=["classify", "zero_shot"]),
    # Entailment comes first: contradiction is then the last label.
    "labels-entail-first": dict(config=bert(24, 2, 1, 48, "relu", 389, 40), labels=["ENTAILMENT", "other", "no"], tasks=["zero_shot"]),
    "labels-multi": dict(config=bert(32, 2, 2, 40, "gelu", 421, 48), labels=["news", "sport", "天气", "😀"], problem="multi_label_classification", tasks=["classify"]),
    "regression": dict(config=bert(24, 3, 2, 40, "gelu_new", 389, 44), labels=["similarity"], problem="regression", tasks=["classify"]),
    # As CrossEncoder.save writes it today, with nothing declared: sigmoid.
    "rerank-sigmoid": dict(config=bert(48, 6, 2, 100, "gelu", 421, 64), labels=["LABEL_0"], style="cross", tasks=["classify", "rerank"]),
    # As version 3 wrote it, with the activation in config.json.
    "rerank-identity": dict(config=bert(32, 2, 3, 64, "gelu", 421, 52), labels=["LABEL_0"], more=dict(sbert_ce_default_activation_function=IDENTITY), tasks=["rerank"]),
    "rerank-declared": dict(config=bert(24, 2, 1, 32, "gelu", 389, 40), labels=["LABEL_0"],
                            more=dict(sentence_transformers=dict(activation_fn=IDENTITY, version="5.0.0")), tasks=["rerank"]),
    "rerank-two": dict(config=bert(32, 4, 2, 50, "gelu", 421, 48), labels=["irrelevant", "relevant"], tasks=["rerank", "classify"]),
    "next-sentence": dict(config=bert(32, 4, 2, 50, "gelu", 421, 48), model=BertForNextSentencePrediction, tasks=["next_sentence"]),
    "pretraining": dict(config=bert(24, 2, 2, 30, "gelu", 389, 40), model=BertForPreTraining, tasks=["next_sentence"]),
    "choices": dict(config=bert(32, 4, 2, 50, "gelu", 421, 48), model=BertForMultipleChoice, tasks=["choose"]),
}

# Tie-free documents of many lengths, one of them empty, some longer than the models.
QUERIES = ["where does the fox live", "今天天气", "I ❤️ search 🔍", " ".join(LONG.split()[:30])]
DOCUMENTS = TEXTS + [LONG[60:], "A fast model.", LONG[100:] + " " + LONG]
LABELS = ["sport", "the weather 今天", "😀", "very long labels of many words for a short model"]


def write_folder(name, spec):
    folder, seed = ROOT / name, 500 + list(FOLDERS).index(name)
    shutil.rmtree(folder, ignore_errors=True)
    labels = spec.get("labels")
    more = dict(spec.get("more", {}))
    if labels:
        more |= dict(id2label=dict(enumerate(labels)), label2id={l: i for i, l in enumerate(labels)})
    if "problem" in spec:
        more["problem_type"] = spec["problem"]
    model = randomise(spec.get("model", BertForSequenceClassification)(BertConfig(**spec["config"], **more)), seed)
    with torch.no_grad():
        for p in list(getattr(model, "classifier", torch.nn.Module()).parameters()):
            p.mul_(2)
    model.save_pretrained(folder)
    write_tokenizer(dict(config=spec["config"], style="new"), folder)
    if spec.get("style") == "cross":
        cross = CrossEncoder(str(folder), device="cpu")
        shutil.rmtree(folder)
        cross.save_pretrained(str(folder), create_model_card=False)


def number(values):
    return [float(v) for v in values]


class Answers:
    def __init__(self, name, spec):
        self.folder, self.spec, self.cases = ROOT / name, spec, []
        self.limit = spec["config"]["max_position_embeddings"]
        self.tokenizer = AutoTokenizer.from_pretrained(self.folder)
        self.model = spec.get("model", AutoModelForSequenceClassification).from_pretrained(self.folder, **TORCH).eval()

    def keep(self, task, settings, inputs, answers, **more):
        self.cases.append(dict(task=task, set=settings, inputs=inputs, answers=answers) | more)

    @torch.inference_mode()
    def logits(self, text, pair=None, **more):
        """Logits of every window."""
        pair = {} if pair is None else dict(text_pair=[pair])
        tokens = self.tokenizer([text], **pair, **(dict(truncation=True, max_length=self.limit) | more))
        windows = []
        for ids, types in zip(tokens["input_ids"], tokens["token_type_ids"]):
            out = self.model(torch.tensor([ids]), token_type_ids=torch.tensor([types]))
            windows.append(out.seq_relationship_logits if hasattr(out, "seq_relationship_logits") else out.logits)
        return torch.cat(windows)

    def classify(self):
        classifier = pipeline("text-classification", model=self.model, tokenizer=self.tokenizer, device="cpu")
        ids = self.model.config.label2id
        inputs = [[t, None] for t in TEXTS] + [p for p in PAIRS if p[1]]
        for function, settings in [(None, {}), ("none", {"activation": "identity"}), ("sigmoid", {"activation": "sigmoid"}), ("softmax", {"activation": "softmax"})]:
            answers = []
            for text, pair in inputs:
                what = {"text": text} | ({} if pair is None else {"text_pair": pair})
                more = {} if function is None else {"function_to_apply": function}
                scored = classifier(what, truncation=True, max_length=self.limit, top_k=None, **more)
                answers.append(dict(labels=[ids[s["label"]] for s in scored], scores=number(s["score"] for s in scored), logits=number(self.logits(text, pair)[0])))
            self.keep("classify", settings, inputs, answers)
        for joined, join in [("mean", lambda w: w.mean(0)), ("max", lambda w: w.max(0).values)]:
            answers = []
            for text, pair in [[LONG, None], [TEXTS[0], None], ["the word", LONG]]:
                logits = join(self.logits(text, pair, max_length=16, stride=5, return_overflowing_tokens=True, truncation=True if pair is None else "only_second"))
                answers.append(dict(logits=number(logits)))
            self.keep("classify", {"windows": joined, "max_tokens": "16", "overlap": "5"}, [[LONG, None], [TEXTS[0], None], ["the word", LONG]], answers)

    def zero_shot(self):
        zero_shot = pipeline("zero-shot-classification", model=self.model, tokenizer=self.tokenizer, device="cpu")
        texts = [TEXTS[0], TEXTS[3], TEXTS[4], LONG]
        for template in ["This example is {}.", "天气 {} 😀"]:
            for multi in [False, True]:
                for labels in [LABELS, LABELS[:1]]:
                    answers = []
                    for text in texts:
                        got = zero_shot(text, labels, hypothesis_template=template, multi_label=multi)
                        answers.append(dict(labels=[labels.index(l) for l in got["labels"]], scores=number(got["scores"])))
                    self.keep("zero_shot", {"hypothesis": template, "multi_label": str(multi).lower()}, texts, answers, labels=labels)

    def relevance(self, logits):
        return logits[..., 0] if logits.shape[-1] == 1 else logits[..., 1] - logits[..., 0]

    def rerank(self):
        cross = CrossEncoder(str(self.folder), device="cpu", model_kwargs=dict(TORCH))
        cross.eval()
        two = self.model.config.num_labels == 2
        activations = [({}, None), ({"activation": "sigmoid"}, torch.nn.Sigmoid()), ({"activation": "identity"}, torch.nn.Identity())]
        for query in QUERIES:
            logits = number(self.relevance(torch.cat([self.logits(query, d) for d in DOCUMENTS])))
            for settings, activation in activations:
                pairs = [[query, d] for d in DOCUMENTS]
                if two:  # the probability of the second class, or the difference of both
                    raw = torch.tensor(cross.predict(pairs, batch_size=1, activation_fn=torch.nn.Identity()))
                    scores = self.relevance(raw) if settings.get("activation") == "identity" else raw.softmax(-1)[:, 1]
                else:
                    scores = cross.predict(pairs, batch_size=1, activation_fn=activation)
                self.keep("rerank", settings, DOCUMENTS, [dict(logits=[l], scores=[float(s)]) for l, s in zip(logits, scores)], query=query)
        query = QUERIES[0]
        for joined, join in [("mean", lambda w: w.mean()), ("max", lambda w: w.max())]:
            windows = [self.relevance(self.logits(query, d, max_length=24, stride=3, return_overflowing_tokens=True, truncation="only_second")) for d in DOCUMENTS]
            self.keep("rerank", {"windows": joined, "max_tokens": "24", "overlap": "3", "activation": "identity"}, DOCUMENTS,
                      [dict(logits=[float(join(w))], scores=[float(join(w))]) for w in windows], query=query)

    @torch.inference_mode()
    def choose(self):
        """The class's numbers for all choices of a question at once, and their softmax."""
        for query in QUERIES:
            for choices in DOCUMENTS, DOCUMENTS[:2]:
                tokens = self.tokenizer([query] * len(choices), choices, truncation=True, max_length=self.limit, padding=True, return_tensors="pt")
                logits = self.model(**{key: value[None] for key, value in tokens.items()}).logits[0]
                scores = {"softmax": logits.softmax(0), "identity": logits, "sigmoid": logits.sigmoid()}
                for settings, asked in [({}, "softmax"), ({"activation": "softmax"}, "softmax"), ({"activation": "identity"}, "identity"), ({"activation": "sigmoid"}, "sigmoid")]:
                    answers = [dict(logits=[float(l)], scores=[float(s)]) for l, s in zip(logits, scores[asked])]
                    self.keep("rerank", settings, choices, answers, query=query)

    def next_sentence(self):
        answers = []
        for text, pair in PAIRS + [[TEXTS[0], TEXTS[8]], [TEXTS[3], TEXTS[4]]]:
            logits = self.logits(text, pair)[0]
            answers.append(dict(logits=number(logits), scores=[float(logits.softmax(-1)[0])]))
        self.keep("next_sentence", {}, PAIRS + [[TEXTS[0], TEXTS[8]], [TEXTS[3], TEXTS[4]]], answers)

    def write(self):
        line = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        cases = ",\n".join(map(line, self.cases))
        head = f'{{"made_by":"tests/golden/make/heads.py",\n"versions":{line(VERSIONS)},\n"cases":[\n{cases}\n]}}\n'
        (self.folder / "expected.json").write_text(head, encoding="utf-8")


def bi_encoder():
    """Reranking by cosine, with prompts for queries and documents; the model is one of models.py."""
    for name in ["tiny-prompts", "tiny-gelu", "tiny-f16"]:
        model = SentenceTransformer(str(MODELS / name), device="cpu", model_kwargs=dict(TORCH))
        cases = []
        for query in QUERIES[:3]:
            q = torch.tensor(model.encode_query([query], batch_size=1))
            scores = [float(torch.nn.functional.cosine_similarity(q, torch.tensor(model.encode_document([d], batch_size=1)))) for d in DOCUMENTS]
            cases.append(dict(task="rerank", set={}, inputs=DOCUMENTS, query=query, answers=[dict(logits=[s], scores=[s]) for s in scores]))
        (ROOT / "cosine").mkdir(exist_ok=True, parents=True)
        write_json(ROOT / "cosine" / f"{name}.json", dict(made_by="tests/golden/make/heads.py", versions=VERSIONS, cases=cases))


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    for name in sys.argv[1:] or FOLDERS:
        write_folder(name, FOLDERS[name])
        answers = Answers(name, FOLDERS[name])
        for task in FOLDERS[name]["tasks"]:
            getattr(answers, task)()
        answers.write()
        for file in (ROOT / name).rglob("*"):
            if file.is_file():
                file.chmod(0o644)
        print(f"{name}: {len(answers.cases)} cases", flush=True)
    if not sys.argv[1:]:
        bi_encoder()
