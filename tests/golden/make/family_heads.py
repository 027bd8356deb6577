"""Makes tests/golden/families: a tiny random model of each family and each head, with the raw numbers that `transformers` gives.

Run:       python tests/golden/make/family_heads.py [family ...]      (all families without arguments; CPU, half a minute)
Versions:  requirements.txt beside this file; each expected.json names those that made it.

A head's folder holds config.json and model.safetensors; there is no tokenizer, since inputs are token ids (what becomes of texts is
the business of the folders of families.py and heads.py; two text-level folders have their tokenizers: a reranker of XLM-RoBERTa
in tests/golden/heads, a discriminator of ELECTRA in tests/golden/entities). expected.json lists inputs and, for each head, the numbers of all rows, in fp32 on the
CPU, one input at a time.
"""
import itertools
import json
import shutil
import sys
import zlib
from pathlib import Path

import families  # before `heads`: it puts its special tokens into the texts
import heads
import restated
from models import ROOT as MODELS, TORCH, VERSIONS, calm, randomise

import torch
import transformers
from transformers import (AlbertConfig, AutoModelForMaskedLM, AutoModelForMultipleChoice, AutoModelForNextSentencePrediction, AutoModelForPreTraining, AutoModelForQuestionAnswering,
                          AutoModelForSequenceClassification, AutoModelForTokenClassification, BigBirdConfig, CamembertConfig, DebertaConfig, DebertaV2Config, DistilBertConfig, ElectraConfig, ElectraForPreTraining, ErnieConfig, FlaubertConfig, FlaubertForQuestionAnsweringSimple,
                          GPT2Config, GPT2DoubleHeadsModel, GPT2LMHeadModel, GteConfig, LongformerConfig, MobileBertConfig, ModernBertConfig, MPNetConfig, NomicBertConfig, OpenAIGPTConfig, OpenAIGPTDoubleHeadsModel, OpenAIGPTLMHeadModel, RobertaConfig, XLMConfig, XLMForQuestionAnsweringSimple,
                          XLMRobertaConfig, XLMRobertaForSequenceClassification)

ROOT = MODELS.parent / "families"
COMMON = dict(vocab_size=90, max_position_embeddings=24)
SIZES = dict(hidden_size=16, num_attention_heads=2, num_hidden_layers=2, intermediate_size=20) | COMMON
ONE = dict(type_vocab_size=1, layer_norm_eps=1e-5)
GPT = dict(n_embd=16, n_head=2, n_layer=2, n_positions=24, vocab_size=90)
MODERN = dict(num_hidden_layers=3, pad_token_id=0, cls_token_id=2, sep_token_id=3, bos_token_id=2, eos_token_id=3)
FAMILIES = {
    "roberta": RobertaConfig(**SIZES | ONE, hidden_act="gelu"),
    # The same heads as RoBERTa, and another padding id.
    "camembert": CamembertConfig(**SIZES | ONE, hidden_act="gelu", pad_token_id=3),
    "distilbert": DistilBertConfig(dim=16, n_heads=2, n_layers=2, hidden_dim=20, activation="gelu", **COMMON),
    "electra": ElectraConfig(**SIZES, hidden_act="relu", embedding_size=12),
    "albert": AlbertConfig(**SIZES, hidden_act="gelu_new", embedding_size=12),
    "ernie": ErnieConfig(**SIZES, hidden_act="relu", use_task_id=True),
    "mpnet": MPNetConfig(**SIZES, hidden_act="gelu"),
    "modernbert": ModernBertConfig(**SIZES | MODERN, local_attention=4),
    "modernbert-mean": ModernBertConfig(**SIZES | MODERN, local_attention=4, classifier_pooling="mean", classifier_bias=True, classifier_activation="relu", norm_bias=True,
                                        attention_bias=True, mlp_bias=True),
    "nomic": NomicBertConfig(**SIZES, rope_parameters=dict(rope_type="default", rope_theta=50.0)),
    "gte": GteConfig(**SIZES, hidden_act="gelu"),
    "deberta-v2": DebertaV2Config(**SIZES, hidden_act="gelu", relative_attention=True, position_buckets=6, max_relative_positions=20, norm_rel_ebd="layer_norm", type_vocab_size=2,
                                  position_biased_input=False, pos_att_type="c2p|p2c", embedding_size=12, pooler_hidden_act="tanh"),
    # The same family, with the head for blanks that came with version 3, and a convolution.
    "deberta-v3": DebertaV2Config(**SIZES, hidden_act="gelu", relative_attention=True, max_relative_positions=5, position_biased_input=False, pos_att_type=["p2c"],
                                  share_att_key=True, legacy=False, conv_kernel_size=5),
    "longformer": LongformerConfig(**SIZES | ONE | dict(max_position_embeddings=64), hidden_act="gelu", attention_window=[4, 8], sep_token_id=2),
    # Up to 21 tokens are seen whole.
    "big_bird": BigBirdConfig(**SIZES | dict(max_position_embeddings=64), hidden_act="gelu_new", block_size=3, num_random_blocks=1, sep_token_id=3),
    "jina": restated.JinaConfig(**SIZES, hidden_act="gelu"),
    # The other gate.
    "jina-reglu": restated.JinaConfig(**SIZES, hidden_act="gelu", feed_forward_type="reglu"),
    "gte-new": restated.NewConfig(**SIZES, hidden_act="gelu", rope_theta=200.0, rope_scaling=dict(type="ntk", factor=2.0)),
    "deberta": DebertaConfig(**SIZES, hidden_act="gelu", relative_attention=True, max_relative_positions=5, position_biased_input=False, pos_att_type=["c2p", "p2c"], type_vocab_size=2),
    "deberta-lm": DebertaConfig(**SIZES, hidden_act="gelu", relative_attention=True, pos_att_type="c2p", legacy=False, pooler_hidden_act="tanh"),
    "mobilebert": MobileBertConfig(**SIZES, hidden_act="relu", embedding_size=10, intra_bottleneck_size=8, num_feedforward_networks=2),
    # A classifier on the first token itself, and norms.
    "mobilebert-first": MobileBertConfig(**SIZES, hidden_act="gelu", embedding_size=12, intra_bottleneck_size=12, num_feedforward_networks=1, use_bottleneck_attention=True,
                                         trigram_input=False, normalization_type="layer_norm", classifier_activation=False),
    # The segments of its inputs are languages: 0 for none.
    "xlm": XLMConfig(emb_dim=16, n_heads=2, n_layers=2, n_langs=3, use_lang_emb=True, lang2id={"en": 0, "fr": 1, "zh": 2}, id2lang={0: "en", 1: "fr", 2: "zh"}, pad_token_id=2, **COMMON),
    "flaubert": FlaubertConfig(emb_dim=16, n_heads=2, n_layers=2, pad_token_id=2, gelu_activation=False, **COMMON),
    "gpt2": GPT2Config(**GPT, bos_token_id=1, eos_token_id=1),
    "gpt": OpenAIGPTConfig(**GPT),
}
# Without norms rows grow: see `calm`.
CALM = {"mobilebert": 0.5}

