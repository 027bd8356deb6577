"""Makes what tests/learning.rs compares of objectives that no single class of `transformers` has: tests/golden/learning/span-boundary and
tests/golden/objectives.

Run:       python tests/golden/make/objectives.py      (CPU, some seconds)
Versions:  requirements.txt beside this file; each expected.json names those that made it.

span-boundary: the equations of Joshi et al., SpanBERT (2020), in plain PyTorch over RobertaModel: a hidden token of a span is predicted from the hidden
states of the tokens at the span's borders and an embedding of its place, through two layers with GELU and a norm, by the token embeddings. In the folder's
model stand the head's tensors beside those of the class.
replaced: ELECTRA's step (Clark et al., 2020) with `ElectraForMaskedLM` and `ElectraForPreTraining`, which share their embeddings; the tokens that the
generator is said to have drawn are given.
distilled: DistilBERT's (Sanh et al., 2019) three losses between two `BertForMaskedLM`, as its authors' script computes them on hidden tokens.
"""
import json
import shutil

import learning
from learning import GOLDEN, MODELS, as_checkpoint
from models import TORCH, VERSIONS, randomise

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoModelForMaskedLM, AutoModelForPreTraining, BertConfig, BertForMaskedLM, RobertaForMaskedLM

ROOT = GOLDEN / "objectives"
LENGTHS = (6, 18, 9)


def batch(vocabulary, spans):
    """Sequences; the places of hidden spans, and what stood there."""
    generator = torch.Generator().manual_seed(13)
    number = lambda low, high: int(torch.randint(low, high, (1,), generator=generator))
    rows = []
    for tokens, own in zip(LENGTHS, spans):
        ids = [number(5, vocabulary) for _ in range(tokens)]
        masked = [[place, number(5, vocabulary)] for start, end in own for place in range(start, end)]
        rows.append(dict(ids=ids, type_ids=[0] * tokens, masked=masked, spans=[list(span) for span in own]))
    return rows


SPANS = ([(2, 4)], [(1, 5), (8, 9), (11, 17)], [(3, 6)])


def write_json(folder, head, lists):
    line = lambda value: json.dumps(value, separators=(",", ":"))
    lines = [f"{line(k)}:{line(v)}" for k, v in (dict(made_by="tests/golden/make/objectives.py", versions=VERSIONS) | head).items()]
    lines += [f'"{k}":[\n' + ",\n".join(map(line, v)) + "\n]" for k, v in lists.items()]
    (folder / "expected.json").write_text("{" + ",\n".join(lines) + "}\n")
    for file in folder.rglob("*"):
        if file.is_file():
            file.chmod(0o644)


def padded(rows, pad):
    longest = max(len(row["ids"]) for row in rows)
    ids = torch.tensor([row["ids"] + [pad] * (longest - len(row["ids"])) for row in rows])
    mask = torch.tensor([[1] * len(row["ids"]) + [0] * (longest - len(row["ids"])) for row in rows])
    return ids, mask


def hidden(rows):
    """(row, place, label) of each hidden token."""
    return [(i, place, label) for i, row in enumerate(rows) for place, label in row["masked"]]


class Boundary(nn.Module):
    """The head over the borders of a span."""

    def __init__(self, hidden_size, places, width, vocabulary, epsilon):
        super().__init__()
        self.position_embeddings = nn.Embedding(places, width)
        self.dense1 = nn.Linear(2 * hidden_size + width, hidden_size)
        self.norm1 = nn.LayerNorm(hidden_size, eps=epsilon)
        self.dense2 = nn.Linear(hidden_size, hidden_size)
        self.norm2 = nn.LayerNorm(hidden_size, eps=epsilon)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, states, at, words):
        """`at`: row, token in front of the span, token behind it, place in the span. Places behind the last embedding have this last one."""
        last = self.position_embeddings.num_embeddings - 1
        read = torch.stack([torch.cat([states[i, before], states[i, behind], self.position_embeddings.weight[min(place, last)]]) for i, before, behind, place in at])
        gelu = nn.functional.gelu
        first = self.norm1(gelu(self.dense1(read)))
        return self.norm2(gelu(self.dense2(first))) @ words.T + self.bias


def write_boundary():
    source, folder = GOLDEN / "families/roberta/fill-mask", ROOT / "span-boundary"
    model = RobertaForMaskedLM.from_pretrained(source, **TORCH).eval()
    config = model.config
    # Fewer places than the longest span has.
    head = randomise(Boundary(config.hidden_size, 5, 6, config.vocab_size, config.layer_norm_eps), 77)
    model.span_boundary = head
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    rows = batch(config.vocab_size, SPANS)
    ids, mask = padded(rows, config.pad_token_id)
    borders = {(i, place): (i, start - 1, end, place - start) for i, row in enumerate(rows) for start, end in row["spans"] for place in range(start, end)}
    at = [borders[i, place] for i, place, _ in hidden(rows)]
    labels = torch.tensor([label for *_, label in hidden(rows)])

    def losses(model):
        out = model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        picked = torch.stack([out.logits[i, place] for i, place, _ in hidden(rows)])
        words = model.roberta.embeddings.word_embeddings.weight
        spans = model.span_boundary(out.hidden_states[-1], at, words)
        cross = nn.functional.cross_entropy
        return dict(fill_mask=cross(picked, labels), span_boundary=cross(spans, labels))

    learning.write_steps("span-boundary", "objectives/span-boundary", model, rows, ["fill_mask", "span_boundary"], losses)
    for file in folder.iterdir():
        file.chmod(0o644)


