"""PyTorch on the batches of main.rs: python benches/train/peer.py VARIANT [threads] [seconds]

VARIANT: default  = BertForPreTraining as it is: padded batches, scores of the vocabulary for every token
         masked   = the same model, scores only for the tokens asked
For the fair comparison set MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=10000000000 (fewer page faults).
"""
import json
import resource
import sys
import time
from pathlib import Path

import torch
from transformers import BertConfig, BertForPreTraining

VARIANT, THREADS, SECONDS = sys.argv[1], int((sys.argv + ["2", "20"])[2]), float((sys.argv + ["20", "20"])[3])
torch.set_num_threads(THREADS)
torch.manual_seed(1)
lengths = json.loads((Path(__file__).parent / "lengths.json").read_text())
config = BertConfig(vocab_size=30522, hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024)
model = BertForPreTraining(config).train()
plain = [p for n, p in model.named_parameters() if p.dim() < 2]
others = [p for n, p in model.named_parameters() if p.dim() >= 2]
optimiser = torch.optim.AdamW([dict(params=others, weight_decay=0.01), dict(params=plain, weight_decay=0.0)], lr=1e-4, eps=1e-6, fused=True)
cross_entropy = torch.nn.functional.cross_entropy


def batch(rows):
    longest = max(rows)
    ids = torch.randint(0, 30522, (len(rows), longest))
    mask = (torch.arange(longest)[None] < torch.tensor(rows)[:, None]).long()
    asked = (torch.arange(longest)[None] % 7 == 3) & mask.bool()
    labels = torch.where(asked, torch.randint(0, 30522, ids.shape), -100)
    types = (torch.arange(longest)[None] > torch.tensor(rows)[:, None] // 2).long()
    return ids, mask, types, labels, torch.randint(0, 2, (len(rows),))


def step(rows):
    ids, mask, types, labels, following = batch(rows)
    start = time.perf_counter()
    optimiser.zero_grad()
    if VARIANT == "default":
        loss = model(input_ids=ids, attention_mask=mask, token_type_ids=types, labels=labels, next_sentence_label=following).loss
    else:
        hidden = model.bert(input_ids=ids, attention_mask=mask, token_type_ids=types)
        asked = labels != -100
        scores = model.cls.predictions(hidden.last_hidden_state[asked])
        loss = cross_entropy(scores, labels[asked]) + cross_entropy(model.cls.seq_relationship(hidden.pooler_output), following)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    return sum(rows) / (time.perf_counter() - start)


speeds, started, number = [], time.time(), 0
while time.time() - started < SECONDS or len(speeds) < 5:
    number += 1
    speed = step(lengths[number % len(lengths)])
    if number > 3:
        speeds.append(speed)
speeds.sort()
at = lambda share: speeds[int(share * (len(speeds) - 1))]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(f"PyTorch {torch.__version__} {VARIANT}, {THREADS} threads: {at(0.5):.0f} real tokens/s (quartiles {at(0.25):.0f} to {at(0.75):.0f}, {len(speeds)} steps), {peak:.2f} GB")