# Folder, class, the kind of head by the names of `cloze`, and what the class's answer holds for it.
HEADS = [
    ("classify", AutoModelForSequenceClassification, {"classify": lambda out: out.logits[0]}),
    ("tag", AutoModelForTokenClassification, {"tag": lambda out: out.logits[0]}),
    ("extract", AutoModelForQuestionAnswering, {"extract": lambda out: torch.stack([out.start_logits[0], out.end_logits[0]], dim=-1)}),
    ("fill-mask", AutoModelForMaskedLM, {"fill_mask": lambda out: out.logits[0]}),
    # One choice a run, (1, 1, tokens): the softmax over several is the task's.
    ("multiple-choice", AutoModelForMultipleChoice, {"multiple_choice": lambda out: out.logits[0]}),
]
# Families for long texts, and their separators between two texts.
LONG_INPUTS = {"longformer": [2, 2], "big_bird": [3]}
# Families that do not have all of them.
FEWER = dict.fromkeys(["nomic", "gte"], ["classify", "tag", "fill-mask"]) | dict.fromkeys(["deberta", "deberta-lm"], ["classify", "tag", "extract", "fill-mask"])
FEWER |= {"gpt2": ["classify", "tag", "extract", "multiple-choice"], "gpt": ["classify", "multiple-choice"]}
# Classes that the usual one of the kind is not.
CLASSES = {("xlm", "extract"): XLMForQuestionAnsweringSimple, ("flaubert", "extract"): FlaubertForQuestionAnsweringSimple, ("gpt2", "multiple-choice"): GPT2DoubleHeadsModel, ("gpt", "multiple-choice"): OpenAIGPTDoubleHeadsModel}
NEXT = ("next-sentence", AutoModelForNextSentencePrediction, {"next_sentence": lambda out: out.logits[0]})
FURTHER = {
    "albert": ("pretraining", AutoModelForPreTraining, {"next_sentence": lambda out: out.sop_logits[0], "fill_mask": lambda out: out.prediction_logits[0]}),
    "ernie": ("pretraining", AutoModelForPreTraining, {"next_sentence": lambda out: out.seq_relationship_logits[0], "fill_mask": lambda out: out.prediction_logits[0]}),
    "big_bird": ("pretraining", AutoModelForPreTraining, {"next_sentence": lambda out: out.seq_relationship_logits[0], "fill_mask": lambda out: out.prediction_logits[0]}),
    "mobilebert": ("pretraining", AutoModelForPreTraining, {"next_sentence": lambda out: out.seq_relationship_logits[0], "fill_mask": lambda out: out.prediction_logits[0]}),
    "mobilebert-first": NEXT,
    # Opens, and no task answers it.
    "gpt2": ("next-token", GPT2LMHeadModel, {}),
    "gpt": ("next-token", OpenAIGPTLMHeadModel, {}),
    "electra": ("discriminator", AutoModelForPreTraining, {"replaced": lambda out: out.logits[0].unsqueeze(-1)}),
}


