"""Recorded conversations run through the engine, the sealing and the Suture: what ECHO would have sent next."""

import itertools
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from echo_constants import EchoError, UpstreamError
from echo_core import Shadow, TurnEngine, TurnPlan, TurnRecord
from echo_core.ports import ToolOutcome, ToolRequest
from echo_core.replay import chunk_record, content_record, rebuild
from echo_core.sealing import answer_contents, seal_shadow, signature_rows
from echo_core.suture import Assembly
from echo_protocol import ROOT_PARENT, content_from_wire, content_json, join_contents, parse_contents, request_json
from echo_workers.gemini_sim import SimSettings
from echo_workers.gemini_sim.core.errors import GoogleRefusal
from echo_workers.gemini_sim.core.models import ServerModel, find_model
from echo_workers.gemini_sim.services.prompt import Caller, read_prompt
from echo_workers.gemini_sim.services.state import SimState
from recorded import Hop, conversations, streams
from recorded_habits import HABITS, joined_answer, plain, same_parts
from scripted import FakeClock, ListJournal, ListMedia, ScriptedBackend

pytestmark = pytest.mark.recordings

Json = dict[str, Any]

QUESTION: Json = {"role": "user", "parts": [{"text": "question"}]}
#: Google issued the signatures and files of the recordings and still served their models.
STATE = SimState(
    settings=SimSettings(trust_foreign_signatures=True, trust_foreign_files=True, serve_retired_models=True)
)


#: Its signatures are invented words, no base64.
MADE_UP = "BerriAI__litellm/vectors_from_tests/partial_args_stream.json"


@dataclass(frozen=True)
class RecordedTools:
    """Answers calls as they were answered when the conversation was recorded."""

    responses: list[Json]

    async def run(self, requests: Sequence[ToolRequest]) -> AsyncIterator[ToolOutcome]:
        for request in requests:
            held = next((r for r in self.responses if r["name"] == request.name), None)
            if held is None:
                raise UpstreamError("the recording ends here")
            self.responses.remove(held)
            media = content_from_wire({"parts": held.get("parts") or []}).parts
            yield ToolOutcome(card_id=request.card_id, response=held["response"], text="", media=media)


def server_model(name: str) -> ServerModel:
    try:
        return find_model(name, "v1beta", "generateContent", with_retired=True)
    except GoogleRefusal:  # recorded from another service, or nothing tells the model
        return find_model("gemini-3.8-flash", "v1beta", "generateContent", with_retired=True)


def assert_accepted(body: bytes, model: str, where: str) -> None:
    """The simulator's rules, all of them, in process."""
    body = body if where.rpartition("#")[0] != MADE_UP else body.replace(b'"sig123"', b'"c2lnMTIz"')
    try:
        read_prompt(json.loads(body), server_model(model), Caller(key="k"), STATE)
    except GoogleRefusal as refusal:
        raise AssertionError(f"{where}: {refusal.text}") from refusal


def contents_of(hop: Hop) -> list[Json]:
    """The contents of a recorded request; a lone Content is written without a list by some.

    Without what pydantic-ai says apart after a tool's response, in a user content of its own: media of the result (ours
    go inside the response) and announcements of new tools (ours go with the next question).
    """
    held = (hop.request or {}).get("contents") or []
    contents: list[Json] = held if isinstance(held, list) else [held]
    pairs = zip([None, *contents], contents, strict=False)
    return [content for before, content in pairs if before is None or not (_answers(before) and _is_apart(content))]


def _answers(content: Json) -> bool:
    return content.get("role") != "model" and any("functionResponse" in part for part in content["parts"])


def _is_apart(content: Json) -> bool:
    return content.get("role") != "model" and not _answers(content)


def opening_of(hop: Hop, seen: Counter[str]) -> list[Json]:
    """The contents of a recorded request as ECHO holds them: an answer is one content."""
    held: list[Json] = []
    for is_model, run in itertools.groupby(contents_of(hop), lambda content: content.get("role") == "model"):
        if not is_model:
            held += run
        elif parts := [part.wire for part in joined_answer(list(run), seen)]:
            held.append({"role": "model", "parts": parts})
    return held


def turns_of(hops: list[Hop]) -> Iterator[list[Hop]]:
    """Requests that follow each other with function responses between them: one turn of ours each."""
    turn: list[Hop] = []
    for hop in hops:
        if turn and not _goes_on(turn[-1], hop):
            yield turn
            turn = []
        turn.append(hop)
    if turn:
        yield turn


def _goes_on(hop: Hop, following: Hop) -> bool:
    before, after = contents_of(hop), contents_of(following)
    new = after[len(before) :]
    return bool(
        before
        and json.dumps(after[: len(before)]) == json.dumps(before)
        and [c.get("role") for c in new][-1:] != ["model"]
        and len(new) > 1
        and all("functionResponse" in part for part in new[-1]["parts"])
    )


async def run(turn: list[Hop]) -> tuple[ScriptedBackend, TurnRecord]:
    """One turn by the real engine: it asks, runs the recorded tools, asks again."""
    responses = [part["functionResponse"] for hop in turn[1:] for part in contents_of(hop)[-1]["parts"]]
    backend = ScriptedBackend(*[hop.chunks for hop in turn])
    record = TurnRecord()
    engine = TurnEngine(
        backend=backend,
        tools=RecordedTools(responses),
        journal=ListJournal(),
        media=ListMedia(),
        clock=FakeClock(),
        record=record,
    )
    opening = [content_from_wire(obj) for obj in opening_of(turn[0], Counter())]
    plan = TurnPlan(model_id=turn[0].model, contents=[content_json(c.role, c.parts) for c in opening])
    with suppress(EchoError):  # what was refused, blocked or cut off in the recording
        async with aclosing(engine.run(plan)) as events:
            async for _ in events:
                pass
    record.close()
    return backend, record


