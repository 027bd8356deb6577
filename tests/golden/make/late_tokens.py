"""The tokens that the vectors in tests/golden/late stand for -> tokens.json beside each expected.json.

Run:       python tests/golden/make/late_tokens.py      (CPU, seconds; needs nothing but tokenizers)

Ids and places are those of the `tokenizers` package; around them PyLate's rule (pylate/models/colbert.py, `tokenize`): a marker behind
the first token, queries filled up with mask tokens, of documents the words of the skip list left out. That as many tokens come out as PyLate
gave vectors is checked here. Places are code points, [0, 0] where a token stands in no text.
"""
import json
import string
from pathlib import Path

from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parent.parent / "late"


def settings(folder):
    if (folder / "artifact.metadata").exists():
        said = json.loads((folder / "artifact.metadata").read_text())
        return said["query_token_id"], said["doc_token_id"], said["query_maxlen"], said["doc_maxlen"], list(string.punctuation)
    said = json.loads((folder / "config_sentence_transformers.json").read_text())
    return said["query_prefix"], said["document_prefix"], said["query_length"], said["document_length"], said["skiplist_words"]


def main():
    for folder in sorted(path for path in ROOT.iterdir() if path.is_dir()):
        query_marker, document_marker, query_length, document_length, skip = settings(folder)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        skipped = {tokenizer.token_to_id(word) for word in skip} - {None}
        cases = []
        for case in json.loads((folder / "expected.json").read_text())["cases"]:
            marker, length = (query_marker, query_length) if case["query"] else (document_marker, document_length)
            tokenizer.enable_truncation(length - 1)
            answers = []
            for text, rows in zip(case["texts"], case["rows"]):
                done = tokenizer.encode(text)
                places = [[0, 0] if special else list(place) for place, special in zip(done.offsets, done.special_tokens_mask)]
                tokens = list(zip(done.ids, places))
                tokens.insert(1, (tokenizer.token_to_id(marker), [0, 0]))
                if case["query"]:
                    tokens += [(tokenizer.token_to_id("[MASK]"), [0, 0])] * (length - len(tokens))
                else:
                    tokens = [token for token in tokens if token[0] not in skipped]
                assert len(tokens) == rows, (folder.name, text, len(tokens), rows)
                answers.append({"ids": [token[0] for token in tokens], "offsets": [token[1] for token in tokens]})
            cases.append(answers)
        (folder / "tokens.json").write_text(json.dumps({"made_by": "tests/golden/make/late_tokens.py", "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
