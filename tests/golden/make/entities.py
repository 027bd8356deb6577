"""Makes tests/golden/entities: tiny random BERT taggers, each with what the reference libraries answer for it.

Run:       python tests/golden/make/entities.py [folder ...]      (all folders without arguments; CPU, seconds)
Versions:  requirements.txt beside this file; each expected.json names those that made it.

Beside the model's own files stands expected.json: cases of request settings, inputs (a text, or a list of words) and answers (label,
start, end, score; places are code points). Probabilities, strategies and groups are those of the token classification pipeline of
`transformers`, whose own methods are called here. Three things are done before them, and where they change nothing, the answer is
compared with the pipeline's own:

- A text longer than the model is read in windows, and each token takes its numbers from the window where it has most context.
- Whether a token goes on with a word is read from the vocabulary's `##` (of words given: from the word). The pipeline compares the
  length of token and text instead, and takes the first token of a decomposed `é` for the end of the word before.
- With transitions between labels, `torchcrf` finds the best path; probabilities are the gradient of its normaliser.
"""
import json
import shutil
import sys

from models import LONG, TEXTS, TORCH, VERSIONS, ROOT as MODELS, bert, randomise, write_tokenizer

import numpy as np
import torch
import torchcrf
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, BertConfig, BertForTokenClassification, pipeline

ROOT = MODELS.parent / "entities"
STRATEGIES = ["none", "simple", "first", "average", "max"]
BIO = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]

FOLDERS = {
    "bio": dict(config=bert(48, 4, 2, 60, "gelu", 421, 128), labels=BIO),
    "short": dict(config=bert(32, 2, 2, 40, "gelu", 421, 24), labels=["I-X", "O", "B-X", "B-天气"]),
    "plain": dict(config=bert(24, 2, 1, 32, "relu", 389, 96), labels=["NOUN", "VERB", "O"]),
    "crf": dict(config=bert(32, 4, 2, 40, "gelu", 421, 96), labels=BIO, crf=True),
}
MORE = ["funny “quotes” 😀", "e\u0301te\u0301 cafe\u0301 nai\u0308ve A\u030angstro\u0308m", "مرحبا بالعالم يا صديقي", "before after unlearnable preworded citys 😀😀 the",
        LONG[:90] + " 今天 " + LONG[:60]]
INPUTS = TEXTS + MORE
WORDS = [["The", "quick", "brown", "fox"], ["今天", "天气", "很好"], ["New-York", "is", "unlearnable", ",", "😀", "the"], ["a"], [], ["", "b", "", "cafe\u0301", "x y"],
         LONG.split()[:40]]


def write_folder(name, spec):
    folder, seed = ROOT / name, 900 + list(FOLDERS).index(name)
    shutil.rmtree(folder, ignore_errors=True)
    labels = spec["labels"]
    config = BertConfig(**spec["config"], id2label=dict(enumerate(labels)), label2id={l: i for i, l in enumerate(labels)})
    model = randomise(BertForTokenClassification(config), seed)
    model.save_pretrained(folder)
    write_tokenizer(dict(config=spec["config"], style="new"), folder)
    if "crf" in spec:
        # As the usual BERT-CRF scripts save it: transitions beside the classifier, under a class of their own.
        crf = torchcrf.CRF(len(labels), batch_first=True)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for p in crf.parameters():
                p.copy_(torch.randn(p.shape, generator=generator) * 1.5)
        tensors = load_file(folder / "model.safetensors") | {f"crf.{n}": p.detach().clone() for n, p in crf.named_parameters()}
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        config = json.loads((folder / "config.json").read_text())
        config["architectures"] = ["BertCrfForNer"]
        (folder / "config.json").write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n")


