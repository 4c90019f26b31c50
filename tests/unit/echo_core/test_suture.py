"""Roles alternate whatever the records hold: empty answers, answers that stopped in a tool, hints after either."""

import json
from itertools import pairwise
from typing import Any

import pytest

from echo_core.records import Role, Shadow, ShadowState
from echo_core.suture import INTERRUPTED, Assembly, closed
from echo_protocol import content_json, request_json, text_part

HINT = content_json("user", [text_part("Shorter.")])
SAID = [{"role": "model", "parts": [{"text": "Yes."}]}]
IN_A_TOOL = [
    {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "c2ln"}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"error": "stopped"}}}]},
]


def shadow(role: Role, contents: list[dict[str, Any]], state: ShadowState = "complete") -> Shadow:
    return Shadow(message_id="m", chat_id="c", role=role, contents_json=json.dumps(contents).encode(), state=state)


def asked(text: str = "Well?") -> Shadow:
    return shadow("user", [{"role": "user", "parts": [{"text": text}]}])


def roles(*fragments: bytes) -> list[str]:
    return [content["role"] for content in json.loads(request_json(contents=fragments))["contents"]]


@pytest.mark.parametrize("contents", [[], SAID, IN_A_TOOL], ids=["empty", "said", "in a tool"])
def test_what_follows_an_answer_inside_its_turn_is_a_turn_of_the_user(contents: list[dict[str, Any]]) -> None:
    lead = closed(shadow("model", contents, "stopped"))
    found = roles(asked().contents_json, *lead, HINT)
    assert all(one != other for one, other in pairwise(found))
    assert (INTERRUPTED in lead) == (contents != SAID)


@pytest.mark.parametrize("contents", [[], SAID, IN_A_TOOL], ids=["empty", "said", "in a tool"])
def test_a_question_after_any_answer_is_a_turn_of_the_user(contents: list[dict[str, Any]]) -> None:
    assembly = Assembly()
    for message in (asked(), shadow("model", contents, "failed"), asked("And now?")):
        assembly.add(message)
    assert roles(*assembly.fragments) == ["user", *["model", "user"] * (2 if contents == IN_A_TOOL else 1)]


def test_a_conversation_that_begins_with_an_answer_is_opened() -> None:
    assembly = Assembly()
    assembly.add(shadow("model", SAID))
    assert roles(*assembly.fragments) == ["user", "model"]
