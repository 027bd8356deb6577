"""What functions does the C ABI have? Reads include/cloze.h and prints src/cloze/_abi.py.

    python make_abi.py > src/cloze/_abi.py

The header is the one truth: a test makes the table again and compares.
"""

from __future__ import annotations

import pathlib
import re

HEADER = pathlib.Path(__file__).resolve().parents[2] / "include" / "cloze.h"

# Functions that may run for long: the GIL is released while they do. All others are getters, for which giving the GIL away and
# waiting to have it back would cost more than the call.
LONG = {
    "cloze_attention",
    "cloze_classify",
    "cloze_classify_as",
    "cloze_encode",
    "cloze_encode_late",
    "cloze_encode_sparse",
    "cloze_extract",
    "cloze_fill_mask",
    "cloze_memory_trim",
    "cloze_model_free",
    "cloze_model_load",
    "cloze_model_load_files",
    "cloze_model_verify",
    "cloze_next_sentence",
    "cloze_rerank",
    "cloze_tag",
    "cloze_tag_words",
    "cloze_tokenize",
}

# C type, without `const` -> ctypes. Handles and buffers are plain addresses; a place for a result is a pointer to it.
TYPES = {
    "void": "None",
    "bool": "c_bool",
    "size_t": "c_size_t",
    "uint32_t": "c_uint32",
    "cloze_status": "c_int32",
    "char*": "c_char_p",
    "void*": "c_void_p",
    "char**": "POINTER(c_char_p)",
    "void**": "POINTER(c_char_p)",
    "bool*": "POINTER(c_bool)",
    "size_t*": "POINTER(c_size_t)",
    "uint32_t*": "c_void_p",
    "float*": "c_void_p",
}


def ctype(declared: str) -> str:
    """The ctypes type of a parameter or result as the header declares it, its name included where it has one."""
    plain = re.sub(r"\bconst\b", "", declared)
    word, stars, _ = re.fullmatch(r"\s*(\w+)\s*((?:\*\s*)*)(\w*)\s*", plain).groups()  # type: ignore[union-attr]
    name = word + stars.replace(" ", "")
    if name.startswith("cloze_") and name.endswith("**"):
        return "POINTER(c_void_p)"
    if name.startswith("cloze_") and name.endswith("*"):
        return "c_void_p"
    return TYPES[name]


def written_text(name: str, declared: str) -> bool:
    """Whether a `char *` is a buffer that the library writes to, which must not become Python's bytes."""
    return bool(re.fullmatch(r"\s*char\s*\*\s*(buffer|text)\s*", declared))


def table() -> str:
    """The text of src/cloze/_abi.py."""
    header = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.S)
    rows = []
    for result, name, parameters in re.findall(r"^((?:const )?\w+ \**)(cloze_\w+)\(([^)]*)\);", header, flags=re.M):
        declared = [] if parameters.strip() == "void" else parameters.split(",")
        arguments = ["c_void_p" if written_text(name, one) else ctype(one) for one in declared]
        # Text whose length is told may have a NUL inside, where Python's bytes would end.
        given = "c_void_p" if "char" in result and "length" in parameters else ctype(result)
        rows.append(f'    "{name}": ({given}, [{", ".join(arguments)}], {name in LONG}),')
    return (
        '"""The functions of the C ABI: made by make_abi.py from include/cloze.h, do not edit."""\n\n'
        "from __future__ import annotations\n\n"
        "from ctypes import POINTER, c_bool, c_char_p, c_int32, c_size_t, c_uint32, c_void_p\n"
        "from typing import Any\n\n"
        "# name -> result, arguments, whether it may run for long\n"
        "FUNCTIONS: dict[str, tuple[Any, list[Any], bool]] = {\n" + "\n".join(rows) + "\n}\n"
    )


if __name__ == "__main__":
    print(table(), end="")
