"""Makes the folders of tests/golden/models that are not BERT: tiny random models of the other families, as models.py makes BERT's.

Run:       python tests/golden/make/families.py [folder ...]      (all folders without arguments; CPU, about a minute)
Versions:  requirements.txt beside this file; each expected.json names those that made it.

Vocabularies are trained on the texts themselves: byte-level BPE by `tokenizers`, SentencePiece by `sentencepiece`. One folder of each kind
has tokenizer.json, another the files of the vocabulary alone, from which the reference makes the same tokenizer.
"""
import json
import tempfile
import zlib
from pathlib import Path

import models
from models import LONG, PAIRS, SPECIAL, TEXTS, VOCABULARY, WORDS, make, write_json

import restated
import sentencepiece
import torch
from tokenizers import ByteLevelBPETokenizer, CharBPETokenizer, Tokenizer, decoders, models as kinds, normalizers, pre_tokenizers, processors, trainers
from transformers.cache_utils import EncoderDecoderCache
from transformers import (AlbertConfig, AlbertTokenizer, BertTokenizer, BigBirdConfig, BigBirdModel, BigBirdTokenizer, CamembertConfig, CamembertTokenizer, DebertaConfig, DebertaTokenizer, DebertaV2Config, DebertaV2Tokenizer, DistilBertConfig, ElectraConfig, ErnieConfig, GPT2Config, GteConfig,
                          FlaubertConfig, LongformerConfig, MobileBertConfig, ModernBertConfig, MPNetConfig, MPNetTokenizer, NomicBertConfig, OpenAIGPTConfig, OpenAIGPTTokenizer, PreTrainedTokenizerFast, RobertaConfig, RobertaTokenizer, XLMConfig, XLMRobertaConfig,
                          XLMRobertaTokenizer)

# Special tokens of these families inside a text, among them the padding that takes no position.
TEXTS[7] = "<mask> inside a text, <pad> and </s> too <pad><pad> [MASK] at the end"
CORPUS = TEXTS + [LONG.title()] + [text for pair in PAIRS for text in pair if text] + [f"{a} {b}" for step in (1, 5) for a, b in zip(WORDS, WORDS[step:])]


def sizes(hidden, heads, layers, inner, act, vocab, positions, **more):
    return dict(hidden_size=hidden, num_attention_heads=heads, num_hidden_layers=layers, intermediate_size=inner, hidden_act=act, vocab_size=vocab,
                max_position_embeddings=positions, **more)


FIRST = {"roberta": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], "deberta": ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]}


def byte_level(spec, trunk):
    """RoBERTa's tokenizer, or the first DeBERTa's. `first` are the tokens with the lowest ids."""
    size, first = spec["config"]["vocab_size"], spec.get("first") or FIRST.get(spec["family"], FIRST["roberta"])
    kind = DebertaTokenizer if spec["family"] == "deberta" else RobertaTokenizer
    trainer = ByteLevelBPETokenizer()
    trainer.train_from_iterator(CORPUS, vocab_size=size, special_tokens=first, show_progress=False)
    with tempfile.TemporaryDirectory() as scratch:
        trainer.save_model(scratch)
        vocab = json.loads((Path(scratch) / "vocab.json").read_text(encoding="utf-8"))
        merges = (Path(scratch) / "merges.txt").read_text(encoding="utf-8")
    assert len(vocab) == size, len(vocab)
    settings = dict(model_max_length=spec["limit"]) | spec.get("tokenizer", {})
    if spec.get("files") == "vocab":
        trunk.mkdir(parents=True, exist_ok=True)
        write_json(trunk / "vocab.json", vocab)
        (trunk / "merges.txt").write_text(merges, encoding="utf-8")
        write_json(trunk / "tokenizer_config.json", dict(tokenizer_class=kind.__name__) | settings)
        return
    pairs = [tuple(line.split(" ")) for line in merges.splitlines() if not line.startswith("#")]
    kind(vocab=vocab, merges=pairs, **settings).save_pretrained(trunk)


