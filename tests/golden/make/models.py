"""Makes tests/golden/models: tiny random BERT folders, each with what the reference libraries answer for it.

Run:       python tests/golden/make/models.py [folder ...]      (all folders without arguments; CPU, about a minute)
Versions:  requirements.txt beside this file; each expected.json names those that made it.

A folder looks as `transformers` and `sentence-transformers` write it, new style or as their older versions did ("old"). Beside
the model's own files stand
  expected.json  texts, token ids, pairs, and the cases: request settings, texts, and where their vectors are
  expected.f32   the vectors of all cases, little-endian f32, one after another
Answers come from fp32 arithmetic on the CPU, one text at a time, so without padding; attention is `eager`, the plain form. The
weights are random but lively: wide enough that attention is far from uniform and activations leave their linear range, so that an
error anywhere shows in the answers.
"""
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # everything is here; nothing is asked for

import numpy as np
import sentence_transformers
import tokenizers
import torch
import transformers
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import AutoModel, BertConfig, BertForPreTraining, BertModel, BertTokenizer

ROOT = Path(__file__).resolve().parent.parent / "models"
TORCH = dict(dtype=torch.float32, attn_implementation="eager")
VERSIONS = {m.__name__: m.__version__ for m in (transformers, sentence_transformers, tokenizers, torch)}

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
SIGNS = list(".,;:!?'\"()[]{}<>-_/\\@#$%&*+=~^|`") + list("。，！？€£°•…–—“”")
OTHER = list("天气很好我们去公园今中国人大小上下不是的了在有学生日本語かなカナабвгдежзиклмнопрстуыя") + list("çéèêàôöüßñåøæıİşğ") + ["❤", "🔍", "😀"]
WORDS = """the of and to in is was that for it with as his on be at by he this had not are but from or have an they which one you were all her she
there would their we him been has when who will no more if out so up said what its about than into them can only other time new some could these two
may first then do any like my now over such our man me even most made after also did many before must through back years where much your way well down
should because each just those people how too little state good very make world still see own work long here get both between life being under never day
same another know while last might us great old year off come since against go came right used take three search query text vector model word sentence
token fill blank question answer machine learning river water house city fast slow brown quick fox lazy dog jump cat park weather price email creme brulee
##s ##ed ##ing ##er ##ly ##es ##al ##ion ##tion ##en ##or ##y ##ness ##able ##ment un re pre dis""".split()
VOCABULARY = list(dict.fromkeys(SPECIAL + list(LETTERS) + ["##" + c for c in LETTERS] + SIGNS + OTHER + ["##" + c for c in "çéèàöüßñşığайо語本"] + WORDS
                                + [w.capitalize() for w in WORDS if w.isalpha()] + list(LETTERS.upper()[:26])))

# The vocabulary of a Chinese model: characters, and those that continue something; hardly a word.
CHINESE = list(dict.fromkeys(SPECIAL + [c for c in OTHER if c >= "\u2e80"] + list("。，！？“”、：；《》（）") + ["##" + c for c in OTHER if "\u4e00" <= c <= "\u9fff"] + list(LETTERS)
                             + ["##" + c for c in LETTERS] + ["the", "##the", "in", "##ing"]))

LONG = " ".join(WORDS[i * 7 % 150] + ("." if i % 11 == 10 else "") for i in range(90))
TEXTS = [
    "The quick brown fox jumps over the lazy dog.", "", "a", "今天天气很好，我们去公园。", "I ❤️ search 🔍 and 👩‍💻!", "Crème brûlée à la carte, naïve façade, Ångström",
    LONG, "[MASK] inside a text, [CLS] and [SEP] too", "Price: $3.50 (20% off) -- e-mail: a.b@c.org", "İstanbul'da ISPARTA ŞİŞLİ ĞÜÖÇ, Straße",
    "tab\tnew\nline\u00a0space\u200bzero\ufeff e\u0301 \u0000 end", "Каждый вектор — это 文, かな and more words: unlearnable preworded citys", " ".join(WORDS[3:30]),
]
PAIRS = [["what is a cloze test", "Fill the blank in the sentence."], ["", "second only"], ["first only", ""], [LONG[:150], LONG], ["今天", "The dog. 天气"]]
SOME = [0, 1, 3, 6]  # texts of the cases where all would be too much data
MODES = {"cls": "cls", "mean": "mean", "max": "max", "mean_sqrt_len": "mean_sqrt_len_tokens", "last": "lasttoken", "weighted_mean": "weightedmean"}


