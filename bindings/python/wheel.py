"""What does the wheel carry? The package, libcloze.so beside it, and a tag for the machines on which the library runs.

The library is the one that CLOZE_LIB (a folder) names, else what `make lib` built. No wheel is tied to a version of Python, since nothing is
compiled against one.
"""

from __future__ import annotations

import os
import pathlib
import platform
import re
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = pathlib.Path(__file__).resolve().parents[2]


def library() -> pathlib.Path:
    """The library to be packed."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    folder = pathlib.Path(os.environ.get("CLOZE_LIB", target / "clib" / "release"))
    found = folder / "libcloze.so"
    if not found.exists():
        raise SystemExit(f"{found} is missing: run `make lib`, or name the folder of libcloze.so in CLOZE_LIB")
    return found.resolve()


def tag(library: pathlib.Path) -> str:
    """manylinux as PEP 600 has it: the newest version of glibc that the library asks for. It asks for nothing else."""
    asked = re.findall(rb"GLIBC_2\.(\d+)", library.read_bytes())
    newest = max(map(int, asked), default=17)
    return f"py3-none-manylinux_2_{newest}_{platform.machine()}"


class Wheel(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the library to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        found = library()
        build_data["force_include"][str(found)] = "cloze/libcloze.so"
        for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
            build_data["force_include"][str(ROOT / licence)] = f"cloze/{licence}"
        build_data["pure_python"] = False
        build_data["tag"] = tag(found)
