"""Makes tests/golden/quant: rows of numbers, their bytes in every type of GGUF, and the values of those bytes, as ggml has them.

    python gguf_types.py LIBGGMLQ

ggml's own C code is asked (by ctypes); the `gguf` package, which has all of the reading and some of the writing in numpy, must
agree wherever it can. LIBGGMLQ is ggml-quants.c alone, compiled for plain x86-64 (so that nothing contracts a multiplication
and an addition), from the sources that the package llama-cpp-sys-2 carries:

    curl -LO https://static.crates.io/crates/llama-cpp-sys-2/llama-cpp-sys-2-0.1.161.crate && tar xzf llama-cpp-sys-2-0.1.161.crate
    G=llama-cpp-sys-2-0.1.161/llama.cpp/ggml
    printf '%s\n' '#include <stdlib.h>' '#include "ggml.h"' 'void ggml_abort(const char*f,int l,const char*m,...){abort();}' \\
      'void ggml_log_internal(enum ggml_log_level l,const char*f,...){}' 'size_t ggml_row_size(enum ggml_type t,int64_t n){return 0;}' \\
      'size_t ggml_type_size(enum ggml_type t){return 0;}' 'int64_t ggml_blck_size(enum ggml_type t){return 0;}' \\
      'const char*ggml_type_name(enum ggml_type t){return "";}' 'void ggml_critical_section_start(void){}' \\
      'void ggml_critical_section_end(void){}' > stub.c
    gcc -O2 -DNDEBUG -shared -fPIC -I $G/include -I $G/src $G/src/ggml-quants.c stub.c -o libggmlq.so -lm
"""

import ctypes
import json
import sys
from pathlib import Path

import gguf
import numpy as np

OUT = Path(__file__).parent.parent / "quant"
WIDTH = 256
RANDOM_BLOCKS = 3
# The type, the C functions' names, and whether gguf writes it too. IQ4_NL: what ggml_quantize_chunk calls without an importance matrix.
TYPES = {
    "Q8_0": ("quantize_row_q8_0_ref", "q8_0", True), "Q4_0": ("quantize_row_q4_0_ref", "q4_0", True), "Q4_1": ("quantize_row_q4_1_ref", "q4_1", True),
    "Q5_0": ("quantize_row_q5_0_ref", "q5_0", True), "Q5_1": ("quantize_row_q5_1_ref", "q5_1", True), "Q2_K": ("quantize_row_q2_K_ref", "q2_K", False),
    "Q3_K": ("quantize_row_q3_K_ref", "q3_K", False), "Q4_K": ("quantize_row_q4_K_ref", "q4_K", False), "Q5_K": ("quantize_row_q5_K_ref", "q5_K", False),
    "Q6_K": ("quantize_row_q6_K_ref", "q6_K", False), "Q8_K": ("quantize_row_q8_K_ref", "q8_K", False), "IQ4_NL": ("quantize_iq4_nl", "iq4_nl", False),
}


def rows():
    """Names and rows: what weights look like, and what nobody expects."""
    rng = np.random.default_rng(7)
    normal = lambda scale: rng.standard_normal(WIDTH) * scale
    outlier, late = normal(0.02), normal(0.02)
    outlier[100], late[255] = 40.0, -7.0
    halves = (np.arange(WIDTH) % 31 - 15) / 2
    mixed = normal(0.05) * np.repeat([1e-3, 1, 30, 0, 1e-6, 5, 0.1, 2], WIDTH // 8)
    signs = np.where(np.arange(WIDTH) % 2 == 0, 3.0, -3.0)
    found = {
        "normal": normal(0.05), "wide": normal(3.0), "uniform": rng.uniform(-1, 1, WIDTH), "positive": rng.uniform(0.5, 2, WIDTH), "negative": -rng.uniform(0.1, 9, WIDTH),
        "outlier": outlier, "late outlier": late, "zeros": np.zeros(WIDTH), "minus zeros": np.full(WIDTH, -0.0), "constant": np.full(WIDTH, 0.37), "constant below": np.full(WIDTH, -2.5),
        "halves": halves, "parts": mixed, "signs": signs, "f16 denormals": normal(1e-7), "denormals": normal(1e-40), "tiny": normal(1e-20), "beyond f16": normal(1e5), "huge": normal(1e30),
        "sparse": np.where(rng.random(WIDTH) < 0.05, normal(1.0), 0.0),
    }
    return list(found), np.stack(list(found.values())).astype(np.float32)


def call(function, source, target, count):
    pointer = lambda a: a.ctypes.data_as(ctypes.c_void_p)
    if function.__name__ == "quantize_iq4_nl":
        function(pointer(source), pointer(target), ctypes.c_int64(1), ctypes.c_int64(count), None)
    else:
        function(pointer(source), pointer(target), ctypes.c_int64(count))


def main(path):
    library = ctypes.CDLL(path)
    names, values = rows()
    OUT.mkdir(exist_ok=True)
    values.tofile(OUT / "rows.f32")
    summary, rng = {"made_by": "tests/golden/make/gguf_types.py", "gguf": "0.19.0", "ggml": "llama-cpp-sys-2 0.1.161", "width": WIDTH, "rows": names, "types": {}}, np.random.default_rng(8)
    for name, (quantize, dequantize, python_writes) in TYPES.items():
        kind = gguf.GGMLQuantizationType[name]
        block, size = gguf.GGML_QUANT_SIZES[kind]
        row_bytes = WIDTH // block * size
        bytes_ = np.zeros((len(names) + RANDOM_BLOCKS, row_bytes), dtype=np.uint8)
        for row, target in zip(values, bytes_):
            call(getattr(library, quantize), np.ascontiguousarray(row), target, WIDTH)
        bytes_[len(names):] = rng.integers(0, 256, (RANDOM_BLOCKS, row_bytes))
        out = np.zeros((len(bytes_), WIDTH), dtype=np.float32)
        for source, target in zip(bytes_, out):
            call(getattr(library, f"dequantize_row_{dequantize}"), np.ascontiguousarray(source), target, WIDTH)
        with np.errstate(all="ignore"):
            if name != "Q8_K":
                theirs = gguf.quants.dequantize(bytes_, kind)
                assert np.array_equal(theirs, out, equal_nan=True), name
            differ = []
            if python_writes:
                for row, source, what in zip(values, bytes_, names):
                    if not np.array_equal(gguf.quants.quantize(row[None], kind)[0], source):
                        differ.append(what)
        # The sign of a zero scale, casts that C leaves open, and numpy's other roundings; ggml's bytes are the ones that count.
        assert not set(differ) - {"minus zeros", "parts", "denormals", "f16 denormals", "huge", "beyond f16"}, (name, differ)
        bytes_.tofile(OUT / f"{name}.bytes")
        out.tofile(OUT / f"{name}.f32")
        summary["types"][name] = {"block": block, "bytes": size, "ggml": int(kind), "python_differs": differ}
        print(name, "python writes other bytes for:", ", ".join(differ) or "none" if python_writes else "(does not write)")
    (OUT / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
