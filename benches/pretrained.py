"""What has a pretrained model learned? Hidden tokens of held-out text: the model in transformers and in Cloze, and what counting words alone would say.

    python benches/pretrained.py CLOZE MODEL TRAIN.jsonl HELD-OUT.jsonl [TEXTS [TOKENS]]

CLOZE is the command, MODEL the folder that `cloze-train pretrain` wrote. Of each of TEXTS (300) documents the first TOKENS (100) tokens are read, and one token in seven of them is
hidden by [MASK], by lot. Loss is in nats a hidden token. Of the first 30 documents Cloze is asked for the probabilities of these tokens (`fill-mask --candidate`). Counts
are those of the tokens of the training text: the unigram loss, and how often the most frequent token is right. Needs torch and transformers.
"""

import json
import math
import random
import subprocess
import sys
from collections import Counter

import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

cloze, folder, train, held_out = sys.argv[1:5]
TEXTS = int(sys.argv[5]) if len(sys.argv) > 5 else 300
TOKENS = int(sys.argv[6]) if len(sys.argv) > 6 else 100
OURS = 30
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForMaskedLM.from_pretrained(folder).eval()
lot = random.Random(3)

counts = Counter()
texts = (json.loads(line)["text"] for line in open(train, encoding="utf-8"))
batch = []
for text in texts:
    batch.append(text)
    if len(batch) == 500:
        counts.update(t for ids in tokenizer(batch, add_special_tokens=False)["input_ids"] for t in ids)
        batch = []
counts.update(t for ids in (tokenizer(batch, add_special_tokens=False)["input_ids"] if batch else []) for t in ids)
total, vocabulary = sum(counts.values()), len(tokenizer)
most = counts.most_common(1)[0][0]

rows = []
for line in open(held_out, encoding="utf-8"):
    ids = tokenizer(json.loads(line)["text"], add_special_tokens=False, truncation=True, max_length=TOKENS)["input_ids"]
    # The text that Cloze gets must give the same tokens again.
    hidden = [i for i in range(len(ids)) if lot.random() < 1 / 7]
    masked = [tokenizer.mask_token_id if i in hidden else t for i, t in enumerate(ids)]
    text = tokenizer.decode(masked, clean_up_tokenization_spaces=False)
    if hidden and tokenizer(text, add_special_tokens=False)["input_ids"] == masked:
        rows.append((text, masked, hidden, [ids[i] for i in hidden]))
    if len(rows) == TEXTS:
        break

theirs, same, ours, right, unigram, frequent, asked, compared = 0.0, 0.0, 0.0, 0, 0.0, 0, 0, 0


def asked_of_cloze(text, gold):
    """For each blank the probabilities of the tokens that stood in the text, by their numbers."""
    flags = [flag for token in sorted(set(gold)) for flag in ("--candidate", tokenizer.convert_ids_to_tokens(token))]
    said = subprocess.run([cloze, "fill-mask", "-m", folder, "--json", *flags], input=json.dumps(dict(text=text)), check=True, capture_output=True, text=True)
    return [{fill["id"]: fill["score"] for fill in fills} for fills in json.loads(said.stdout)["fills"]]


for row, (text, masked, hidden, gold) in enumerate(rows):
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([[tokenizer.cls_token_id, *masked, tokenizer.sep_token_id]])).logits[0]
    fills = asked_of_cloze(text, gold) if row < OURS else [None] * len(hidden)
    for place, token, fill in zip(hidden, gold, fills, strict=True):
        scores = torch.log_softmax(logits[place + 1].double(), -1)
        theirs -= float(scores[token])
        right += int(int(scores.argmax()) == token)
        if fill:
            ours -= math.log(max(fill[token], 1e-38))
            same -= float(scores[token])
            compared += 1
        unigram -= math.log((counts[token] + 1) / (total + vocabulary))
        frequent += int(token == most)
        asked += 1
print(f"{len(rows)} texts, {asked} hidden tokens: masked loss in transformers {theirs / asked:.4f}, accuracy {right / asked:.4f}")
print(f"counts alone: loss {unigram / asked:.4f}; the most frequent token is right {frequent / asked:.4f}")
print(f"{compared} tokens of the first {OURS} texts: loss in transformers {same / compared:.6f}, in Cloze {ours / compared:.6f}")
