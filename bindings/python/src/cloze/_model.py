"""What does a program ask of a model? A method for each call of the C ABI, in the same words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ctypes import c_size_t
from typing import Any, Literal, Optional, Union, overload

import numpy.typing as npt

from . import _read as read
from . import _results as results
from ._encode import Encoding
from ._library import library
from ._opened import Opened
from ._request import Cancel, Setting, request
from ._results import Results
from ._texts import Text, Texts, as_list, is_one, utf8

Array = npt.NDArray[Any]


class Model(Opened):
    """A model, opened from a Hugging Face or sentence-transformers folder or a GGUF file; any number of threads may use it at once.

    Options (`threads`, `precision`, `isa`) and the settings of calls are words of the command line and the C API, given as keyword arguments:
    `model.encode(texts, pooling="cls", threads=2)`. Offsets are places in a `str`, unless `offsets` asks for others. Each call takes `cancel`,
    a `Cancel` that stops it, and the setting `deadline_ms`; what was finished by then is in the exception's `partial`. Ctrl-C in
    the main thread stops a call, too. A list is answered with a list, one text with one answer.
    """

    # -----------------------------------------------------------------------------------------------------------------
    # Vectors

    @overload
    def encode(
        self, texts: Union[Text, Iterable[Text]], *, report: Literal[True], vectors: str = ..., out: Optional[Array] = ..., cancel: Optional[Cancel] = ...,
        **settings: Setting,
    ) -> results.Encoded: ...  # fmt: skip
    @overload
    def encode(  # type: ignore[overload-overlap]
        self, texts: Union[Text, Iterable[Text]], *, report: Literal[False] = ..., vectors: Literal["token"], out: Optional[Array] = ...,
        cancel: Optional[Cancel] = ..., **settings: Setting,
    ) -> list[Array]: ...  # fmt: skip
    @overload
    def encode(
        self, texts: Union[Text, Iterable[Text]], *, report: Literal[False] = ..., vectors: str = ..., out: Optional[Array] = ...,
        cancel: Optional[Cancel] = ..., **settings: Setting,
    ) -> Array: ...  # fmt: skip
    def encode(
        self,
        texts: Union[Text, Iterable[Text]],
        *,
        report: bool = False,
        vectors: str = "text",
        out: Optional[Array] = None,
        cancel: Optional[Cancel] = None,
        **settings: Setting,
    ) -> Any:
        """Vectors of texts: an array with a row a text, of one text an array of its values.

        The library writes them where they stay: to a new array, or to `out`, which must be contiguous and large enough. With `report=True` the answer
        is an `Encoded`, which has also what became of each text. With `vectors="token"` the answer is a list with an array a text.
        """
        listed, handle = Texts(as_list(texts), "texts"), self._held()
        if vectors != "text":
            settings["vectors"] = vectors
        encoding = Encoding(handle.address, listed, request(settings, cancel), settings, self._positions, self._sizes)
        answer = encoding.run(out, report, cancel, self._price)
        if not is_one(texts):
            return answer
        return answer._replace(vectors=answer.vectors[0]) if report else answer[0]

    @overload
    def encode_sparse(self, texts: Text, *, cancel: Optional[Cancel] = ..., **settings: Setting) -> results.Sparse: ...  # type: ignore[overload-overlap]
    @overload
    def encode_sparse(self, texts: Iterable[Text], *, cancel: Optional[Cancel] = ..., **settings: Setting) -> Results[results.Sparse]: ...
    def encode_sparse(
        self, texts: Union[Text, Iterable[Text]], *, cancel: Optional[Cancel] = None, **settings: Setting
    ) -> Any:
        """Sparse weights of the vocabulary (SPLADE): a `Sparse` for each text."""
        return self._texts_alone("encode_sparse", "sparse", read.sparse, texts, cancel, settings)

    @overload
    def encode_late(self, texts: Text, *, cancel: Optional[Cancel] = ..., **settings: Setting) -> results.Late: ...  # type: ignore[overload-overlap]
    @overload
    def encode_late(self, texts: Iterable[Text], *, cancel: Optional[Cancel] = ..., **settings: Setting) -> Results[results.Late]: ...
    def encode_late(
        self, texts: Union[Text, Iterable[Text]], *, cancel: Optional[Cancel] = None, **settings: Setting
    ) -> Any:
        """A vector for each token that counts (ColBERT): a `Late` for each text. `role` is "query" or "document"."""
        return self._texts_alone("encode_late", "late", read.late, texts, cancel, settings)

    # -----------------------------------------------------------------------------------------------------------------
    # Heads

    def rerank(
        self, query: Text, documents: Iterable[Text], *, cancel: Optional[Cancel] = None, **settings: Setting
    ) -> Results[results.Ranked]:
        """Documents in the order of how well they answer a query, the best first."""
        asked, listed = utf8(query, "query"), Texts(documents, "documents")
        work = listed.size + len(asked) * (1 + listed.count)
        return self._call(
            "rerank", "ranking", lambda handle: read.ranking(handle, listed.count),
            (asked, len(asked), listed.pointers, listed.lengths, listed.count), work, cancel, settings,
        )  # fmt: skip

    @overload
    def classify(self, texts: Text, *, pairs: Optional[Text] = ..., labels: Optional[Sequence[Text]] = ..., cancel: Optional[Cancel] = ..., **settings: Setting) -> list[results.Label]: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, texts: Iterable[Text], *, pairs: Optional[Iterable[Optional[Text]]] = ..., labels: Optional[Sequence[Text]] = ..., cancel: Optional[Cancel] = ..., **settings: Setting) -> Results[list[results.Label]]: ...
    def classify(
        self,
        texts: Union[Text, Iterable[Text]],
        *,
        pairs: Union[None, Text, Iterable[Optional[Text]]] = None,
        labels: Optional[Sequence[Text]] = None,
        cancel: Optional[Cancel] = None,
        **settings: Setting,
    ) -> Any:
        """The labels of each text, the best first; of each text with its pair, where there are `pairs`; or how well each of your own `labels`
        fits, by a model of natural language inference."""
        if labels is None:
            if pairs is None:
                listed = Texts(as_list(texts), "texts")
                arguments = (listed.pointers, listed.lengths, None, None, listed.count)
                return self._one_or_list("classify", "classes", read.classes, arguments, listed.size, texts, cancel, settings)
            return self._pairs("classify", "classes", read.classes, texts, pairs, cancel, settings)
        if pairs is not None:
            raise ValueError("labels of your own are asked of single texts: leave out pairs")
        listed, asked = Texts(as_list(texts), "texts"), Texts(labels, "labels")
        arguments_as = (listed.pointers, listed.lengths, listed.count, asked.pointers, asked.lengths, asked.count)
        work = listed.size * max(1, asked.count) + asked.size * listed.count
        return self._one_or_list("classify_as", "classes", read.classes, arguments_as, work, texts, cancel, settings)

    @overload
    def next_sentence(self, texts: Text, pairs: Text, *, cancel: Optional[Cancel] = ..., **settings: Setting) -> results.Follow: ...  # type: ignore[overload-overlap]
    @overload
    def next_sentence(self, texts: Iterable[Text], pairs: Iterable[Text], *, cancel: Optional[Cancel] = ..., **settings: Setting) -> Results[results.Follow]: ...
    def next_sentence(
        self,
        texts: Union[Text, Iterable[Text]],
        pairs: Union[Text, Iterable[Text]],
        *,
        cancel: Optional[Cancel] = None,
        **settings: Setting,
    ) -> Any:
        """How probably the second text of each pair follows the first: a `Follow` for each."""
        return self._pairs("next_sentence", "follows", read.follows, texts, pairs, cancel, settings)

    @overload
    def extract(self, question: Text, contexts: Text, *, cancel: Optional[Cancel] = ..., **settings: Setting) -> results.Extracted: ...  # type: ignore[overload-overlap]
    @overload
    def extract(self, question: Text, contexts: Iterable[Text], *, cancel: Optional[Cancel] = ..., **settings: Setting) -> Results[results.Extracted]: ...
    def extract(
        self, question: Text, contexts: Union[Text, Iterable[Text]], *, cancel: Optional[Cancel] = None, **settings: Setting
    ) -> Any:
        """The parts of each context that answer a question: an `Extracted` for each."""
        asked, listed = utf8(question, "question"), Texts(as_list(contexts), "contexts")
        arguments = (asked, len(asked), listed.pointers, listed.lengths, listed.count)
        work = listed.size + len(asked) * (1 + listed.count)
        return self._one_or_list("extract", "answers", read.answers, arguments, work, contexts, cancel, settings)

    @overload
    def tag(self, texts: Text, *, cancel: Optional[Cancel] = ..., **settings: Setting) -> list[results.Entity]: ...  # type: ignore[overload-overlap]
    @overload
    def tag(self, texts: Iterable[Text], *, cancel: Optional[Cancel] = ..., **settings: Setting) -> Results[list[results.Entity]]: ...
    def tag(self, texts: Union[Text, Iterable[Text]], *, cancel: Optional[Cancel] = None, **settings: Setting) -> Any:
        """The entities of each text, in the order in which they stand there."""
        return self._texts_alone("tag", "entities", lambda handle: read.entities(handle, False), texts, cancel, settings)

    def tag_words(
        self, inputs: Iterable[Sequence[Text]], *, cancel: Optional[Cancel] = None, **settings: Setting
    ) -> Results[list[results.Entity]]:
        """As `tag`, of words that you have found; an input is a list of them."""
        lists = [list(words) for words in inputs]
        listed = Texts([word for words in lists for word in words], "words")
        counts = (c_size_t * len(lists))(*map(len, lists))
        return self._call(
            "tag_words", "entities", lambda handle: read.entities(handle, True),
            (listed.pointers, listed.lengths, counts, len(lists)), listed.size, cancel, settings,
        )  # fmt: skip

    @overload
    def fill_mask(self, texts: Text, *, candidates: Sequence[Text] = ..., texts_too: bool = ..., cancel: Optional[Cancel] = ..., **settings: Setting) -> list[results.Blank]: ...  # type: ignore[overload-overlap]
    @overload
    def fill_mask(self, texts: Iterable[Text], *, candidates: Sequence[Text] = ..., texts_too: bool = ..., cancel: Optional[Cancel] = ..., **settings: Setting) -> Results[list[results.Blank]]: ...
    def fill_mask(
        self,
        texts: Union[Text, Iterable[Text]],
        *,
        candidates: Sequence[Text] = (),
        texts_too: bool = False,
        cancel: Optional[Cancel] = None,
        **settings: Setting,
    ) -> Any:
        """Tokens for the blanks of each text, or those of your own `candidates`, the best first: a list of `Blank` for each text. With `texts_too`, each
        has the whole text with the token in its blank."""
        listed, asked = Texts(as_list(texts), "texts"), Texts(candidates, "candidates")
        arguments = (listed.pointers, listed.lengths, listed.count, asked.pointers, asked.lengths, asked.count)
        return self._one_or_list(
            "fill_mask", "fills", lambda handle: read.fills(handle, texts_too), arguments, listed.size, texts, cancel, settings
        )

    def tokenize(self, text: Text, pair: Optional[Text] = None, **settings: Setting) -> results.Tokens:
        """The tokens that the encoder would see of a text, or of a text and its pair."""

        def tokens(handle: int) -> results.Tokens:
            windows = [read.window(handle, number) for number in range(library.tokens_windows(handle))]
            return results.Tokens(windows, library.tokens_total(handle), library.tokens_truncated(handle))

        return self._call("tokenize", "tokens", tokens, _text_and_pair(text, pair), 0, None, settings)

    def attention(
        self, text: Text, pair: Optional[Text] = None, *, cancel: Optional[Cancel] = None, **settings: Setting
    ) -> results.Maps:
        """What each head of each layer looks at, and all hidden states."""
        arguments = _text_and_pair(text, pair)
        return self._call("attention", "maps", read.maps, arguments, arguments[1] + arguments[3], cancel, settings)


def _text_and_pair(text: Text, pair: Optional[Text]) -> tuple[bytes, int, Optional[bytes], int]:
    first, second = utf8(text, "text"), None if pair is None else utf8(pair, "pair")
    return first, len(first), second, 0 if second is None else len(second)
