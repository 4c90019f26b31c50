"""A tiny Qwen3 embedding checkpoint of random weights, as safetensors and as GGUF, by the formats' own writers."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HIDDEN, HEADS, KEY_HEADS, HEAD_WIDTH, LAYERS, INNER = 32, 4, 2, 16, 3, 48
ROPE_BASE, EPSILON, MAX_TOKENS = 1_000_000.0, 1e-6, 64
END = "<|endoftext|>"
# gguf imports it where Open WebUI has brought it along, and in a process with the tests' other libraries it crashes at
# exit; it is for the tokenizers of other models.
sys.modules.setdefault("sentencepiece", None)  # type: ignore[arg-type]
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_TEXTS = ["Le chat mange la souris grise.", "The cat eats the grey mouse.", "l'été à Nîmes, 2026 !"] * 20


def make_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_WORDS), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[AddedToken(END, special=True, normalized=False)],
    )
    tokenizer.train_from_iterator(_TEXTS, trainer)
    end = tokenizer.token_to_id(END)
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, end)])
    return tokenizer


def make_tensors(vocabulary: int, seed: int = 7) -> dict[str, np.ndarray[Any, Any]]:
    """Random weights, exactly representable in 16 bits of either kind."""
    random = np.random.default_rng(seed)

    def matrix(*shape: int) -> np.ndarray[Any, Any]:
        raw = random.normal(0, 0.4, shape).astype(np.float32)
        return (raw.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float16).astype(np.float32)

    tensors = {"embed_tokens.weight": matrix(vocabulary, HIDDEN), "norm.weight": matrix(HIDDEN)}
    for n in range(LAYERS):
        base = f"layers.{n}."
        tensors |= {
            f"{base}input_layernorm.weight": matrix(HIDDEN),
            f"{base}post_attention_layernorm.weight": matrix(HIDDEN),
            f"{base}self_attn.q_proj.weight": matrix(HEADS * HEAD_WIDTH, HIDDEN),
            f"{base}self_attn.k_proj.weight": matrix(KEY_HEADS * HEAD_WIDTH, HIDDEN),
            f"{base}self_attn.v_proj.weight": matrix(KEY_HEADS * HEAD_WIDTH, HIDDEN),
            f"{base}self_attn.o_proj.weight": matrix(HIDDEN, HEADS * HEAD_WIDTH),
            f"{base}self_attn.q_norm.weight": matrix(HEAD_WIDTH),
            f"{base}self_attn.k_norm.weight": matrix(HEAD_WIDTH),
            f"{base}mlp.gate_proj.weight": matrix(INNER, HIDDEN),
            f"{base}mlp.up_proj.weight": matrix(INNER, HIDDEN),
            f"{base}mlp.down_proj.weight": matrix(HIDDEN, INNER),
        }
    return tensors


def write_folder(folder: Path, *, dtype: str = "F16") -> None:
    """config.json, tokenizer.json and model.safetensors; dtype is F16, F32 or BF16."""
    folder.mkdir(parents=True)
    tokenizer = make_tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "model_type": "qwen3",
        "num_hidden_layers": LAYERS,
        "hidden_size": HIDDEN,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_HEADS,
        "head_dim": HEAD_WIDTH,
        "rope_theta": ROPE_BASE,
        "rms_norm_eps": EPSILON,
        "max_position_embeddings": MAX_TOKENS,
    }
    (folder / "config.json").write_text(json.dumps(config))
    tensors = make_tensors(tokenizer.get_vocab_size())
    path = folder / "model.safetensors"
    if dtype == "BF16":
        _write_bf16(path, tensors)
        return
    save_file({name: value.astype("f2" if dtype == "F16" else "f4") for name, value in tensors.items()}, path)


def _write_bf16(path: Path, tensors: dict[str, np.ndarray[Any, Any]]) -> None:
    """NumPy has no such type: the upper halves as the format lays them down."""
    header, blobs, at = {}, [], 0
    for name, value in tensors.items():
        blob = (value.view(np.uint32) >> 16).astype("<u2").tobytes()
        header[name] = {"dtype": "BF16", "shape": list(value.shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    raw = json.dumps(header).encode()
    path.write_bytes(len(raw).to_bytes(8, "little") + raw + b"".join(blobs))


_GGUF_NAMES = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write_gguf(path: Path, *, architecture: str = "qwen3", quantised: bool = False) -> None:
    """One file with 16-bit matrices and 32-bit norms, as converters write them."""
    import gguf

    tokenizer = make_tokenizer()
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(LAYERS)
    writer.add_embedding_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_key_length(HEAD_WIDTH)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_context_length(MAX_TOKENS)
    described = json.loads(tokenizer.to_str())
    vocabulary = sorted(described["model"]["vocab"].items(), key=lambda item: item[1])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([token for token, _ in vocabulary])
    writer.add_token_types([3 if token == END else 1 for token, _ in vocabulary])
    merges = described["model"]["merges"]
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in merges])
    writer.add_eos_token_id(tokenizer.token_to_id(END))
    writer.add_add_eos_token(True)
    for name, value in make_tensors(tokenizer.get_vocab_size()).items():
        half = value.ndim == 2
        if quantised and half:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(_gguf_name(name), gguf.quantize(_padded(value), kind), raw_dtype=kind)
        else:
            writer.add_tensor(_gguf_name(name), value.astype(np.float16 if half else np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _padded(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.pad(value, ((0, 0), (0, -value.shape[1] % 32)))


def _gguf_name(name: str) -> str:
    if not name.startswith("layers."):
        return {"embed_tokens.weight": "token_embd.weight", "norm.weight": "output_norm.weight"}[name]
    _, number, rest = name.split(".", 2)
    return f"blk.{number}.{_GGUF_NAMES[rest.removesuffix('.weight')]}.weight"
