"""Gathers tests/golden/bindings/cases.json: one list of cases that the binding of every language reads.

Run:       python tests/golden/make/bindings.py      (seconds; needs tokenizers and numpy)

What is expected comes from the reference: it is what the other scripts wrote beside their folders, a few texts of each. Tokens with their
places come from the package `tokenizers`; the layouts `f16`, `int8` and `binary` are the reference's vectors written as cloze.h defines them.
The statuses of wrong inputs are those that cloze.h promises.

A case is an object:
  name        unique
  model       the folder, under tests/golden
  memory      true: open it from its files in memory (every file under the folder, by its path there), not by its path
  options     how it is opened, words
  call        the function of the ABI without `cloze_` (encode, encode_sparse, encode_late, rerank, classify, classify_as, next_sentence,
              fill_mask, extract, tag, tag_words, tokenize, attention, model_describe)
  set         the request, words
  texts       the inputs: texts, documents, contexts; of tokenize and attention exactly one; of tag_words lists of words
  pairs       second texts, as many as texts, null where there is none; absent where the call has none
  query       of rerank the query, of extract the question;   labels: of classify_as;   candidates: of fill_mask
  tolerance   numbers may differ by this, those above 1 by this share of them; everything else must be equal
  expect      by call:
    encode            dimensions; rows (vectors of each text); vectors (all of them, one after another; for `output` f16 and int8 after
                      conversion and times the scale); bits (`output` binary: each vector's bytes in hexadecimal, in place of vectors);
                      where known tokens, totals and truncated of each text
    encode_sparse     weights: of each text [id, weight], the largest first
    encode_late       dimensions; of each text ids, offsets [start, end] and vectors
    rerank            order: documents, the best first; scores and logits by document
    classify(_as)     of each text labels, names, scores and, where the reference says them, logits; all best first
    next_sentence     of each pair score, logit, other_logit
    fill_mask         of each text its blanks: start, end, fills (id, token, score, logit, and the whole text filled so), the best first
    extract           of each context answers (text, start, end, score, logit), the best first, and none (score, logit)
    tag, tag_words    of each text entities: label, start, end, score, text; of words also words [first, end)
    tokenize          total, truncated, windows: each ids, types, special, offsets, tokens
    attention         layers, heads, tokens, hidden; one map (layer, head, values) and one state (layer, values)
    model_describe    some of the names of the JSON object with their values
`refused` are calls that must fail, with the same fields and
  status      the name of the status; wherever on the way (opening, setting, calling) it shows
  message     a part of the message, where it matters that it names something
  hex         true: texts are bytes in hexadecimal, not UTF-8; a language whose strings cannot hold such bytes leaves these out
  files       in place of model: files in memory, name -> content
  cancelled   true: the request has a cancel flag that is raised before the call
  finished    how many inputs the partial result says are finished (of a deadline and of cancellation)
  nul         true: a NUL inside a word or a path. C ends the word there, so the binding itself must refuse it
"""
import json
from pathlib import Path

import numpy
from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parent.parent
CASES = []


def expected(folder):
    return json.loads((ROOT / folder / "expected.json").read_text(encoding="utf-8"))


def values(folder, name="expected.f32"):
    return numpy.fromfile(ROOT / folder / name, "<f4")


def short(value):
    """Numbers with seven digits, which is what fp32 holds."""
    if isinstance(value, (float, numpy.floating)):
        return float(f"{float(value):.7g}")
    if isinstance(value, numpy.ndarray):
        return short(value.tolist())
    if isinstance(value, dict):
        return {key: short(item) for key, item in value.items()}
    return [short(item) for item in value] if isinstance(value, (list, tuple)) else value


def add(name, model, call, tolerance, expect, **more):
    CASES.append(dict(name=name, model=model, call=call, **more, tolerance=tolerance, expect=short(expect)))


def apart(numbers, least=1e-3):
    """An order is only expected where it does not hang on the last bits."""
    falls = numpy.diff(numpy.array(numbers, dtype=float))
    assert (falls <= -least).all() or len(numbers) < 2, numbers


def find(cases, **wanted):
    return next(case for case in cases if all(case.get(key) == value for key, value in wanted.items()))


