"""Makes tests/golden/answers: tiny random BERT models for question answering, each with what `transformers` answers for it.

Run:       python tests/golden/make/answers.py        (CPU, seconds)
Versions:  requirements-answers.txt beside this file. transformers 5 has no question answering pipeline; its last version is asked.

Beside the model's own files stands expected.json: cases of a question, request settings, contexts, and for each context the best
answers (text, start, end, score, logit) and the score and logit of no answer; places are code points. Tokens, windows, and scores
within a window are those of the pipeline, whose own functions are called here. What differs is how answers are joined: each place
counts once, with its best score. The pipeline adds up the scores of equal words, wherever they stand, among a number of candidates
that depends on `top_k`; without that (`Plain` below) its best answer is compared with ours, and so is the whole pipeline's, where it
added nothing. The tokenizer is that of tests/golden/heads.
"""
import json
import os
import shutil
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # everything is here; nothing is asked for

import numpy as np
import tokenizers
import torch
import transformers
from transformers import AutoTokenizer, BertConfig, BertForQuestionAnswering, QuestionAnsweringPipeline
from transformers.pipelines.question_answering import select_starts_ends

GOLDEN = Path(__file__).resolve().parent.parent
ROOT = GOLDEN / "answers"
VERSIONS = {m.__name__: m.__version__ for m in (transformers, tokenizers, torch)}
LONG = ("the water and the river come from a great house in the city before any people ask for it. some say a fox ran through the park "
        "and over the lazy dog on the same day, while others know that the weather was good. 今天天气很好 search engine words 😀 "
        "made for many years by those who think about query text and vector model, one token after another until the world is old") * 2
CONTEXTS = ["The quick brown fox jumps over the lazy dog.", "", "今天天气很好，我们去公园。", "funny “quotes” 😀 and Crème brûlée, e\u0301te\u0301 cafe\u0301",
            "مرحبا بالعالم the answer is here", "   ", "a", LONG, "unlearnable preworded citys and [CLS] or [SEP] inside", LONG[:200]]
QUESTIONS = ["where does the fox live?", "今天天气", "who [MASK] 😀"]
FOLDERS = {
    "long": dict(hidden_size=48, num_attention_heads=4, num_hidden_layers=2, intermediate_size=60, max_position_embeddings=60),
    "wide": dict(hidden_size=32, num_attention_heads=2, num_hidden_layers=2, intermediate_size=40, max_position_embeddings=448),
}


class Plain(QuestionAnsweringPipeline):
    """The pipeline without the sum over equal words."""
    def get_answer(self, answers, target):
        return None


def write_folder(name, sizes, seed):
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    model = BertForQuestionAnswering(BertConfig(**sizes, vocab_size=421))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for key, p in model.named_parameters():
            scale = 0.3 if p.ndim == 1 else 0.5 if "embeddings" in key else 2.2 / p.shape[1] ** 0.5 if "query" in key or "key" in key else 1.0 / p.shape[1] ** 0.5
            p.copy_(torch.rand(p.shape, generator=generator) + 0.5 if "LayerNorm.weight" in key else torch.randn(p.shape, generator=generator) * scale)
        model.qa_outputs.weight.mul_(2)
    model.save_pretrained(folder)
    tokenizer = GOLDEN / "heads" / "labels-three"
    shutil.copy(tokenizer / "tokenizer.json", folder)
    settings = json.loads((tokenizer / "tokenizer_config.json").read_text()) | dict(model_max_length=sizes["max_position_embeddings"])
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")
    return folder


