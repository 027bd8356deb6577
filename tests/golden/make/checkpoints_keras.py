"""Adds tests/golden/checkpoints/keras: the weights of `encoder`, `classifier` and `pretraining`, and of tiny models of other families, as transformers 4 saves
its TensorFlow models.

Run:       python tests/golden/make/checkpoints_keras.py      (after checkpoints.py and families.py; CPU, a minute)
Versions:  requirements-keras.txt beside this file, in an environment of its own: the last line of transformers with TensorFlow's classes.

    encoder, classifier, pretraining   tf_model.h5 by TFBertModel and others, save_pretrained
    sharded                            that of `encoder` in several files with tf_model.h5.index.json
    other-types                        that of `encoder` rewritten by h5py: halves, big-endian numbers, chunks with deflate and shuffle
    families/NAME                      tf_model.h5 of a model in tests/golden/families, NAME with head
    refused                            whole numbers, a group that holds itself, a tensor without a layer

Weights are loaded from the safetensors by transformers' own conversion, the other way round than they are read in Cloze.
"""

import os
import shutil
from pathlib import Path

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "TF_USE_LEGACY_KERAS": "1", "HF_HUB_OFFLINE": "1"}

import h5py
import numpy as np
import transformers
from safetensors.numpy import load_file
from transformers.modeling_tf_pytorch_utils import load_pytorch_state_dict_in_tf2_model

GOLDEN = Path(__file__).resolve().parent.parent
BASES = GOLDEN / "checkpoints"
OUT = BASES / "keras"
CLASSES = {"encoder": "TFBertModel", "classifier": "TFBertForSequenceClassification", "pretraining": "TFBertForPreTraining"}
FAMILIES = {
    "albert/pretraining": "TFAlbertForPreTraining",
    "camembert/fill-mask": "TFCamembertForMaskedLM",
    "deberta-v3/tag": "TFDebertaV2ForTokenClassification",
    "distilbert/classify": "TFDistilBertForSequenceClassification",
    "electra/discriminator": "TFElectraForPreTraining",
    "mobilebert/extract": "TFMobileBertForQuestionAnswering",
    "mpnet/fill-mask": "TFMPNetForMaskedLM",
    "roberta/classify": "TFRobertaForSequenceClassification",
}


def save(name, folder, out, **how):
    kind = getattr(transformers, name)
    model = kind(kind.config_class.from_pretrained(str(folder)))
    # Without torch, whose LLVM and TensorFlow's do not get on in one process.
    load_pytorch_state_dict_in_tf2_model(model, load_file(folder / "model.safetensors"), tf_inputs=model.dummy_inputs, allow_missing_keys=True)
    if "albert/" in str(folder):
        # One tensor in PyTorch, two here.
        model.predictions.decoder_bias.assign(model.predictions.bias)
    out.mkdir(parents=True)
    model.save_pretrained(str(out), safe_serialization=False, **how)
    for file in out.iterdir():
        if not file.name.startswith("tf_model"):
            file.unlink()


def rewritten(source, target):
    """The same tensors, stored otherwise."""
    forms = [dict(dtype="<f2"), dict(dtype=">f4"), dict(chunks=True, compression="gzip", shuffle=True), dict(chunks=True)]
    with h5py.File(source) as old, h5py.File(target, "w") as new:
        found = []
        old.visititems(lambda path, item: found.append((path, item)) if isinstance(item, h5py.Dataset) else None)
        for i, (path, item) in enumerate(found):
            form = dict(forms[i % len(forms)])
            values = item[()]
            dtype = form.pop("dtype", "<f4")
            # All of them rounded to halves, so that one rule says what is expected.
            new.create_dataset(path, data=values.astype("<f2").astype("<f4"), dtype=dtype, **form)


def refused(out):
    out.mkdir(parents=True)
    with h5py.File(out / "whole.h5", "w") as file:
        file.create_dataset("bert/tf_bert_model/bert/embeddings/word_embeddings/weight:0", data=np.arange(6, dtype=np.int32).reshape(2, 3))
    with h5py.File(out / "itself.h5", "w") as file:
        file.create_group("bert")
        file["bert/bert"] = file["bert"]
    with h5py.File(out / "alone.h5", "w") as file:
        file.create_dataset("kernel:0", data=np.zeros((2, 2), np.float32))
    with h5py.File(out / "huge.h5", "w") as file:
        file.create_dataset("bert/tf_bert_model/bert/pooler/dense/kernel:0", shape=(1 << 20, 1 << 20), dtype="<f4", chunks=(1024, 1024))


shutil.rmtree(OUT, ignore_errors=True)
for name, kind in CLASSES.items():
    save(kind, BASES / name, OUT / name)
save("TFBertModel", BASES / "encoder", OUT / "sharded", max_shard_size="12KB")
(OUT / "other-types").mkdir()
rewritten(OUT / "encoder/tf_model.h5", OUT / "other-types/tf_model.h5")
for name, kind in FAMILIES.items():
    save(kind, GOLDEN / "families" / name, OUT / "families" / name)
refused(OUT / "refused")
for file in sorted(OUT.rglob("*.h5")):
    print(file.relative_to(OUT), file.stat().st_size)