def encode(model, what, texts, name, tolerance=2e-5, told=False, **more):
    said = expected(model)
    case = find(said["cases"], what=what)
    numbers, at, rows, vectors = values(model), case["at"], [], []
    for text, count in zip(case["texts"], case["rows"]):
        if text in texts:
            rows.append(count)
            vectors.append(numbers[at:at + count * case["dimensions"]].reshape(count, -1))
        at += count * case["dimensions"]
    assert len(rows) == len(texts) and texts == sorted(texts)
    expect = dict(dimensions=case["dimensions"], rows=rows, vectors=numpy.concatenate(vectors))
    if told:
        lengths, totals = [len(said["ids"][text]) for text in texts], [said["totals"][text] for text in texts]
        expect |= dict(tokens=lengths, totals=totals, truncated=[length < total for length, total in zip(lengths, totals)])
    add(name, model, "encode", tolerance, expect, set=case["set"], texts=[said["texts"][text] for text in texts], **more)
    return CASES[-1]


def vectors():
    gelu = "models/tiny-gelu"
    encode(gelu, "the folder's own configuration", [0, 1, 2, 3, 4, 6, 10], "vectors as the folder says", told=True)
    encode(gelu, "the folder's own configuration", [0, 3], "a model from its files in memory", memory=True)
    encode(gelu, "the folder's own configuration", [0, 4], "one thread, portable kernels", options={"threads": "1", "isa": "portable"})
    encode(gelu, "cut, then normalised", [0, 1, 3, 6], "Matryoshka")
    encode(gelu, "last two layers", [0, 1], "a vector a token")
    encode(gelu, "windows", [0, 6], "windows")
    encode("models/tiny-prompts", "prompt query", [0, 3], "the model's prompt for queries")
    for output in ["f16", "int8", "binary"]:
        case = encode(gelu, "the folder's own configuration", [0, 3, 4], f"output {output}")
        case["set"] = {"output": output}
        rows = numpy.array(case["expect"]["vectors"])
        if output == "binary":
            assert (abs(rows) > 1e-5).all()
            case["expect"]["bits"] = [numpy.packbits(row > 0).tobytes().hex() for row in rows]
            del case["expect"]["vectors"]
        else:
            case["tolerance"] = 5e-4 if output == "f16" else float(f"{abs(rows).max() / 127:.2g}")
    add("no texts", gelu, "encode", 0.0, dict(dimensions=48, rows=[], vectors=[]), set={}, texts=[])


def sparse():
    said = expected("sparse/max")
    case = find(said["cases"], set={"top": "7"})
    weights = [list(map(list, zip(a["ids"], a["weights"]))) for a in case["answers"]][:5]
    for text in weights:
        apart([weight for _, weight in text], 1e-5)
    add("sparse weights", "sparse/max", "encode_sparse", 1e-4, dict(weights=weights), set=case["set"], texts=case["texts"][:5])


def late():
    said, numbers = expected("late/colbert"), values("late/colbert", "vectors.f32")
    tokens = json.loads((ROOT / "late/colbert/tokens.json").read_text(encoding="utf-8"))["cases"]
    at = 0
    for case, of_case in zip(said["cases"], tokens):
        answers = []
        for rows, token in zip(case["rows"], of_case):
            size = rows * said["dimensions"]
            answers.append(dict(ids=token["ids"], offsets=token["offsets"], vectors=numbers[at:at + size].reshape(rows, -1)))
            at += size
        role, some = ("query", [1]) if case["query"] else ("document", [0, 1, 4])
        expect = dict(dimensions=said["dimensions"], answers=[answers[i] for i in some])
        add(f"late interaction, {role}", "late/colbert", "encode_late", 1e-4, expect, set={"role": role}, texts=[case["texts"][i] for i in some])
    ranking = said["rankings"][0]
    rank("late interaction ranks", "late/colbert", {}, ranking["query"], ranking["documents"], ranking["scores"], None)


def rank(name, model, set_, query, documents, logits, scores):
    order = sorted(range(len(logits)), key=lambda i: -logits[i])
    apart([logits[i] for i in order])
    expect = dict(order=order, logits=logits)
    if scores:
        expect["scores"] = scores
    add(name, model, "rerank", 1e-4, expect, set=set_, query=query, texts=documents)
    return CASES[-1]


