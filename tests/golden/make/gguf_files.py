"""Makes tests/golden/gguf: files as llama.cpp's converter writes them, files with every kind of setting, and vocabularies.

    python gguf_files.py                 makes the files (and what they must give)
    python gguf_files.py --check FILE    reads a file of ours with gguf.GGUFReader and prints what it holds

Written with the `gguf` package's GGUFWriter and its own names (`get_tensor_name_map(MODEL_ARCH.BERT)`), from the tiny models in
tests/golden/models; the steps are those of llama.cpp's convert_hf_to_gguf.py for BERT (phantom spaces, no pooler, no buffers).
"""

import json
import sys
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import load_file

HERE = Path(__file__).resolve().parent
MODELS, OUT = HERE.parent / "models", HERE.parent / "gguf"
TEXTS = json.loads((MODELS / "tiny-gelu/expected.json").read_text(encoding="utf-8"))["texts"]
PLAIN = [text.replace("\0", " ") for text in TEXTS]  # sentencepiece ends a text at a zero
POOLING = {"tiny-gelu": gguf.PoolingType.MEAN, "tiny-no-pooler": None}


def vocabulary(folder):
    """Tokens with phantom spaces, and their types."""
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    pieces = {id_: piece for piece, id_ in tokenizer["model"]["vocab"].items()}
    special = {t["id"] for t in tokenizer["added_tokens"] if t["special"]}
    tokens, types = [], []
    for id_ in range(len(pieces)):
        piece = pieces[id_]
        if id_ in special:
            tokens.append(piece)
        else:
            tokens.append(piece[2:] if piece.startswith("##") else "\u2581" + piece)
        types.append(gguf.TokenType.CONTROL if id_ in special else gguf.TokenType.NORMAL)
    return tokens, types, {t["content"]: t["id"] for t in tokenizer["added_tokens"]}


def model(name, fused):
    """A tiny model as llama.cpp's converter writes it: no file of the folder, no pooler, no position ids."""
    folder = MODELS / name
    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(OUT / f"{name}.gguf", "bert")
    writer.add_type("model")
    writer.add_name(name)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_causal_attention(False)
    if POOLING[name]:
        writer.add_pooling_type(POOLING[name])
    tokens, types, special = vocabulary(folder)
    writer.add_token_type_count(config["type_vocab_size"])
    writer.add_tokenizer_model("bert")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_bos_token_id(special["[CLS]"])
    writer.add_sep_token_id(special["[SEP]"])
    writer.add_unk_token_id(special["[UNK]"])
    writer.add_pad_token_id(special["[PAD]"])
    writer.add_mask_token_id(special["[MASK]"])
    writer.add_bool("tokenizer.ggml.normalizer.lowercase", True)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, config["num_hidden_layers"])
    tensors = {k: v for k, v in load_file(folder / "model.safetensors").items() if not k.startswith("pooler.") and "position_ids" not in k}
    for key in sorted(tensors):
        if fused and ".self.query." in key:
            parts = [tensors[key.replace("query", p)] for p in ("query", "key", "value")]
            layer, parameter = key.split(".")[2], key.rsplit(".", 1)[1]
            writer.add_tensor(f"blk.{layer}.attn_qkv.{parameter}", np.concatenate(parts))
        elif not (fused and (".self.key." in key or ".self.value." in key)):
            writer.add_tensor(names.get_name(key, try_suffixes=(".weight", ".bias")), tensors[key])
    finish(writer)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def settings():
    """Every type of setting and several of tensors; tests/gguf.rs writes the same and compares every byte."""
    for name, alignment in [("settings.gguf", None), ("aligned.gguf", 128)]:
        writer = gguf.GGUFWriter(OUT / name, "nothing")
        if alignment:
            writer.add_custom_alignment(alignment)
        writer.add_uint8("a.u8", 200)
        writer.add_int8("a.i8", -100)
        writer.add_uint16("a.u16", 60000)
        writer.add_int16("a.i16", -30000)
        writer.add_uint32("a.u32", 4000000000)
        writer.add_int32("a.i32", -2000000000)
        writer.add_float32("a.f32", 0.1)
        writer.add_bool("a.bool", True)
        writer.add_string("a.string", "Zürich 漢字 🔍")
        writer.add_uint64("a.u64", 2**63 + 1)
        writer.add_int64("a.i64", -(2**62))
        writer.add_float64("a.f64", 0.1)
        writer.add_array("b.i32", [1, -2, 3])
        writer.add_array("b.f32", [0.5, -0.25])
        writer.add_array("b.bool", [True, False])
        writer.add_array("b.string", ["", "a", "漢"])
        writer.add_array("b.nested", [[1, 2], [3]])
        writer.add_tensor("f32", np.arange(6, dtype=np.float32).reshape(2, 3))
        writer.add_tensor("f16", np.arange(5, dtype=np.float16))
        writer.add_tensor("i64", np.arange(2, dtype=np.int64).reshape(2, 1))
        writer.add_tensor("q8_0", gguf.quants.quantize(np.arange(128, dtype=np.float32).reshape(2, 64), gguf.GGMLQuantizationType.Q8_0), raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        writer.add_tensor("cube", np.arange(24, dtype=np.float32).reshape(2, 3, 4))
        finish(writer)


def vocabulary_file(name, fill):
    writer = gguf.GGUFWriter(OUT / f"{name}.gguf", "bert")
    for add in (writer.add_context_length, writer.add_embedding_length, writer.add_feed_forward_length, writer.add_block_count, writer.add_head_count):
        add(8)
    writer.add_layer_norm_eps(1e-12)
    ids = fill(writer)
    finish(writer)
    (OUT / f"{name}.json").write_text(json.dumps({"made_by": "tests/golden/make/gguf_files.py", "texts": PLAIN, "ids": ids}, ensure_ascii=False) + "\n", encoding="utf-8")
    print(name, sum(map(len, ids)), "ids")


def corpus():
    words = [w for text in TEXTS for w in text.split() if "\0" not in w]
    return [" ".join(words[i * 7 % len(words):][:9]) for i in range(400)] + [t for t in TEXTS if t.strip() and "\0" not in t]


def unigram(writer):
    import io
    import sentencepiece as spm
    out = io.BytesIO()
    spm.SentencePieceTrainer.train(sentence_iterator=iter(corpus()), model_writer=out, vocab_size=330, model_type="unigram", character_coverage=1.0,
                                   bos_id=0, pad_id=1, eos_id=2, unk_id=3, user_defined_symbols=["<mask>"], minloglevel=2, hard_vocab_limit=False)
    model = spm.SentencePieceProcessor(model_proto=out.getvalue())
    from sentencepiece import sentencepiece_model_pb2 as pb
    proto = pb.ModelProto.FromString(out.getvalue())
    kind = {1: gguf.TokenType.NORMAL, 2: gguf.TokenType.UNKNOWN, 3: gguf.TokenType.CONTROL, 4: gguf.TokenType.USER_DEFINED, 5: gguf.TokenType.UNUSED, 6: gguf.TokenType.BYTE}
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([p.piece for p in proto.pieces])
    writer.add_token_scores([p.score for p in proto.pieces])
    writer.add_token_types([kind[p.type] for p in proto.pieces])
    writer.add_add_space_prefix(proto.normalizer_spec.add_dummy_prefix)
    writer.add_remove_extra_whitespaces(proto.normalizer_spec.remove_extra_whitespaces)
    writer.add_precompiled_charsmap(proto.normalizer_spec.precompiled_charsmap[:])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(3)
    writer.add_pad_token_id(1)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)
    return [[0, *model.encode(text), 2] for text in PLAIN]


