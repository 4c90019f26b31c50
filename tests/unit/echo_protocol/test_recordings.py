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
    parse_contents,
    replayable,
    text_part,
)
from recorded import Hop, conversations, streams
from recorded_habits import FAKE, HABITS, joined_answer, same_parts

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


def test_the_next_request_holds_the_answer_as_we_would_replay_it(recordings: Path) -> None:
    seen: Counter[str] = Counter()
    compared = 0
    for hops in conversations(recordings):
        asked = [hop for hop in hops if hop.request and "contents" in hop.request]
        for hop, following in itertools.pairwise(asked):
            theirs = _answer_in(hop, following, seen)
            if theirs is None:
                continue
            assert same_parts(replayable(_decode(hop.chunks).parts), theirs, seen), hop.source
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
    answer = list(itertools.takewhile(lambda content: content.get("role") == "model", after[len(before) :]))
    return joined_answer(answer, seen)


def test_the_sentinel_is_what_the_recorders_use() -> None:
    import base64

    assert base64.b64decode(FAKE).decode() == SENTINEL
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