def rerank():
    said = expected("heads/rerank-sigmoid")
    for query, name in [("I ❤️ search 🔍", "a cross-encoder ranks"), ("今天天气", "the best three of a Chinese query")]:
        case = next(c for c in said["cases"] if c["task"] == "rerank" and c["query"] == query and c["set"] == {})
        some = [0, 1, 3, 4, 6, 8]
        logits, scores = ([case["answers"][i][key][0] for i in some] for key in ("logits", "scores"))
        made = rank(name, "heads/rerank-sigmoid", {}, query, [case["inputs"][i] for i in some], logits, scores)
    made["set"] = {"top": "3"}
    made["expect"]["order"] = made["expect"]["order"][:3]
    said = expected("heads/choices")
    case = next(c for c in said["cases"] if len(c["inputs"]) == 2 and c["set"] == {})
    rank("choices of a question", "heads/choices", {}, case["query"], case["inputs"], *([a[key][0] for a in case["answers"]] for key in ("logits", "scores")))


def labels():
    for model, some in [("labels-three", [0, 1, 3, 4, 13, 14]), ("labels-multi", [0, 3, 4])]:
        names = list(json.loads((ROOT / "heads" / model / "config.json").read_text(encoding="utf-8"))["id2label"].values())
        case = find(expected(f"heads/{model}")["cases"], task="classify", set={})
        inputs = [case["inputs"][i] if isinstance(case["inputs"][i], list) else [case["inputs"][i], None] for i in some]
        answers = []
        for i in some:
            answer = case["answers"][i]
            apart(answer["scores"], 1e-5)
            answers.append(dict(labels=answer["labels"], names=[names[l] for l in answer["labels"]], scores=answer["scores"],
                                logits=[answer["logits"][l] for l in answer["labels"]]))
        add(f"labels of {model}", f"heads/{model}", "classify", 1e-4, dict(answers=answers), set={}, texts=[i[0] for i in inputs], pairs=[i[1] for i in inputs])
    for multi in ["false", "true"]:
        case = next(c for c in expected("heads/labels-three")["cases"]
                    if c["task"] == "zero_shot" and c["set"] == {"hypothesis": "天气 {} 😀", "multi_label": multi} and len(c["labels"]) == 4)
        answers = [dict(labels=a["labels"], names=[case["labels"][l] for l in a["labels"]], scores=a["scores"]) for a in case["answers"][:3]]
        for answer in answers:
            apart(answer["scores"], 1e-5)
        add(f"labels of one's own, multi_label {multi}", "heads/labels-three", "classify_as", 1e-4, dict(answers=answers), set=case["set"],
            texts=case["inputs"][:3], labels=case["labels"])


def next_sentence():
    case = expected("heads/next-sentence")["cases"][0]
    answers = [dict(score=a["scores"][0], logit=a["logits"][0], other_logit=a["logits"][1]) for a in case["answers"]]
    add("the next sentence", "heads/next-sentence", "next_sentence", 1e-4, dict(answers=answers), set={}, texts=[i[0] for i in case["inputs"]],
        pairs=[i[1] for i in case["inputs"]])


def fill_mask():
    said = expected("fill_mask/tied")
    for set_, candidates in [({"top": "2"}, []), ({}, ["fox", "the", "天", "Dog", "##s"])]:
        case = find(said["cases"], set={}, candidates=candidates) if candidates else find(said["cases"], set={}, candidates=[])
        top, texts, answers = int(set_.get("top", 99)), [], []
        for text, blanks in zip(case["texts"], case["answers"]):
            places = [i for i in range(len(text)) if text.startswith("[MASK]", i)]
            # Scores of neighbours that are nearly the same would make the order a matter of the last bits.
            if len(places) != len(blanks) or len(text) > 200 or any(not b["logits"] for b in blanks):
                continue
            said_blanks = []
            for place, blank in zip(places, blanks):
                apart(blank["logits"][:top + 1])
                fills = []
                for id_, token, score, logit in list(zip(blank["ids"], blank["words"], blank["scores"], blank["logits"]))[:top]:
                    fill = dict(id=id_, token=token, score=score, logit=logit)
                    if not token.startswith("##"):
                        fill["text"] = text[:place] + token + text[place + 6:]
                    fills.append(fill)
                said_blanks.append(dict(start=place, end=place + 6, fills=fills))
            texts.append(text)
            answers.append(said_blanks)
        assert len(texts) >= 3
        add("blanks filled by candidates" if candidates else "blanks filled", "fill_mask/tied", "fill_mask", 1e-4, dict(answers=answers[:4]), set=set_,
            texts=texts[:4], candidates=candidates)


