"""What the user sees of a compaction and does about it: the desk, and the button that uses it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from echo_runtime import _owui, compaction_desk, compaction_entry
from echo_runtime.compaction_desk import CompactionDesk, NoSuchCompaction
from long_chat import CHAT, LongChat, long_chat
from sim_fixture import RunningSim
from turn_kit import Json

WORDS = "lorem ipsum " * 330


@pytest.fixture
async def chat(tmp_path: Path, sim: RunningSim, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LongChat]:
    async with long_chat(tmp_path, sim, monkeypatch) as opened:
        desk = CompactionDesk(opened.kit.orchestrator._stores._sessions)

        async def runtime() -> Any:
            return opened.kit.orchestrator

        async def valves(_: Any) -> Any:
            return opened.call("u1", answer_id="x").valves

        monkeypatch.setattr(compaction_desk, "desk", lambda: desk)
        monkeypatch.setattr(compaction_entry, "orchestrator", runtime)
        monkeypatch.setattr(_owui, "pipe_valves", valves)
        yield opened


async def talk(chat: LongChat, turns: int) -> None:
    for n in range(turns):
        await chat.say(f"Note {n}, the code is CODE-{n}. {WORDS}")


def opening(chat: LongChat) -> list[str]:
    """The texts of the first message that was sent last."""
    return [part.get("text", "") for part in json.loads(chat.turns()[-1]["body"])["contents"][0]["parts"]]


async def press(chat: LongChat, *answers: Json | None, user: str = "ada") -> list[str]:
    """The button under the last answer, with what is filled into its forms; what the page is told."""
    told: list[str] = []
    filled = list(answers)

    async def emit(event: Json) -> None:
        told.append(event["data"]["description"])

    async def ask(event: Json) -> Json:
        assert event["type"] == "request:elicitation"
        content = filled.pop(0)
        return {"action": "cancel"} if content is None else {"action": "accept", "content": content}

    body = {"chat_id": CHAT, "id": chat.end}
    await compaction_entry.act(body, {"id": user}, emit, ask, None)
    return told


def choice(name: str) -> Json:
    return {"choice": compaction_entry.CHOICES[name].en}


async def test_the_button_condenses_shows_pins_and_takes_back(chat: LongChat) -> None:
    await talk(chat, 4)
    assert await press(chat, None) == []
    [told] = await press(chat, choice("compact"))
    assert told.startswith("Conversation condensed")
    await chat.say("And now?")
    assert opening(chat)[0].startswith('<artifact id="AEC_context_checkpoint"')
    assert "CODE-0" in opening(chat)[0]
    assert await press(chat, choice("show"), {"0": "Only the code CODE-0 matters."}) == [compaction_entry.EDITED.en]
    await chat.say("And then?")
    assert "<note>Goal: Only the code CODE-0 matters.</note>" in opening(chat)[0]
    assert await press(chat, choice("show"), {"0": "Only CODE-0."}) == [compaction_entry.EDITED.en]
    await chat.say("And next?")
    assert "<note>Only CODE-0.</note>" in opening(chat)[0], "the user's own words get no name put before them"
    assert await press(chat, choice("pin")) == ["Pinned: 1."]
    assert await press(chat, choice("unpin")) == ["Pinned: 0."]
    assert await press(chat, choice("undo")) == [compaction_entry.UNDONE.en]
    await chat.say("Back?")
    assert opening(chat)[-1].startswith("Note 0")
    assert await press(chat, choice("undo")) == [NoSuchCompaction().user_message("en")]


async def test_the_view_tells_what_is_in_force_and_only_to_the_owner(chat: LongChat) -> None:
    await talk(chat, 14)
    view = await compaction_desk.compaction_view(CHAT, "ada", chat.end)
    assert view is not None
    assert view.epoch is not None
    assert view.checkpoint is not None
    assert view.fill_tokens > 0
    assert view.epoch.tokens_after < view.epoch.tokens_before
    assert any("CODE-0" in line for _, line in view.checkpoint.lines())
    assert await compaction_desk.compaction_view(CHAT, "bob", chat.end) is None
    before = await chat.state()
    for name in ("compact", "undo", "pin"):
        assert await press(chat, choice(name), user="bob") == [NoSuchCompaction().user_message("en")]
    assert await chat.state() == before


async def test_a_message_pinned_afterwards_is_quoted_beside_the_checkpoint(chat: LongChat) -> None:
    await talk(chat, 14)
    desk = compaction_desk.desk()
    assert await desk.pin(CHAT, "ada", "u1") == ("u1",)
    await chat.say("And now?")
    assert f"Note 0, the code is CODE-0. {WORDS.strip()}" in opening(chat)[1]
    await desk.pin(CHAT, "ada", "u1", pinned=False)
    await chat.say("And then?")
    assert "pinned" not in opening(chat)[1]
    with pytest.raises(NoSuchCompaction):
        await desk.pin(CHAT, "ada", "nowhere")