def bert(hidden, heads, layers, inner, act, vocab, positions, **more):
    """A configuration, in the order in which people name sizes."""
    return dict(hidden_size=hidden, num_attention_heads=heads, num_hidden_layers=layers, intermediate_size=inner, hidden_act=act, vocab_size=vocab,
                max_position_embeddings=positions, **more)


# style: new = as sentence-transformers 6 writes, old = as version 2 did, plain = a Hugging Face folder. The rest are departures from the usual.
FOLDERS = {
    "tiny-gelu": dict(config=bert(48, 6, 2, 100, "gelu", 421, 64), style="old", pooling=["mean"], normalize=True),
    "tiny-relu": dict(config=bert(36, 3, 1, 37, "relu", 307, 40, layer_norm_eps=1e-5), style="plain"),
    "tiny-f16": dict(config=bert(48, 2, 3, 100, "gelu_new", 333, 44), style="new", dtype=torch.float16, pooling=["cls"],
                     prompts={"query": "search: ", "document": "text: "}, default="query"),
    "tiny-bf16": dict(config=bert(40, 1, 5, 75, "gelu_pytorch_tanh", 389, 38), style="new", dtype=torch.bfloat16, pooling=["max"], normalize=True),
    "tiny-sharded": dict(config=bert(64, 1, 1, 96, "gelu", 301, 34), style="new", shard="40KB", pooling=["lasttoken"]),
    "tiny-vocab": dict(config=bert(24, 2, 4, 37, "relu", 467, 56), style="old", files="vocab", pooling=["weightedmean"], limit=44,
                       tokenizer=dict(model_max_length=31, do_lower_case=False, strip_accents=False, tokenize_chinese_chars=False)),
    "tiny-no-pooler": dict(config=bert(32, 4, 2, 63, "gelu", 355, 50, type_vocab_size=1), style="new", pooler=False, pooling=["mean_sqrt_len_tokens"]),
    "tiny-concat": dict(config=bert(24, 3, 2, 50, "gelu_new", 341, 40), style="new", pooling=["mean", "cls"], normalize=True),
    "tiny-concat-old": dict(config=bert(24, 1, 1, 25, "gelu", 309, 40), style="old", pooling=["cls", "max", "mean"]),
    "tiny-dense": dict(config=bert(40, 2, 2, 41, "gelu", 365, 36), style="new", pooling=["mean"], dense=[(20, torch.nn.Tanh(), True)], normalize=True),
    "tiny-dense-two": dict(config=bert(32, 2, 1, 100, "relu", 303, 39), style="old", pooling=["cls"],
                           dense=[(48, torch.nn.Identity(), False), (17, torch.nn.Tanh(), True)]),
    "tiny-prompts": dict(config=bert(40, 5, 2, 57, "gelu", 421, 46), style="new", pooling=["mean"], include_prompt=False, normalize=True,
                         prompts={"query": "query: ", "passage": "the answer is that ", "none": ""}),
    "tiny-eps": dict(config=bert(20, 2, 2, 7, "gelu", 501, 33, layer_norm_eps=1e-3), style="old", pooling=["mean"], limit=20, lower=True,
                     tokenizer=dict(do_lower_case=False, strip_accents=False)),
    "tiny-prefix": dict(config=bert(16, 2, 2, 31, "gelu", 299, 40), style="plain", names="prefix", tokenizer=dict(strip_accents=False)),
    "tiny-pretraining": dict(config=bert(24, 2, 2, 48, "gelu", 427, 40), style="plain", names="legacy", files="vocab"),
    "tiny-subfolder": dict(config=bert(16, 1, 1, 20, "relu", 303, 32), style="old", pooling=["mean"], subfolder="0_Transformer"),
    # As bert-base-cased: capitals and accents stay.
    "tiny-cased": dict(config=bert(24, 2, 2, 40, "gelu", 421, 40), style="plain", files="vocab", tokenizer=dict(do_lower_case=False)),
    # As bert-base-chinese: every character is a word of its own, Latin ones too where no longer piece is known.
    "tiny-chinese": dict(config=bert(24, 2, 2, 40, "gelu", 156, 40), style="plain", files="vocab", words=CHINESE, tokenizer=dict(do_lower_case=False)),
}


