"""What do calls answer? Plain tuples with names, and arrays; nothing that belongs to the library."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Optional, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")


class Input(NamedTuple):
    """What became of an input."""

    tokens: int
    """Tokens that the encoder saw, special tokens included; for windows, those of all windows."""
    total: int
    """Tokens of the whole input, before anything was cut."""
    truncated: bool
    """Whether tokens were left out."""
    windows: int
    """1 where the input fits or was cut; 0 for one that was not finished."""


class Results(list[T]):
    """A list with an answer for each input that was finished, and with what became of all inputs."""

    finished: int
    """How many inputs have their answer, counted from the first: all, unless a deadline or a cancellation stopped the call."""
    inputs: list[Input]

    def __init__(self, answers: Iterable[T], finished: int, inputs: list[Input]) -> None:
        super().__init__(answers)
        self.finished = finished
        self.inputs = inputs


class Encoded(NamedTuple):
    """Vectors with what became of each text: what `encode(..., report=True)` gives."""

    vectors: Any
    """An array with a row a text; of `vectors="token"`, a list with an array a text, and a row a token."""
    inputs: list[Input]
    scales: Optional[npt.NDArray[np.float32]]
    """Of `output="int8"`: a number for each row; value times scale is the original, rounded."""


class Ranked(NamedTuple):
    """A document at its rank."""

    document: int
    """Its number among the documents that were given."""
    score: float
    logit: float


class Label(NamedTuple):
    """A label of an input."""

    label: str
    number: int
    """Its number among the model's labels, or among those that were given."""
    score: float
    logit: float


class Follow(NamedTuple):
    """How probably a text follows another."""

    score: float
    logit: float
    other_logit: float
    """The raw number for "it was taken from elsewhere"."""


class Answer(NamedTuple):
    """A part of a context that answers a question."""

    text: str
    start: int
    end: int
    score: float
    logit: float


class Extracted(NamedTuple):
    """The answers of a context, the best first, and how probable it is that it has none."""

    answers: list[Answer]
    no_answer_score: float
    no_answer_logit: float


class Entity(NamedTuple):
    """An entity of a text."""

    label: str
    text: str
    start: int
    end: int
    score: float
    words: Optional[tuple[int, int]]
    """Of `tag_words`: its words, from the first up to but not including the second of these numbers."""


class Fill(NamedTuple):
    """A token for a blank."""

    token: str
    id: int
    score: float
    logit: float
    text: Optional[str]
    """The whole text with the token in its blank, where `texts=True` asked for it."""


class Blank(NamedTuple):
    """A blank of a text, and what may fill it, the best first."""

    start: int
    end: int
    fills: list[Fill]


class Window(NamedTuple):
    """The tokens of a text, or of one of its windows."""

    ids: npt.NDArray[np.uint32]
    tokens: list[str]
    type_ids: npt.NDArray[np.uint32]
    special: npt.NDArray[np.bool_]
    offsets: npt.NDArray[np.uint64]
    """A row a token: where it starts and ends in its own text."""


class Tokens(NamedTuple):
    """What the encoder sees of a text."""

    windows: list[Window]
    total: int
    truncated: bool


class Sparse(NamedTuple):
    """The weights of a text, the largest first."""

    ids: npt.NDArray[np.uint32]
    weights: npt.NDArray[np.float32]
    tokens: list[str]


class Late(NamedTuple):
    """The vectors of a text's tokens, as a late-interaction model compares them."""

    vectors: npt.NDArray[np.float32]
    ids: npt.NDArray[np.uint32]
    tokens: list[str]
    offsets: npt.NDArray[np.uint64]


class Maps(NamedTuple):
    """What the attention heads of a model look at, and the hidden states of every layer."""

    attention: npt.NDArray[np.float32]
    """Layers, heads, rows, columns: how much a row's token takes from a column's."""
    states: npt.NDArray[np.float32]
    """Layers, tokens, values; layer 0 is before the first layer."""
    window: Window
