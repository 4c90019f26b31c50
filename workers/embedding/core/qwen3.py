"""The Qwen3 decoder as an embedding model: the last token's state, brought to length 1.

Harrier-OSS-v1-0.6B is of this architecture. NumPy alone runs it: a service for one house needs neither PyTorch nor a
graphics card.
Source: https://huggingface.co/microsoft/harrier-oss-v1-0.6b (last-token pooling, L2 normalisation);
https://arxiv.org/abs/2505.09388 (Qwen3: grouped queries, RMS norms on queries and keys, rotary positions, SwiGLU).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Qwen3Shape:
    """The numbers of a checkpoint's configuration.

    Args:
        hidden: width of a token's state, and of the vector that comes out.
        heads: query heads of a layer.
        key_heads: key and value heads, which groups of query heads share.
        head_width: width of one head.
        rope_base: of the rotary positions.
        norm_epsilon: of the RMS norms.
        max_tokens: what the model was made for.
    """

    layers: int
    hidden: int
    heads: int
    key_heads: int
    head_width: int
    rope_base: float
    norm_epsilon: float
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Weights of one layer; matrices have the shape (out, in)."""

    input_norm: Array
    query: Array
    key: Array
    value: Array
    output: Array
    query_norm: Array
    key_norm: Array
    after_norm: Array
    gate: Array
    up: Array
    down: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Qwen3Weights:
    """A whole checkpoint; `embedding` has the shape (vocabulary, hidden)."""

    shape: Qwen3Shape
    embedding: Array
    layers: tuple[Layer, ...]
    final_norm: Array


def embed(weights: Qwen3Weights, token_ids: Sequence[int]) -> Array:
    """The vector of one text, of length 1; shape (hidden,).

    Args:
        weights: a checkpoint.
        token_ids: at least one; the text's tokens with what the tokenizer adds.
    """
    shape = weights.shape
    state = weights.embedding[np.asarray(token_ids, dtype=np.int64)].astype(np.float32)
    cosine, sine = _rotation(len(token_ids), shape)
    for layer in weights.layers:
        state = state + _attention(layer, _norm(state, layer.input_norm, shape), cosine, sine, shape)
        inner = _norm(state, layer.after_norm, shape)
        state = np.asarray(state + (_silu(inner @ layer.gate.T) * (inner @ layer.up.T)) @ layer.down.T, np.float32)
    last: Array = _norm(state[-1:], weights.final_norm, shape)[0]
    return np.asarray(last / (np.linalg.norm(last) or 1.0), dtype=np.float32)


def _attention(layer: Layer, state: Array, cosine: Array, sine: Array, shape: Qwen3Shape) -> Array:
    count = len(state)
    queries = (state @ layer.query.T).reshape(count, shape.heads, shape.head_width)
    keys = (state @ layer.key.T).reshape(count, shape.key_heads, shape.head_width)
    values = (state @ layer.value.T).reshape(count, shape.key_heads, shape.head_width)
    queries = _turn(_norm(queries, layer.query_norm, shape), cosine, sine)
    keys = _turn(_norm(keys, layer.key_norm, shape), cosine, sine)
    group = shape.heads // shape.key_heads
    mixed = np.empty((count, shape.heads, shape.head_width), dtype=np.float32)
    unseen = np.triu(np.full((count, count), -np.inf, dtype=np.float32), 1)
    for head in range(shape.heads):
        # One head at a time: all of them at once would need heads × tokens² numbers.
        scores = queries[:, head] @ keys[:, head // group].T / np.float32(np.sqrt(shape.head_width)) + unseen
        mixed[:, head] = _softmax(scores) @ values[:, head // group]
    return np.asarray(mixed.reshape(count, -1) @ layer.output.T, dtype=np.float32)


def _norm(state: Array, weight: Array, shape: Qwen3Shape) -> Array:
    mean = np.mean(np.square(state), axis=-1, keepdims=True)
    return np.asarray(state / np.sqrt(mean + np.float32(shape.norm_epsilon)) * weight, dtype=np.float32)


def _rotation(count: int, shape: Qwen3Shape) -> tuple[Array, Array]:
    half = shape.head_width // 2
    speeds = shape.rope_base ** (-np.arange(half, dtype=np.float64) / half)
    angles = np.outer(np.arange(count, dtype=np.float64), speeds)
    both = np.concatenate([angles, angles], axis=1)[:, None, :]
    return np.cos(both).astype(np.float32), np.sin(both).astype(np.float32)


def _turn(heads: Array, cosine: Array, sine: Array) -> Array:
    first, second = np.split(heads, 2, axis=-1)
    return np.asarray(heads * cosine + np.concatenate([-second, first], axis=-1) * sine, dtype=np.float32)


def _softmax(scores: Array) -> Array:
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True), dtype=np.float32)


def _silu(values: Array) -> Array:
    # exp of a large number overflows to infinity, which gives the right 0 here.
    with np.errstate(over="ignore"):
        return np.asarray(values / (1.0 + np.exp(-values)), dtype=np.float32)
