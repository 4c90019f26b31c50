"""Nothing that changes around a chat changes a byte of what was sent before."""

import random
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from chat_kit import SavedChat
from echo_aec import parse_artifact
from echo_core.prefix import PrefixBreak
from echo_events import Happening
from echo_runtime.breaks import BREAKS
from live.bodies import Body, assert_continues, assert_valid
from turn_kit import entry


def search(what: str) -> str:
    """Search."""
    return what


def count(what: str) -> str:
    """Count."""
    return what


TOOLS = {"search": entry(search, what={"type": "string"}), "count": entry(count, what={"type": "string"})}
PLACES = ("Lyon", "Quebec", "")
LEVELS = ("LITE", "FLASH", "PRO")


def artifacts(body: Body) -> list[Counter[str]]:
    """How many of each kind every question of a request is told."""
    told: list[Counter[str]] = []
    for content in body.json["contents"]:
        texts = [part.get("text", "") for part in content["parts"]]
        if content["role"] == "user":
            told.append(Counter(parse_artifact(text).id for text in texts if text.startswith("<artifact ")))
    return told


async def change_something(chat: SavedChat, dice: random.Random, turn: int) -> None:
    """Let time pass, and one or the other thing become another."""
    chat.host.clock.at_s += dice.choice((5, 400, 5_000, 90_000))
    variables: dict[str, Any] = chat.extra["variables"]
    if dice.random() < 0.3:
        variables |= {"{{USER_LOCATION}}": dice.choice(PLACES), "{{CURRENT_TIMEZONE}}": "Europe/Paris"}
    if dice.random() < 0.3:
        chat.host.memories.append(f"She likes number {turn}.")
    if dice.random() < 0.2:
        chat.host.prompt = f"Answer in at most {turn} words, on {{{{CURRENT_DATE}}}}."
    if dice.random() < 0.4:
        happening = Happening(name="document_indexed", fields={"document": f"</artifact>{turn}.pdf"})
        await chat.kit.orchestrator.pushes.push(
            happening, event_id=f"e{turn}", user_id="ada", chat_id="chat" if dice.random() < 0.5 else ""
        )


@pytest.mark.timeout(180)
async def test_fifty_turns_share_their_prefix_whatever_changes_around_them(chat: SavedChat) -> None:
    dice = random.Random(50)
    before = dict(BREAKS.counts())
    chat.extra["tool_ids"] = ["server:mcp:one"]
    for turn in range(50):
        await change_something(chat, dice, turn)
        names = dice.sample(sorted(TOOLS), 2 if turn == 0 else dice.randint(0, 2))
        native = {name: TOOLS[name] for name in names}
        answer = await chat.ask(f"Question {turn}.", native=native, MODEL_SELECTION=dice.choice(LEVELS))
        assert answer, "the simulator says something"
    bodies = chat.bodies()
    assert [body.status for body in bodies] == [200] * 50
    for earlier, later in pairwise(bodies):
        assert_valid(later)
        assert_continues(later, earlier)
    assert len({body.path for body in bodies}) == 3, "all levels answered"
    told = sum(artifacts(bodies[-1]), Counter())
    assert told["AEC_event"] >= 10
    assert min(told[kind] for kind in ("AEC_modele", "AEC_temps", "AEC_lieu", "AEC_identite", "AEC_upgrade")) >= 3
    assert max(per["AEC_modele"] for per in artifacts(bodies[-1])) == 1
    added = {reason for reason, number in BREAKS.counts().items() if number != before.get(reason, 0)}
    assert added == set(), "nothing of this is a reason for another prefix"
    assert PrefixBreak.TOOL_SELECTION not in added


def named(body: Body) -> list[str]:
    """The model that each question names, "" where none is named."""
    names: list[str] = []
    for content in body.json["contents"]:
        texts = [part.get("text", "") for part in content["parts"]]
        found = [parse_artifact(text) for text in texts if text.startswith('<artifact id="AEC_modele"')]
        if content["role"] == "user" and any("text" in part for part in content["parts"]):
            names += [each.attributes["model"] for each in found] or [""]
    return names


async def test_a_model_that_takes_over_in_mid_answer_is_named_in_its_question(chat: SavedChat) -> None:
    before = BREAKS.counts().get("level", 0)
    await chat.ask("First.")
    await chat.ask('Call new_cognitive_level {"target": "PRO", "transfer_plan": "# Plan"}.', MODEL_SELECTION="AUTO")
    await chat.ask("Third.", MODEL_SELECTION="PRO")
    first, asked, moved, third = chat.bodies()
    answering = [body.path.split("/")[-1].split(":")[0] for body in (first, asked, moved, third)]
    assert named(first) == answering[:1]
    assert named(moved) == [answering[0], answering[2]]
    assert moved.contents[:2] == asked.contents[:2]
    assert third.contents[: len(moved.contents)] == moved.contents
    assert named(third) == [answering[0], answering[2], ""]
    assert BREAKS.counts()["level"] == before + 1


async def test_an_answer_asked_for_again_from_another_model_differs_in_the_name_alone(chat: SavedChat) -> None:
    await chat.ask("First.", MODEL_SELECTION="FLASH")
    chat.host.clock.at_s += 90_000
    await chat.answer("chat-q1", "chat-b1", "First.", MODEL_SELECTION="PRO")
    await chat.answer("chat-q1", "chat-c1", "First.", MODEL_SELECTION="FLASH")
    first, other, again = chat.bodies()
    assert again.contents == first.contents
    [flash], [pro] = named(first), named(other)
    assert flash != pro
    assert [content.replace(pro, flash) for content in other.contents] == list(first.contents)
