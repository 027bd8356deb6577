"""Is what is written true: the table of the C ABI, the types, the README and the examples?"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest
from conftest import GOLDEN, ROOT

import cloze

HERE = ROOT / "bindings" / "python"


def test_the_table_of_functions_is_what_the_header_says() -> None:
    made = subprocess.run([sys.executable, HERE / "make_abi.py"], capture_output=True, text=True, check=True).stdout
    assert (HERE / "src" / "cloze" / "_abi.py").read_text(encoding="utf-8") == made, "run make_abi.py"


def test_every_function_of_the_header_is_in_the_table_and_in_the_library() -> None:
    from cloze._abi import FUNCTIONS
    from cloze._library import library

    header = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / "cloze.h").read_text(encoding="utf-8"), flags=re.S)
    assert sorted(FUNCTIONS) == sorted(set(re.findall(r"\b(cloze_\w+)\(", header)))
    assert library.abi_version() == 1 and cloze.__version__ == cloze.version()


def test_types_are_strict() -> None:
    mypy = pytest.importorskip("mypy", reason="mypy is not installed")
    assert mypy
    checked = ["src", "tests", "examples", "make_abi.py"]
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", *checked], cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.fixture
def models(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder in which the models of the README are: small ones of the same kind."""
    minilm = ROOT / "models" / "minilm"
    stand_ins = {
        "minilm": minilm if minilm.exists() else GOLDEN / "models" / "tiny-gelu",
        "reranker": GOLDEN / "heads" / "rerank-sigmoid",
        "labels": GOLDEN / "heads" / "labels-multi",
        "inference": GOLDEN / "heads" / "labels-three",
        "answers": GOLDEN / "answers" / "wide",
        "entities": GOLDEN / "entities" / "bio",
        "masks": GOLDEN / "fill_mask" / "tied",
        "splade": GOLDEN / "sparse" / "max",
        "colbert": GOLDEN / "late" / "colbert",
    }
    (tmp_path / "models").mkdir()
    for name, folder in stand_ins.items():
        (tmp_path / "models" / name).symlink_to(folder)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("models")
def test_the_readme_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(encoding="utf-8"), flags=re.S)
    assert len(blocks) > 3
    known: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), known)


@pytest.mark.usefixtures("models")
def test_the_example_searches_and_reranks() -> None:
    passages = ROOT / "examples" / "demo" / "passages.txt"
    command = [sys.executable, str(HERE / "examples" / "search.py"), "models/minilm", str(passages), "how much is postage", "--rerank", "models/reranker"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 5 and all(re.match(r" *\d+\. +-?\d\.\d\d  .+", line) for line in lines), done.stdout