def converted(name, kind, vocabulary, pooling, **settings):
    """A tiny model of RoBERTa's kind as llama.cpp's converter writes it: architecture bert, the first rows of the position embedding gone.
    Gives the model, each text's ids, and what answers.json has of them."""
    import torch
    import transformers
    transformers.logging.set_verbosity_error()
    writer = gguf.GGUFWriter(OUT / f"{name}.gguf", "bert")
    config = kind.config_class(vocab_size=0, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, max_position_embeddings=66, type_vocab_size=1,
                               layer_norm_eps=1e-5, pad_token_id=1, attn_implementation="eager", **settings)
    skipped = config.pad_token_id + 1
    writer.add_context_length(config.max_position_embeddings - skipped)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    writer.add_layer_norm_eps(config.layer_norm_eps)
    writer.add_causal_attention(False)
    writer.add_pooling_type(pooling)
    writer.add_token_type_count(1)
    ids = vocabulary(writer)
    config.vocab_size = len(writer.kv_data[0]["tokenizer.ggml.tokens"].value)
    torch.manual_seed(5)
    model = kind(config).eval() if pooling == gguf.PoolingType.RANK else kind(config, add_pooling_layer=False).eval()
    with torch.no_grad():
        for key, p in model.named_parameters():
            p.copy_(torch.rand(p.shape) + 0.5 if "LayerNorm.weight" in key else torch.randn(p.shape) * (0.3 if p.ndim == 1 else 1.5 / p.shape[1] ** 0.5))
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, config.num_hidden_layers)
    for key, tensor in sorted(model.state_dict().items()):
        if "position_ids" in key or "token_type_ids" in key:
            continue
        tensor = tensor[skipped:] if "position_embeddings" in key else tensor
        writer.add_tensor(names.get_name(key.removeprefix("roberta."), try_suffixes=(".weight", ".bias")), tensor.numpy().copy())
    finish(writer)
    return model, ids, config.max_position_embeddings - skipped


def xlm_roberta():
    """An embedding model of XLM-RoBERTa's."""
    import torch
    from transformers import XLMRobertaModel
    model, ids, limit = converted("xlm-roberta", XLMRobertaModel, unigram, gguf.PoolingType.CLS)
    chosen = [i for i, x in enumerate(ids) if len(x) <= limit]
    with torch.inference_mode():
        vectors = [model(torch.tensor([ids[i]])).last_hidden_state[0, 0].tolist() for i in chosen]
    answers = {"made_by": "tests/golden/make/gguf_files.py", "texts": PLAIN, "ids": ids, "chosen": chosen, "vectors": [[round(x, 7) for x in v] for v in vectors]}
    (OUT / "xlm-roberta.json").write_text(json.dumps(answers, ensure_ascii=False) + "\n", encoding="utf-8")
    print("xlm-roberta", len(chosen), "texts")


