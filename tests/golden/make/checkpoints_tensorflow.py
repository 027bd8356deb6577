"""Adds tests/golden/checkpoints/tensorflow: the weights of `pretraining` and `classifier` as Google's scripts save them.

Run:       python tests/golden/make/checkpoints_tensorflow.py      (after checkpoints.py; CPU, a few seconds)
Needs:     tensorflow, numpy, safetensors; the versions stand in requirements.txt beside this file.

    pretraining   bert_model.ckpt in two data files, bert_config.json and vocab.txt, with the optimizer's slots: run_pretraining.py
    classifier    model.ckpt-12 beside an older one, and the note `checkpoint` that names it: run_classifier.py
    types         doubles, halves and bfloat16s under names of BERT, and types.json with their values
    sliced        a partitioned variable, and objects: what is refused

Each is written by tf.compat.v1.train.Saver. Names and layouts are those of https://github.com/google-research/bert (modeling.py).
With `--check`, transformers 4 (load_tf_weights_in_bert) reads them back, and they must be the safetensors' weights.
"""

import json
import os
import re
import shutil
import sys
from pathlib import Path

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "TF_USE_LEGACY_KERAS": "1"}

import numpy as np
import tensorflow as tf

ROOT = Path(__file__).resolve().parent.parent / "checkpoints"
OUT = ROOT / "tensorflow"
v1 = tf.compat.v1
HEADS = {
    "cls.predictions.bias": "cls/predictions/output_bias",
    "cls.seq_relationship.weight": "cls/seq_relationship/output_weights",
    "cls.seq_relationship.bias": "cls/seq_relationship/output_bias",
    "classifier.weight": "output_weights",
    "classifier.bias": "output_bias",
}


def google(name, value):
    """TensorFlow's name and layout of a tensor."""
    if name in HEADS:
        return HEADS[name], value
    layer, parameter = name.rsplit(".", 1)
    path = re.sub(r"\.layer\.(\d+)\.", r".layer_\1.", layer).replace(".", "/")
    if path.endswith("embeddings"):
        return path, value
    if path.endswith("LayerNorm"):
        return f"{path}/{'gamma' if parameter == 'weight' else 'beta'}", value
    return (f"{path}/kernel", value.T) if parameter == "weight" else (f"{path}/bias", value)


def weights(base):
    from safetensors.numpy import load_file

    return dict(google(name, value) for name, value in load_file(ROOT / base / "model.safetensors").items())


def save(prefix, variables, devices=1, optimizer=False, **step):
    prefix.parent.mkdir(parents=True, exist_ok=True)
    with tf.Graph().as_default():
        made = []
        for i, (name, value) in enumerate(variables.items()):
            with tf.device(f"/cpu:{i % devices}"):
                made.append(v1.get_variable(name, initializer=tf.constant(value), use_resource=False))
                if optimizer:
                    made += [v1.get_variable(f"{name}/{slot}", initializer=tf.zeros_like(value), use_resource=False) for slot in ("adam_m", "adam_v")]
        if optimizer:
            made.append(v1.get_variable("global_step", initializer=np.int64(12), use_resource=False))
        with v1.Session(config=v1.ConfigProto(device_count={"CPU": devices})) as session:
            session.run(v1.global_variables_initializer())
            v1.train.Saver(made, sharded=devices > 1).save(session, str(prefix), write_meta_graph=False, **step)


def config(base):
    keys = "attention_probs_dropout_prob hidden_act hidden_dropout_prob hidden_size initializer_range intermediate_size max_position_embeddings num_attention_heads num_hidden_layers type_vocab_size vocab_size"
    known = json.loads((ROOT / base / "config.json").read_text())
    return {key: known[key] for key in keys.split()}


def write(path, value):
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def folders():
    place = OUT / "pretraining"
    save(place / "bert_model.ckpt", weights("pretraining"), devices=2, optimizer=True)
    (place / "checkpoint").unlink()
    write(place / "bert_config.json", config("pretraining"))
    shutil.copy(ROOT / "pretraining/vocab.txt", place)
    place = OUT / "classifier"
    trained = weights("classifier")
    save(place / "model.ckpt", {k: v for k, v in trained.items() if k == "output_bias"}, global_step=6)
    save(place / "model.ckpt", trained, global_step=12)
    (place / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-12"\nall_model_checkpoint_paths: "model.ckpt-6"\nall_model_checkpoint_paths: "model.ckpt-12"\n')


def types():
    place, numbers = OUT / "types", np.array([[1.5, -2.25, 3e-5], [0.1, 7.0, -0.0]])
    kept = {"output_weights": numbers, "bert/pooler/dense/kernel": tf.cast(numbers, tf.bfloat16).numpy(), "bert/pooler/dense/bias": numbers[0].astype(np.float16)}
    save(place / "bert_model.ckpt", kept)
    (place / "checkpoint").unlink()
    values = {"classifier.weight": numbers, "bert.pooler.dense.weight": kept["bert/pooler/dense/kernel"].T, "bert.pooler.dense.bias": kept["bert/pooler/dense/bias"]}
    write(place / "types.json", {k: [list(v.shape), v.astype(np.float32).flatten().tolist()] for k, v in values.items()})


def refused():
    for name in ("sliced", "objects"):
        (OUT / name).mkdir(parents=True, exist_ok=True)
    with tf.Graph().as_default():
        v1.get_variable("bert/embeddings/word_embeddings", [4, 2], partitioner=v1.fixed_size_partitioner(2), use_resource=False)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            v1.train.Saver().save(session, str(OUT / "sliced/bert_model.ckpt"), write_meta_graph=False)
    tf.train.Checkpoint(weight=tf.Variable([1.0])).write(str(OUT / "objects/bert_model.ckpt"))
    (OUT / "sliced/checkpoint").unlink()


def check():
    import torch
    from safetensors.torch import load_file
    from transformers import BertConfig, BertForPreTraining
    from transformers.models.bert.modeling_bert import load_tf_weights_in_bert

    made = BertForPreTraining(BertConfig.from_json_file(OUT / "pretraining/bert_config.json"))
    load_tf_weights_in_bert(made, made.config, str(OUT / "pretraining/bert_model.ckpt"))
    state = made.state_dict()
    for name, value in load_file(ROOT / "pretraining/model.safetensors").items():
        assert torch.equal(state[name], value), name
    print("transformers reads the same weights")


if __name__ == "__main__":
    if "--check" in sys.argv:
        check()
    else:
        shutil.rmtree(OUT, ignore_errors=True)
        for step in (folders, types, refused):
            step()
        for file in OUT.rglob("*"):
            if file.is_file():
                file.chmod(0o644)
        print(sum(f.stat().st_size for f in OUT.rglob("*") if f.is_file()) // 1024, "KB")
