"""Two models whose code comes with their checkpoints and is in no package, re-stated from what is published about them: JinaBERT version 2 (Günther et al.,
Jina Embeddings 2, 2023; attention with linear biases to both sides, feed-forward layers with a gate) and GTE in its authors' own form (Zhang et al., mGTE, 2024;
rotary positions stretched as kexue.fm/archives/9706 says, queries, keys and values as one matrix).

They are independent of `cloze`: plain PyTorch, one text at a time, and names of tensors as in the checkpoints. families.py and family_heads.py use them as they use
the classes of `transformers`. What they say was compared with the graph `jina-bert-v2` of llama.cpp (src/models/bert.cpp) and with a re-statement of GTE in
text-embeddings-inference (backends/candle/src/models/gte.rs), by reading.
"""
import json
import math

import torch
from torch import nn
from transformers import (AutoConfig, AutoModel, AutoModelForMaskedLM, AutoModelForMultipleChoice, AutoModelForQuestionAnswering, AutoModelForSequenceClassification,
                          AutoModelForTokenClassification, PreTrainedConfig, PreTrainedModel)
from transformers.activations import ACT2FN
from transformers.modeling_outputs import (BaseModelOutputWithPooling, MaskedLMOutput, MultipleChoiceModelOutput, QuestionAnsweringModelOutput, SequenceClassifierOutput,
                                           TokenClassifierOutput)


class Config(PreTrainedConfig):
    vocab_size: int = 100
    hidden_size: int = 16
    num_hidden_layers: int = 2
    num_attention_heads: int = 2
    intermediate_size: int = 20
    hidden_act: str = "gelu"
    max_position_embeddings: int = 32
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12
    pad_token_id: int | None = 0


class JinaConfig(Config):
    """In checkpoints the model_type is `bert`: `as_published` writes it."""
    model_type = "restated-jina"
    position_embedding_type: str = "alibi"
    feed_forward_type: str = "geglu"


class NewConfig(Config):
    model_type = "new"
    position_embedding_type: str = "rope"
    rope_theta: float = 10000.0
    rope_scaling: dict | None = None
    pack_qkv: bool = True
    layer_norm_type: str = "layer_norm"
    logn_attention_scale: bool = False
    logn_attention_clip1: bool = False


def as_published(folder):
    """Gives config.json the model_type that checkpoints of JinaBERT have, and where their code is."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    if config["model_type"] == JinaConfig.model_type:
        config["model_type"] = "bert"
        config["architectures"] = [name.replace("Jina", "JinaBert") for name in config["architectures"]]
        config["auto_map"] = {"AutoModel": "jinaai/jina-bert-implementation--modeling_bert.JinaBertModel"}
        path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def tree(**modules):
    return nn.ModuleDict(modules)


def norm(config):
    return nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)


def slopes(heads):
    """As the paper's authors give them where heads are no power of two."""
    if heads & (heads - 1) == 0:
        return [2 ** (-8 * (i + 1) / heads) for i in range(heads)]
    lower = 2 ** int(math.log2(heads))
    return slopes(lower) + slopes(2 * lower)[::2][: heads - lower]


