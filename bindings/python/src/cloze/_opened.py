"""How does a model live in Python, and how is the library called with it?"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Mapping
from ctypes import byref, c_char_p, c_size_t, c_void_p
from typing import Any, Callable, Optional, TypeVar, Union

from . import _read as read
from ._call import run
from ._library import check, invalid, library, said, sentence
from ._request import Cancel, Options, Setting, nul_terminated, request
from ._texts import Texts, as_list, is_one

T = TypeVar("T")
Self = TypeVar("Self", bound="Opened")

# Statuses of texts that are written to a buffer: CLOZE_BUFFER_TOO_SMALL, CLOZE_VERIFICATION_FAILED.
_TOO_SMALL = 9
_FAILED_VERIFICATION = 15

# What `memory()` asks for: the keys of cloze_memory_statistics.
MEMORY = ("weights_mapped", "weights_owned", "workspaces", "calls")


class _Handle:
    """A reference to a `cloze_model`, given back when the last call that uses it ends: a model may be closed at any time."""

    __slots__ = ("address",)

    def __init__(self, address: int) -> None:
        self.address = address

    def __del__(self, free: Any = library.model_free) -> None:
        free(self.address)


class Opened:
    """A model that is open: its life, what it is, and the way of every call. `Model` adds the tasks."""

    def __init__(self, path: Union[str, os.PathLike[str]], **options: Setting) -> None:
        where = os.fsencode(path)
        if b"\0" in where:
            raise invalid(f"a path must not have a NUL inside: {path!r}")
        asked = Options(options)
        self._open(lambda place, error: library.model_load(where, asked.address, place, error))
        self._again: Optional[tuple[str, dict[str, Setting]]] = (os.fspath(path), options)

    @classmethod
    def from_files(cls: type[Self], files: Mapping[str, bytes], **options: Setting) -> Self:
        """Opens a model whose files are in memory, by their names in its folder; or one GGUF file."""
        names, datas = [nul_terminated(name, "the name of a file") for name in files], [bytes(data) for data in files.values()]
        count = len(names)
        lists = (c_char_p * count)(*names), (c_char_p * count)(*datas), (c_size_t * count)(*map(len, datas))
        asked = Options(options)
        model = cls.__new__(cls)
        model._open(lambda place, error: library.model_load_files(*lists, count, asked.address, place, error))
        model._again = None
        return model

    def _open(self, load: Callable[[Any, int], int]) -> None:
        place = c_void_p()
        check(load(byref(place), error := sentence()), error)
        assert place.value is not None
        self._handle: Optional[_Handle] = _Handle(place.value)
        about = self.describe()
        width = about["hidden"]
        # Multiplications for four bytes, about a token: the encoder's, and as much time again as the tokenizer needs.
        per_token = about["layers"] * (4 * width * width + 2 * width * about["intermediate"]) + 50_000
        self._price = per_token // 4
        self._positions: int = about["positions"]
        self._sizes: dict[Any, int] = {}

    # -----------------------------------------------------------------------------------------------------------------
    # Its life

    def close(self) -> None:
        """Lets go of the model: calls that run end as if nothing had happened, later ones raise `ValueError`."""
        self._handle = None

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._handle is None

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        if self._again is None:
            raise TypeError("a model of files in memory does not travel to another process: open it there")
        return _reopen, (type(self), *self._again)

    def __repr__(self) -> str:
        if self._again is None:
            return "<cloze.Model of files in memory>"
        return f"<cloze.Model {self._again[0]!r}{', closed' if self.closed else ''}>"

    def _held(self) -> _Handle:
        """The handle, held by the caller's own reference for as long as it runs."""
        handle = self._handle
        if handle is None:
            raise ValueError("the model is closed")
        return handle

    # -----------------------------------------------------------------------------------------------------------------
    # What it is

    def describe(self) -> dict[str, Any]:
        """The family, sizes, limits, prompts and heads of the model."""
        handle = self._held()
        found: dict[str, Any] = json.loads(_text(lambda *room: library.model_describe(handle.address, *room), 4096))
        return found

    def verify(self) -> dict[str, Any]:
        """Checks a GGUF file that carries probes: its checksums, and how near its answers are to those before it was quantised. For one that
        fails, the exception (CLOZE_VERIFICATION_FAILED) has the same report as `partial`."""
        handle = self._held()
        found: dict[str, Any] = json.loads(_text(lambda *room: library.model_verify(handle.address, *room), 16384))
        return found

    def dimensions(self, **settings: Setting) -> int:
        """The number of values of one vector."""
        count, handle, asked = c_size_t(), self._held(), request(settings)
        check(library.model_dimensions(handle.address, asked.address, byref(count), error := sentence()), error)
        return count.value

    def memory(self) -> dict[str, int]:
        """What the model holds at this moment, in bytes, and how many calls run."""
        value, handle, error = c_size_t(), self._held(), sentence()
        found = {}
        for key in MEMORY:
            check(library.memory_statistics(handle.address, key.encode(), byref(value), error), error)
            found[key] = value.value
        return found

    def memory_peak(self, tokens: int, texts: int) -> int:
        """The most bytes that a call needs at once for so many texts of so many tokens, beside the weights and the vectors."""
        found, handle = c_size_t(), self._held()
        check(library.memory_peak(handle.address, _size(tokens), _size(texts), byref(found), error := sentence()), error)
        return found.value

    def memory_trim(self) -> None:
        """Frees the work areas that no running call uses."""
        handle = self._held()
        check(library.memory_trim(handle.address, error := sentence()), error)

    # -----------------------------------------------------------------------------------------------------------------
    # How calls are made

    def _call(
        self,
        name: str,
        noun: str,
        answer: Callable[[int], T],
        arguments: tuple[Any, ...],
        size: int,
        cancel: Optional[Cancel],
        settings: dict[str, Setting],
    ) -> T:
        """Calls cloze_NAME with the model, the request and `arguments`, and reads the handle of `noun` that it gives."""
        handle, function, place = self._held(), getattr(library, name), c_void_p()

        def body(asked: int, error: int) -> int:
            status: int = function(handle.address, asked, *arguments, byref(place), error)
            return status

        status, error = run(body, request(settings, cancel), cancel, size * self._price)
        failure = said(status, error) if status else None
        if place.value is not None:
            with read.owned(noun, place.value) as found:
                result = answer(found)
            if failure is None:
                return result
            failure.partial = result
        assert failure is not None, f"cloze_{name} gives {noun} where it succeeds"
        raise failure

    def _one_or_list(
        self,
        name: str,
        noun: str,
        answer: Callable[[int], Any],
        arguments: tuple[Any, ...],
        size: int,
        texts: Any,
        cancel: Optional[Cancel],
        settings: dict[str, Setting],
    ) -> Any:
        found = self._call(name, noun, answer, arguments, size, cancel, settings)
        return found[0] if is_one(texts) else found

    def _texts_alone(
        self, name: str, noun: str, answer: Callable[[int], Any], texts: Any, cancel: Optional[Cancel], settings: dict[str, Setting]
    ) -> Any:
        listed = Texts(as_list(texts), "texts")
        arguments = (listed.pointers, listed.lengths, listed.count)
        return self._one_or_list(name, noun, answer, arguments, listed.size, texts, cancel, settings)

    def _pairs(
        self,
        name: str,
        noun: str,
        answer: Callable[[int], Any],
        texts: Any,
        pairs: Any,
        cancel: Optional[Cancel],
        settings: dict[str, Setting],
    ) -> Any:
        if is_one(texts) != is_one(pairs):
            raise TypeError("texts and pairs must both be one text, or both be lists")
        listed, seconds = Texts(as_list(texts), "texts"), Texts(as_list(pairs), "pairs", optional=True)
        if listed.count != seconds.count:
            raise ValueError(f"there are {listed.count} texts and {seconds.count} pairs: give each text its pair")
        arguments = (listed.pointers, listed.lengths, seconds.pointers, seconds.lengths, listed.count)
        return self._one_or_list(name, noun, answer, arguments, listed.size + seconds.size, texts, cancel, settings)


def _reopen(kind: type[Self], path: str, options: dict[str, Setting]) -> Self:
    """A model in another process, or a copy."""
    return kind(path, **options)


def _size(number: int) -> int:
    """A number that the ABI takes as a size; ctypes would make a large one of a negative one."""
    if number < 0:
        raise invalid(f"{number} is negative")
    return number


def _text(call: Callable[[Any, int, Any, int], int], room: int) -> bytes:
    """A text that the library writes to a buffer."""
    needed, error = c_size_t(), sentence()
    while True:
        buffer = ctypes.create_string_buffer(room)
        status = call(buffer, room, byref(needed), error)
        if status != _TOO_SMALL:
            break
        room = needed.value
    text = buffer.raw[: max(needed.value, 1) - 1]
    if status:
        raise said(status, error, json.loads(text) if status == _FAILED_VERIFICATION else None)
    return text
