"""What is a call asked for? Settings are words, passed through as they are: an option that a later library has needs nothing here."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Optional, Union

from ._library import check, invalid, library, sentence

# What a setting's value may be: a word, a number, true or false; None is what the model's files say.
Setting = Union[str, int, float, bool, None]


def words(settings: Mapping[str, Setting]) -> tuple[tuple[str, str], ...]:
    """Settings as the library, the C API and the command line spell them."""
    return tuple(
        (key, str(value).lower() if isinstance(value, bool) else str(value)) for key, value in settings.items() if value is not None
    )


def nul_terminated(text: str, what: str) -> bytes:
    """A key, value or name, which ends where a NUL is."""
    if "\0" in text:
        raise invalid(f"{what} must not have a NUL inside: {text!r}")
    return text.encode("utf-8", "surrogatepass")


class Cancel:
    """A flag that stops calls from another thread: give it to any number of calls as `cancel`, and raise it with `cancel()`. Ctrl-C during
    a call with it raises it, too."""

    def __init__(self) -> None:
        self._address = library.cancel_new()

    def __del__(self, free: Any = library.cancel_free) -> None:
        free(self._address)

    def cancel(self) -> None:
        """Stops the calls that run with this flag, and those that begin: they raise an `Error` with what they had finished."""
        check(library.cancel_cancel(self._address, error := sentence()), error)

    def reset(self) -> None:
        """Lowers the flag, so that it can serve the next calls."""
        check(library.cancel_reset(self._address, error := sentence()), error)


class Request:
    """A `cloze_request`. It is not changed once it was made, so that any number of threads may use it."""

    def __init__(self, items: tuple[tuple[str, str], ...], cancel: Optional[Cancel] = None) -> None:
        self.address, self.items = library.request_new(), items
        error = sentence()
        for key, value in items:
            check(library.request_set(self.address, nul_terminated(key, "a setting"), nul_terminated(value, key), error), error)
        if cancel is not None:
            check(library.request_set_cancel(self.address, cancel._address, error), error)

    def __del__(self, free: Any = library.request_free) -> None:
        free(self.address)


# Most programs ask for a few kinds of requests, again and again.
_kept = functools.lru_cache(maxsize=64)(Request)


def request(settings: dict[str, Setting], cancel: Optional[Cancel] = None) -> Request:
    """The request for the settings of a call."""
    items = words(settings)
    return _kept(items) if cancel is None else Request(items, cancel)


class Options:
    """A `cloze_options`: how a model is opened."""

    def __init__(self, settings: dict[str, Setting]) -> None:
        self.address = library.options_new()
        error = sentence()
        for key, value in words(settings):
            check(library.options_set(self.address, nul_terminated(key, "an option"), nul_terminated(value, key), error), error)

    def __del__(self, free: Any = library.options_free) -> None:
        free(self.address)
