"""Makes tests/golden/optimisers: where LAMB, and rates that fall from layer to layer, lead tiny models in twenty steps.

Run:       python tests/golden/make/optimisers.py      (CPU, some seconds)
Versions:  requirements.txt beside this file; each file names those that made it.

Models, batches and losses are those of learning.py. PyTorch has no LAMB: `Lamb` is algorithm 2 of You et al. (2020) on one parameter at a time, which is
a tensor of the checkpoint; what does not decay has no ratio, as in the authors' program. Rates by layer are those of `torch.optim.AdamW` with a group a
layer: the heads' is the rate, that of each layer below a factor less, that of the embeddings the least; frozen layers have no gradient.
"""
import json
import re

from learning import CASES, DECAY, GOLDEN, RATE, STEPS, batch, losses_of
from models import TORCH, VERSIONS

import torch
from transformers import AutoConfig

ROOT = GOLDEN / "optimisers"
LAMB_RATE = 4e-3

# Name: case of learning.py, and what is not AdamW with one rate.
RUNS = {
    "lamb-bert": ("bert", dict(method="lamb")),
    "lamb-albert": ("albert", dict(method="lamb")),
    "lamb-modernbert": ("modernbert", dict(method="lamb")),
    "layers-bert": ("bert", dict(layer_decay=0.7)),
    "layers-roberta": ("roberta", dict(layer_decay=0.7)),
    "frozen-bert": ("bert", dict(layer_decay=0.8, freeze=1)),
}


class Lamb(torch.optim.Optimizer):
    def __init__(self, groups, lr, betas, eps):
        super().__init__(groups, dict(lr=lr, betas=betas, eps=eps))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            (b1, b2), decay = group["betas"], group["weight_decay"]
            for p in (p for p in group["params"] if p.grad is not None):
                state = self.state[p]
                if not state:
                    state.update(t=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                state["t"] += 1
                state["m"] = b1 * state["m"] + (1 - b1) * p.grad
                state["v"] = b2 * state["v"] + (1 - b2) * p.grad ** 2
                m, v = state["m"] / (1 - b1 ** state["t"]), state["v"] / (1 - b2 ** state["t"])
                r = m / (v.sqrt() + group["eps"]) + decay * p
                ratio = p.norm() / r.norm() if decay and p.norm() > 0 and r.norm() > 0 else 1.0
                p -= group["lr"] * ratio * r


def layer_of(name, layers):
    """Embeddings 0, layers from 1, heads one more than the last layer."""
    if "embeddings" in name:
        return 0
    numbered = re.search(r"encoder\.layer\.(\d+)\.", name)
    return int(numbered[1]) + 1 if numbered else layers + 1


def run(case, method="adamw", layer_decay=1.0, freeze=None):
    source, auto, losses = CASES[case]
    config = AutoConfig.from_pretrained(GOLDEN / source)
    model = auto.from_pretrained(GOLDEN / source, **TORCH).eval()
    rows, two = batch(config, losses)
    layers = config.num_hidden_layers
    rate = LAMB_RATE if method == "lamb" else RATE
    groups = []
    for name, p in model.named_parameters():
        layer = layer_of(name, layers) if layer_decay != 1.0 else layers + 1
        p.requires_grad_(freeze is None or layer > freeze)
        decay = 0.0 if p.dim() < 2 else DECAY
        groups.append(dict(params=[p], lr=rate * layer_decay ** (layers + 1 - layer), weight_decay=decay))
    optimiser = (Lamb if method == "lamb" else torch.optim.AdamW)(groups, lr=rate, betas=(0.9, 0.999), eps=1e-6)
    steps = []
    for _ in range(STEPS):
        optimiser.zero_grad()
        found = losses_of(model, rows, losses, two)
        sum(found.values()).backward()
        norm = torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
        optimiser.step()
        steps.append(dict(norm=float(norm)) | {k: float(v) for k, v in found.items()})
    return dict(case=case, method=method, rate=rate, decay=DECAY, layer_decay=layer_decay, freeze=freeze), steps


if __name__ == "__main__":
    torch.manual_seed(0)
    ROOT.mkdir(exist_ok=True)
    for name, (case, options) in RUNS.items():
        head, steps = run(case, **options)
        line = lambda value: json.dumps(value, separators=(",", ":"))
        lines = [f"{line(k)}:{line(v)}" for k, v in (dict(made_by="tests/golden/make/optimisers.py", versions=VERSIONS) | head).items()]
        path = ROOT / f"{name}.json"
        path.write_text("{" + ",\n".join([*lines, '"steps":[\n' + ",\n".join(map(line, steps)) + "\n]"]) + "}\n")
        path.chmod(0o644)
        print(f"{name}: {steps[0]} -> {steps[-1]}", flush=True)
