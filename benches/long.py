"""How does the time of a text grow with its length, for models that see windows and blocks, beside `transformers`?

    long.py CLOZE [DIR]

CLOZE is the program. DIR gets models of MiniLM's size (6 layers, 384 wide, 12 heads) with random weights: Longformer with windows of 512 tokens, BigBird with blocks
of 64, and RoBERTa, whose tokens all see each other. For each length `cloze bench` and `transformers` run in turn, one text, one thread, several rounds; printed is the
shortest time of each in milliseconds, as others may use the machine.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from tokenizers import Tokenizer, models
from transformers import AutoModel, BigBirdConfig, LongformerConfig, PreTrainedTokenizerFast, RobertaConfig

LENGTHS, ROUNDS, SECONDS = (512, 1024, 2048, 4096), 2, 3.0
SIZES = dict(vocab_size=1000, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, type_vocab_size=1)
MODELS = {
    "Longformer": LongformerConfig(**SIZES, max_position_embeddings=4098, attention_window=512),
    "BigBird": BigBirdConfig(**SIZES, max_position_embeddings=4096),
    "all tokens (RoBERTa)": RobertaConfig(**SIZES, max_position_embeddings=4098),
}


def write(folder, config):
    torch.manual_seed(1)
    model = AutoModel.from_config(config).eval()
    model.save_pretrained(folder)
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names + [str(i) for i in range(4, 1000)])}, unk_token="<unk>"))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>").save_pretrained(folder)
    return model


@torch.inference_mode()
def theirs(model, ids):
    ids, times, begun = torch.tensor([ids]), [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - begun < SECONDS:
        start = time.perf_counter()
        model(ids)
        times.append((time.perf_counter() - start) * 1000)
    return min(times[1:])


def ours(cloze, folder, workload, precision):
    out = subprocess.run([cloze, "bench", "-m", folder, "--workload", workload, "--threads", "1", "--precision", precision, "--json"], check=True, capture_output=True)
    return json.loads(out.stdout)["min_ms"]


def main(cloze, root):
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    for name, config in MODELS.items():
        folder = Path(root) / config.model_type
        model = write(folder, config)
        for length in LENGTHS:
            ids = [4 + i * 37 % 990 for i in range(length)]
            workload = folder / f"{length}.json"
            workload.write_text(json.dumps({"sequences": [ids]}))
            best = {}
            for _ in range(ROUNDS):
                runs = {"f32": lambda: ours(cloze, folder, workload, "f32"), "int8": lambda: ours(cloze, folder, workload, "int8"), "transformers": lambda: theirs(model, ids)}
                for kind, run in runs.items():
                    best[kind] = min(best.get(kind, float("inf")), run())
            print(f"{name:20} {length:5} " + " ".join(f"{kind} {ms:8.1f}" for kind, ms in best.items()), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(sys.argv[1], sys.argv[2])
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(sys.argv[1], scratch)
