"""Every recorded answer decodes, can be cut anywhere, and would be replayed as its recorder replayed it."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from echo_protocol import (
    SENTINEL,
    Content,
    FunctionCallPart,
    StreamProcessor,
    StreamResult,
    TextDelta,
    TextPart,
    ThoughtDelta,
    apply_scope,
    check_turn_shape,
    close_dangling_calls,
    content_from_wire,
    content_json,
    join_parts,
    parse_contents,
    replayable,
    text_part,
)
from recorded import Hop, conversations, streams

pytestmark = pytest.mark.recordings

QUESTION = Content("user", (text_part("question"),))


def _decode(chunks: list[dict[str, Any]]) -> StreamResult:
    processor = StreamProcessor()
    for chunk in chunks:
        processor.process(chunk)
    return processor.finish()


def test_every_recorded_answer_decodes_without_losing_text_or_signatures(recordings: Path) -> None:
    outcomes: Counter[str] = Counter()
    for hop in streams(recordings):
        processor = StreamProcessor()
        events = [event for chunk in hop.chunks for event in processor.process(chunk)]
        result = processor.finish()
        outcomes[result.outcome] += 1
        raw = list(_raw_parts(hop))
        said = "".join(part["text"] for part in raw if part.get("text") and not part.get("thought"))
        assert result.text == said == "".join(e.text for e in events if isinstance(e, TextDelta)), hop.source
        thought = "".join(part["text"] for part in raw if part.get("text") and part.get("thought"))
        assert "".join(e.text for e in events if isinstance(e, ThoughtDelta)) == thought, hop.source
        signatures = [part["thoughtSignature"] for part in raw if part.get("thoughtSignature")]
        assert [part.signature for part in result.parts if part.signature] == signatures, hop.source
    assert sum(outcomes.values()) > 400
    assert outcomes["complete"] > 200
    assert outcomes["tool_calls"] > 150
    expected = {
        "max_tokens",
        "max_tokens_while_thinking",
        "prompt_blocked",
        "answer_blocked",
        "empty",
        "malformed_call",
    }
    assert expected <= outcomes.keys()


def _raw_parts(hop: Hop) -> Iterator[dict[str, Any]]:
    for chunk in hop.chunks:
        for candidate in (chunk.get("candidates") or [])[:1]:
            yield from (candidate.get("content") or {}).get("parts") or []


def test_the_last_token_counts_of_a_stream_are_kept(recordings: Path) -> None:
    for hop in streams(recordings):
        counted = [c["usageMetadata"] for c in hop.chunks if "totalTokenCount" in (c.get("usageMetadata") or {})]
        if counted:
            usage = _decode(hop.chunks).usage
            assert usage.total_tokens == counted[-1]["totalTokenCount"], hop.source
            assert usage.prompt_tokens == counted[-1].get("promptTokenCount", 0), hop.source


def test_a_stream_cut_after_any_chunk_leaves_a_valid_conversation(recordings: Path) -> None:
    cuts = 0
    for hop in streams(recordings):
        for count in range(len(hop.chunks) + 1):
            parts = replayable(_decode(hop.chunks[:count]).parts)
            answer = [Content("model", parts)] if parts else []
            contents = close_dangling_calls([QUESTION, *answer, QUESTION])
            assert check_turn_shape(contents) == [], f"{hop.source} cut after {count}"
            covered = apply_scope(contents, True, 0)
            first = [next((p for p in c.parts if isinstance(p, FunctionCallPart)), None) for c in covered]
            assert all(call is None or call.signature for call in first), hop.source
            cuts += 1
    assert cuts > 1_000


def test_sealed_answers_are_stable_bytes(recordings: Path) -> None:
    for hop in streams(recordings):
        parts = replayable(_decode(hop.chunks).parts)
        if parts:
            sealed = content_json("model", parts)
            (again,) = parse_contents(b"[" + sealed + b"]")
            assert again.parts == parts, hop.source
            assert content_json(again.role, again.parts) == sealed, hop.source


# What the recording SDKs do to an answer before they send it back. Each habit is undone on both sides and counted.
#
# url_safe      pydantic-ai writes signatures and media in the URL-safe base64 alphabet
# own_id        pydantic-ai makes an id (`pyd_ai_…`) for calls that came without one
# fake          pydantic-ai puts the sentinel, base64-encoded, on unsigned calls
# snake         google-genai writes `tool_type` and adds empty args and the stored results to server tools
# thoughts      pydantic-ai sends thought text back, in front of the answer; we never do
# moved         pydantic-ai moves the signature of a last empty text part to the text before it
# split         js-genai sends each delta as a model content of its own
HABITS = ("url_safe", "own_id", "fake", "snake", "thoughts", "split", "moved")
_FAKE = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="


def test_the_next_request_holds_the_answer_as_we_would_replay_it(recordings: Path) -> None:
    seen: Counter[str] = Counter()
    compared = 0
    for hops in conversations(recordings):
        asked = [hop for hop in hops if hop.request and "contents" in hop.request]
        for hop, following in itertools.pairwise(asked):
            theirs = _answer_in(hop, following, seen)
            if theirs is None:
                continue
            ours = replayable(_decode(hop.chunks).parts)
            mine = [_plain(part.wire, seen) for part in ours]
            other = [_plain(part.wire, seen) for part in theirs]
            if mine != other and mine == other[-len(mine) :]:
                assert all(part.keys() <= {"text", "thought"} for part in other[: -len(mine)]), hop.source
                seen["thoughts"] += 1
                other = other[-len(mine) :]
            if mine != other and len(mine) > len(other):
                seen["moved"] += 1
                other = [piece for part in other for piece in _with_signature_apart(part)]
            assert mine == other, hop.source
            compared += 1
    assert compared > 80
    assert set(seen) == set(HABITS), "a habit that no recording shows must leave this list"


def _answer_in(hop: Hop, following: Hop, seen: Counter[str]) -> tuple[Any, ...] | None:
    """The model content(s) that the next request puts after this request's contents; None for another conversation."""
    assert hop.request is not None
    assert following.request is not None
    before, after = hop.request["contents"], following.request["contents"]
    if len(after) <= len(before) or json.dumps(after[: len(before)]) != json.dumps(before):
        return None
    answer = []
    for obj in after[len(before) :]:
        content = content_from_wire(obj)
        if content.role != "model":
            break
        answer.append(content)
    if len(answer) > 1:
        seen["split"] += 1
    return join_parts(part for content in answer for part in content.parts)


