"""How does Spark encode a data frame? By `mapInPandas`, each worker process with a model of its own:

    frame.mapInPandas(cloze.spark.encoder("models/minilm", normalize=True), "text string, vector array<float>")

The package and the model's files must be on every machine, at the same path. Weights are mapped: the processes of a machine share them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, Callable

from ._model import Model

# A data frame of pandas, which this package does not need.
Frames = Iterator[Any]


def encoder(path: str, text: str = "text", vector: str = "vector", **settings: Any) -> Callable[[Frames], Frames]:
    """What mapInPandas takes: adds to each frame, from its column `text`, a column `vector`."""

    def encode(frames: Frames) -> Frames:
        model = _opened(path)
        for frame in frames:
            yield frame.assign(**{vector: list(model.encode(frame[text], **settings))})

    return encode


@functools.lru_cache(maxsize=1)
def _opened(path: str) -> Model:
    """The model of this process, which lives longer than a partition. Spark runs a process for each core: a thread each is enough."""
    return Model(path, threads=1)
