"""Are the answers those of the reference, and the statuses those of the header? tests/golden/bindings/cases.json, which the bindings of all
languages read; tests/golden/make/bindings.py says what its fields mean."""

from __future__ import annotations

import json
from typing import Any, Callable, Optional

import numpy as np
import pytest
from conftest import GOLDEN

import cloze

FILE = json.loads((GOLDEN / "bindings" / "cases.json").read_text(encoding="utf-8"))


def named(cases: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def opened(case: dict[str, Any]) -> cloze.Model:
    options = case.get("options", {})
    if "files" in case:
        return cloze.Model.from_files({name: content.encode() for name, content in case["files"].items()}, **options)
    folder = GOLDEN / case["model"]
    if case.get("memory"):
        files = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        return cloze.Model.from_files(files, **options)
    return cloze.Model(folder, **options)


def ask(model: cloze.Model, case: dict[str, Any], cancel: Optional[cloze.Cancel] = None) -> Any:
    """The call of a case, through the methods that a user has."""
    call, settings = case["call"], case.get("set", {})
    if call in ("model_describe", "model_verify"):
        return getattr(model, call.replace("model_", ""))()
    texts = [bytes.fromhex(text) for text in case["texts"]] if case.get("hex") else case["texts"]
    pairs = case.get("pairs")
    if call == "tokenize":
        return model.tokenize(texts[0], pairs[0] if pairs else None, **settings)
    stop = {"cancel": cancel, **settings}
    calls: dict[str, Callable[[], Any]] = {
        "encode": lambda: model.encode(texts, report=True, **stop),
        "rerank": lambda: model.rerank(case["query"], texts, **stop),
        "extract": lambda: model.extract(case["query"], texts, **stop),
        "classify": lambda: model.classify(texts, pairs=pairs, **stop),
        "classify_as": lambda: model.classify(texts, labels=case["labels"], **stop),
        "next_sentence": lambda: model.next_sentence(texts, pairs or [], **stop),
        "fill_mask": lambda: model.fill_mask(texts, candidates=case["candidates"], texts_too=True, **stop),
        "attention": lambda: model.attention(texts[0], **stop),
    }
    return calls.get(call, lambda: getattr(model, call)(texts, **stop))()


def near(found: Any, wanted: Any, tolerance: float) -> None:
    """Numbers differ by the tolerance at most, those above 1 by this share of them."""
    found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    assert found.shape == wanted.shape
    worst = np.max(np.abs(found - wanted) / np.maximum(1.0, np.abs(wanted)), initial=0.0)
    assert worst <= tolerance, f"{worst} away"


def like(found: Any, wanted: dict[str, Any], tolerance: float) -> None:
    """A tuple with names against an object: floats are near, all else is equal."""
    for name, value in wanted.items():
        got = getattr(found, name)
        if isinstance(value, float):
            near(got, value, tolerance)
        else:
            assert (list(got) if isinstance(got, tuple) else got) == value, name


def vectors(case: dict[str, Any], answer: cloze.Encoded, wanted: dict[str, Any]) -> None:
    if case["set"].get("vectors") == "token":
        assert [len(rows) for rows in answer.vectors] == wanted["rows"]
        rows = np.concatenate(answer.vectors)
    else:
        rows = answer.vectors
        assert wanted["rows"] == [1] * len(rows)
    if "bits" in wanted:
        assert [row.tobytes().hex() for row in rows] == wanted["bits"]
    else:
        scales = 1.0 if answer.scales is None else answer.scales[:, None]
        near(rows * scales, np.reshape(wanted["vectors"], (-1, wanted["dimensions"])), case["tolerance"])
    for key, name in [("tokens", "tokens"), ("totals", "total"), ("truncated", "truncated")]:
        if key in wanted:
            assert [getattr(text, name) for text in answer.inputs] == wanted[key]


def ranks(case: dict[str, Any], answer: list[cloze.Ranked], wanted: dict[str, Any]) -> None:
    assert [rank.document for rank in answer] == wanted["order"]
    for what in ("score", "logit"):
        if what + "s" in wanted:
            near([getattr(rank, what) for rank in answer], [wanted[what + "s"][rank.document] for rank in answer], case["tolerance"])


def labels(case: dict[str, Any], answer: list[list[cloze.Label]], wanted: dict[str, Any]) -> None:
    assert len(answer) == len(wanted["answers"])
    for found, one in zip(answer, wanted["answers"]):
        assert [label.number for label in found] == one["labels"]
        assert [label.label for label in found] == one["names"]
        near([label.score for label in found], one["scores"], case["tolerance"])
        if "logits" in one:
            near([label.logit for label in found], one["logits"], case["tolerance"])


def blanks(case: dict[str, Any], answer: list[list[cloze.Blank]], wanted: dict[str, Any]) -> None:
    assert [len(found) for found in answer] == [len(one) for one in wanted["answers"]]
    for found, one in zip(answer, wanted["answers"]):
        for blank, expected in zip(found, one):
            assert (blank.start, blank.end, len(blank.fills)) == (expected["start"], expected["end"], len(expected["fills"]))
            for fill, what in zip(blank.fills, expected["fills"]):
                like(fill, what, case["tolerance"])


def answers(case: dict[str, Any], answer: list[cloze.Extracted], wanted: dict[str, Any]) -> None:
    assert [len(found.answers) for found in answer] == [len(one["answers"]) for one in wanted["answers"]]
    for found, one in zip(answer, wanted["answers"]):
        for part, what in zip(found.answers, one["answers"]):
            like(part, what, case["tolerance"])
        near([found.no_answer_score, found.no_answer_logit], [one["none"]["score"], one["none"]["logit"]], case["tolerance"])


def each(case: dict[str, Any], answer: list[Any], wanted: dict[str, Any]) -> None:
    assert len(answer) == len(wanted["answers"])
    for found, one in zip(answer, wanted["answers"]):
        if isinstance(one, dict):
            like(found, one, case["tolerance"])
            continue
        assert len(found) == len(one)
        for entity, what in zip(found, one):
            like(entity, what, case["tolerance"])


def weights(case: dict[str, Any], answer: list[cloze.Sparse], wanted: dict[str, Any]) -> None:
    assert [found.ids.tolist() for found in answer] == [[id for id, _ in one] for one in wanted["weights"]]
    for found, one in zip(answer, wanted["weights"]):
        near(found.weights, [weight for _, weight in one], case["tolerance"])


def late(case: dict[str, Any], answer: list[cloze.Late], wanted: dict[str, Any]) -> None:
    assert len(answer) == len(wanted["answers"])
    for found, one in zip(answer, wanted["answers"]):
        assert found.ids.tolist() == one["ids"] and found.offsets.tolist() == one["offsets"]
        near(found.vectors, one["vectors"], case["tolerance"])


def tokens(case: dict[str, Any], answer: cloze.Tokens, wanted: dict[str, Any]) -> None:
    assert (answer.total, answer.truncated, len(answer.windows)) == (wanted["total"], wanted["truncated"], len(wanted["windows"]))
    for found, one in zip(answer.windows, wanted["windows"]):
        assert found.ids.tolist() == one["ids"] and found.type_ids.tolist() == one["types"]
        assert found.special.tolist() == one["special"] and found.offsets.tolist() == one["offsets"] and found.tokens == one["tokens"]


def maps(case: dict[str, Any], answer: cloze.Maps, wanted: dict[str, Any]) -> None:
    layers, heads, count, hidden = (wanted[name] for name in ("layers", "heads", "tokens", "hidden"))
    assert answer.attention.shape == (layers, heads, count, count) and answer.states.shape == (layers + 1, count, hidden)
    near(answer.attention[wanted["map"]["layer"], wanted["map"]["head"]].ravel(), wanted["map"]["values"], case["tolerance"])
    near(answer.states[wanted["state"]["layer"]].ravel(), wanted["state"]["values"], case["tolerance"])


def described(case: dict[str, Any], answer: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert {name: answer[name] for name in wanted} == wanted


JUDGES: dict[str, Callable[[dict[str, Any], Any, Any], None]] = {
    "encode": vectors, "encode_sparse": weights, "encode_late": late, "rerank": ranks, "classify": labels, "classify_as": labels,
    "next_sentence": each, "fill_mask": blanks, "extract": answers, "tag": each, "tag_words": each, "tokenize": tokens,
    "attention": maps, "model_describe": described,
}  # fmt: skip


@named(FILE["cases"])
def test_the_answer_is_the_reference_s(case: dict[str, Any]) -> None:
    JUDGES[case["call"]](case, ask(opened(case), case), case["expect"])


def finished(partial: Any) -> int:
    """How many inputs a partial result says are finished."""
    return len(partial.vectors) if isinstance(partial, cloze.Encoded) else partial.finished


@named(FILE["refused"])
def test_what_cannot_be_done_has_its_status(case: dict[str, Any]) -> None:
    cancel = cloze.Cancel()
    if case.get("cancelled"):
        cancel.cancel()
    with pytest.raises(cloze.Error) as caught:
        ask(opened(case), case, cancel)
    assert caught.value.name == case["status"]
    assert case.get("message", "") in str(caught.value)
    if "finished" in case:
        assert finished(caught.value.partial) == case["finished"]
    else:
        assert caught.value.partial is None