def question_shadow(content: Json, number: int) -> Shadow:
    read = content_from_wire(content)
    sealed = join_contents([content_json(read.role, read.parts)])
    return Shadow(message_id=f"m{number}", chat_id="c", role=read.role, contents_json=sealed)


def answer_shadow(record: TurnRecord, number: int, *, complete: bool = True) -> Shadow:
    sealed = answer_contents(record.hops, complete=complete)
    state = "complete" if complete else "failed"
    return Shadow(message_id=f"m{number}", chat_id="c", role="model", contents_json=sealed, state=state)


def next_request(shadows: Sequence[Shadow]) -> bytes:
    """What is sent when the last of these messages is a question; each is sealed as the child of the one above."""
    assembly, parent = Assembly(), ROOT_PARENT
    for shadow in shadows:
        sealed = seal_shadow(shadow, parent)
        assembly.add(sealed)
        parent = sealed.cumulative_hash
        contents = parse_contents(sealed.contents_json)
        for row in signature_rows(sealed, "scope"):
            assert contents[row.content_index].parts[row.part_index].signature == row.thought_signature
    return request_json(contents=assembly.fragments)


def assert_same_conversation(sent: list[Json], recorded: list[Json], seen: Counter[str], where: str) -> None:
    """Content by content and part by part; a run of model contents in the recording is one of ours."""
    ours, theirs = list(sent), list(recorded)
    while theirs:
        run_of = list(itertools.takewhile(lambda c: c.get("role") == "model", theirs))
        if run_of:
            assert same_parts(content_from_wire(ours[0]).parts, joined_answer(run_of, seen), seen), where
        else:
            assert plain(ours[0]["parts"], seen) == plain(theirs[0]["parts"], seen), where
        ours, theirs = ours[1:], theirs[max(1, len(run_of)) :]
    assert not ours, where


async def test_each_next_request_equals_the_recorded_one_part_by_part(recordings: Path) -> None:
    seen: Counter[str] = Counter()
    compared: Counter[str] = Counter()
    for hops in conversations(recordings):
        turns = list(turns_of([hop for hop in hops if contents_of(hop)]))
        for turn, following in itertools.zip_longest(turns, turns[1:]):
            backend, record = await run(turn)
            assert len(backend.bodies) == len(turn), turn[0].source
            for hop, body in zip(turn[1:], backend.bodies[1:], strict=True):
                assert_same_conversation(json.loads(body)["contents"], contents_of(hop), seen, hop.source)
                assert_accepted(body, hop.model, hop.source)
                compared["after a tool"] += 1
            if following is None or not _extends(turn[-1], following[0]):
                continue
            asked = opening_of(turn[0], seen)
            new = contents_of(following[0])[-1]
            shadows = [question_shadow(content, number) for number, content in enumerate(asked)]
            body = next_request([*shadows, answer_shadow(record, len(asked)), question_shadow(new, len(asked) + 1)])
            recorded = contents_of(following[0])
            assert_same_conversation(json.loads(body)["contents"], recorded, seen, following[0].source)
            assert_accepted(body, following[0].model, following[0].source)
            compared["after an answer"] += 1
    assert compared["after a tool"] >= 70
    assert compared["after an answer"] >= 19
    assert set(seen) == set(HABITS), "a habit that no recording shows must leave the list"


def _extends(hop: Hop, following: Hop) -> bool:
    before, after = contents_of(hop), contents_of(following)
    return json.dumps(after[: len(before)]) == json.dumps(before) and len(after) > len(before)


@pytest.mark.deep
async def test_a_recorded_turn_cut_after_any_chunk_leaves_a_next_request_that_is_accepted(recordings: Path) -> None:
    cuts = 0
    for hop in streams(recordings):
        for count in range(len(hop.chunks) + 1):
            record = rebuild(map(chunk_record, hop.chunks[:count]))
            _assert_goes_on([QUESTION], record, hop, f"{hop.source} cut after {count}")
            cuts += 1
    assert cuts > 1_000


@pytest.mark.deep
async def test_a_recorded_tool_loop_cut_after_any_chunk_leaves_a_next_request_that_is_accepted(
    recordings: Path,
) -> None:
    cuts = 0
    for hops in conversations(recordings):
        for turn in turns_of([hop for hop in hops if contents_of(hop)]):
            opening = opening_of(turn[0], Counter())
            log = list(_log_of(turn))
            for count in range(len(log) + 1):
                record = rebuild(log[:count])
                _assert_goes_on(opening, record, turn[-1], f"{turn[0].source} cut after {count}")
                cuts += 1
    assert cuts > 300


def _log_of(turn: list[Hop]) -> Iterator[bytes]:
    for hop, following in itertools.zip_longest(turn, turn[1:]):
        yield from map(chunk_record, hop.chunks)
        if following is not None:
            answered = content_from_wire(contents_of(following)[-1])
            yield content_record(content_json(answered.role, answered.parts))


def _assert_goes_on(opening: list[Json], record: TurnRecord, hop: Hop, where: str) -> None:
    shadows = [question_shadow(content, number) for number, content in enumerate(opening)]
    answer = answer_shadow(record, len(shadows), complete=False)
    question = question_shadow(QUESTION, len(shadows) + 1)
    body = next_request([*shadows, answer, question])
    assert_accepted(body, hop.model, where)
    roles = [content["role"] for content in json.loads(body)["contents"]]
    assert all(one != other for one, other in itertools.pairwise(roles)), where
