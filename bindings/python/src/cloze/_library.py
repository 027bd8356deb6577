"""Which library is called, and how do its statuses become exceptions?

The C ABI is the only door to Cloze, and ctypes, which every Python has, opens it: nothing is compiled against a version of Python, so that one
wheel serves all of them. Prototypes come from the header (_abi.py).
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import threading
from ctypes import byref, c_size_t
from typing import Any, Optional

from ._abi import FUNCTIONS
from ._errors import Error

# The version of the ABI that _abi.py was made from: CLOZE_ABI_VERSION of the header.
_ABI_VERSION = 1
# CLOZE_INVALID_ARGUMENT.
_INVALID_ARGUMENT = 2


def _path() -> str:
    """The library's file: the one that CLOZE_LIBRARY names, the one in this package, or the system's."""
    named = os.environ.get("CLOZE_LIBRARY")
    if named:
        return named
    inside = pathlib.Path(__file__).with_name("libcloze.so")
    return str(inside) if inside.exists() else f"libcloze.so.{_ABI_VERSION}"


class Library:
    """The functions of the C ABI as attributes, without `cloze_` before their names."""

    def __init__(self, path: str) -> None:
        try:
            # PyDLL keeps the GIL during a call, CDLL releases it.
            holding, releasing = ctypes.PyDLL(path), ctypes.CDLL(path)
        except OSError as why:
            message = f"{path} does not load ({why}): install Cloze's wheel, or name libcloze.so in CLOZE_LIBRARY"
            raise ImportError(message) from why
        holding.cloze_abi_version.restype = ctypes.c_uint32
        found = holding.cloze_abi_version()
        if found != _ABI_VERSION:
            raise ImportError(f"{path} has version {found} of the C ABI, this package needs {_ABI_VERSION}: install both of one release")
        for name, (result, arguments, long) in FUNCTIONS.items():
            try:
                function = getattr(releasing if long else holding, name)
            except AttributeError:
                raise ImportError(f"{path} is older than this package: it has no {name}; install both of one release") from None
            function.restype, function.argtypes = result, arguments
            setattr(self, name[len("cloze_") :], function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the C ABI has no cloze_{name}")


library = Library(_path())


class Sentence:
    """A `cloze_error`, which one thread uses at a time."""

    def __init__(self) -> None:
        self.address: int = library.error_new()

    def __del__(self, free: Any = library.error_free) -> None:
        free(self.address)


class _Local(threading.local):
    def __init__(self) -> None:
        self.sentence = Sentence()


_local = _Local()


def sentence() -> int:
    """This thread's `cloze_error`: the last argument of every call that can fail."""
    return _local.sentence.address


def keep(other: Sentence) -> int:
    """Makes another one this thread's."""
    _local.sentence = other
    return other.address


def said(status: int, error: int, partial: Any = None) -> Error:
    """A status and its sentence as an exception."""
    length = c_size_t()
    message = library.error_message(error, byref(length))
    words = ctypes.string_at(message, length.value).decode()
    return Error(status, library.status_name(status).decode(), words, partial)


def check(status: int, error: int) -> None:
    """Raises what a status means, unless it is CLOZE_OK."""
    if status:
        raise said(status, error)


def invalid(message: str) -> Error:
    """What C could not be told, since its words end at a NUL and its sizes have no sign: CLOZE_INVALID_ARGUMENT."""
    return Error(_INVALID_ARGUMENT, library.status_name(_INVALID_ARGUMENT).decode(), message)


def string(address: Optional[int], length: c_size_t) -> str:
    """A string that the library lends, copied."""
    return "" if address is None else ctypes.string_at(address, length.value).decode()


def version() -> str:
    """The version of the library that is loaded, such as "0.1.0"."""
    found: bytes = library.version()
    return found.decode()
