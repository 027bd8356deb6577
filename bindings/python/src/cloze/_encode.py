"""How do vectors come into an array without a copy? The library writes them where they stay."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import byref, c_size_t, c_void_p
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from . import _read as read
from . import _results as results
from ._call import run
from ._library import check, library, said, sentence
from ._request import Cancel, Request, Setting
from ._texts import Texts

# CLOZE_BUFFER_TOO_SMALL, and the statuses that come with what was finished: CLOZE_DEADLINE_EXCEEDED, CLOZE_CANCELLED.
_TOO_SMALL = 9
_STOPPED = (10, 11)

# Sizes of rows that a model remembers.
_SIZES = 64

# `output` -> the type of an array's numbers. Of `binary`, a byte has eight values, the first one in its highest bit.
_NUMBERS: dict[str, Any] = {"f32": np.float32, "f16": np.float16, "int8": np.int8, "binary": np.uint8}


class Encoding:
    """One cloze_encode: texts, and what is asked for them."""

    def __init__(
        self, model: int, texts: Texts, asked: Request, settings: Mapping[str, Setting], positions: int, sizes: dict[Any, int]
    ) -> None:
        self.model = model
        # What the model said of the bytes of a row, by the words of a request.
        self.sizes = sizes
        self.texts = texts
        self.asked = asked
        self.output = str(settings.get("output", "f32"))
        self.numbers = np.dtype(_NUMBERS.get(self.output, np.float32))
        self.of_tokens = settings.get("vectors") == "token"
        self.windows = settings.get("truncation") == "window"
        self.positions = positions

    def run(self, out: Optional[npt.NDArray[Any]], report: bool, cancel: Optional[Cancel], price: int) -> Any:
        """The vectors, with what became of each text if `report` says so."""
        width, rows = self._shape()
        while True:
            buffer = np.empty(rows * width * self.numbers.itemsize, np.uint8) if out is None else self._bytes_of(out)
            status, error, written, handle = self._write(buffer, report or self.of_tokens, cancel, price)
            if status != _TOO_SMALL or out is not None:
                break
            # A vector a token needs as much room as the texts have tokens, which is known now.
            rows = -(-written // (width * self.numbers.itemsize))
        if status and status not in _STOPPED:
            raise said(status, error)
        failure = said(status, error) if status else None
        answer = self._answer(buffer[:written].view(self.numbers).reshape(-1, width), handle, report)
        if failure is not None:
            failure.partial = answer
            raise failure
        return answer

    def _shape(self) -> tuple[int, int]:
        """Numbers of a row, and rows: of tokens seldom too few, and what is not written to costs no memory."""
        if not self.of_tokens:
            return self._row_bytes() // self.numbers.itemsize, self.texts.count
        size, error = c_size_t(), sentence()
        check(library.model_dimensions(self.model, self.asked.address, byref(size), error), error)
        width = (size.value + 7) // 8 if self.output == "binary" else size.value
        if self.windows:
            return width, 2 * self.texts.size + 16 * self.texts.count
        return width, sum(min(length + 64, self.positions) for length in self.texts.lengths)

    def _row_bytes(self) -> int:
        known = self.sizes.get(self.asked.items)
        if known is not None:
            return known
        size, error = c_size_t(), sentence()
        check(library.encode_size(self.model, self.asked.address, 1, byref(size), error), error)
        if len(self.sizes) >= _SIZES:
            self.sizes.clear()
        self.sizes[self.asked.items] = size.value
        return size.value

    def _write(self, buffer: npt.NDArray[np.uint8], wanted: bool, cancel: Optional[Cancel], price: int) -> tuple[int, int, int, Optional[int]]:
        """The call: its status and error, the bytes written, and a report if it is wanted."""
        texts, written, report = self.texts, c_size_t(), c_void_p()
        place = byref(report) if wanted else None
        vectors = read.address(buffer)

        def body(asked: int, error: int) -> int:
            lists = texts.pointers, texts.lengths, texts.count
            status: int = library.encode(self.model, asked, *lists, vectors, buffer.nbytes, byref(written), place, error)
            return status

        status, error = run(body, self.asked, cancel, texts.size * price)
        return status, error, written.value, report.value

    def _answer(self, rows: npt.NDArray[Any], report: Optional[int], wanted: bool) -> Any:
        if report is None:
            return rows
        with read.owned("report", report) as handle:
            inputs, places = read.report(handle)
            scales = read.scales(handle, len(rows)) if self.output == "int8" and wanted else None
            finished = library.report_finished(handle)
        vectors: Any = rows
        if self.of_tokens:
            vectors = [rows[first : first + count] for first, count in places[:finished]]
        return results.Encoded(vectors, inputs, scales) if wanted else vectors

    def _bytes_of(self, out: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
        """The bytes of a caller's array, where they lie."""
        if out.dtype != self.numbers or not out.flags.c_contiguous or not out.flags.writeable:
            raise ValueError(f"out must be a contiguous array of {self.numbers} that can be written to, not one of {out.dtype}")
        return out.reshape(-1).view(np.uint8)
