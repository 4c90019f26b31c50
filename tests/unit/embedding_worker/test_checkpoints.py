"""Both loaders on one tiny random checkpoint, and the forward pass against one written number by number."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tiny_checkpoint as tiny
from echo_workers.embedding.core.errors import CheckpointUnfit
from echo_workers.embedding.core.gguf_file import load_file
from echo_workers.embedding.core.qwen3 import embed
from echo_workers.embedding.core.safetensors_file import load_folder
from echo_workers.embedding.services.backends import open_backend

TEXTS = ["Le chat mange la souris.", "", "l'été\n\n  à Nîmes 🎈 12345", "The cat eats", "a" * 300]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "checkpoint"
    tiny.write_folder(path)
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model-F16.gguf"
    tiny.write_gguf(path)
    return path


def plain(ids: list[int]) -> list[float]:
    """The architecture by the book, one number at a time."""
    tensors = {
        name: value.tolist() for name, value in tiny.make_tensors(tiny.make_tokenizer().get_vocab_size()).items()
    }

    def norm(vector, weight):
        scale = 1 / math.sqrt(sum(x * x for x in vector) / len(vector) + tiny.EPSILON)
        return [x * scale * w for x, w in zip(vector, weight, strict=True)]

    def times(matrix, vector):
        return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]

    def turn(vector, place):
        half = tiny.HEAD_WIDTH // 2
        out = [0.0] * tiny.HEAD_WIDTH
        for i in range(half):
            angle = place * tiny.ROPE_BASE ** (-2 * i / tiny.HEAD_WIDTH)
            out[i] = vector[i] * math.cos(angle) - vector[i + half] * math.sin(angle)
            out[i + half] = vector[i + half] * math.cos(angle) + vector[i] * math.sin(angle)
        return out

    def heads(vector, count):
        return [vector[i * tiny.HEAD_WIDTH : (i + 1) * tiny.HEAD_WIDTH] for i in range(count)]

    states = [tensors["embed_tokens.weight"][token] for token in ids]
    for n in range(tiny.LAYERS):
        part = lambda name, n=n: tensors[f"layers.{n}.{name}.weight"]  # noqa: E731
        normed = [norm(state, part("input_layernorm")) for state in states]
        queries = [heads(times(part("self_attn.q_proj"), s), tiny.HEADS) for s in normed]
        keys = [heads(times(part("self_attn.k_proj"), s), tiny.KEY_HEADS) for s in normed]
        values = [heads(times(part("self_attn.v_proj"), s), tiny.KEY_HEADS) for s in normed]
        queries = [[turn(norm(h, part("self_attn.q_norm")), p) for h in row] for p, row in enumerate(queries)]
        keys = [[turn(norm(h, part("self_attn.k_norm")), p) for h in row] for p, row in enumerate(keys)]
        after = []
        for place, state in enumerate(states):
            mixed: list[float] = []
            for head in range(tiny.HEADS):
                shared = head // (tiny.HEADS // tiny.KEY_HEADS)
                scores = [
                    sum(a * b for a, b in zip(queries[place][head], keys[seen][shared], strict=True))
                    / math.sqrt(tiny.HEAD_WIDTH)
                    for seen in range(place + 1)
                ]
                shares = [math.exp(score - max(scores)) for score in scores]
                total = sum(shares)
                mixed += [
                    sum(share / total * values[seen][shared][i] for seen, share in enumerate(shares))
                    for i in range(tiny.HEAD_WIDTH)
                ]
            after.append([a + b for a, b in zip(state, times(part("self_attn.o_proj"), mixed), strict=True)])
        states = []
        for state in after:
            inner = norm(state, part("post_attention_layernorm"))
            gate, up = times(part("mlp.gate_proj"), inner), times(part("mlp.up_proj"), inner)
            wide = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up, strict=True)]
            states.append([a + b for a, b in zip(state, times(part("mlp.down_proj"), wide), strict=True)])
    last = norm(states[-1], tensors["norm.weight"])
    length = math.hypot(*last)
    return [x / length for x in last]


def test_the_forward_pass_is_the_architectures(folder: Path) -> None:
    weights, tokenizer = load_folder(folder)
    ids = tokenizer.encode("Le chat mange").ids
    assert len(ids) > 3
    assert np.allclose(embed(weights, ids), plain(ids), atol=2e-4)


@pytest.mark.parametrize("dtype", ["F32", "BF16"])
def test_the_kinds_of_numbers_give_one_model(folder: Path, tmp_path: Path, dtype: str) -> None:
    tiny.write_folder(tmp_path / "other", dtype=dtype)
    (one, tokenizer), (other, _) = load_folder(folder), load_folder(tmp_path / "other")
    ids = tokenizer.encode(TEXTS[0]).ids
    assert np.allclose(embed(one, ids), embed(other, ids), atol=1e-5)


def test_the_gguf_file_is_the_same_model_with_the_same_tokenizer(folder: Path, file: Path) -> None:
    (one, words), (other, others) = load_folder(folder), load_file(file)
    assert replace(other.shape, norm_epsilon=one.shape.norm_epsilon) == one.shape
    assert math.isclose(other.shape.norm_epsilon, one.shape.norm_epsilon, rel_tol=1e-6)
    for text in TEXTS:
        ids = words.encode(text).ids
        assert others.encode(text).ids == ids
        assert np.allclose(embed(one, ids), embed(other, ids), atol=1e-5)


async def test_backends_cut_long_texts_and_keep_their_closing_token(folder: Path, file: Path) -> None:
    for path in (folder, file):
        backend = open_backend(str(path), 16)
        vectors, tokens = await backend.embed(TEXTS)
        assert {len(vector) for vector in vectors} == {backend.dimension} == {tiny.HIDDEN}
        assert all(math.isclose(math.hypot(*vector), 1.0, abs_tol=1e-4) for vector in vectors)
        assert tokens <= 16 * len(TEXTS)
    (vector,), _ = await backend.embed(["a" * 300])
    weights, tokenizer = load_folder(folder)
    ids = tokenizer.encode("a" * 300).ids
    assert np.allclose(vector, embed(weights, [*ids[:15], ids[-1]]), atol=1e-5)


def test_what_cannot_be_used_is_told(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "rubbish.gguf").write_bytes(b"rubbish")
    (tmp_path / "short.gguf").write_bytes(b"GGUF\x03\x00\x00\x00")
    tiny.write_gguf(tmp_path / "llama.gguf", architecture="llama")
    tiny.write_gguf(tmp_path / "q8.gguf", quantised=True)
    for name, change in (("bert", {"model_type": "bert"}), ("deep", {"num_hidden_layers": 9})):
        tiny.write_folder(tmp_path / name)
        config = tmp_path / name / "config.json"
        config.write_text(json.dumps({**json.loads(config.read_text()), **change}))
    tiny.write_folder(tmp_path / "cut")
    whole = (tmp_path / "cut" / "model.safetensors").read_bytes()
    (tmp_path / "cut" / "model.safetensors").write_bytes(whole[:5000])
    tiny.write_folder(tmp_path / "bare")
    (tmp_path / "bare" / "model.safetensors").unlink()
    names = ["absent", "empty", "rubbish.gguf", "short.gguf", "llama.gguf", "q8.gguf", "bert", "deep", "cut", "bare"]
    for name in names:
        with pytest.raises(CheckpointUnfit, match=name.replace(".", r"\.") if name != "q8.gguf" else "Q8_0"):
            open_backend(str(tmp_path / name), 64)