def generic(spec, trunk):
    """A tokenizer.json of no class of its own, as ModernBERT's: byte-level BPE between [CLS] and [SEP], or before the end of a text (GPT-2)."""
    causal = spec["family"] == "gpt2"
    tokenizer = Tokenizer(kinds.BPE())
    if not causal:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    names = ["<|endoftext|>"] if causal else ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.BpeTrainer(vocab_size=spec["config"]["vocab_size"], special_tokens=names, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    assert tokenizer.get_vocab_size() == spec["config"]["vocab_size"], tokenizer.get_vocab_size()
    ends = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]", "<|endoftext|>") if name in names]
    first, last = ("", " <|endoftext|>") if causal else ("[CLS] ", " [SEP]")
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{first}$A{last}", pair=f"{first}$A{last} $B{last}", special_tokens=ends)
    roles = dict(eos_token="<|endoftext|>", pad_token="<|endoftext|>") if causal else dict(pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=spec["limit"], model_input_names=["input_ids", "attention_mask"], **roles).save_pretrained(trunk)


def letters(spec, trunk):
    """GPT's tokenizer: BPE over lower-cased words. A template ends texts, so that an empty one has a token."""
    trainer = CharBPETokenizer(lowercase=True, suffix="</w>", bert_normalizer=True)
    trainer.train_from_iterator(CORPUS, vocab_size=spec["config"]["vocab_size"], special_tokens=["<unk>", "<end>"], min_frequency=1, show_progress=False)
    made = json.loads(trainer.to_str())["model"]
    tokenizer = OpenAIGPTTokenizer(vocab=made["vocab"], merges=[tuple(pair) for pair in made["merges"]], model_max_length=spec["limit"])
    inner = tokenizer.backend_tokenizer
    inner.post_processor = processors.TemplateProcessing(single="$A <end>", pair="$A <end> $B <end>", special_tokens=[("<end>", made["vocab"]["<end>"])])
    roles = dict(unk_token="<unk>", eos_token="<end>", pad_token="<end>", model_max_length=spec["limit"], model_input_names=["input_ids", "attention_mask"])
    PreTrainedTokenizerFast(tokenizer_object=inner, **roles).save_pretrained(trunk)
    assert inner.get_vocab_size() == spec["config"]["vocab_size"], inner.get_vocab_size()


# Class, file and the pieces that its model of SentencePiece begins with.
PIECES = {
    "xlm-roberta": (XLMRobertaTokenizer, "sentencepiece.bpe.model", dict(unk_id=0, bos_id=1, eos_id=2, pad_id=-1)),
    "camembert": (CamembertTokenizer, "sentencepiece.bpe.model", dict(unk_id=0, bos_id=1, eos_id=2, pad_id=-1)),
    "albert": (AlbertTokenizer, "spiece.model", dict(unk_id=1, bos_id=-1, eos_id=-1, pad_id=0, control_symbols=["[CLS]", "[SEP]", "[MASK]"])),
    "deberta-v2": (DebertaV2Tokenizer, "spm.model",
                   dict(pad_id=0, pad_piece="[PAD]", bos_id=1, bos_piece="[CLS]", eos_id=2, eos_piece="[SEP]", unk_id=3, unk_piece="[UNK]")),
    # As in the published model: the piece for unknown characters is the hundred and first.
    "big_bird": (BigBirdTokenizer, "spiece.model", dict(pad_id=0, eos_id=1, bos_id=2, unk_id=100, control_symbols=["[CLS]", "[SEP]", "[MASK]"])),
}


# What a small normaliser replaces: signs by letters, one character by two, by a space.
RULES = {"，": ",", "。": ".", "é": "e", "Å": "Aa", "ﬁ": "fi", "\u00a0": " ", "\t": " ", "\n": " ", "…": "..."}


