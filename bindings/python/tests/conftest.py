"""What the tests share: the golden models of the repository, which the reference implementation answered for."""

from __future__ import annotations

import pathlib

import pytest

import cloze

ROOT = pathlib.Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "tests" / "golden"


@pytest.fixture(scope="session")
def golden() -> pathlib.Path:
    return GOLDEN


@pytest.fixture(scope="session")
def tiny() -> cloze.Model:
    return cloze.Model(GOLDEN / "models" / "tiny-gelu")