class Tagger:
    def __init__(self, name, spec):
        self.folder, self.cases, self.mended = ROOT / name, [], 0
        self.limit = spec["config"]["max_position_embeddings"]
        self.tokenizer = AutoTokenizer.from_pretrained(self.folder)
        self.model = BertForTokenClassification.from_pretrained(self.folder, **TORCH).eval()
        self.pipe = pipeline("token-classification", model=self.model, tokenizer=self.tokenizer, device="cpu")
        self.crf = None
        if "crf" in spec:
            self.crf = torchcrf.CRF(len(spec["labels"]), batch_first=True)
            self.crf.load_state_dict({n[4:]: t for n, t in load_file(self.folder / "model.safetensors").items() if n.startswith("crf.")})

    @torch.inference_mode()
    def run(self, ids):
        return self.model(torch.tensor([ids])).logits[0].numpy()

    def joined(self, ids, limit, overlap):
        """Numbers of every token, special ones included: from the window in which it is farthest from a cut, of equals the later."""
        cls, own, sep = ids[0], ids[1:-1], ids[-1]
        room, n = limit - 2, len(ids) - 2
        starts = [0]
        while starts[-1] + room < n:
            starts.append(starts[-1] + room - overlap)
        rows = [self.run([cls, *own[s:s + room], sep]) for s in starts]
        if len(starts) == 1:
            return rows[0], 1
        def context(w, t):
            left = t - starts[w] if w > 0 else n
            right = starts[w] + room - 1 - t if w + 1 < len(starts) else n
            return min(left, right)
        best = [max((w for w, s in enumerate(starts) if s <= t < s + room), key=lambda w: (context(w, t), w)) for t in range(n)]
        return np.stack([rows[0][0]] + [rows[w][1 + t - starts[w]] for t, w in enumerate(best)] + [rows[-1][-1]]), len(starts)

    def decode(self, logits):
        """The best path, and probabilities, of all rows."""
        if self.crf is None:
            return logits.argmax(-1), torch.tensor(logits).softmax(-1).numpy()
        emissions = torch.tensor(logits)[None].requires_grad_()
        mask = torch.ones(emissions.shape[:2], dtype=torch.uint8)
        self.crf._compute_normalizer(emissions.transpose(0, 1), mask.transpose(0, 1)).sum().backward()
        return np.array(self.crf.decode(emissions.detach())[0]), emissions.grad[0].numpy()

    def entities(self, given, strategy, limit, overlap):
        words = not isinstance(given, str)
        sentence = " ".join(given) if words else given
        ids = self.tokenizer(given, is_split_into_words=words, return_offsets_mapping=True, return_special_tokens_mask=True) if given or not words else None
        if ids is None or len(ids["input_ids"]) == 2:
            return []
        starts = np.cumsum([0] + [len(w) + 1 for w in given]).tolist() if words else None
        chars = [(s, s + len(w)) for s, w in zip(starts, given)] if words else None
        logits, windows = self.joined(ids["input_ids"], limit, overlap)
        path, scores = self.decode(logits)
        enum = transformers.pipelines.token_classification.AggregationStrategy[strategy.upper()]
        pre = self.pipe.gather_pre_entities(sentence, ids["input_ids"], scores, ids["offset_mapping"], np.array(ids["special_tokens_mask"]), enum,
                                            word_ids=ids.word_ids() if words else None, word_to_chars_map=chars)
        plain = self.crf is None and windows == 1 and limit == self.limit
        word_ids = ids.word_ids()
        for entity in pre:
            at = entity["index"]
            goes_on = word_ids[at] == word_ids[at - 1] if words else self.tokenizer.convert_ids_to_tokens(ids["input_ids"][at]).startswith("##")
            plain &= goes_on == entity["is_subword"] or strategy in ("none", "simple")
            entity["is_subword"] = goes_on
        if self.crf is None or strategy in ("average", "max"):
            found = self.pipe.aggregate(pre, enum)
        else:
            labels = self.model.config.id2label
            found = [dict(entity=labels[int(path[p["index"]])], score=p["scores"][path[p["index"]]], word=p["word"], start=p["start"], end=p["end"]) for p in pre]
            if strategy == "first":
                groups = []
                for entity, p in zip(found, pre):
                    groups.append([entity]) if not p["is_subword"] or not groups else groups[-1].append(entity)
                found = [dict(g[0], end=g[-1]["end"]) for g in groups]
            if strategy != "none":
                found = self.pipe.group_entities(found)
        label = lambda e: e["entity"] if strategy == "none" else e["entity_group"]
        answer = [[label(e), e["start"], e["end"], float(e["score"])] for e in found if label(e) != "O"]
        if plain:
            own = self.pipe([given] if words else given, aggregation_strategy=strategy, **(dict(is_split_into_words=True) if words else {}))
            own = own[0] if words else own
            assert [(a[0], a[1], a[2]) for a in answer] == [(label(e), e["start"], e["end"]) for e in own], (given, strategy)
            assert np.allclose([a[3] for a in answer], [e["score"] for e in own], atol=1e-5)
        else:
            self.mended += 1
        return answer

    def all(self):
        for strategy in STRATEGIES:
            settings = [({}, self.limit, (self.limit - 2) // 8)]
            settings += [({"max_tokens": "16", "overlap": str(o)}, 16, o) for o in ([5] if strategy in ("none", "average") else [])]
            settings += [({"max_tokens": "14", "overlap": "8"}, 14, 8)] if strategy == "simple" else []
            for change, limit, overlap in settings:
                for inputs in [INPUTS, WORDS] if not change else [[LONG, MORE[-1], TEXTS[0]]]:
                    answers = [self.entities(given, strategy, limit, overlap) for given in inputs]
                    self.cases.append(dict(set={"aggregation": strategy} | change, inputs=inputs, answers=answers))

    def write(self):
        line = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        cases = ",\n".join(map(line, self.cases))
        head = f'{{"made_by":"tests/golden/make/entities.py",\n"versions":{line(VERSIONS)},\n"cases":[\n{cases}\n]}}\n'
        (self.folder / "expected.json").write_text(head, encoding="utf-8")


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    for name in sys.argv[1:] or FOLDERS:
        write_folder(name, FOLDERS[name])
        tagger = Tagger(name, FOLDERS[name])
        tagger.all()
        tagger.write()
        for file in (ROOT / name).rglob("*"):
            if file.is_file():
                file.chmod(0o644)
        print(f"{name}: {len(tagger.cases)} cases; {tagger.mended} answers are not the pipeline's own", flush=True)