def pieces(spec, trunk):
    """A tokenizer over a model of SentencePiece; `special` tokens are those that the class puts around its pieces."""
    kind, file, options = PIECES[spec["family"]]
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "corpus").write_text("\n".join(CORPUS).replace("\0", ""), encoding="utf-8")
        rules = Path(scratch) / "rules.tsv"
        rules.write_text("".join(f"{ord(a):X}\t{' '.join(f'{ord(c):X}' for c in b)}\n" for a, b in RULES.items()))
        # The map of NFKC is a quarter of a megabyte: one folder has it, the others a few rules of their own.
        rules = dict(normalization_rule_name="nmt_nfkc") if spec.get("nfkc") else dict(normalization_rule_tsv=str(rules))
        sentencepiece.SentencePieceTrainer.train(
            input=str(Path(scratch) / "corpus"), model_prefix=str(Path(scratch) / "m"), vocab_size=spec["config"]["vocab_size"] - spec["special"], character_coverage=1.0,
            model_type="unigram", minloglevel=2, num_threads=1, **options, **rules)
        trunk.mkdir(parents=True, exist_ok=True)
        (trunk / file).write_bytes((Path(scratch) / "m.model").read_bytes())
    settings = dict(model_max_length=spec["limit"]) | spec.get("tokenizer", {})
    write_json(trunk / "tokenizer_config.json", dict(tokenizer_class=kind.__name__) | settings)
    if spec.get("files") != "vocab":
        tokenizer = kind.from_pretrained(trunk, **settings)
        (trunk / file).unlink()
        tokenizer.save_pretrained(trunk)
        assert len(tokenizer) == spec["config"]["vocab_size"], len(tokenizer)