def roberta_rank():
    """A reranker of RoBERTa's, with its byte-level vocabulary: the raw number of each text behind a query."""
    import torch
    from transformers import RobertaForSequenceClassification
    model, ids, limit = converted("roberta-rank", RobertaForSequenceClassification, bpe, gguf.PoolingType.RANK, num_labels=1)
    query, pairs = ids[0], [ids[0] + [2] + x[1:] for x in ids]
    chosen = [i for i, x in enumerate(pairs) if len(x) <= limit]
    with torch.inference_mode():
        logits = [model(torch.tensor([pairs[i]])).logits.item() for i in chosen]
    answers = {"made_by": "tests/golden/make/gguf_files.py", "texts": PLAIN, "query": PLAIN[0], "chosen": chosen, "logits": [round(x, 7) for x in logits]}
    (OUT / "roberta-rank.json").write_text(json.dumps(answers, ensure_ascii=False) + "\n", encoding="utf-8")
    print("roberta-rank", len(chosen), "of", len(query), "tokens and more")


def bpe(writer):
    import tokenizers
    tokenizer = tokenizers.ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(corpus(), vocab_size=500, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    parts = json.loads(tokenizer._tokenizer.to_str())
    tokenizer._tokenizer.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    ids = {v: k for k, v in parts["model"]["vocab"].items()}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("roberta-bpe")
    writer.add_token_list([ids[i] for i in range(len(ids))])
    writer.add_token_types([gguf.TokenType.CONTROL if i < 5 else gguf.TokenType.NORMAL for i in range(len(ids))])
    writer.add_token_merges([" ".join(m) for m in parts["model"]["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(2)
    writer.add_sep_token_id(2)
    writer.add_unk_token_id(3)
    writer.add_pad_token_id(1)
    writer.add_mask_token_id(4)
    return [tokenizer._tokenizer.encode(text).ids for text in PLAIN]


def seeds():
    """Small files for tests/fuzz: a whole model of 9 tokens, and safetensors files."""
    from safetensors.numpy import save_file
    folder = HERE.parent.parent / "fuzz/seeds"
    writer = gguf.GGUFWriter(folder / "gguf/model.gguf", "bert")
    writer.add_context_length(8)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(32)
    writer.add_block_count(1)
    writer.add_head_count(2)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.CLS)
    writer.add_token_type_count(2)
    writer.add_tokenizer_model("bert")
    writer.add_token_list(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "\u2581a", "\u2581text", "s", "\u2581."])
    writer.add_token_types([3] * 5 + [1] * 4)
    writer.add_bos_token_id(2)
    writer.add_sep_token_id(3)
    writer.add_unk_token_id(1)
    rng = np.random.default_rng(3)
    value = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    matrices = {"token_embd": (9, 32), "position_embd": (8, 32), "token_types": (2, 32)} | {f"blk.0.{n}": (32, 32) for n in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down")}
    kinds = [gguf.GGMLQuantizationType[n] for n in ("Q8_0", "Q4_0", "Q5_1", "F16")]
    for i, (name, shape) in enumerate(matrices.items()):
        kind = kinds[i % 4]
        writer.add_tensor(name + ".weight", gguf.quants.quantize(value(*shape), kind), raw_dtype=kind)
        if name.startswith("blk"):
            writer.add_tensor(name + ".bias", value(32))
    for name in ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"):
        writer.add_tensor(name + ".weight", value(32))
        writer.add_tensor(name + ".bias", value(32))
    finish(writer)
    for name, tensors, metadata in [
        ("plain", {"a": value(2, 3), "b.weight": value(4).astype(np.float16)}, {"format": "pt"}),
        ("empty", {}, None), ("zero", {"none": value(0, 3), "one": np.array(7, dtype=np.int64)}, None),
        ("many", {f"layer.{i}.weight": value(2, 2) for i in range(12)}, {"format": "pt", "text": "\u6f22"}),
    ]:
        save_file(tensors, folder / f"safetensors/{name}.safetensors", metadata=metadata)
        (folder / f"safetensors/{name}.safetensors").chmod(0o644)


def check(path):
    reader = gguf.GGUFReader(path)
    for field in reader.fields.values():
        print(field.name, "/".join(t.name for t in field.types), str(field.contents())[:80])
    for t in reader.tensors:
        values = t.data if t.tensor_type in (0, 1) else gguf.quants.dequantize(t.data, t.tensor_type)
        print(t.name, t.tensor_type.name, list(t.shape), float(np.abs(values.astype(np.float32)).sum()))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        check(sys.argv[2])
    else:
        OUT.mkdir(exist_ok=True)
        model("tiny-gelu", fused=False)
        model("tiny-no-pooler", fused=True)
        settings()
        xlm_roberta()
        roberta_rank()
        vocabulary_file("bpe", bpe)
        seeds()