class Reader:
    def __init__(self, folder):
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        model = BertForQuestionAnswering.from_pretrained(folder, attn_implementation="eager").eval()
        self.whole, self.plain = (c(model=model, tokenizer=self.tokenizer, framework="pt", device="cpu") for c in (QuestionAnsweringPipeline, Plain))
        self.cases, self.same, self.asked = [], 0, 0

    def windows(self, question, context, settings):
        """The pipeline's windows, and the raw numbers of starts and ends. An empty context is no context to it, and one separator goes
        missing; a space has no tokens either, and is one."""
        for inputs in self.whole.preprocess(dict(question=question, context=context or " "), **settings):
            out = self.whole._forward(inputs)
            yield out, out["start"][0].numpy(), out["end"][0].numpy()

    def answers(self, question, context, top, longest, threshold, windows):
        words = self.tokenizer(context, return_offsets_mapping=True)
        spans, null = {}, []
        outputs = list(self.windows(question, context, windows))
        for out, start, end in outputs:
            null.append((self.null(out, longest), float(start[0] + end[0])))
        least = min(n[1] for n in null) - threshold if threshold is not None else -np.inf
        for out, start, end in outputs:
            n = len(start)
            starts, ends, scores, _ = select_starts_ends(out["start"], out["end"], out["p_mask"], out["attention_mask"].numpy(), top_k=n * n + 1, max_answer_len=longest)
            sequence = out["encoding"].sequence_ids
            for s, e, score in zip(starts, ends, scores):
                logit = float(start[s] + end[e])
                if sequence[s] != 1 or sequence[e] != 1 or e < s or e - s >= longest or logit < least:
                    continue
                # The pipeline widens to words, but only within a window: here within the context.
                first, last = out["encoding"].offsets[s], out["encoding"].offsets[e]
                ours = lambda place: words.word_to_chars(words.token_to_word(words["offset_mapping"].index(place, 1)))
                place = (ours(first).start, ours(last).end)
                if place not in spans or float(score) > spans[place][0]:
                    spans[place] = (float(score), logit)
        best = sorted(spans.items(), key=lambda span: -span[1][0])[:top]
        if context.strip() and best and threshold is None:
            self.compare(question, context, best[0], longest, windows)
        found = [[context[s:e], s, e, score, logit] for (s, e), (score, logit) in best]
        return dict(answers=found, none=[min(n[0] for n in null), min(n[1] for n in null)])

    def null(self, out, longest):
        *_, score = select_starts_ends(out["start"], out["end"], out["p_mask"], out["attention_mask"].numpy(), handle_impossible_answer=True, max_answer_len=longest)
        return float(score)

    def compare(self, question, context, best, longest, windows):
        asked = lambda pipe: pipe(question=question, context=context, max_answer_len=longest, **windows)
        plain, whole = asked(self.plain), asked(self.whole)
        (start, end), (score, _) = best
        assert abs(plain["score"] - score) < 1e-6, (question, context, plain, best)
        self.asked += 1
        self.same += (whole["start"], whole["end"]) == (start, end) and abs(whole["score"] - score) < 1e-5

    def case(self, question, contexts, change, top=1, longest=15, threshold=None, windows={}):
        answers = [self.answers(question, c, top, longest, threshold, windows) for c in contexts]
        self.cases.append(dict(question=question, set=change, contexts=contexts, answers=answers))


def ask(reader):
    for question in QUESTIONS:
        reader.case(question, CONTEXTS, {})
    for question in QUESTIONS[:2]:
        reader.case(question, CONTEXTS, {"top": "5"}, top=5)
    reader.case(QUESTIONS[0], CONTEXTS, {"top": "3", "max_answer": "2"}, top=3, longest=2)
    windows = dict(max_seq_len=40, doc_stride=8)
    reader.case(QUESTIONS[1], CONTEXTS, {"top": "4", "max_tokens": "40", "overlap": "8"}, top=4, windows=windows)
    for threshold in [0, 4, -4]:
        reader.case(QUESTIONS[0], CONTEXTS, {"no_answer_threshold": str(threshold), "top": "2"}, top=2, threshold=threshold)


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    for i, (name, sizes) in enumerate(FOLDERS.items()):
        folder = write_folder(name, sizes, 70 + i)
        reader = Reader(folder)
        with torch.inference_mode():
            ask(reader)
        line = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        cases = ",\n".join(map(line, reader.cases))
        head = f'{{"made_by":"tests/golden/make/answers.py",\n"versions":{line(VERSIONS)},\n"cases":[\n{cases}\n]}}\n'
        (folder / "expected.json").write_text(head, encoding="utf-8")
        for file in folder.iterdir():
            file.chmod(0o644)
        print(f"{name}: {len(reader.cases)} cases; the best answer is that of the pipeline without its sum {reader.asked} times, of the whole one {reader.same} times", flush=True)
