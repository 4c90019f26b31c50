"""A turn of fifty tool rounds with eight parallel calls each, in the real Open WebUI."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from live import answers
from live.bodies import Body, assert_continues, assert_valid
from live.client import Client
from live.stack import Live

ROUNDS, PARALLEL = 50, 8
TOOLKIT = '''"""
title: Counting
description: Counts.
"""


class Tools:
    async def count(self, number: int) -> dict:
        """
        Tell the successor of a number.

        :param number: the number
        """
        return {"next": number + 1}
'''


@pytest.fixture
def counting(live: Live, ada: Client) -> Iterator[str]:
    """The id of a toolkit that everybody may use."""
    grants = [{"principal_type": "user", "principal_id": "*", "permission": "read"}]
    form = {"id": "counting", "name": "Counting", "content": TOOLKIT, "meta": {"description": ""}}
    live.admin.post("/api/v1/tools/create", {**form, "access_grants": grants})
    yield "counting"
    live.admin.delete("/api/v1/tools/id/counting/delete")


def round_of(number: int) -> dict[str, Any]:
    calls = [answers.call("count", number=number * PARALLEL + place) for place in range(PARALLEL)]
    calls[0]["thoughtSignature"] = "c2ln"
    return answers.parts(*calls, match=answers.saying("LONG-LOOP"))


@pytest.mark.deep
def test_fifty_rounds_of_eight_calls_end_with_the_exact_history(live: Live, ada: Client, counting: str) -> None:
    live.sim.reset()
    end = answers.parts({"text": "Counted."}, match=answers.saying("LONG-LOOP"))
    live.sim.script(*map(round_of, range(ROUNDS)), end)
    turn = ada.turn("LONG-LOOP: count.", tool_ids=[counting])
    assert (turn.text, turn.error) == ("Counted.", "")
    bodies = [Body(request) for request in live.sim.requests("streamGenerateContent")]
    assert [body.status for body in bodies] == [200] * (ROUNDS + 1)
    for body, before in zip(bodies[1:], bodies, strict=False):
        assert_valid(body)
        assert_continues(body, before)
    told = [
        json.loads(part["functionResponse"]["response"]["output"])["next"]
        for content in bodies[-1].json["contents"]
        for part in content["parts"]
        if "functionResponse" in part
    ]
    assert told == list(range(1, ROUNDS * PARALLEL + 1))
    called = [item for item in turn.output if item["type"] == "function_call"]
    shown = [item for item in turn.output if item["type"] == "function_call_output"]
    assert len(called) == len(shown) == ROUNDS * PARALLEL
    assert {item["call_id"] for item in called} == {item["call_id"] for item in shown}
    ada.turn("LONG-LOOP: and now?", chat_id=turn.chat_id, parent=turn.assistant_id, tool_ids=[counting])
    assert ada.messages(turn.chat_id)[turn.assistant_id]["output"] == turn.output, "a reload shows the same cards"
    last = Body(live.sim.requests("streamGenerateContent")[-1])
    assert_valid(last)
    assert last.contents[: len(bodies[-1].contents)] == bodies[-1].contents
