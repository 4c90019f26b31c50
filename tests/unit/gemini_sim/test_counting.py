"""Tokens, implicit caching, embeddings, continuation tokens."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_workers.gemini_sim.core.continuation import Continuation, request_digest, seal, unseal
from echo_workers.gemini_sim.core.embedding import DIMENSIONS_MAX, embed
from echo_workers.gemini_sim.core.errors import GoogleRefusal
from echo_workers.gemini_sim.core.models import find_model
from echo_workers.gemini_sim.core.prompt_cache import PromptCache
from echo_workers.gemini_sim.core.tokens import Segment, details, part_segment, text_tokens

FLASH = find_model("gemini-3-flash-preview", "v1beta", "generateContent", with_retired=False)
OLD = find_model("gemini-2.5-flash", "v1beta", "generateContent", with_retired=False)


def segment(text: str) -> Segment:
    return Segment(text.encode(), text_tokens(text), "TEXT", True)


def part(value: dict[str, Any], model: Any = FLASH, **more: Any) -> Segment:
    return part_segment(value, model, more.pop("signed", 0), value, **more)


@given(st.text(max_size=12), st.text(max_size=12))
def test_tokens_grow_with_the_text(left: str, right: str) -> None:
    assert text_tokens(left) <= text_tokens(left + right) <= text_tokens(left) + text_tokens(right)


def test_media_have_their_price_by_model() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    assert (part(image).tokens, part(image, OLD).tokens) == (1_120, 258)
    assert part(image).modality == "IMAGE"
    answer = {"functionResponse": {"name": "f", "response": {}, "parts": [image]}}
    assert 1_120 < part(answer).tokens < 1_150
    stored = {"fileData": {"mimeType": "text/plain", "fileUri": "files/x"}}
    assert part(stored, stored_bytes=4_000).tokens == 1_000
    kinds = [part(image), part({"text": "abcd"})]
    assert details(kinds) == [{"modality": "TEXT", "tokenCount": 1}, {"modality": "IMAGE", "tokenCount": 1_120}]


def test_a_signatures_thoughts_count_in_the_prompt() -> None:
    assert part({"text": "abcd", "thoughtSignature": "AAAA"}, signed=300).tokens == 301


def cached(cache: PromptCache, *texts: str, key: str = "k", minimum: int = 1, now_s: float = 0) -> int:
    return cache.cached_tokens(key, "m", [segment(text) for text in texts], minimum, now_s)


def test_the_beginning_of_a_recent_prompt_is_cached() -> None:
    cache = PromptCache()
    assert cached(cache, "a" * 40, "b" * 40) == 0
    assert cached(cache, "a" * 40, "b" * 40, "c" * 40) == 20
    assert cached(cache, "a" * 40, "b" * 20 + "x" * 20) == 15
    assert cached(cache, "x" + "a" * 39, "b" * 40) == 0


def test_caching_keeps_keys_apart_ends_with_time_and_has_a_minimum() -> None:
    cache = PromptCache()
    cached(cache, "a" * 40)
    assert cached(cache, "a" * 40, key="other") == 0
    assert cached(cache, "a" * 40, minimum=11) == 0
    assert cached(cache, "a" * 40, now_s=60) == 10
    assert cached(cache, "a" * 40, now_s=60 + 3_601) == 0


@given(st.lists(st.lists(st.sampled_from(["aaaa", "aabb", "bbbb", "ab" * 9]), min_size=1, max_size=5), max_size=12))
def test_caching_tells_the_longest_common_beginning(prompts: list[list[str]]) -> None:
    def common(left: list[str], right: list[str]) -> int:
        tokens = 0
        for old, new in zip(left, right, strict=False):
            if old != new:
                same = next(
                    (at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new))
                )
                return tokens + text_tokens(new) * same // len(new)
            tokens += text_tokens(new)
        return tokens

    cache, seen = PromptCache(), list[list[str]]()
    for prompt in prompts:
        expected = max((common(old, prompt) for old in seen), default=0)
        assert cached(cache, *prompt) == expected
        seen.append(prompt)


def test_embeddings_are_unit_length_and_nest() -> None:
    full = embed("Ada wrote the first program", DIMENSIONS_MAX)
    assert math.isclose(sum(value * value for value in full), 1, abs_tol=1e-4)
    assert embed("Ada wrote the first program", 768) == full[:768]
    assert any(embed("", 128))


REQUEST = {"contents": [{"parts": [{"text": "go"}]}]}
STATE = Continuation(parts_done=3, tokens_done=9, seed="00", cached_tokens=1, digest=request_digest(REQUEST))


def test_a_continuation_goes_on_with_the_same_request_only() -> None:
    token = seal(STATE, b"secret")
    assert unseal(token, {**REQUEST, "continuationToken": token, "generationConfig": {}}, b"secret") == STATE
    with pytest.raises(GoogleRefusal, match="does not belong to this request"):
        unseal(token, {"contents": []}, b"secret")


@given(st.integers(0, 10_000), st.sampled_from("ABC"))
def test_a_changed_continuation_token_is_refused(at: int, letter: str) -> None:
    token = seal(STATE, b"secret")
    at %= len(token.rstrip("="))
    changed = token[:at] + (letter if token[at] != letter else "D") + token[at + 1 :]
    with pytest.raises(GoogleRefusal, match="Invalid continuation token"):
        unseal(changed, REQUEST, b"secret")
