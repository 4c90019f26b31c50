"""Reads a checkpoint folder: config.json, tokenizer.json and safetensors files, in 32 or 16 bits."""

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
from tokenizers import Tokenizer

from echo_workers.embedding.core.errors import CheckpointUnfit
from echo_workers.embedding.core.qwen3 import Array, Layer, Qwen3Shape, Qwen3Weights

#: Names inside a layer. Source: the files of Qwen3 checkpoints (model.layers.N.…; base models leave `model.` out).
_PARTS: Final = {
    "input_norm": "input_layernorm",
    "query": "self_attn.q_proj",
    "key": "self_attn.k_proj",
    "value": "self_attn.v_proj",
    "output": "self_attn.o_proj",
    "query_norm": "self_attn.q_norm",
    "key_norm": "self_attn.k_norm",
    "after_norm": "post_attention_layernorm",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}


def load_folder(folder: Path) -> tuple[Qwen3Weights, Tokenizer]:
    """The model and its tokenizer; weights are held in 32 bits.

    Raises:
        CheckpointUnfit: a file is missing, or the model is no Qwen3.
    """
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the tokenizer's library raises plain Exception
        raise CheckpointUnfit(f"{folder}: {type(error).__name__}: {error}") from error
    if config.get("model_type") != "qwen3":
        raise CheckpointUnfit(f"{folder}: model_type {config.get('model_type')!r} instead of 'qwen3'")
    tensors = _tensors(folder)
    try:
        weights = _weights(_shape(config), tensors)
    except KeyError as error:
        raise CheckpointUnfit(f"{folder}: no {error}") from error
    return weights, tokenizer


def _shape(config: dict[str, Any]) -> Qwen3Shape:
    rope = config.get("rope_parameters") or {}
    return Qwen3Shape(
        layers=config["num_hidden_layers"],
        hidden=config["hidden_size"],
        heads=config["num_attention_heads"],
        key_heads=config["num_key_value_heads"],
        head_width=config["head_dim"],
        rope_base=float(config.get("rope_theta") or rope.get("rope_theta") or 1_000_000.0),
        norm_epsilon=config["rms_norm_eps"],
        max_tokens=config["max_position_embeddings"],
    )


def _tensors(folder: Path) -> dict[str, Array]:
    from safetensors import SafetensorError, deserialize

    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise CheckpointUnfit(f"{folder}: no *.safetensors")
    found: dict[str, Array] = {}
    for file in files:
        try:
            entries = deserialize(file.read_bytes())  # type: ignore[no-untyped-call]
        except SafetensorError as error:
            raise CheckpointUnfit(f"{file}: {error}") from error
        for name, entry in entries:
            found[name.removeprefix("model.")] = _array(name, entry)
    return found


def _array(name: str, entry: dict[str, Any]) -> Array:
    data, shape = entry["data"], entry["shape"]
    if entry["dtype"] == "BF16":
        # The upper half of a 32-bit number.
        return (np.frombuffer(data, dtype="<u2").astype(np.uint32) << 16).view(np.float32).reshape(shape)
    if entry["dtype"] in ("F16", "F32"):
        kind = "<f2" if entry["dtype"] == "F16" else "<f4"
        return np.frombuffer(data, dtype=kind).astype(np.float32).reshape(shape)
    raise CheckpointUnfit(f"{name}: numbers of type {entry['dtype']}")


def _weights(shape: Qwen3Shape, tensors: dict[str, Array]) -> Qwen3Weights:
    layers = tuple(
        Layer(**{part: tensors[f"layers.{number}.{name}.weight"] for part, name in _PARTS.items()})
        for number in range(shape.layers)
    )
    return Qwen3Weights(
        shape=shape, embedding=tensors["embed_tokens.weight"], layers=layers, final_norm=tensors["norm.weight"]
    )