def wordpiece(spec, trunk):
    """BERT's tokenizer, or MPNet's: WordPiece between RoBERTa's special tokens."""
    words = VOCABULARY[: spec["config"]["vocab_size"]]
    settings = dict(model_max_length=spec["limit"]) | spec.get("tokenizer", {})
    kind = BertTokenizer
    if spec["family"] == "mpnet":
        kind, words = MPNetTokenizer, ["<s>", "<pad>", "</s>", "[UNK]"] + VOCABULARY[len(SPECIAL) : spec["config"]["vocab_size"] - 5 + len(SPECIAL)] + ["<mask>"]
    assert len(words) == spec["config"]["vocab_size"]
    if spec.get("files") == "vocab":
        trunk.mkdir(parents=True, exist_ok=True)
        (trunk / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
        write_json(trunk / "tokenizer_config.json", dict(tokenizer_class=kind.__name__) | settings)
        return
    kind(vocab={w: i for i, w in enumerate(words)}, **settings).save_pretrained(trunk)


def family(name, config_class, write, limit, config, pooler=True, **more):
    return dict(family=name, config_class=config_class, write_tokenizer=write, limit=limit, config=config, pooler=pooler, style="new", pooling=["mean"]) | more


ONE = dict(type_vocab_size=1, layer_norm_eps=1e-5)
DISTIL = lambda dim, heads, layers, inner, act, vocab, positions: dict(dim=dim, n_heads=heads, n_layers=layers, hidden_dim=inner, activation=act, vocab_size=vocab,
                                                                       max_position_embeddings=positions)
DISTANCES = dict(relative_attention=True, layer_norm_eps=1e-7)
SPECIAL_IDS = dict(pad_token_id=0, cls_token_id=2, sep_token_id=3, bos_token_id=2, eos_token_id=3)


def modern(hidden, heads, layers, inner, vocab, positions, **more):
    return dict(hidden_size=hidden, num_attention_heads=heads, num_hidden_layers=layers, intermediate_size=inner, vocab_size=vocab, max_position_embeddings=positions,
                **SPECIAL_IDS | more)


FAMILIES = {
    "tiny-roberta": family("roberta", RobertaConfig, byte_level, 40, sizes(32, 4, 2, 50, "gelu", 420, 42, **ONE)),
    # Padding is not 1, and the files are those of the vocabulary.
    "tiny-roberta-vocab": family("roberta", RobertaConfig, byte_level, 34, sizes(24, 2, 1, 40, "gelu", 380, 40, pad_token_id=5, **ONE), files="vocab",
                                 first=["<s>", "x", "</s>", "<unk>", "<mask>", "<pad>"], tokenizer=dict(add_prefix_space=True)),
    "tiny-xlm-roberta": family("xlm-roberta", XLMRobertaConfig, pieces, 40, sizes(32, 2, 2, 40, "gelu", 400, 42, **ONE), special=2, nfkc=True),
    "tiny-xlm-roberta-vocab": family("xlm-roberta", XLMRobertaConfig, pieces, 38, sizes(16, 2, 1, 20, "gelu", 360, 40, **ONE), special=2, files="vocab"),
    "tiny-camembert": family("camembert", CamembertConfig, pieces, 38, sizes(24, 3, 2, 31, "gelu", 380, 40, **ONE), special=5),
    "tiny-camembert-vocab": family("camembert", CamembertConfig, pieces, 38, sizes(16, 1, 1, 20, "gelu", 360, 40, **ONE), special=5, files="vocab"),
    "tiny-distilbert": family("distilbert", DistilBertConfig, wordpiece, 40, DISTIL(36, 3, 2, 44, "gelu", 400, 40), pooler=False),
    "tiny-electra": family("electra", ElectraConfig, wordpiece, 40, sizes(32, 4, 2, 44, "gelu", 400, 40, embedding_size=20), pooler=False),
    "tiny-electra-same": family("electra", ElectraConfig, wordpiece, 36, sizes(24, 2, 1, 30, "gelu", 380, 36, embedding_size=24), pooler=False),
    "tiny-albert": family("albert", AlbertConfig, pieces, 40, sizes(48, 4, 3, 60, "gelu_new", 400, 40, embedding_size=16), special=0),
    # Two groups of two sets of weights each, over five layers; the files are those of the vocabulary, and accents and cases stay.
    "tiny-albert-groups": family("albert", AlbertConfig, pieces, 36, sizes(24, 2, 5, 40, "gelu", 380, 36, embedding_size=24, num_hidden_groups=2, inner_group_num=2),
                                 special=0, files="vocab", tokenizer=dict(do_lower_case=False, keep_accents=True)),
    "tiny-ernie": family("ernie", ErnieConfig, wordpiece, 40, sizes(32, 4, 2, 50, "relu", 400, 40, use_task_id=True, task_type_vocab_size=3, layer_norm_eps=1e-5)),
    "tiny-mpnet": family("mpnet", MPNetConfig, wordpiece, 62, sizes(36, 3, 2, 50, "gelu", 400, 64, layer_norm_eps=1e-5)),
    "tiny-mpnet-vocab": family("mpnet", MPNetConfig, wordpiece, 34, sizes(16, 2, 1, 20, "gelu", 380, 36), files="vocab"),
    # A window of three tokens to either side in the second and third layer; nothing has a bias.
    "tiny-modernbert": family("modernbert", ModernBertConfig, generic, 48, modern(32, 4, 4, 40, 400, 48, local_attention=6), pooler=False),
    # Everything has a bias, and layers are as listed; heads of one and the same width as the row.
    "tiny-modernbert-biases": family("modernbert", ModernBertConfig, generic, 40, modern(
        24, 1, 3, 20, 380, 40, local_attention=9, norm_bias=True, attention_bias=True, mlp_bias=True, hidden_activation="gelu_pytorch_tanh", norm_eps=1e-3,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"]), pooler=False),
    "tiny-nomic": family("nomic_bert", NomicBertConfig, wordpiece, 40, sizes(32, 4, 2, 50, "silu", 400, 40), pooler=False),
    # No segments.
    "tiny-gte": family("gte", GteConfig, wordpiece, 40, sizes(36, 3, 2, 44, "gelu", 400, 40, type_vocab_size=0,
                                                             rope_parameters=dict(rope_type="default", rope_theta=300.0)), pooler=False),
    # Version 3: texts reach far beyond the distances told apart one by one.
    "tiny-deberta-v3": family("deberta-v2", DebertaV2Config, pieces, 100, sizes(32, 4, 2, 44, "gelu", 400, 120, **DISTANCES, position_buckets=12, max_relative_positions=-1,
                              share_att_key=True, norm_rel_ebd="layer_norm", position_biased_input=False, pos_att_type="p2c|c2p"), special=1, pooler=False),
    # Version 2's convolution; narrow embeddings, positions in both ways, one term, and the files of the vocabulary.
    "tiny-deberta-v2-conv": family("deberta-v2", DebertaV2Config, pieces, 40, sizes(24, 2, 2, 30, "gelu", 380, 40, **DISTANCES, max_relative_positions=9, embedding_size=16,
                                   conv_kernel_size=3, conv_act="gelu", type_vocab_size=2, pos_att_type=["c2p"]), special=1, pooler=False, files="vocab",
                                   tokenizer=dict(do_lower_case=True, split_by_punct=True)),
    # Windows of two, six and two tokens to either side; texts are many windows long.
    "tiny-longformer": family("longformer", LongformerConfig, byte_level, 100, sizes(32, 4, 3, 50, "gelu", 420, 102, **ONE, attention_window=[4, 12, 4])),
    # One window for all layers, two segments, another padding id, and the files of the vocabulary.
    "tiny-longformer-vocab": family("longformer", LongformerConfig, byte_level, 50, sizes(24, 2, 2, 40, "gelu_new", 380, 56, attention_window=6, pad_token_id=5), files="vocab",
                                    first=["<s>", "x", "</s>", "<unk>", "<mask>", "<pad>"]),
    # Blocks of four tokens; up to 28 tokens are seen whole.
    "tiny-big-bird": family("big_bird", BigBirdConfig, pieces, 100, sizes(32, 4, 3, 50, "gelu_new", 420, 100, block_size=4, num_random_blocks=1), special=0, typed=False),
    # Odd blocks, two drawn: up to 27 tokens are seen whole. And the files of the vocabulary.
    "tiny-big-bird-vocab": family("big_bird", BigBirdConfig, pieces, 60, sizes(24, 2, 2, 40, "gelu", 380, 60, block_size=3, num_random_blocks=2), special=0, files="vocab",
                                  typed=False),
    # Heads that are no power of two; texts are long enough for the far ones to fall off.
    "tiny-jina": family("jina", restated.JinaConfig, wordpiece, 80, sizes(36, 6, 2, 50, "gelu", 400, 80)),
    "tiny-jina-original": family("jina", restated.JinaConfig, wordpiece, 40, sizes(24, 4, 2, 30, "gelu", 380, 40, feed_forward_type="original"), files="vocab"),
    # Stretched positions, and one segment.
    "tiny-gte-new": family("new", restated.NewConfig, wordpiece, 80, sizes(36, 3, 2, 44, "gelu", 400, 80, type_vocab_size=1, rope_theta=300.0,
                                                                          rope_scaling=dict(type="ntk", factor=8.0))),
    "tiny-gte-new-apart": family("new", restated.NewConfig, wordpiece, 40, sizes(24, 2, 2, 30, "gelu", 380, 40, pack_qkv=False), files="vocab"),
    # Version 1: both terms, distances up to the whole length, no positions in the embeddings.
    "tiny-deberta-v1": family("deberta", DebertaConfig, byte_level, 60, sizes(32, 4, 2, 44, "gelu", 400, 60, **DISTANCES, max_relative_positions=-1, position_biased_input=False,
                              pos_att_type="c2p|p2c"), pooler=False),
    # Distances beyond eight are alike; one term, and positions in both ways.
    "tiny-deberta-v1-near": family("deberta", DebertaConfig, byte_level, 40, sizes(24, 2, 2, 30, "gelu", 380, 40, **DISTANCES, max_relative_positions=9, type_vocab_size=2,
                                   pos_att_type=["p2c"]), pooler=False),
    # Everything that MobileBERT is known for.
    "tiny-mobilebert": family("mobilebert", MobileBertConfig, wordpiece, 40, sizes(36, 2, 2, 30, "relu", 400, 40, embedding_size=12, intra_bottleneck_size=16,
                              num_feedforward_networks=3), calm=0.5),
    # Norms, one bottleneck for all of attention, one feed-forward part, no trigrams, and a pooler that is the first token.
    "tiny-mobilebert-norms": family("mobilebert", MobileBertConfig, wordpiece, 36, sizes(32, 4, 2, 20, "gelu", 380, 36, embedding_size=20, intra_bottleneck_size=24,
                                    num_feedforward_networks=1, use_bottleneck_attention=True, trigram_input=False, normalization_type="layer_norm",
                                    classifier_activation=False)),
    # No bottleneck, embeddings as wide as the rows.
    "tiny-mobilebert-wide": family("mobilebert", MobileBertConfig, wordpiece, 36, sizes(24, 2, 1, 20, "relu", 380, 36, embedding_size=24, use_bottleneck=False,
                                   num_feedforward_networks=2, trigram_input=False)),
    # XLM's own tokenizer needs Moses; a tokenizer.json is what opens. Languages are chosen by name.
    "tiny-xlm": family("xlm", XLMConfig, generic, 40, dict(emb_dim=32, n_layers=2, n_heads=4, vocab_size=400, max_position_embeddings=40, n_langs=3, use_lang_emb=True,
                       lang2id={"en": 0, "fr": 1, "zh": 2}, id2lang={0: "en", 1: "fr", 2: "zh"}, pad_token_id=0), pooler=False),
    # One language, sines and cosines, ReLU.
    "tiny-xlm-sines": family("xlm", XLMConfig, generic, 36, dict(emb_dim=24, n_layers=1, n_heads=2, vocab_size=380, max_position_embeddings=36, n_langs=1, gelu_activation=False,
                             sinusoidal_embeddings=True, pad_token_id=0, layer_norm_eps=1e-5), pooler=False),
    "tiny-gpt2": family("gpt2", GPT2Config, generic, 40, dict(n_embd=32, n_layer=3, n_head=4, n_positions=40, vocab_size=400, bos_token_id=0, eos_token_id=0), pooler=False,
                        pooling=["lasttoken"]),
    "tiny-gpt": family("openai-gpt", OpenAIGPTConfig, letters, 36, dict(n_embd=24, n_layer=2, n_head=2, n_positions=36, vocab_size=420), pooler=False, pooling=["weightedmean"]),
    # XLM of one language.
    "tiny-flaubert": family("flaubert", FlaubertConfig, generic, 34, dict(emb_dim=28, n_layers=2, n_heads=4, vocab_size=390, max_position_embeddings=34, pad_token_id=0, layerdrop=0.2), pooler=False),
    "tiny-flaubert-norms-first": family("flaubert", FlaubertConfig, generic, 34, dict(emb_dim=28, n_layers=3, n_heads=4, vocab_size=390, max_position_embeddings=34,
                                        pad_token_id=0, pre_norm=True), pooler=False),
}
for name, spec in FAMILIES.items():
    spec["seed"] = zlib.crc32(name.encode())  # of the name alone, so that no row depends on its place
    if spec.get("files") == "vocab":
        spec["style"] = "plain"  # sentence-transformers would write tokenizer.json


big_bird = BigBirdModel.forward


def each_as_the_first(self, *args, **more):
    """A short text switches BigBird of `transformers` to full attention, for all texts that follow, too."""
    self.set_attention_type(self.config.attention_type)
    return big_bird(self, *args, **more)


BigBirdModel.forward = each_as_the_first
# FlaubertModel of `transformers` asks its cache for a layer where `pre_norm` is set, and for the whole where it is not; a cache has no layers to ask for, and nothing in it.
EncoderDecoderCache.__getitem__ = lambda self, layer: self


class Answers(models.Answers):
    """Fewer cases than for BERT: what comes after the trunk is the same for all families."""

    def __init__(self, name, spec):
        super().__init__(name, spec)
        self.typed = self.typed and spec.get("typed", True)  # BigBird's tokenizer gives no segments

    def own_error(self):
        error = super().own_error()
        restated.as_published(self.folder)
        return error

    def states(self, ids, *args, **more):
        """Without the rows that BigBird fills its last block with."""
        states, pooled = super().states(ids, *args, **more)
        return [rows[: len(ids)] for rows in states], pooled

    def sentences(self):
        self.encode("the folder's own configuration", {})
        self.encode("cut on the left", dict(max_tokens="12", truncation="left"), models.SOME, limit=12, side="left")
        self.languages()

    @torch.inference_mode()
    def languages(self):
        """A language's embedding at each token."""
        if not getattr(self.trunk.config, "use_lang_emb", False) or self.trunk.config.n_langs == 1:
            return
        for name, number in self.trunk.config.lang2id.items():
            tokens = [torch.tensor([self.ids(TEXTS[t])["input_ids"]]) for t in models.SOME]
            vectors = [self.trunk(ids, langs=torch.full_like(ids, number)).last_hidden_state[0].numpy() for ids in tokens]
            self.keep(f"in language {name}", dict(vectors="token", language=name), models.SOME, vectors)


if __name__ == "__main__":
    models.Answers = Answers
    make(FAMILIES, ["sentences", "layers", "windows", "pairs", "write"])