QUERIES_AND_KEYS = ["query", "key", "q_lin", "k_lin", "attn.q.", "attn.k.", "q_proj", "k_proj", "c_attn"]
OUTPUTS = ["output.dense", "Wo.", "o_proj", "down_proj", "c_proj"]


def randomise(module, seed):
    """Lively weights: attention logits of a few units, norms that scale and shift. What a layer adds to a token is kept smaller than
    the token itself; otherwise tokens grow alike within a few random layers and attention ends up uniform."""
    generator = torch.Generator().manual_seed(seed)
    normal = lambda p, std: p.copy_(torch.randn(p.shape, generator=generator) * std)
    with torch.no_grad():
        for name, p in module.named_parameters():
            if "LayerNorm.weight" in name or name.endswith("norm.weight"):
                p.copy_(torch.rand(p.shape, generator=generator) + 0.5)
            elif p.ndim == 1:
                normal(p, 0.3)
            else:
                gain = 2.2 if any(n in name for n in QUERIES_AND_KEYS) else 0.7 if any(n in name for n in OUTPUTS) else 1.5
                normal(p, 0.5 if "embeddings" in name or ".wte." in f".{name}" or ".wpe." in f".{name}" else gain / p.shape[1] ** 0.5)
    return module.eval()


def calm(module, factor):
    """Smaller matrices in layers: without norms rows grow from one to the next, until fp32 itself is no measure."""
    with torch.no_grad():
        for name, p in module.named_parameters():
            if p.ndim > 1 and "embeddings" not in name:
                p *= factor
    return module


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_tokenizer(spec, trunk):
    """tokenizer.json and tokenizer_config.json as transformers 5 writes them, or vocab.txt and what went with it in version 4."""
    settings = dict(model_max_length=spec["config"]["max_position_embeddings"]) | spec.get("tokenizer", {})
    words = spec.get("words", VOCABULARY)[: spec["config"]["vocab_size"]]
    assert len(words) == spec["config"]["vocab_size"], len(words)
    tokenizer = BertTokenizer(vocab={w: i for i, w in enumerate(words)}, **settings)
    tokenizer.save_pretrained(trunk)
    if spec["style"] != "new":
        (trunk / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
        names = dict(zip(["pad_token", "unk_token", "cls_token", "sep_token", "mask_token"], SPECIAL))
        write_json(trunk / "special_tokens_map.json", names)
        write_json(trunk / "tokenizer_config.json", dict(
            do_lower_case=True, do_basic_tokenize=True, never_split=None, strip_accents=None, tokenize_chinese_chars=True, tokenizer_class="BertTokenizer", **names) | settings)
    if spec.get("files") == "vocab":
        (trunk / "tokenizer.json").unlink()


def rename_weights(spec, trunk):
    """Puts the names of old checkpoints into model.safetensors."""
    tensors = load_file(trunk / "model.safetensors")
    if spec["names"] == "prefix":
        tensors = {"bert." + name: t for name, t in tensors.items()}
    else:
        rename = lambda n: n.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        tensors = {rename(name): t for name, t in tensors.items()}
    tensors["bert.embeddings.position_ids"] = torch.arange(spec["config"]["max_position_embeddings"]).unsqueeze(0)
    save_file(tensors, trunk / "model.safetensors", metadata={"format": "pt"})


def write_trunk(spec, trunk, seed):
    config = spec.get("config_class", BertConfig)(**spec["config"])
    legacy = spec.get("names") == "legacy"
    if "family" in spec:
        model = AutoModel.from_config(config)
    else:
        model = BertForPreTraining(config) if legacy else BertModel(config, add_pooling_layer=spec.get("pooler", True))
    model = calm(randomise(model, seed), spec.get("calm", 1)).to(spec.get("dtype", torch.float32))
    model.save_pretrained(trunk, max_shard_size=spec.get("shard", "1GB"))
    if "names" in spec:
        rename_weights(spec, trunk)
    spec.get("write_tokenizer", write_tokenizer)(spec, trunk)


def modules_of(spec, trunk, seed):
    """The sentence-transformers modules after the trunk."""
    hidden = next(spec["config"][name] for name in ("hidden_size", "dim", "emb_dim", "n_embd") if name in spec["config"])
    width = hidden * len(spec["pooling"])
    modules = [Pooling(hidden, tuple(spec["pooling"]), include_prompt=spec.get("include_prompt", True))]
    for i, (out, activation, bias) in enumerate(spec.get("dense", [])):
        modules.append(randomise(Dense(width, out, bias=bias, activation_function=activation), seed + 100 + i))
        width = out
    return modules + [Normalize()] * spec.get("normalize", False)


def write_old_modules(spec, folder, modules):
    """modules.json and the modules' folders as sentence-transformers 2 wrote them."""
    entries = [dict(idx=0, name="0", path=spec.get("subfolder", ""), type="sentence_transformers.models.Transformer")]
    for i, module in enumerate(modules, 1):
        kind = type(module).__name__
        entries.append(dict(idx=i, name=str(i), path=f"{i}_{kind}", type=f"sentence_transformers.models.{kind}"))
        if kind == "Pooling":
            flags = dict(cls="cls_token", max="max_tokens", mean="mean_tokens", mean_sqrt_len_tokens="mean_sqrt_len_tokens",
                         weightedmean="weightedmean_tokens", lasttoken="lasttoken")
            write_json(folder / f"{i}_{kind}/config.json", dict(word_embedding_dimension=spec["config"]["hidden_size"])
                       | {f"pooling_mode_{flag}": mode in spec["pooling"] for mode, flag in flags.items()})
        elif kind == "Dense":
            (folder / f"{i}_{kind}").mkdir()
            module.save(str(folder / f"{i}_{kind}"))
    write_json(folder / "modules.json", entries)
    write_json(folder / spec.get("subfolder", "") / "sentence_bert_config.json",
               dict(max_seq_length=spec.get("limit", spec["config"]["max_position_embeddings"]), do_lower_case=spec.get("lower", False)))
    write_json(folder / "config_sentence_transformers.json",
               {"__version__": {"sentence_transformers": "2.0.0", "transformers": "4.6.1", "pytorch": "1.8.1"}})


def write_folder(name, spec):
    folder, seed = ROOT / name, spec.get("seed") or list(FOLDERS).index(name) + 1
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        trunk = Path(scratch) if spec["style"] == "new" else folder / spec.get("subfolder", "")
        write_trunk(spec, trunk, seed)
        if spec["style"] == "plain":
            return
        modules = modules_of(spec, trunk, seed)
        if spec["style"] == "old":
            return write_old_modules(spec, folder, modules)
        choice = {} if spec.get("pooler", True) or "family" in spec else dict(add_pooling_layer=False)
        transformer = Transformer(str(trunk), model_kwargs=dict(dtype="auto") | choice)
        SentenceTransformer(modules=[transformer, *modules], prompts=spec.get("prompts"), default_prompt_name=spec.get("default"),
                            device="cpu").save(str(folder), create_model_card=False)
        if "shard" in spec:
            (folder / "model.safetensors").unlink()
            transformer.model.save_pretrained(folder, max_shard_size=spec["shard"])


class Answers:
    """Asks the reference libraries about one folder and keeps what they say."""

    def __init__(self, name, spec):
        self.folder, self.spec, self.cases, self.arrays, self.at = ROOT / name, spec, [], [], 0
        self.sentence = SentenceTransformer(str(self.folder), device="cpu", model_kwargs=dict(TORCH))
        self.tokenizer = self.sentence.tokenizer
        self.trunk, info = AutoModel.from_pretrained(self.folder / spec.get("subfolder", ""), output_loading_info=True, **TORCH)
        self.pooler = spec.get("pooler", True)
        assert not {k for k in info["missing_keys"] if self.pooler or "pooler" not in k}, info
        assert not {k for k in info["unexpected_keys"] if not k.startswith("cls.") and "position_ids" not in k}, info
        self.limit = self.sentence.max_seq_length
        self.typed = getattr(self.trunk.config, "type_vocab_size", 1) > 1  # families without segments, or with one, are given none
        self.default = self.sentence.prompts[self.sentence.default_prompt_name] if self.sentence.default_prompt_name else ""

    def ids(self, text, **more):
        return self.tokenizer(self.default + text, truncation=True, **{"max_length": self.limit} | more)

    @torch.inference_mode()
    def states(self, ids, type_ids=None, trunk=None):
        """All hidden states, and the pooler's output, of one sequence."""
        types = {} if type_ids is None or not self.typed else dict(token_type_ids=torch.tensor([type_ids]))
        out = (trunk or self.trunk)(torch.tensor([ids]), output_hidden_states=True, **types)
        return [h[0].numpy() for h in out.hidden_states], out.pooler_output.numpy() if self.pooler else None

    def keep(self, what, settings, texts, vectors, **more):
        """One case: `vectors` holds a matrix a text."""
        vectors = [np.atleast_2d(np.asarray(v, dtype=np.float32)) for v in vectors]
        assert all(np.isfinite(v).all() and v.shape[1] == vectors[0].shape[1] for v in vectors)
        self.cases.append(dict(what=what, set=settings, texts=texts, rows=[len(v) for v in vectors], dimensions=vectors[0].shape[1], at=self.at) | more)
        self.arrays += vectors
        self.at += sum(v.size for v in vectors)

    def encode(self, what, settings, texts=range(len(TEXTS)), pooling=None, normalize=None, limit=None, side="right", **more):
        """A case answered by sentence-transformers, its modules changed where the settings ask for it."""
        modules = list(self.sentence)
        if pooling:
            modules[1] = Pooling(self.trunk.config.hidden_size, pooling, include_prompt=modules[1].include_prompt)
        if normalize is not None:
            modules = [m for m in modules if not isinstance(m, Normalize)]
        model = SentenceTransformer(modules=modules, prompts=self.sentence.prompts, device="cpu", default_prompt_name=self.sentence.default_prompt_name)
        self.tokenizer.truncation_side, model.max_seq_length = side, limit or self.limit
        vectors = [model.encode([TEXTS[t]], batch_size=1, normalize_embeddings=bool(normalize), **more) for t in texts]
        self.tokenizer.truncation_side, model.max_seq_length = "right", self.limit
        self.keep(what, settings, list(texts), vectors)

    def sentences(self):
        self.encode("the folder's own configuration", {})
        for ours, theirs in MODES.items():
            self.encode(f"pooling {ours}", dict(pooling=ours, normalize="false"), pooling=theirs, normalize=False)
        if not self.spec.get("dense"):
            self.encode("two poolings", dict(pooling="max+cls", normalize="false"), SOME, pooling=("max", "cls"), normalize=False)
        self.encode("not normalised", dict(normalize="false"), SOME, normalize=False)
        self.encode("normalised", dict(normalize="true"), SOME, normalize=True)
        self.encode("cut", dict(dimensions="11", normalize="false"), SOME, normalize=False, truncate_dim=11)
        self.encode("cut, then normalised", dict(dimensions="8", normalize="true"), SOME, normalize=True, truncate_dim=8)
        self.encode("a lower limit", dict(max_tokens="9"), SOME, limit=9)
        self.encode("cut on the left", dict(max_tokens="12", truncation="left"), SOME, limit=12, side="left")
        file = self.folder / "config_sentence_transformers.json"
        for name in json.loads(file.read_text(encoding="utf-8")).get("prompts", {}) if file.exists() else []:
            self.encode(f"prompt {name}", dict(prompt_name=name), SOME, prompt_name=name)
        self.encode("a prompt's text", dict(prompt="the word: "), SOME, prompt="the word: ")
        if "prompts" in self.spec:
            for ours, theirs in MODES.items():
                self.encode(f"prompt and pooling {ours}", dict(prompt="the word: ", pooling=ours), SOME, prompt="the word: ", pooling=theirs)

    def layers(self):
        tokens = dict(vectors="token")  # never normalised, unless asked for
        states = [self.states(self.ids(TEXTS[t])["input_ids"])[0] for t in SOME]
        for layer in range(len(states[0])):
            chosen = [i for i, t in enumerate(SOME) if TEXTS[t] != LONG or layer == len(states[0]) - 1]
            self.keep(f"hidden states {layer}", tokens | dict(layers=str(layer)), [SOME[i] for i in chosen], [states[i][layer] for i in chosen])
        side_by_side = [np.concatenate(s[-2:], axis=1) for s in states]
        self.keep("last two layers", tokens | dict(layers="concat:2"), SOME[:2], side_by_side[:2])
        self.keep("mean of two layers", tokens | dict(layers="mean:2"), SOME[:2], [(s[-2] + s[-1]) / 2 for s in states[:2]])
        if not self.spec.get("dense") and self.spec.get("include_prompt", True):
            self.keep("mean of last two layers side by side", dict(layers="concat:2", pooling="mean", normalize="false"), SOME, [v.mean(0) for v in side_by_side])
            if self.pooler:
                pooled = [self.states(self.ids(t)["input_ids"])[1] for t in TEXTS]
                self.keep("pooler", dict(pooling="pooler", normalize="false"), list(range(len(TEXTS))), pooled)

    def windows(self):
        """Overlapping windows; the mean of their vectors, each weighted by its number of tokens."""
        if self.spec.get("dense") or "prompts" in self.spec:
            return
        vectors = []
        for t in SOME:
            windows = self.ids(TEXTS[t], max_length=16, stride=5, return_overflowing_tokens=True)["input_ids"]
            weights = np.array([len(w) for w in windows], dtype=np.float64)
            means = np.stack([self.states(w)[0][-1].astype(np.float64).mean(0) for w in windows])
            vectors.append((weights[:, None] * means).sum(0) / weights.sum())
        settings = dict(truncation="window", max_tokens="16", overlap="5", pooling="mean", normalize="false")
        self.keep("windows", settings, SOME, vectors)

    def pairs(self):
        # As lists, as cross-encoders do it: called with two plain strings, transformers drops an empty second text.
        more = dict(truncation=True, max_length=self.limit, return_token_type_ids=True)
        batches = [self.tokenizer([self.default + a], [b], **more) for a, b in PAIRS]
        self.two = [{key: value[0] for key, value in b.items()} for b in batches]
        if self.spec["config"].get("type_vocab_size", 2) > 1 or not self.typed:
            self.keep("pairs", {}, [], [self.states(e["input_ids"], e["token_type_ids"])[0][-1] for e in self.two], pairs=list(range(len(PAIRS))))

    def own_error(self):
        """How far fp32 itself is from float64, in units of the states' rms: the reference's share of the tolerance."""
        exact = AutoModel.from_pretrained(self.folder / self.spec.get("subfolder", ""), **TORCH | dict(dtype=torch.float64))
        ids = self.ids(TEXTS[6])["input_ids"]
        a, b = self.states(ids)[0], self.states(ids, trunk=exact)[0]
        return max(float(np.abs(x - y).max() / np.sqrt((y**2).mean())) for x, y in zip(a, b))

    def write(self):
        encoded = [self.ids(t) for t in TEXTS]
        totals = [len(self.tokenizer(self.default + t)["input_ids"]) for t in TEXTS]
        head = dict(made_by=f"tests/golden/make/{Path(sys.argv[0]).name}", versions=VERSIONS, texts=TEXTS, ids=[e["input_ids"] for e in encoded], totals=totals, limit=self.limit,
                    pairs=PAIRS, pair_ids=[e["input_ids"] for e in self.two], pair_type_ids=[e["token_type_ids"] for e in self.two], values=self.at)
        line = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        lines = [f"{line(k)}:{line(v)}" for k, v in head.items()]
        cases = ",\n".join(map(line, self.cases))
        (self.folder / "expected.json").write_text("{" + ",\n".join(lines) + f',\n"cases":[\n{cases}\n]}}\n', encoding="utf-8")
        np.concatenate([a.ravel() for a in self.arrays]).astype("<f4").tofile(self.folder / "expected.f32")


def make(folders, steps):
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    for name in sys.argv[1:] or folders:
        write_folder(name, folders[name])
        answers = Answers(name, folders[name])
        for step in steps:
            getattr(answers, step)()
        files = [f for f in (ROOT / name).rglob("*") if f.is_file()]
        for file in files:
            file.chmod(0o644)
        size = sum(f.stat().st_size for f in files)
        print(f"{name}: {len(answers.cases)} cases, {size // 1024} KB, fp32 against float64 {answers.own_error():.1e} x rms", flush=True)


if __name__ == "__main__":
    make(FOLDERS, ["sentences", "layers", "windows", "pairs", "write"])
