"""Makes tests/golden/checkpoints: tiny BERTs, and the same weights in every file that PyTorch and its ONNX exporters write.

Run:       python tests/golden/make/checkpoints.py         (CPU, a few seconds; `checkpoints_tensorflow.py` adds TensorFlow's)
Versions:  requirements.txt beside this file; each expected.json names those that made it.

    encoder, classifier, pretraining   folders with safetensors, and expected.json: texts and what transformers answers
    pytorch/NAME                       the files that replace model.safetensors of `encoder`: torch.save in its layouts
    pytorch-pretraining                that of `pretraining`
    pytorch/types                      a file with tensors of every type and stride, and types.json with their values as torch has them
    pytorch/hostile                    pickles that would run code
    onnx/NAME                          model.onnx of the folder that NAME begins with, by the exporter that it ends with

No weight is a constant vector, as no trained one is.
"""

import builtins
import io
import json
import os
import pickle
import shutil
import struct
import subprocess
import sys
import tarfile
import warnings
from collections import OrderedDict
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import tokenizers
import torch
import transformers
from transformers import BertConfig, BertForPreTraining, BertForSequenceClassification, BertModel

ROOT = Path(__file__).resolve().parent.parent / "checkpoints"
VERSIONS = {m.__name__: m.__version__ for m in (transformers, torch)}
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = ["the", "fox", "lives", "in", "a", "den", "rain", "and", "snow", "天", "气", ".", ",", "?"]
VOCABULARY = SPECIAL + list(LETTERS) + ["##" + c for c in LETTERS] + [w for w in WORDS if w not in LETTERS]
TEXTS = ["The fox lives in a den.", "", "Rain and snow, 天气?", "fox " * 30]
PAIRS = [["the fox", "lives in a den."], ["rain", "snow?"]]
POSITIONS = 24
BASES = {"encoder": BertModel, "classifier": BertForSequenceClassification, "pretraining": BertForPreTraining}


def config(name):
    labels = dict(num_labels=3, id2label={0: "sport", 1: "weather", 2: "other"}) if name == "classifier" else {}
    sizes = dict(hidden_size=16, num_attention_heads=2, num_hidden_layers=2, intermediate_size=24, max_position_embeddings=POSITIONS)
    return BertConfig(vocab_size=len(VOCABULARY), attn_implementation="eager", **sizes, **labels)


def model(name):
    torch.manual_seed(list(BASES).index(name) + 1)
    made = BASES[name](config(name)).eval()
    with torch.no_grad():
        for key, value in made.named_parameters():
            around = 1.0 if "LayerNorm.weight" in key else 0.0
            value.copy_(around + 0.3 * torch.randn(value.shape))
    return made


def tokenizer(folder):
    pieces = {piece: i for i, piece in enumerate(VOCABULARY)}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(pieces, unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer()
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.decoder = tokenizers.decoders.WordPiece()
    made.add_special_tokens(SPECIAL)
    made.save(str(folder / "tokenizer.json"))
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    return made


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False) + "\n", encoding="utf-8")


