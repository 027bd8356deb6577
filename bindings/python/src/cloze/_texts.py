"""How do Python's texts reach the library? As addresses and lengths of UTF-8; bytes are not copied."""

from __future__ import annotations

from collections.abc import Iterable
from ctypes import c_char_p, c_size_t
from typing import Any, Optional, Union

# A text: bytes are UTF-8, and passed as they lie.
Text = Union[str, bytes]


def utf8(text: Any, what: str) -> bytes:
    """The bytes of a text. A lone surrogate has none in UTF-8: the library refuses what stands for it here, and names the place."""
    if isinstance(text, str):
        try:
            return text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-8", "surrogatepass")
    if isinstance(text, bytes):
        return text
    raise TypeError(f"{what} must be str or bytes, not {type(text).__name__}")


class Texts:
    """A list of texts as the two lists that the library takes; keep it as long as the call runs."""

    __slots__ = ("count", "lengths", "pointers", "size", "_kept")

    def __init__(self, texts: Iterable[Optional[Text]], what: str, optional: bool = False) -> None:
        if isinstance(texts, (str, bytes)):
            raise TypeError(f"{what} must be a list of texts, not one text")
        kept = [None if text is None and optional else utf8(text, f"{what}[{i}]") for i, text in enumerate(texts)]
        sizes = [0 if text is None else len(text) for text in kept]
        self._kept = kept
        self.count = len(kept)
        self.size = sum(sizes)
        self.pointers = (c_char_p * self.count)(*kept)
        self.lengths = (c_size_t * self.count)(*sizes)


def is_one(texts: Any) -> bool:
    """Whether the caller asks about one text, and not about a list."""
    return isinstance(texts, (str, bytes))


def as_list(texts: Any) -> Any:
    """What the caller asks about, as a list."""
    return (texts,) if is_one(texts) else texts
