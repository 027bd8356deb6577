"""How long does a model take to open, and how much memory does it hold, beside ONNX Runtime and OpenVINO?

    load.py DIR LIBRARY [ROUNDS]

DIR holds the peers (see README.md); LIBRARY is libcloze.so. Each engine opens all-MiniLM-L6-v2 in a Python process of its own and
runs one text of 128 tokens. Printed: milliseconds to open (median over the rounds, the files in the page cache), and by how much
the process's resident memory has grown after that run, private (RssAnon) and shared with the page cache (RssFile). Cloze opens the
tokenizer too; the peers' figures leave theirs out. Needs f32.gguf and q8_0.gguf in DIR/gguf: cloze convert and cloze quantize.
"""
import ctypes
import json
import os
import statistics
import subprocess
import sys
import time

TOKENS = 128


def memory():
    with open("/proc/self/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return {name: int(fields[name].split()[0]) for name in ("RssAnon", "RssFile")}


def cloze(library, path, precision):
    lib = ctypes.CDLL(library)
    lib.cloze_options_new.restype = ctypes.c_void_p
    options, model = ctypes.c_void_p(lib.cloze_options_new()), ctypes.c_void_p()
    for key, value in (("threads", "2"), ("precision", precision)):
        assert lib.cloze_options_set(options, key.encode(), value.encode(), None) == 0
    text = ("word " * (TOKENS - 2)).encode()
    vector = (ctypes.c_float * 384)()

    def load():
        assert lib.cloze_model_load(path.encode(), options, ctypes.byref(model), None) == 0

    def run():
        texts, lengths, written = (ctypes.c_char_p * 1)(text), (ctypes.c_size_t * 1)(len(text)), ctypes.byref(ctypes.c_size_t())
        assert lib.cloze_encode(model, None, texts, lengths, ctypes.c_size_t(1), vector, ctypes.c_size_t(4 * 384), written, None, None) == 0

    return load, run


def onnxruntime(path):
    import numpy as np
    import onnxruntime as ort

    options, state = ort.SessionOptions(), {}
    options.intra_op_num_threads = 2

    def load():
        state["s"] = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def run():
        feed = {i.name: np.ones((1, TOKENS), np.int32 if "int32" in i.type else np.int64) for i in state["s"].get_inputs()}
        state["s"].run(None, feed)

    return load, run


def openvino(path):
    import numpy as np
    import openvino as ov

    core, state = ov.Core(), {}

    def load():
        settings = {"INFERENCE_NUM_THREADS": 2, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        state["r"] = core.compile_model(core.read_model(path), "CPU", settings).create_infer_request()

    def run():
        state["r"].infer({name: np.ones((1, TOKENS), np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")})

    return load, run


def engines(root, library):
    model = os.path.join(root, "models/minilm")
    gguf = os.path.join(root, "gguf")
    return {
        "cloze f32, folder": lambda: cloze(library, model, "f32"),
        "cloze f32, f32.gguf": lambda: cloze(library, os.path.join(gguf, "f32.gguf"), "f32"),
        "cloze int8, q8_0.gguf": lambda: cloze(library, os.path.join(gguf, "q8_0.gguf"), "int8"),
        "onnxruntime fp32": lambda: onnxruntime(os.path.join(model, "model_opt.onnx")),
        "onnxruntime int8": lambda: onnxruntime(os.path.join(model, "model_int8.onnx")),
        "openvino fp32": lambda: openvino(os.path.join(model, "model.onnx")),
        "openvino int8": lambda: openvino(os.path.join(model, "ov_int8.xml")),
    }


def measure(root, library, name):
    load, run = engines(root, library)[name]()
    before, start = memory(), time.perf_counter()
    load()
    milliseconds = (time.perf_counter() - start) * 1e3
    run()
    after = memory()
    print(json.dumps({"ms": milliseconds, **{k: (after[k] - before[k]) / 1024 for k in after}}))


def main():
    root, library = sys.argv[1], sys.argv[2]
    if len(sys.argv) == 5:
        return measure(root, library, sys.argv[4])
    rounds = sys.argv[3] if len(sys.argv) > 3 else "5"
    print("| engine | opens in, ms | private, MiB | shared, MiB |\n|---|---|---|---|")
    for name in engines(root, library):
        command = [sys.executable, os.path.abspath(__file__), root, library, rounds, name]
        found = [json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout) for _ in range(int(rounds))]
        middle = {k: statistics.median(f[k] for f in found) for k in found[0]}
        print(f"| {name} | {middle['ms']:.0f} | {middle['RssAnon']:.0f} | {middle['RssFile']:.0f} |")


main()
