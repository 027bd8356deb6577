"""Makes tests/golden/fill_mask: tiny random masked language models, each with what `transformers` answers for it.

Run:       python tests/golden/make/fill_mask.py [folder ...]      (all folders without arguments; CPU, half a minute)
Versions:  requirements.txt beside this file; each expected.json names those that made it.

expected.json has two lists. `cases`: texts with masks, what the fill-mask pipeline gives for each blank (ids and scores, with its
`top_k` and `targets`), and the logits of those tokens from the model itself. `looks`: texts and pairs, and the shape and numbers of the
attention maps and hidden states that the model gives with attn_implementation="eager"; the numbers stand in looks.f32, maps first,
look after look. Everything is fp32 on the CPU, one input at a time.
"""
import json
import shutil
import sys

import numpy
import torch
import transformers
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, BertForPreTraining, pipeline

from models import LONG, TORCH, VERSIONS, ROOT as MODELS, bert, randomise, write_tokenizer

ROOT = MODELS.parent / "fill_mask"

FOLDERS = {
    # The decoder is the token embedding, as in almost every checkpoint.
    "tied": dict(config=bert(48, 4, 2, 70, "gelu", 421, 60)),
    # A decoder of its own, and another activation in the head.
    "untied": dict(config=bert(36, 3, 2, 40, "gelu_new", 389, 40), more=dict(tie_word_embeddings=False)),
    # Both heads of the pre-training.
    "pretraining": dict(config=bert(24, 2, 1, 30, "relu", 389, 40), model=BertForPreTraining),
}

BLANKS = [
    "The quick brown [MASK] jumps over the lazy dog.",
    "[MASK]",
    "The [MASK] and the [MASK] live in the [MASK].",
    "[MASK][MASK] search",
    "今天[MASK]气很好，我们去公园。",
    "I ❤️ [MASK] 🔍 and 😀[MASK]!",
    "a [MASK]",
]
TARGETS = ["fox", "the", "天", "Dog", "##s"]
LOOKS = [["The quick brown fox jumps over the lazy dog.", None], ["今天天气很好 😀", None], ["where does the fox live", "The fox lives in the forest."], ["", None]]


def number(values):
    return [float(v) for v in values]


class Answers:
    def __init__(self, name, spec):
        self.folder = ROOT / name
        self.tokenizer = AutoTokenizer.from_pretrained(self.folder)
        self.kind = spec.get("model", BertForMaskedLM)
        self.model = self.kind.from_pretrained(self.folder, **TORCH).eval()
        # The pipeline wants the class of the task; its tensors are the same.
        self.filler = pipeline("fill-mask", model=BertForMaskedLM.from_pretrained(self.folder, **TORCH).eval(), tokenizer=self.tokenizer, device="cpu")
        self.limit = spec["config"]["max_position_embeddings"]

    @torch.inference_mode()
    def logits(self, text):
        """One row a blank."""
        tokens = self.tokenizer(text, return_tensors="pt")
        out = self.model(**tokens)
        rows = out.logits if hasattr(out, "logits") else out.prediction_logits
        return rows[0, tokens["input_ids"][0] == self.tokenizer.mask_token_id]

    def blanks(self, text, **more):
        """What the pipeline gives for each blank."""
        got = self.filler(text, **more)
        got = got if isinstance(got[0], list) else [got]
        return [dict(ids=[f["token"] for f in blank], scores=number(f["score"] for f in blank), words=[f["token_str"] for f in blank],
                     logits=number(row[[f["token"] for f in blank]])) for blank, row in zip(got, self.logits(text))]

    def cases(self):
        for top in [None, 1, 17]:
            yield dict(set={} if top is None else {"top": str(top)}, candidates=[], texts=BLANKS,
                       answers=[self.blanks(t, **({} if top is None else dict(top_k=top))) for t in BLANKS])
        # The pipeline lists a target twice that is named twice, in whichever case.
        yield dict(set={}, candidates=TARGETS, texts=BLANKS, answers=[self.blanks(t, targets=TARGETS, top_k=len(TARGETS)) for t in BLANKS])
        yield dict(set={"top": "2"}, candidates=TARGETS, texts=BLANKS, answers=[self.blanks(t, targets=TARGETS, top_k=2) for t in BLANKS])
        # A text longer than the model, cut at its end, as the pipeline cuts it.
        long = "the [MASK] " + LONG
        got = self.filler(long, tokenizer_kwargs=dict(truncation=True, max_length=self.limit))
        yield dict(set={"truncation": "right"}, candidates=[], texts=[long],
                   answers=[[dict(ids=[f["token"] for f in got], scores=number(f["score"] for f in got), words=[f["token_str"] for f in got], logits=[])]])
        yield self.around()

    @torch.inference_mode()
    def around(self):
        """The window around the blank of a text much longer than the model: the same number of tokens on either side."""
        words = LONG.split()
        half = len(words) // 2
        text = " ".join(words[:half] + ["[MASK]"] + words[half:])
        ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        at, room = ids.index(self.tokenizer.mask_token_id), self.limit - 2
        start = at - (room - 1) // 2
        assert 0 < start < len(ids) - room
        window = [self.tokenizer.cls_token_id] + ids[start:start + room] + [self.tokenizer.sep_token_id]
        out = self.model(torch.tensor([window]))
        row = (out.logits if hasattr(out, "logits") else out.prediction_logits)[0, 1 + at - start]
        best = row.softmax(-1).topk(5)
        found = best.indices.tolist()
        return dict(set={}, candidates=[], texts=[text], answers=[[dict(ids=found, scores=number(best.values), words=[], logits=number(row[found]))]])

    @torch.inference_mode()
    def looks(self):
        model = self.kind.from_pretrained(self.folder, **(TORCH | dict(attn_implementation="eager"))).eval()
        numbers, told = [], []
        for text, pair in LOOKS:
            tokens = self.tokenizer(text, pair, return_tensors="pt")
            out = model(**tokens, output_attentions=True, output_hidden_states=True)
            maps, states = torch.cat(out.attentions), torch.cat(out.hidden_states)
            numbers += [maps.flatten(), states.flatten()]
            told.append(dict(text=text, pair=pair, maps=list(maps.shape), states=list(states.shape)))
        torch.cat(numbers).numpy().astype("<f4").tofile(self.folder / "looks.f32")
        return told

    def write(self):
        line = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        cases, looks = (",\n".join(map(line, rows)) for rows in (self.cases(), self.looks()))
        head = f'{{"made_by":"tests/golden/make/fill_mask.py",\n"versions":{line(VERSIONS)},\n"cases":[\n{cases}\n],\n"looks":[\n{looks}\n]}}\n'
        (self.folder / "expected.json").write_text(head, encoding="utf-8")


def write_folder(name, spec):
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    model = randomise(spec.get("model", BertForMaskedLM)(BertConfig(**spec["config"], **spec.get("more", {}))), 900 + list(FOLDERS).index(name))
    model.save_pretrained(folder)
    write_tokenizer(dict(config=spec["config"], style="new"), folder)


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    for name in sys.argv[1:] or FOLDERS:
        write_folder(name, FOLDERS[name])
        Answers(name, FOLDERS[name]).write()
        for file in (ROOT / name).rglob("*"):
            if file.is_file():
                file.chmod(0o644)
        print(name, flush=True)
