"""Reads a checkpoint in one GGUF file, in 16 or 32 bits, its tokenizer included."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from echo_workers.embedding.core.errors import CheckpointUnfit
from echo_workers.embedding.core.qwen3 import Array, Layer, Qwen3Shape, Qwen3Weights

if TYPE_CHECKING:
    from gguf import GGUFReader

#: Names inside a block. Source: https://github.com/ggml-org/llama.cpp (gguf-py, tensor names of architecture qwen3).
_PARTS: Final = {
    "input_norm": "attn_norm",
    "query": "attn_q",
    "key": "attn_k",
    "value": "attn_v",
    "output": "attn_output",
    "query_norm": "attn_q_norm",
    "key_norm": "attn_k_norm",
    "after_norm": "ffn_norm",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}

#: How Qwen2's and Qwen3's tokenizers cut a text into words. Source: `pretokenizer` of their tokenizer.json.
_WORDS: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

#: `tokenizer.ggml.token_type` of tokens that stand for themselves. Source: GGUF specification.
_CONTROL, _USER_DEFINED = 3, 4


def load_file(file: Path) -> tuple[Qwen3Weights, Tokenizer]:
    """The model and its tokenizer; weights are held in 32 bits.

    Raises:
        CheckpointUnfit: the file is no GGUF, no Qwen3, or quantised below 16 bits.
    """
    from gguf import GGUFReader

    try:
        reader = GGUFReader(file)
    except (ValueError, OSError, IndexError) as error:
        raise CheckpointUnfit(f"{file}: {type(error).__name__}: {error}") from error
    try:
        kind = _field(reader, "general.architecture")
        if kind != "qwen3":
            raise CheckpointUnfit(f"{file}: architecture {kind!r} instead of 'qwen3'")
        return _weights(reader), _tokenizer(reader)
    except KeyError as error:
        raise CheckpointUnfit(f"{file}: no {error}") from error


def _field(reader: "GGUFReader", name: str, default: Any = None) -> Any:
    field = reader.get_field(name)
    if field is None:
        if default is None:
            raise KeyError(name)
        return default
    return field.contents()


def _weights(reader: "GGUFReader") -> Qwen3Weights:
    heads = int(_field(reader, "qwen3.attention.head_count"))
    hidden = int(_field(reader, "qwen3.embedding_length"))
    shape = Qwen3Shape(
        layers=int(_field(reader, "qwen3.block_count")),
        hidden=hidden,
        heads=heads,
        key_heads=int(_field(reader, "qwen3.attention.head_count_kv")),
        head_width=int(_field(reader, "qwen3.attention.key_length", hidden // heads)),
        rope_base=float(_field(reader, "qwen3.rope.freq_base")),
        norm_epsilon=float(_field(reader, "qwen3.attention.layer_norm_rms_epsilon")),
        max_tokens=int(_field(reader, "qwen3.context_length")),
    )
    tensors = {tensor.name: _array(tensor) for tensor in reader.tensors}
    layers = tuple(
        Layer(**{part: tensors[f"blk.{number}.{name}.weight"] for part, name in _PARTS.items()})
        for number in range(shape.layers)
    )
    return Qwen3Weights(
        shape=shape,
        embedding=tensors["token_embd.weight"],
        layers=layers,
        final_norm=tensors["output_norm.weight"],
    )


def _array(tensor: Any) -> Array:
    from gguf import GGMLQuantizationType, dequantize

    kind = tensor.tensor_type
    if kind not in (GGMLQuantizationType.F16, GGMLQuantizationType.F32, GGMLQuantizationType.BF16):
        raise CheckpointUnfit(f"{tensor.name}: {kind.name}; a file of 16 or 32 bits is needed")
    # The file names the fastest dimension first.
    shape = tuple(int(size) for size in reversed(tensor.shape))
    return np.asarray(dequantize(tensor.data, kind), dtype=np.float32).reshape(shape)


def _tokenizer(reader: "GGUFReader") -> Tokenizer:
    tokens: list[str] = _field(reader, "tokenizer.ggml.tokens")
    kinds: list[int] = _field(reader, "tokenizer.ggml.token_type", [1] * len(tokens))
    merges = [tuple(merge.split(" ", 1)) for merge in _field(reader, "tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE(vocab={token: n for n, token in enumerate(tokens)}, merges=merges))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_WORDS), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind in (_CONTROL, _USER_DEFINED)]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    if _field(reader, "tokenizer.ggml.add_eos_token", False) is True:
        end = int(_field(reader, "tokenizer.ggml.eos_token_id"))
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"$A {tokens[end]}", special_tokens=[(tokens[end], end)]
        )
    return tokenizer