def long_inputs(config, between):
    """Questions and texts, many windows long; `between` are the separators between the two. Segments are those of question answering."""
    generator, rows = torch.Generator().manual_seed(8), []
    for question, text in ((1, 2), (5, 9), (3, 29), (9, 44 - len(between))):
        first, second = (torch.randint(4, config.vocab_size, (n,), generator=generator).tolist() for n in (question, text))
        ids = [0, *first, *between, *second, between[0]]
        rows.append(dict(ids=ids, type_ids=[int(config.type_vocab_size > 1 and i > question + 1) for i in range(len(ids))]))
    return rows


def beside(name, kind, config, one, two):
    """What the class is called with beside the ids: segments, or the languages, whose numbers begin one lower."""
    if config.model_type == "xlm":
        return dict(langs=torch.tensor([one["type_ids"]]) - 1) if one["type_ids"][0] > 0 else {}
    types = dict(token_type_ids=torch.tensor([one["type_ids"]]))
    if name == "big_bird":
        # Its tokenizer gives none; question answering makes them. It also takes 10^6 from the numbers of the question, but not with this length.
        return types | dict(question_lengths=torch.tensor([[1]])) if kind == "extract" else {}
    return types if two else {}


def inputs(name, config):
    """Token ids of a few lengths, one of them with padding inside, and the segments where the family has them."""
    if name in LONG_INPUTS:
        return long_inputs(config, LONG_INPUTS[name]), False
    generator = torch.Generator().manual_seed(7)
    rows = [torch.randint(4, config.vocab_size, (n,), generator=generator).tolist() for n in (1, 2, 6, 11)]
    if config.pad_token_id is not None and config.model_type != "flaubert":
        rows[2][3] = rows[2][4] = config.pad_token_id
    languages = config.model_type == "xlm"
    two = getattr(config, "type_vocab_size", 1) > 1 or languages
    if languages:
        rows[2][3] = rows[2][4] = 7  # padding inside would switch off as many tokens at the end in the reference
        return [dict(ids=ids, type_ids=[language] * len(ids)) for language, ids in enumerate(rows)], two
    return [dict(ids=ids, type_ids=[int(two and i > len(ids) // 2) for i in range(len(ids))]) for ids in rows], two


def write_family(name, config):
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    given, two = inputs(name, config)
    heads = [head for head in HEADS if name not in FEWER or head[0] in FEWER[name]] + ([FURTHER[name]] if name in FURTHER else [])
    expected = dict(made_by="tests/golden/make/family_heads.py", versions=VERSIONS, inputs=given, heads=[])
    for kind, auto, answers in heads:
        labels = {} if kind not in ("classify", "tag") else dict(num_labels=3)
        auto, settings = CLASSES.get((name, kind), auto), type(config)(**config.to_dict() | labels)
        # The seed is the folder's alone, so that none depends on its place.
        model = calm(randomise(auto.from_config(settings) if "Auto" in auto.__name__ else auto(settings), zlib.crc32(f"{name}/{kind}".encode())), CALM.get(name, 1))
        model.save_pretrained(folder / kind)
        (folder / kind / "generation_config.json").unlink(missing_ok=True)
        model = auto.from_pretrained(folder / kind, **TORCH).eval()
        for answered, rows in answers.items():
            numbers = []
            for one in given:
                more, ids = beside(name, kind, config, one, two), torch.tensor([one["ids"]])
                if answered == "multiple_choice" and type(config).__module__ != "restated":
                    # ModernBERT's class takes the mean by a mask that it does not make itself.
                    more |= dict(attention_mask=torch.ones_like(ids)) if config.model_type == "modernbert" else {}
                    ids, more = ids[None], {key: value[None] for key, value in more.items()}
                with torch.inference_mode():
                    out = model(ids, **more)
                    answer = out.mc_logits[0] if answered == "multiple_choice" and "mc_logits" in out else rows(out)
                    if "question_lengths" in more:
                        own, question = rows(model(ids)), one["type_ids"].index(1)
                        assert torch.equal(own[question:], answer[question:]) and torch.equal(own[0], answer[0]) and (own[1:question] < -9e5).all()
                    numbers.append([float(f"{v:.7g}") for v in answer.flatten().tolist()])
            expected["heads"].append(dict(folder=kind, kind=answered, numbers=numbers))
        restated.as_published(folder / kind)
        if not answers:
            expected["heads"].append(dict(folder=kind, kind=None, numbers=[]))
    line = lambda value: json.dumps(value, separators=(",", ":"))
    lines = [f"{line(k)}:{line(v)}" for k, v in expected.items() if k != "heads"]
    answers = ",\n".join(map(line, expected["heads"]))
    (folder / "expected.json").write_text("{" + ",\n".join(lines) + f',\n"heads":[\n{answers}\n]}}\n')
    files = [f for f in folder.rglob("*") if f.is_file()]
    for file in files:
        file.chmod(0o644)
    print(f"{name}: {len(heads)} folders, {sum(f.stat().st_size for f in files) // 1024} KB", flush=True)


class Reranker(heads.Answers):
    """As for BERT, but there are no segments to give, and positions begin behind the padding id."""

    def __init__(self, name, spec):
        super().__init__(name, spec)
        self.limit = spec["limit"]

    @torch.inference_mode()
    def logits(self, text, pair=None, **more):
        pair = {} if pair is None else dict(text_pair=[pair])
        tokens = self.tokenizer([text], **pair, **(dict(truncation=True, max_length=self.limit) | more))
        return torch.cat([self.model(torch.tensor([ids])).logits for ids in tokens["input_ids"]])


def write_reranker(name):
    spec = families.family("xlm-roberta", XLMRobertaConfig, families.pieces, 50, families.sizes(24, 2, 2, 40, "gelu", 380, 52, **families.ONE), special=2)
    folder = heads.ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    labels = dict(id2label={0: "LABEL_0"}, label2id={"LABEL_0": 0})
    randomise(XLMRobertaForSequenceClassification(XLMRobertaConfig(**spec["config"] | labels)), 990).save_pretrained(folder)
    families.pieces(spec, folder)
    answers = Reranker(name, spec)
    answers.classify()
    answers.rerank()
    answers.write()
    expected = folder / "expected.json"
    expected.write_text(expected.read_text(encoding="utf-8").replace("make/heads.py", "make/family_heads.py"), encoding="utf-8")
    for file in folder.rglob("*"):
        file.chmod(0o644)
    print(f"{name}: {len(answers.cases)} cases", flush=True)


@torch.inference_mode()
def write_discriminator(name):
    """Which tokens were replaced: the sigmoid of the class's number for each token, or the mean over neighbours of one label."""
    spec = families.family("electra", ElectraConfig, families.wordpiece, 56, families.sizes(24, 2, 2, 40, "gelu", 380, 52, embedding_size=20), pooler=False)
    folder = MODELS.parent / "entities" / name
    shutil.rmtree(folder, ignore_errors=True)
    model = randomise(ElectraForPreTraining(ElectraConfig(**spec["config"])), 991).eval()
    families.wordpiece(spec, folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = ["The quick brown fox jumps over the lazy dog.", "", "a", "今天天气很好，我们去公园。", "I ❤️ search 🔍 and 👩‍💻!", "Crème brûlée à la carte"]
    # So that half of the tokens are of either label.
    logits = torch.cat([model(torch.tensor([ids])).logits[0] for ids in tokenizer(texts)["input_ids"]])
    model.discriminator_predictions.dense_prediction.bias -= logits.median()
    model.save_pretrained(folder)
    tokens, spans = [], []
    for text in texts:
        one = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
        scores = torch.sigmoid(model(torch.tensor([one["input_ids"]])).logits[0].double()).tolist()
        rows = [(s, *at) for s, at, special in zip(scores, one["offset_mapping"], one["special_tokens_mask"]) if not special]
        rows = [("replaced" if s > 0.5 else "original", start, end, max(s, 1 - s)) for s, start, end in rows]
        tokens.append(rows)
        groups = [list(group) for _, group in itertools.groupby(rows, lambda row: row[0])]
        spans.append([(g[0][0], g[0][1], g[-1][2], sum(row[3] for row in g) / len(g)) for g in groups])
    cases = [dict(set=dict(aggregation=how), inputs=texts, answers=answers) for how, answers in (("none", tokens), ("simple", spans))]
    line = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    expected = f'{{"made_by":"tests/golden/make/family_heads.py",\n"versions":{line(VERSIONS)},\n"cases":[\n' + ",\n".join(map(line, cases)) + "\n]}\n"
    (folder / "expected.json").write_text(expected, encoding="utf-8")
    for file in folder.rglob("*"):
        file.chmod(0o644)
    both = {row[0] for rows in tokens for row in rows}
    print(f"{name}: {len(texts)} texts, labels {sorted(both)}", flush=True)


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    for name in sys.argv[1:] or FAMILIES:
        write_family(name, FAMILIES[name])
    if not sys.argv[1:]:
        write_reranker("xlm-roberta-rerank")
        write_discriminator("replaced")