def extract():
    said = expected("answers/wide")
    for question, set_ in [("今天天气", {"top": "5"}), ("who [MASK] 😀", {})]:
        case = find(said["cases"], question=question, set=set_)
        some = [i for i in range(len(case["contexts"])) if len(case["contexts"][i]) < 120][:4] + [6]
        answers = []
        for i in some:
            answer = case["answers"][i]
            answers.append(dict(answers=[dict(zip(["text", "start", "end", "score", "logit"], a)) for a in answer["answers"]],
                                none=dict(zip(["score", "logit"], answer["none"]))))
        add(f"answers to {question}", "answers/wide", "extract", 1e-4, dict(answers=answers), set=set_, query=question, texts=[case["contexts"][i] for i in some])


def unit(text, place, name):
    before = text[:place]
    return {"codepoint": len(before), "utf16": len(before.encode("utf-16-le")) // 2, "byte": len(before.encode())}[name]


def tag():
    cases = [c for c in expected("entities/bio")["cases"] if c["set"] == {"aggregation": "simple"}]
    text_case, word_case = (next(c for c in cases if isinstance(c["inputs"][0], kind)) for kind in (str, list))
    some = [i for i, text in enumerate(text_case["inputs"]) if len(text) < 120][:6]
    for offsets in ["codepoint", "utf16", "byte"]:
        answers = []
        for i in some:
            text = text_case["inputs"][i]
            answers.append([dict(label=l, start=unit(text, s, offsets), end=unit(text, e, offsets), score=p, text=text[s:e]) for l, s, e, p in text_case["answers"][i]])
        add(f"entities, offsets in {offsets}", "entities/bio", "tag", 1e-4, dict(answers=answers), set={"aggregation": "simple", "offsets": offsets},
            texts=[text_case["inputs"][i] for i in some])
    some = [i for i, words in enumerate(word_case["inputs"]) if len(words) < 30]
    answers = []
    for i in some:
        words = word_case["inputs"][i]
        text, starts = " ".join(words), [len(" ".join(words[:n])) + (n > 0) for n in range(len(words))]
        answers.append([dict(label=l, start=s, end=e, score=p, text=text[s:e], words=[sum(start <= s for start in starts) - 1, sum(start < e for start in starts)])
                        for l, s, e, p in word_case["answers"][i]])
    add("entities of words", "entities/bio", "tag_words", 1e-4, dict(answers=answers), set={"aggregation": "simple"}, texts=[word_case["inputs"][i] for i in some])


def tokens():
    model, said = "models/tiny-gelu", expected("models/tiny-gelu")
    tokenizer = Tokenizer.from_file(str(ROOT / model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    some = [(said["texts"][4], None, "codepoint"), (said["texts"][4], None, "utf16"), (said["texts"][4], None, "byte"), (said["texts"][10], None, "codepoint"),
            ("", None, "codepoint"), (*said["pairs"][4], "byte")]
    for number, (text, pair, offsets) in enumerate(some):
        done = tokenizer.encode(text, pair)
        of = [text if sequence == 0 else pair for sequence in done.sequence_ids]
        places = [[0, 0] if special else [unit(source, place, offsets) for place in span]
                  for span, special, source in zip(done.offsets, done.special_tokens_mask, of)]
        window = dict(ids=done.ids, types=done.type_ids, special=[bool(s) for s in done.special_tokens_mask], offsets=places, tokens=done.tokens)
        more = dict(pairs=[pair]) if pair else {}
        add(f"tokens {number}, offsets in {offsets}", model, "tokenize", 0.0, dict(total=len(done.ids), truncated=False, windows=[window]),
            set={"offsets": offsets}, texts=[text], **more)
    for text, ids in zip(said["texts"], said["ids"]):
        assert len(ids) < 60 and tokenizer.encode(text).ids == ids or len(text) > 400, text


def attention():
    said, numbers, at = expected("fill_mask/tied"), values("fill_mask/tied", "looks.f32"), 0
    for look in said["looks"]:
        sizes = look["maps"], look["states"]
        maps, at = numbers[at:at + numpy.prod(sizes[0])].reshape(sizes[0]), at + numpy.prod(sizes[0])
        states, at = numbers[at:at + numpy.prod(sizes[1])].reshape(sizes[1]), at + numpy.prod(sizes[1])
        if sizes[0][2] > 16:
            continue
        expect = dict(layers=sizes[0][0], heads=sizes[0][1], tokens=sizes[0][2], hidden=sizes[1][2], map=dict(layer=1, head=2, values=maps[1, 2].flatten()),
                      state=dict(layer=1, values=states[1].flatten()))
        more = dict(pairs=[look["pair"]]) if look["pair"] is not None else {}
        add("attention and hidden states" + (" of a pair" if more else ""), "fill_mask/tied", "attention", 1e-4, expect, set={}, texts=[look["text"]], **more)
        return


def describe():
    for model in ["models/tiny-gelu", "heads/labels-multi"]:
        config = json.loads((ROOT / model / "config.json").read_text(encoding="utf-8"))
        expect = dict(family="bert", layers=config["num_hidden_layers"], hidden=config["hidden_size"], heads=config["num_attention_heads"],
                      vocabulary=config["vocab_size"], positions=config["max_position_embeddings"])
        add(f"what {model} is", model, "model_describe", 0.0, expect)


GELU = dict(model="models/tiny-gelu")
TEXTS = dict(call="encode", texts=["a text"])
REFUSED = [
    dict(name="no such folder", model="models/nowhere", call="encode", texts=[], status="CLOZE_IO", message="nowhere"),
    dict(name="an option that does not exist", **GELU, **TEXTS, options={"colour": "red"}, status="CLOZE_INVALID_ARGUMENT", message="colour"),
    dict(name="an option's bad value", **GELU, **TEXTS, options={"threads": "0"}, status="CLOZE_INVALID_ARGUMENT", message="threads"),
    dict(name="an instruction set that does not exist", **GELU, **TEXTS, options={"isa": "z80"}, status="CLOZE_INVALID_ARGUMENT", message="z80"),
    dict(name="a key that does not exist", **GELU, **TEXTS, set={"no_such_key": "1"}, status="CLOZE_INVALID_ARGUMENT", message="no_such_key"),
    dict(name="an empty key", **GELU, **TEXTS, set={"": ""}, status="CLOZE_INVALID_ARGUMENT"),
    dict(name="a bad value", **GELU, **TEXTS, set={"pooling": "average"}, status="CLOZE_INVALID_ARGUMENT", message="average"),
    dict(name="a value that this model cannot serve", **GELU, **TEXTS, set={"dimensions": "100000"}, status="CLOZE_INVALID_ARGUMENT"),
    dict(name="a prompt that this model has not", **GELU, **TEXTS, set={"prompt_name": "nobody"}, status="CLOZE_INVALID_ARGUMENT", message="nobody"),
    dict(name="words that do not go together", **GELU, **TEXTS, set={"overlap": "6"}, status="CLOZE_INVALID_ARGUMENT", message="overlap"),
    dict(name="too long", **GELU, call="encode", texts=["short", "one two three four five six seven eight"], set={"truncation": "error", "max_tokens": "5"},
         status="CLOZE_TOO_LONG", message="text"),
    dict(name="no UTF-8", **GELU, call="encode", texts=["66696e65", "6162ff"], hex=True, status="CLOZE_INVALID_UTF8", message="texts[1]"),
    dict(name="a surrogate in UTF-8", **GELU, call="encode", texts=["6162eda080"], hex=True, status="CLOZE_INVALID_UTF8", message="byte 2"),
    dict(name="no UTF-8 to tokenize", **GELU, call="tokenize", texts=["ff"], hex=True, status="CLOZE_INVALID_UTF8"),
    dict(name="cancelled before it began", **GELU, **TEXTS, cancelled=True, status="CLOZE_CANCELLED", finished=0),
    dict(name="no time at all", **GELU, **TEXTS, set={"deadline_ms": "0"}, status="CLOZE_DEADLINE_EXCEEDED", finished=0),
    dict(name="no time to rank", model="heads/rerank-sigmoid", call="rerank", query="a", texts=["b", "c"], set={"deadline_ms": "0"},
         status="CLOZE_DEADLINE_EXCEEDED", finished=0),
    dict(name="ranking cancelled", model="heads/rerank-sigmoid", call="rerank", query="a", texts=["b"], cancelled=True, status="CLOZE_CANCELLED", finished=0),
    dict(name="attention has no half results", **GELU, call="attention", texts=["a text"], set={"deadline_ms": "0"}, status="CLOZE_DEADLINE_EXCEEDED"),
    dict(name="no head for labels", **GELU, call="classify", texts=["a text"], status="CLOZE_INVALID_ARGUMENT"),
    dict(name="no head for answers", **GELU, call="extract", query="who?", texts=["a text"], status="CLOZE_INVALID_ARGUMENT"),
    dict(name="no head for entities", **GELU, call="tag", texts=["a text"], status="CLOZE_INVALID_ARGUMENT"),
    dict(name="no head for entities of words", **GELU, call="tag_words", texts=[["a", "text"]], status="CLOZE_INVALID_ARGUMENT"),
    dict(name="no head for blanks", **GELU, call="fill_mask", texts=["a [MASK]"], candidates=[], status="CLOZE_INVALID_ARGUMENT"),
    dict(name="no head for sparse weights", **GELU, call="encode_sparse", texts=["a text"], status="CLOZE_INVALID_ARGUMENT"),
    dict(name="no late interaction", **GELU, call="encode_late", texts=["a text"], status="CLOZE_INVALID_ARGUMENT"),
    dict(name="no head for what follows", model="heads/labels-three", call="next_sentence", texts=["a"], pairs=["b"], status="CLOZE_INVALID_ARGUMENT"),
    dict(name="no labels", model="heads/labels-three", call="classify_as", texts=["a"], labels=[], status="CLOZE_INVALID_ARGUMENT"),
    dict(name="no blank", model="fill_mask/tied", call="fill_mask", texts=["no blank here"], candidates=[], status="CLOZE_INVALID_ARGUMENT"),
    dict(name="a question without words", model="answers/wide", call="extract", query="", texts=["a text"], status="CLOZE_INVALID_ARGUMENT"),
    dict(name="a folder has no probes", **GELU, call="model_verify", status="CLOZE_INVALID_ARGUMENT"),
    dict(name="a broken file in memory", files={"config.json": "{ not json", "model.safetensors": "????????"}, call="encode", texts=[], status="CLOZE_INVALID_FILE",
         message="config.json"),
    dict(name="a name that leaves the folder", files={"../config.json": "{}"}, call="encode", texts=[], status="CLOZE_INVALID_ARGUMENT"),
    dict(name="a NUL in a key", **GELU, **TEXTS, set={"pooling\0x": "mean"}, nul=True, status="CLOZE_INVALID_ARGUMENT"),
    dict(name="a NUL in a value", **GELU, **TEXTS, set={"pooling": "mean\0x"}, nul=True, status="CLOZE_INVALID_ARGUMENT"),
    dict(name="a NUL in an option", **GELU, **TEXTS, options={"threads": "1\0x"}, nul=True, status="CLOZE_INVALID_ARGUMENT"),
    dict(name="a NUL in a path", model="models/tiny-gelu\0x", **TEXTS, nul=True, status="CLOZE_INVALID_ARGUMENT"),
]


def main():
    for part in [vectors, sparse, late, rerank, labels, next_sentence, fill_mask, extract, tag, tokens, attention, describe]:
        part()
    names = [case["name"] for case in CASES + REFUSED]
    assert len(set(names)) == len(names), names
    line = lambda case: json.dumps(case, ensure_ascii=False, separators=(",", ":"))
    text = '{"made_by":"tests/golden/make/bindings.py",\n"cases":[\n%s\n],\n"refused":[\n%s\n]}\n' % tuple(",\n".join(map(line, rows)) for rows in (CASES, REFUSED))
    path = ROOT / "bindings" / "cases.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"{path}: {len(CASES)} cases, {len(REFUSED)} refused, {len(text.encode())} bytes")


if __name__ == "__main__":
    main()
