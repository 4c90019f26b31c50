"""Long chats in the real Open WebUI: compacted in time, valid, and with a beginning that stays the same."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from live.bodies import Body, assert_valid
from live.client import Client
from live.moves import Conversation
from live.stack import Live

SIZE_TOKENS = 32_768
TRIGGER = SIZE_TOKENS * 0.45
TOOLKIT = '''"""
title: Reports
description: Writes reports.
"""


class Tools:
    async def report(self, number: int) -> str:
        """
        Read a report.

        :param number: which
        """
        return f"report {number}: " + "row " * 700
'''
PADDING = "lorem ipsum " * 330


@pytest.fixture(autouse=True)
def small(live: Live) -> Iterator[None]:
    """A context that grows full in few turns."""
    live.sim.reset()
    with live.valves(ECHO_MAX_CONTEXT_SIZE=SIZE_TOKENS):
        yield


@pytest.fixture(scope="module")
def reports(live: Live) -> str:
    grants = [{"principal_type": "user", "principal_id": "*", "permission": "read"}]
    form = {"id": "reports", "name": "Reports", "content": TOOLKIT, "meta": {"description": ""}}
    live.admin.post("/api/v1/tools/create", {**form, "access_grants": grants})
    return "reports"


def bodies(live: Live) -> list[Body]:
    found = [Body(request) for request in live.sim.requests("streamGenerateContent")]
    for body in found:
        assert_valid(body)
    return found


def grow(live: Live, talk: Conversation, notes: int) -> None:
    """Ask so many long questions while the context is large enough for all of them."""
    with live.valves(ECHO_MAX_CONTEXT_SIZE=1_000_000):
        for number in range(notes):
            talk.ask(f"Note {number}: the code is CODE-{number}. {PADDING * 4}")


def weights(live: Live) -> list[int]:
    return [request["prompt_tokens"] for request in live.sim.requests("streamGenerateContent")]


def contents(body: Body) -> list[Any]:
    return list(body.json["contents"])


def opens_with_checkpoint(body: Body) -> bool:
    return str(contents(body)[0]["parts"][0].get("text", "")).startswith('<artifact id="AEC_context_checkpoint"')


@pytest.mark.deep
def test_c23_c24_the_prompt_stays_and_the_beginning_is_the_same_from_turn_to_turn(live: Live, ada: Client) -> None:
    """open-webui/open-webui#26710 and #27037."""
    talk = Conversation(ada, live.sim)
    for number in range(16):
        talk.ask(f"Note {number}: the code is CODE-{number}. {PADDING}")
    sent = bodies(live)
    assert max(weights(live)) < TRIGGER, weights(live)
    assert len({json.dumps(body.json["systemInstruction"]) for body in sent}) == 1
    breaks = [
        n
        for n, (before, after) in enumerate(pairwise(sent))
        if contents(after)[: len(contents(before))] != contents(before)
    ]
    assert 1 <= len(breaks) <= 3, "some compactions, and from each on the same beginning again"
    assert all(opens_with_checkpoint(body) for body in sent[breaks[0] + 1 :])
    assert all(later - earlier > 3 for earlier, later in pairwise(breaks)), breaks


@pytest.mark.deep
def test_c29_a_history_above_the_window_is_brought_below_it(live: Live, ada: Client) -> None:
    """google-gemini/gemini-cli#7784."""
    talk = Conversation(ada, live.sim)
    grow(live, talk, notes=9)
    assert weights(live)[-1] > SIZE_TOKENS
    live.sim.reset()
    talk.ask("And now?")
    assert weights(live)[-1] < TRIGGER
    assert opens_with_checkpoint(bodies(live)[-1])
    assert "CODE-0" in live.sim.requests("streamGenerateContent")[-1]["body"]


@pytest.mark.deep
def test_c21_a_summary_that_was_cut_off_is_never_sent(live: Live, ada: Client) -> None:
    """open-webui/open-webui#27604."""
    talk = Conversation(ada, live.sim)
    grow(live, talk, notes=5)
    part = {"text": '{"goal": "THINKING ALOUD that was cut'}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "MAX_TOKENS", "index": 0}
    said = {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 19}}
    live.sim.reset()
    live.sim.script({"match": {"method": "generateContent"}, "status": 200, "chunks": [{"text": json.dumps(said)}]})
    talk.ask("And now?")
    assert live.sim.requests(":generateContent"), "a model was asked for a checkpoint"
    assert opens_with_checkpoint(bodies(live)[-1])
    sent = live.sim.requests("streamGenerateContent")[-1]["body"]
    assert "THINKING ALOUD" not in sent
    assert "CODE-0" in sent


def test_c26_c28_large_results_count_and_no_call_loses_its_result(live: Live, ada: Client, reports: str) -> None:
    """open-webui/open-webui#30268 and Fu-Jie/openwebui-extensions#56."""
    talk = Conversation(ada, live.sim, tool_ids=[reports])
    step = " and ".join(f'call report {{"number": {n}}}' for n in range(4))
    for _ in range(3):
        talk.ask(f"Please {step}, then {step}.")
    assert max(weights(live)) < TRIGGER, weights(live)
    assert "put the rest of this result aside" in live.sim.requests("streamGenerateContent")[-1]["body"]
    bodies(live)