@torch.no_grad()
def base(name):
    folder, made = ROOT / name, model(name)
    made.save_pretrained(folder)
    words = tokenizer(folder)
    write(folder / "tokenizer_config.json", {"do_lower_case": True, "model_max_length": POSITIONS, "tokenizer_class": "BertTokenizer"})
    if name == "encoder":
        kind = "sentence_transformers.models."
        write(folder / "modules.json", [{"idx": 0, "name": "0", "path": "", "type": kind + "Transformer"}, {"idx": 1, "name": "1", "path": "1_Pooling", "type": kind + "Pooling"}])
        write(folder / "1_Pooling/config.json", {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": True})
        write(folder / "config_sentence_transformers.json", {"prompts": {"query": "rain: "}})
        write(folder / "sentence_bert_config.json", {"max_seq_length": POSITIONS - 4, "do_lower_case": False})
    words.enable_truncation(POSITIONS - 4 if name == "encoder" else POSITIONS)
    vectors, logits, follows = [], [], []
    trunk = made if name == "encoder" else made.bert
    for text in TEXTS:
        ids = torch.tensor([words.encode(text).ids])
        states = trunk(ids).last_hidden_state[0]
        vectors.append((states.max(0).values if name == "encoder" else states.mean(0)).tolist())
        if name == "classifier":
            logits.append(made(ids).logits[0].tolist())
    for first, second in PAIRS if name == "pretraining" else []:
        pair = words.encode(first, second)
        out = made(torch.tensor([pair.ids]), token_type_ids=torch.tensor([pair.type_ids]))
        follows.append(out.seq_relationship_logits[0].tolist())
    expected = dict(made_by="tests/golden/make/checkpoints.py", versions=VERSIONS, texts=TEXTS, vectors=vectors, logits=logits, pairs=PAIRS, follows=follows)
    write(folder / "expected.json", expected)
    return made


def strided(state):
    """The same numbers, laid down otherwise: transposed, every second column, one storage for all biases, doubles."""
    made, biases = OrderedDict(), [k for k, v in state.items() if k.endswith(".bias")]
    shared = torch.cat([state[k].flatten() for k in biases])
    at = 0
    for key, value in state.items():
        if key in biases:
            made[key] = shared[at : at + value.numel()]
            at += value.numel()
        elif "query" in key:
            made[key] = value.t().contiguous().t()
        elif "key" in key:
            wide = torch.zeros(value.shape[0], 2 * value.shape[1])
            wide[:, ::2] = value
            made[key] = wide[:, ::2]
        elif "value" in key or "LayerNorm" in key:
            made[key] = value.double()
        else:
            made[key] = value
    made["embeddings.position_ids"] = torch.arange(POSITIONS).expand((1, -1))
    return made


def pytorch(encoder):
    state = encoder.state_dict()
    place = ROOT / "pytorch"

    def save(name, value, file="pytorch_model.bin", **how):
        (place / name).mkdir(parents=True, exist_ok=True)
        torch.save(value, place / name / file, **how)

    old = dict(_use_new_zipfile_serialization=False)
    save("zip", state)
    save("legacy", state, **old)
    save("strided", strided(state))
    save("strided-legacy", strided(state), **old)
    save("protocol-5", state, pickle_protocol=5)
    save("parameters", OrderedDict(encoder.named_parameters()))
    wrapped = OrderedDict((f"module.{k}", v) for k, v in state.items())
    optimizer = torch.optim.AdamW(encoder.parameters())
    save("training", {"epoch": 3, "loss": 0.25, "state_dict": wrapped, "optimizer": optimizer.state_dict(), "args": {"seeds": {1, 2}}}, **old)
    save("training-zip", {"model": wrapped, "device": torch.device("cpu"), "type": torch.float16})
    names = list(state)
    parts = {f"pytorch_model-0000{i + 1}-of-00002.bin": names[i::2] for i in range(2)}
    for file, part in parts.items():
        save("sharded", {k: state[k] for k in part}, file)
    write(place / "sharded/pytorch_model.bin.index.json", {"metadata": {"total_size": 1}, "weight_map": {k: f for f, part in parts.items() for k in part}})
    tar(place / "tar/pytorch_model.bin", state)
    types()
    hostile()


def tar(path, state):
    """The layout of PyTorch's first versions, which no version writes any more; torch.load (_legacy_load) reads it back below."""
    path.parent.mkdir(parents=True, exist_ok=True)
    dump = lambda value: pickle.dumps(value, protocol=2)
    parts = {"storages": [dump(len(state) + 1)], "tensors": [dump(len(state))]}
    for i, value in enumerate([*state.values(), torch.zeros(6)]):
        parts["storages"] += [dump((i, "cpu", torch.FloatStorage)), struct.pack("<q", value.numel()), value.numpy().tobytes()]
    # The last storage is not used as a whole: a part of it is one of its own.
    parts["storages"].append(dump([(1000, len(state), 2, 3)]))
    for i, value in enumerate(state.values()):
        longs = [*value.shape, *value.stride(), 0]
        parts["tensors"] += [dump((2000 + i, i, torch.FloatTensor)), struct.pack(f"<ii{len(longs)}q", value.dim(), 0, *longs)]

    class Named(pickle.Pickler):
        def persistent_id(self, value):
            return value.number if isinstance(value, Number) else None

    out = io.BytesIO()
    Named(out, protocol=2).dump(OrderedDict((key, Number(str(2000 + i))) for i, key in enumerate(state)))
    parts["pickle"] = [out.getvalue()]
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, pieces in parts.items():
            entry = tarfile.TarInfo(name)
            entry.size = sum(map(len, pieces))
            archive.addfile(entry, io.BytesIO(b"".join(pieces)))
    read = torch.load(path, weights_only=False)
    assert list(read) == list(state) and all(torch.equal(read[key], value) for key, value in state.items())


class Number:
    """A tensor that stands elsewhere in the archive."""

    def __init__(self, number):
        self.number = number


def types():
    """Every type of number, whole ones too, and layouts that models seldom have."""
    numbers = torch.tensor([[1.5, -2.25, 3e-5], [65504.0, 0.1, -0.0]])
    kept = {t: numbers.to(getattr(torch, t)) for t in ("float32", "float16", "bfloat16", "float64")}
    kept["scalar"] = torch.tensor(0.3)
    kept["empty"] = torch.zeros(0, 3)
    kept["cube"] = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
    kept["expanded"] = torch.tensor([7.0]).expand(3)
    kept["tied"] = kept["float32"]
    kept["column"] = kept["float32"][:, 1]
    whole = {t: torch.tensor([1, 0, 1]).to(getattr(torch, t)) for t in ("int64", "int32", "int16", "int8", "uint8", "bool")}
    place = ROOT / "pytorch/types"
    place.mkdir(parents=True, exist_ok=True)
    torch.save(kept | whole, place / "zip.bin")
    torch.save(kept | whole, place / "legacy.bin", _use_new_zipfile_serialization=False)
    write(place / "types.json", {"tensors": {k: [list(v.shape), v.float().flatten().tolist()] for k, v in kept.items()}, "skipped": list(whole)})


class Call:
    def __init__(self, function, *arguments):
        self.made = (function, arguments)

    def __reduce__(self):
        return self.made


def hostile():
    """Pickles that Python would obey. Each stands where torch.save puts the values of an old file."""
    place = ROOT / "pytorch/hostile"
    place.mkdir(parents=True, exist_ok=True)
    mark = "touch cloze-was-here"
    calls = {"posix.system": Call(os.system, mark), "builtins.eval": Call(builtins.eval, "1"), "builtins.exec": Call(builtins.exec, "1"), "subprocess.Popen": Call(subprocess.Popen, mark, 0, None, None, None, None, None, True)}
    calls["builtins.getattr"] = Call(getattr, "x", "upper")
    for name, call in calls.items():
        (place / f"{name}.pickle").write_bytes(pickle.dumps({"weight": call}, protocol=2))
        (place / f"{name}-4.pickle").write_bytes(pickle.dumps({"weight": call}, protocol=4))


@torch.no_grad()
def onnx(made):
    """The exporter of TorchScript and the one of torch.export, sequences of any length."""
    ids = torch.tensor([[2, 5, 6, 3], [2, 7, 8, 3]])
    inputs = (ids, torch.ones_like(ids), torch.zeros_like(ids))
    names = ["input_ids", "attention_mask", "token_type_ids"]

    class Plain(torch.nn.Module):
        """Positional arguments, and outputs as a tuple."""

        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.inner(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids, return_dict=False)

    def place(name):
        folder = ROOT / "onnx" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder / "model.onnx"

    for name in ("encoder", "classifier"):
        axes = {n: {0: "batch", 1: "tokens"} for n in names}
        torch.onnx.export(Plain(made[name]), inputs, place(f"{name}-script"), input_names=names, dynamo=False, dynamic_axes=axes, opset_version=17)
    for name in ("encoder", "pretraining"):
        shape = {0: torch.export.Dim("batch", min=1, max=64), 1: torch.export.Dim("tokens", min=2, max=POSITIONS)}
        path = place(f"{name}-export")
        torch.onnx.export(Plain(made[name]), inputs, path, input_names=names, dynamo=True, dynamic_shapes=[shape] * 3, external_data=name == "encoder", verbose=False)
        strip(path)


def strip(path):
    """Without what the exporter notes of its own source files."""
    import onnx as library

    made = library.load(path, load_external_data=False)
    for node in made.graph.node:
        del node.metadata_props[:]
    for value in made.graph.value_info:
        del value.metadata_props[:]
    del made.metadata_props[:]
    path.write_bytes(made.SerializeToString())


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    for name in [*BASES, "pytorch", "pytorch-pretraining", "onnx"]:
        shutil.rmtree(ROOT / name, ignore_errors=True)
    bases = {name: base(name) for name in BASES}
    pytorch(bases["encoder"])
    # With the decoder that is the word embeddings, and its bias, each under two names.
    (ROOT / "pytorch-pretraining").mkdir()
    torch.save(bases["pretraining"].state_dict(), ROOT / "pytorch-pretraining/pytorch_model.bin")
    if "--without-onnx" not in sys.argv:
        onnx(bases)
    for file in ROOT.rglob("*"):
        if file.is_file():
            file.chmod(0o644)
    print(sum(f.stat().st_size for f in ROOT.rglob("*") if f.is_file()) // 1024, "KB")