def _with_signature_apart(part: dict[str, Any]) -> list[dict[str, Any]]:
    if not part.get("text") or "thoughtSignature" not in part:
        return [part]
    bare = {key: held for key, held in part.items() if key != "thoughtSignature"}
    return [bare, {**bare, "text": "", "thoughtSignature": part["thoughtSignature"]}]


def _plain(value: Any, seen: Counter[str]) -> Any:
    """A part without the habits of its sender."""
    if isinstance(value, list):
        return [_plain(item, seen) for item in value]
    if not isinstance(value, dict):
        return value
    out: dict[str, Any] = {}
    for key, held in value.items():
        if key == "id" and isinstance(held, str) and held.startswith("pyd_ai_"):
            seen["own_id"] += 1
        elif key == "thoughtSignature" and held == _FAKE:
            seen["fake"] += 1
        elif key in ("thoughtSignature", "data") and isinstance(held, str):
            standard = held.replace("-", "+").replace("_", "/")
            seen["url_safe"] += standard != held
            out[key] = standard
        elif key in ("toolCall", "toolResponse"):
            seen["snake"] += "tool_type" in held
            kind = held.get("toolType") or held.get("tool_type")
            out[key] = {"id": held.get("id"), "toolType": kind}
        else:
            out[key] = _plain(held, seen)
    return out


def test_the_sentinel_is_what_the_recorders_use() -> None:
    import base64

    assert base64.b64decode(_FAKE).decode() == SENTINEL
    assert re.fullmatch(r"[A-Za-z0-9_-]+", SENTINEL), "must also decode as URL-safe base64"
    assert isinstance(QUESTION.parts[0], TextPart)


def test_closing_calls_leaves_what_google_accepted_as_it_was(recordings: Path) -> None:
    checked = 0
    for hop in streams(recordings):
        asked = hop.request["contents"] if hop.request and "contents" in hop.request else []
        contents = [content_from_wire(obj) for obj in (asked if isinstance(asked, list) else [asked])]
        closed = close_dangling_calls(contents)
        assert check_turn_shape(closed) == [], hop.source
        if check_turn_shape(contents) == []:
            assert list(closed) == contents, hop.source
            checked += bool(contents)
    assert checked > 200