def mix(query, key, value, heads, bias):
    split = lambda x: x.view(*x.shape[:-1], heads, -1).transpose(-2, -3)
    scores = split(query) @ split(key).transpose(-1, -2) / math.sqrt(query.shape[-1] // heads)
    return (torch.softmax(scores + bias, dim=-1) @ split(value)).transpose(-2, -3).flatten(-2)


def turned(x, heads, config):
    """Rotary positions of queries or keys."""
    size, length = config.hidden_size // heads, x.shape[-2]
    scaling = config.rope_scaling or dict(factor=1.0)
    angles = 1.0 / ((config.rope_theta * scaling["factor"]) ** (torch.arange(0, size, 2).float() / size)) / scaling["factor"] ** (2 / size)
    angles = torch.outer(torch.arange(length).float(), angles)
    cos, sin = (torch.cat([f(angles)] * 2, dim=-1).to(x.dtype)[:, None, :] for f in (torch.cos, torch.sin))
    parts = x.view(*x.shape[:-1], heads, size)
    first, second = parts.chunk(2, dim=-1)
    return (parts * cos + torch.cat([-second, first], dim=-1) * sin).flatten(-2)


class Restated(PreTrainedModel):
    _no_split_modules = []

    def _init_weights(self, module):
        pass


class Trunk(Restated):
    def __init__(self, config):
        super().__init__(config)
        hidden = config.hidden_size
        tables = dict(word_embeddings=nn.Embedding(config.vocab_size, hidden))
        if config.type_vocab_size > 0:
            tables["token_type_embeddings"] = nn.Embedding(config.type_vocab_size, hidden)
        self.embeddings = tree(**tables, LayerNorm=norm(config))
        self.encoder = tree(layer=nn.ModuleList(self.layer(config) for _ in range(config.num_hidden_layers)))
        self.pooler = tree(dense=nn.Linear(hidden, hidden))
        self.post_init()

    def get_input_embeddings(self):
        return self.embeddings["word_embeddings"]

    def forward(self, input_ids, attention_mask=None, token_type_ids=None, output_hidden_states=False, **_):
        assert attention_mask is None or bool(attention_mask.all()), "one text at a time"
        x = self.embeddings["word_embeddings"](input_ids)
        if self.config.type_vocab_size > 0:
            x = x + self.embeddings["token_type_embeddings"](torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids)
        states = [self.embeddings["LayerNorm"](x)]
        for layer in self.encoder["layer"]:
            states.append(self.through(layer, states[-1]))
        pooled = torch.tanh(self.pooler["dense"](states[-1][:, 0]))
        return BaseModelOutputWithPooling(last_hidden_state=states[-1], pooler_output=pooled, hidden_states=tuple(states))


class JinaModel(Trunk):
    config_class, base_model_prefix = JinaConfig, "bert"

    @staticmethod
    def layer(config):
        hidden, inner = config.hidden_size, config.intermediate_size
        own = tree(**{name: nn.Linear(hidden, hidden) for name in ("query", "key", "value")})
        attention = nn.ModuleDict({"self": own, "output": tree(dense=nn.Linear(hidden, hidden), LayerNorm=norm(config))})
        if config.feed_forward_type == "original":
            return tree(attention=attention, intermediate=tree(dense=nn.Linear(hidden, inner)), output=tree(dense=nn.Linear(inner, hidden), LayerNorm=norm(config)))
        return tree(attention=attention, mlp=tree(gated_layers=nn.Linear(hidden, 2 * inner, bias=False), wo=nn.Linear(inner, hidden), layernorm=norm(config)))

    def through(self, layer, x):
        heads, attention = self.config.num_attention_heads, layer["attention"]
        places = torch.arange(x.shape[-2])
        bias = -torch.tensor(slopes(heads), dtype=x.dtype)[:, None, None] * (places[None, :] - places[:, None]).abs()
        mixed = mix(*(attention["self"][name](x) for name in ("query", "key", "value")), heads, bias)
        x = attention["output"]["LayerNorm"](attention["output"]["dense"](mixed) + x)
        if self.config.feed_forward_type == "original":
            wide = ACT2FN[self.config.hidden_act](layer["intermediate"]["dense"](x))
            return layer["output"]["LayerNorm"](layer["output"]["dense"](wide) + x)
        gate, other = layer["mlp"]["gated_layers"](x).chunk(2, dim=-1)
        wide = {"geglu": torch.nn.functional.gelu, "reglu": torch.relu}[self.config.feed_forward_type](gate) * other
        return layer["mlp"]["layernorm"](layer["mlp"]["wo"](wide) + x)


class NewModel(Trunk):
    config_class, base_model_prefix = NewConfig, "new"

    @staticmethod
    def layer(config):
        hidden, inner = config.hidden_size, config.intermediate_size
        attention = dict(qkv_proj=nn.Linear(hidden, 3 * hidden)) if config.pack_qkv else {f"{n}_proj": nn.Linear(hidden, hidden) for n in "qkv"}
        return tree(attention=tree(**attention, o_proj=nn.Linear(hidden, hidden)), attn_ln=norm(config),
                    mlp=tree(up_gate_proj=nn.Linear(hidden, 2 * inner, bias=False), down_proj=nn.Linear(inner, hidden)), mlp_ln=norm(config))

    def through(self, layer, x):
        heads, attention = self.config.num_attention_heads, layer["attention"]
        query, key, value = attention["qkv_proj"](x).chunk(3, dim=-1) if self.config.pack_qkv else (attention[f"{n}_proj"](x) for n in "qkv")
        mixed = mix(turned(query, heads, self.config), turned(key, heads, self.config), value, heads, 0.0)
        x = layer["attn_ln"](attention["o_proj"](mixed) + x)
        up, gate = layer["mlp"]["up_gate_proj"](x).chunk(2, dim=-1)
        return layer["mlp_ln"](layer["mlp"]["down_proj"](ACT2FN[self.config.hidden_act](gate) * up) + x)


def with_head(kind, trunk, config_class):
    """A class of the two models with a head: one linear layer on the pooler or on every token, or BERT's layers for blanks, by the names that each has for them."""
    jina = config_class is JinaConfig
    decoder = "cls.predictions.decoder" if jina else "lm_head.decoder"
    words = f"{trunk.base_model_prefix}.embeddings.word_embeddings.weight"

    class Head(Restated):
        base_model_prefix = trunk.base_model_prefix
        _tied_weights_keys = ({f"{decoder}.weight": words} | ({f"{decoder}.bias": "cls.predictions.bias"} if jina else {})) if kind == "MaskedLM" else {}

        def __init__(self, config):
            super().__init__(config)
            setattr(self, self.base_model_prefix, trunk(config))
            hidden = config.hidden_size
            if kind == "MaskedLM":
                layers = dict(dense=nn.Linear(hidden, hidden), **{"LayerNorm" if jina else "norm": norm(config)})
                words = nn.Linear(hidden, config.vocab_size)
                if jina:
                    predictions = tree(transform=tree(**layers), decoder=words)
                    predictions.bias = nn.Parameter(torch.zeros(config.vocab_size))
                    self.cls = tree(predictions=predictions)
                else:
                    self.lm_head = tree(**layers, decoder=words)
            elif kind == "QuestionAnswering":
                self.qa_outputs = nn.Linear(hidden, 2)
            else:
                self.classifier = nn.Linear(hidden, 1 if kind == "MultipleChoice" else config.num_labels)
            self.post_init()

        def get_input_embeddings(self):
            return getattr(self, self.base_model_prefix).get_input_embeddings()

        def get_output_embeddings(self):
            return None if kind != "MaskedLM" else self.cls["predictions"]["decoder"] if jina else self.lm_head["decoder"]

        def forward(self, input_ids, **more):
            out = getattr(self, self.base_model_prefix)(input_ids, **more)
            if kind == "MaskedLM":
                layers = self.cls["predictions"]["transform"] if jina else self.lm_head
                dense = ACT2FN[self.config.hidden_act](layers["dense"](out.last_hidden_state))
                return MaskedLMOutput(logits=self.get_output_embeddings()(layers["LayerNorm" if jina else "norm"](dense)))
            if kind == "QuestionAnswering":
                start, end = self.qa_outputs(out.last_hidden_state).unbind(-1)
                return QuestionAnsweringModelOutput(start_logits=start, end_logits=end)
            if kind == "TokenClassification":
                return TokenClassifierOutput(logits=self.classifier(out.last_hidden_state))
            answer = MultipleChoiceModelOutput if kind == "MultipleChoice" else SequenceClassifierOutput
            return answer(logits=self.classifier(out.pooler_output))

    Head.config_class = config_class
    Head.__name__ = f"{'Jina' if jina else 'New'}For{kind}"
    return Head


for config_class, trunk in ((JinaConfig, JinaModel), (NewConfig, NewModel)):
    AutoConfig.register(config_class.model_type, config_class)
    AutoModel.register(config_class, trunk)
    for auto, kind in ((AutoModelForMaskedLM, "MaskedLM"), (AutoModelForMultipleChoice, "MultipleChoice"), (AutoModelForQuestionAnswering, "QuestionAnswering"),
                       (AutoModelForSequenceClassification, "SequenceClassification"), (AutoModelForTokenClassification, "TokenClassification")):
        auto.register(config_class, with_head(kind, trunk, config_class))
