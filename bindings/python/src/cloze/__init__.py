"""Cloze: BERT-family encoders in your own process.

    import cloze

    with cloze.Model("models/minilm") as model:
        vectors = model.encode(["How do I reset my password?", "Forgotten credentials"])
"""

from ._errors import Error
from ._library import version
from ._model import Model
from ._request import Cancel, Setting
from ._results import (
    Answer, Blank, Encoded, Entity, Extracted, Fill, Follow, Input, Label, Late, Maps, Ranked, Results, Sparse, Tokens, Window,
)  # fmt: skip
from ._texts import Text

__version__ = version()

__all__ = [
    "Answer", "Blank", "Cancel", "Encoded", "Entity", "Error", "Extracted", "Fill", "Follow", "Input", "Label", "Late", "Maps", "Model",
    "Ranked", "Results", "Setting", "Sparse", "Text", "Tokens", "Window", "version",
]  # fmt: skip
