"""How do the handles of the C ABI become Python's values? A function a handle; each is freed by `owned`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import addressof, byref, c_bool, c_char, c_float, c_size_t, c_uint32
from typing import Any, Callable, Optional

import numpy as np
import numpy.typing as npt

from . import _results as results
from ._library import check, library, sentence, string
from ._results import Input


@contextmanager
def owned(noun: str, address: int) -> Iterator[int]:
    """A handle that is freed at the end."""
    try:
        yield address
    finally:
        getattr(library, noun + "_free")(address)


def inputs(getter: Callable[..., int], handle: int, count: int) -> list[Input]:
    """What became of each input."""
    tokens, total, truncated, windows, error = c_size_t(), c_size_t(), c_bool(), c_size_t(), sentence()
    found = []
    for number in range(count):
        check(getter(handle, number, byref(tokens), byref(total), byref(truncated), byref(windows), error), error)
        found.append(Input(tokens.value, total.value, truncated.value, windows.value))
    return found


def report(handle: int) -> tuple[list[Input], list[tuple[int, int]]]:
    """What became of each text of an encode, and which rows are its own: the first one, and how many."""
    tokens, total, truncated, windows, first, vectors = c_size_t(), c_size_t(), c_bool(), c_size_t(), c_size_t(), c_size_t()
    places = [byref(place) for place in (tokens, total, truncated, windows, first, vectors)]
    error = sentence()
    found, rows = [], []
    for number in range(library.report_count(handle)):
        check(library.report_text(handle, number, *places, error), error)
        found.append(Input(tokens.value, total.value, truncated.value, windows.value))
        rows.append((first.value, vectors.value))
    return found, rows


def scales(handle: int, rows: int) -> npt.NDArray[np.float32]:
    """The scale of each row of int8 values."""
    scale, error = c_float(), sentence()
    found = np.empty(rows, np.float32)
    for row in range(rows):
        check(library.report_scale(handle, row, byref(scale), error), error)
        found[row] = scale.value
    return found


def ranking(handle: int, count: int) -> results.Results[results.Ranked]:
    """The documents that were ranked, and what became of all."""
    document, score, logit, error = c_size_t(), c_float(), c_float(), sentence()
    ranks = []
    for rank in range(library.ranking_count(handle)):
        check(library.ranking_get(handle, rank, byref(document), byref(score), byref(logit), error), error)
        ranks.append(results.Ranked(document.value, score.value, logit.value))
    return results.Results(ranks, library.ranking_scored(handle), inputs(library.ranking_document, handle, count))


def classes(handle: int) -> results.Results[list[results.Label]]:
    """The labels of each input."""
    number, score, logit, length, error = c_size_t(), c_float(), c_float(), c_size_t(), sentence()
    found = []
    for input in range(library.classes_finished(handle)):
        labels = []
        for place in range(library.classes_labels(handle, input)):
            check(library.classes_get(handle, input, place, byref(number), byref(score), byref(logit), error), error)
            name = string(library.classes_name(handle, input, place, byref(length)), length)
            labels.append(results.Label(name, number.value, score.value, logit.value))
        found.append(labels)
    return results.Results(found, len(found), inputs(library.classes_input, handle, library.classes_count(handle)))


def follows(handle: int) -> results.Results[results.Follow]:
    """The answer for each pair."""
    score, logit, other, error = c_float(), c_float(), c_float(), sentence()
    found = []
    for pair in range(library.follows_finished(handle)):
        check(library.follows_get(handle, pair, byref(score), byref(logit), byref(other), error), error)
        found.append(results.Follow(score.value, logit.value, other.value))
    return results.Results(found, len(found), inputs(library.follows_input, handle, library.follows_count(handle)))


def answers(handle: int) -> results.Results[results.Extracted]:
    """The answers of each context."""
    start, end, score, logit, length, error = c_size_t(), c_size_t(), c_float(), c_float(), c_size_t(), sentence()
    found = []
    for context in range(library.answers_finished(handle)):
        parts = []
        for place in range(library.answers_found(handle, context)):
            check(library.answers_get(handle, context, place, byref(start), byref(end), byref(score), byref(logit), error), error)
            text = string(library.answers_text(handle, context, place, byref(length)), length)
            parts.append(results.Answer(text, start.value, end.value, score.value, logit.value))
        check(library.answers_none(handle, context, byref(score), byref(logit), error), error)
        found.append(results.Extracted(parts, score.value, logit.value))
    return results.Results(found, len(found), inputs(library.answers_context, handle, library.answers_count(handle)))


def entities(handle: int, of_words: bool) -> results.Results[list[results.Entity]]:
    """The entities of each text, or of each list of words."""
    start, end, score, length, error = c_size_t(), c_size_t(), c_float(), c_size_t(), sentence()
    first, behind = c_size_t(), c_size_t()
    found = []
    for input in range(library.entities_finished(handle)):
        parts = []
        for place in range(library.entities_found(handle, input)):
            check(library.entities_get(handle, input, place, byref(start), byref(end), byref(score), error), error)
            label = string(library.entities_label(handle, input, place, byref(length)), length)
            text = string(library.entities_text(handle, input, place, byref(length)), length)
            words: Optional[tuple[int, int]] = None
            if of_words:
                check(library.entities_words(handle, input, place, byref(first), byref(behind), error), error)
                words = (first.value, behind.value)
            parts.append(results.Entity(label, text, start.value, end.value, score.value, words))
        found.append(parts)
    return results.Results(found, len(found), inputs(library.entities_input, handle, library.entities_count(handle)))


def fills(handle: int, with_text: bool) -> results.Results[list[results.Blank]]:
    """The tokens for each blank of each text."""
    start, end, count, error = c_size_t(), c_size_t(), c_size_t(), sentence()
    found = []
    for input in range(library.fills_finished(handle)):
        blanks = []
        for blank in range(library.fills_blanks(handle, input)):
            check(library.fills_blank(handle, input, blank, byref(start), byref(end), byref(count), error), error)
            tokens = [_fill(handle, (input, blank, place), with_text) for place in range(count.value)]
            blanks.append(results.Blank(start.value, end.value, tokens))
        found.append(blanks)
    return results.Results(found, len(found), inputs(library.fills_input, handle, library.fills_count(handle)))


def _fill(handle: int, at: tuple[int, int, int], with_text: bool) -> results.Fill:
    id, score, logit, length, error = c_uint32(), c_float(), c_float(), c_size_t(), sentence()
    check(library.fills_get(handle, *at, byref(id), byref(score), byref(logit), error), error)
    token = string(library.fills_token(handle, *at, byref(length)), length)
    text = None
    if with_text:
        library.fills_text(handle, *at, None, 0, byref(length), error)
        room = bytearray(length.value)
        check(library.fills_text(handle, *at, address(np.frombuffer(room, np.uint8)), len(room), byref(length), error), error)
        text = room.decode()
    return results.Fill(token, id.value, score.value, logit.value, text)


def window(handle: int, number: int) -> results.Window:
    """The tokens of a window."""
    count = library.tokens_count(handle, number)
    ids, type_ids, special = np.empty(count, np.uint32), np.empty(count, np.uint32), np.empty(count, np.bool_)
    offsets = np.empty((count, 2), np.uint64)
    id, type_id, is_special, start, end, length = c_uint32(), c_uint32(), c_bool(), c_size_t(), c_size_t(), c_size_t()
    places = [byref(place) for place in (id, type_id, is_special, start, end)]
    tokens, error = [], sentence()
    for at in range(count):
        check(library.tokens_get(handle, number, at, *places, error), error)
        ids[at], type_ids[at], special[at], offsets[at] = id.value, type_id.value, is_special.value, (start.value, end.value)
        tokens.append(string(library.tokens_text(handle, number, at, byref(length)), length))
    return results.Window(ids, tokens, type_ids, special, offsets)


def sparse(handle: int) -> results.Results[results.Sparse]:
    """The weights of each text."""
    count, length, error = c_size_t(), c_size_t(), sentence()
    found = []
    for input in range(library.sparse_finished(handle)):
        size = library.sparse_weights(handle, input)
        ids, weights = np.empty(size, np.uint32), np.empty(size, np.float32)
        check(library.sparse_copy(handle, input, address(ids), address(weights), size, byref(count), error), error)
        tokens = [string(library.sparse_token(handle, input, place, byref(length)), length) for place in range(size)]
        found.append(results.Sparse(ids, weights, tokens))
    return results.Results(found, len(found), inputs(library.sparse_input, handle, library.sparse_count(handle)))


def late(handle: int) -> results.Results[results.Late]:
    """The vectors of each text's tokens."""
    width = library.late_dimensions(handle)
    id, start, end, count, length, error = c_uint32(), c_size_t(), c_size_t(), c_size_t(), c_size_t(), sentence()
    found = []
    for input in range(library.late_finished(handle)):
        rows = library.late_vectors(handle, input)
        vectors, ids, offsets = np.empty((rows, width), np.float32), np.empty(rows, np.uint32), np.empty((rows, 2), np.uint64)
        check(library.late_copy(handle, input, address(vectors), vectors.size, byref(count), error), error)
        tokens = []
        for row in range(rows):
            check(library.late_get(handle, input, row, byref(id), byref(start), byref(end), error), error)
            ids[row], offsets[row] = id.value, (start.value, end.value)
            tokens.append(string(library.late_token(handle, input, row, byref(length)), length))
        found.append(results.Late(vectors, ids, tokens, offsets))
    return results.Results(found, len(found), inputs(library.late_input, handle, library.late_count(handle)))


def maps(handle: int) -> results.Maps:
    """All maps and states."""
    layers, heads, tokens, hidden, count, error = c_size_t(), c_size_t(), c_size_t(), c_size_t(), c_size_t(), sentence()
    check(library.maps_sizes(handle, byref(layers), byref(heads), byref(tokens), byref(hidden), error), error)
    attention = np.empty((layers.value, heads.value, tokens.value, tokens.value), np.float32)
    states = np.empty((layers.value + 1, tokens.value, hidden.value), np.float32)
    for layer in range(layers.value):
        for head in range(heads.value):
            place = attention[layer, head]
            check(library.maps_attention(handle, layer, head, address(place), place.size, byref(count), error), error)
    for layer in range(layers.value + 1):
        check(library.maps_state(handle, layer, address(states[layer]), states[layer].size, byref(count), error), error)
    return results.Maps(attention, states, window(library.maps_tokens(handle), 0))


def address(array: npt.NDArray[Any]) -> int:
    """Where an array's numbers lie. This is the fastest of numpy's and ctypes' ways to it."""
    return addressof(c_char.from_buffer(array)) if array.nbytes else 0  # type: ignore[arg-type]