def binary(logits, labels):
    return nn.functional.binary_cross_entropy_with_logits(logits, labels)


def write_replaced():
    folder = ROOT / "replaced"
    generator = AutoModelForMaskedLM.from_pretrained(GOLDEN / "families/electra/fill-mask", **TORCH).eval()
    discriminator = AutoModelForPreTraining.from_pretrained(GOLDEN / "families/electra/discriminator", **TORCH).eval()
    generator.electra.embeddings = discriminator.electra.embeddings
    generator.tie_weights()
    generator.generator_lm_head.weight = discriminator.electra.embeddings.word_embeddings.weight
    config = discriminator.config
    rows = batch(config.vocab_size, SPANS)
    draws = torch.Generator().manual_seed(14)
    for row in rows:
        # A third of them are what stood there.
        row["drawn"] = [label if i % 3 == 0 else int(torch.randint(5, config.vocab_size, (1,), generator=draws)) for i, (_, label) in enumerate(row["masked"])]
    ids, mask = padded(rows, config.pad_token_id)
    labels = torch.tensor([label for *_, label in hidden(rows)])
    out = generator(input_ids=ids, attention_mask=mask).logits
    filled = nn.functional.cross_entropy(torch.stack([out[i, place] for i, place, _ in hidden(rows)]), labels)
    replaced, right = ids.clone(), torch.zeros(ids.shape)
    drawn = [token for row in rows for token in row["drawn"]]
    for (i, place, label), token in zip(hidden(rows), drawn):
        replaced[i, place], right[i, place] = token, float(token != label)
    told = binary(discriminator(input_ids=replaced, attention_mask=mask).logits[mask.bool()], right[mask.bool()])
    (filled + 50 * told).backward()
    gradients = {f"generator/{name}": tensor for name, tensor in as_checkpoint(generator).items() if not name.startswith("electra.embeddings.")}
    gradients |= as_checkpoint(discriminator)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    save_file(gradients, folder / "gradients.safetensors")
    write_json(folder, dict(generator="families/electra/fill-mask", discriminator="families/electra/discriminator", losses=[float(filled.detach()), float(told.detach())]), dict(rows=rows))
    print(f"replaced: {len(gradients)} tensors")


def write_distilled():
    folder, heat = ROOT / "distilled", 2.0
    shutil.rmtree(folder, ignore_errors=True)
    sizes = dict(vocab_size=90, hidden_size=16, num_attention_heads=2, intermediate_size=20, max_position_embeddings=24)
    # Lively, so that probabilities differ.
    teacher = randomise(BertForMaskedLM(BertConfig(num_hidden_layers=4, **sizes)), 78).eval()
    student = randomise(BertForMaskedLM(BertConfig(num_hidden_layers=2, **sizes)), 79).eval()
    # The student begins as every other layer of its teacher.
    names = student.state_dict().keys()
    from_teacher = {name: teacher.state_dict()[name.replace(".layer.1.", ".layer.2.")] for name in names}
    student.load_state_dict(from_teacher)
    teacher.save_pretrained(folder / "teacher")
    (folder / "teacher" / "generation_config.json").unlink(missing_ok=True)
    rows = batch(90, SPANS)
    ids, mask = padded(rows, 0)
    labels = torch.tensor([label for *_, label in hidden(rows)])
    with torch.no_grad():
        taught = teacher(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    said = student(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    pick = lambda logits: torch.stack([logits[i, place] for i, place, _ in hidden(rows)])
    masked = nn.functional.cross_entropy(pick(said.logits), labels)
    log, probabilities = nn.functional.log_softmax(pick(said.logits) / heat, dim=-1), nn.functional.softmax(pick(taught.logits) / heat, dim=-1)
    soft = nn.functional.kl_div(log, probabilities, reduction="batchmean") * heat**2
    own, others = said.hidden_states[-1][mask.bool()], taught.hidden_states[-1][mask.bool()]
    cosine = nn.functional.cosine_embedding_loss(own, others, torch.ones(len(own)))
    (5.0 * soft + 2.0 * masked + 1.0 * cosine).backward()
    gradients = as_checkpoint(student)
    save_file(gradients, folder / "gradients.safetensors")
    write_json(folder, dict(temperature=heat, weights=[5.0, 2.0, 1.0], losses=dict(soft=float(soft.detach()), masked=float(masked.detach()), hidden=float(cosine.detach()))), dict(rows=rows))
    print(f"distilled: {len(gradients)} tensors")


if __name__ == "__main__":
    torch.manual_seed(0)
    write_boundary()
    write_replaced()
    write_distilled()
