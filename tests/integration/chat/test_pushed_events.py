"""What happened is told beside the next question, once on each chain, in the chat's language."""

import json
from pathlib import Path
from typing import Any

import pytest

from chat_kit import SavedChat
from echo_aec import Artifact, parse_artifact
from echo_constants import UpstreamError
from echo_events import Happening
from echo_memory import EdgeEngine, PassageStore
from echo_runtime import push_event, retrieval
from echo_runtime.document_index import DocumentIndex
from live.bodies import Body, assert_valid
from passage_kit import WordEmbedder, indexable

INDEXED = Happening(name="document_indexed", fields={"document": "</artifact> & co.pdf"})
QUOTA = {
    "error": {
        "code": 429,
        "message": "Quota exceeded.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel", "quotaValue": "100"}],
            }
        ],
    }
}


def events(body: Body) -> list[list[Artifact]]:
    """The events that each question of a request is told."""
    told: list[list[Artifact]] = []
    for content in body.json["contents"]:
        texts = [part.get("text", "") for part in content["parts"]]
        if content["role"] == "user":
            told.append([parse_artifact(text) for text in texts if text.startswith('<artifact id="AEC_event"')])
    return told


def names(body: Body) -> list[list[str]]:
    return [[event.attributes["name"] for event in told] for told in events(body)]


def refused(status: int, error: Any, model: str) -> dict[str, Any]:
    """The simulator's answer to one model, from now on."""
    text = json.dumps(error)
    return {
        "match": {"method": "streamGenerateContent", "model": model},
        "status": status,
        "headers": {"content-type": "application/json"},
        "chunks": [{"text": text}],
        "times": -1,
    }


@pytest.fixture(autouse=True)
def the_kit_is_the_runtime(chat: SavedChat, monkeypatch: pytest.MonkeyPatch) -> None:
    async def orchestrator() -> Any:
        return chat.kit.orchestrator

    monkeypatch.setattr("echo_runtime.loading.orchestrator", orchestrator)


@pytest.mark.parametrize(("language", "words"), [("en-US", "has been read"), ("fr-FR", "a été lu")])
async def test_anything_pushed_is_told_once_where_it_belongs(chat: SavedChat, language: str, words: str) -> None:
    chat.extra["variables"] = {"{{USER_LANGUAGE}}": language}
    await chat.ask("First.")
    for _ in range(2):
        await push_event(INDEXED, event_id="e1", user_id="ada", chat_id="chat", message_id="chat-q1")
    await push_event(INDEXED, event_id="e2", user_id="ada", chat_id="chat", message_id="elsewhere")
    await chat.ask("Second.")
    await chat.ask("Third.")
    await chat.answer("chat-q2", "chat-b2", "Second.")
    *_, second, third, again = chat.bodies()
    assert names(third) == [[], ["document_indexed"], []]
    assert again.contents == second.contents
    [[], [event], []] = events(third)
    assert words in event.text and "</artifact> & co.pdf" in event.text
    assert_valid(third)


async def test_a_document_that_was_indexed_is_told_in_its_chat_and_in_no_deleted_one(
    chat: SavedChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def owner(chat_id: str) -> str | None:
        return "ada" if chat_id == "chat" else None

    monkeypatch.setattr("echo_runtime._owui.chat_owner", owner)
    await chat.ask("First.")
    await chat.ask("Second.")
    before = sorted(tmp_path.rglob("session.db"))
    vectors = PassageStore(EdgeEngine(tmp_path / "vectors"), WordEmbedder())
    index = DocumentIndex(lambda: vectors, retrieval._tell_of)
    farm = indexable("farm", "ferme.pdf", "Le verger compte douze pommiers. " * 40)
    for chat_id in ("chat", "chat", "deleted"):
        index.soon("ada", chat_id, farm)
        assert await index.search("ada", "verger", chat_id=chat_id, limit=1)
    await retrieval._tell_of("chat", farm, UpstreamError("away"))
    await vectors.close()
    assert sorted(tmp_path.rglob("session.db")) == before
    await chat.ask("Third.")
    await chat.ask("Fourth.")
    last = chat.bodies()[-1]
    assert names(last) == [[], [], ["document_indexed", "document_failed"], []]
    assert "ferme.pdf" in events(last)[2][0].text
    assert "Gemini is not answering right now." in events(last)[2][1].text
    assert_valid(last)


async def test_what_concerns_a_user_is_told_once_in_each_chat(chat: SavedChat) -> None:
    await push_event(Happening(name="memory_written", fields={"memory": "Tea."}), event_id="m", user_id="ada")
    other = SavedChat(chat.kit, chat.host, "other")
    for each in (chat, other):
        await each.ask("First.")
        await each.ask("Second.")
        assert names(each.bodies()[-1]) == [["memory_written"], []]


async def test_a_copy_of_a_chat_is_not_told_again_what_its_chain_was_told(chat: SavedChat) -> None:
    await push_event(Happening(name="memory_written", fields={"memory": "Tea."}), event_id="m", user_id="ada")
    await chat.ask("First.")
    copy = SavedChat(chat.kit, chat.host, "copy")
    copy.end, chat.host.origins = chat.end, ["chat"]
    await copy.ask("Second.")
    assert names(copy.bodies()[-1]) == [["memory_written"], []]


async def test_a_level_without_quota_is_told_and_so_is_what_answered_instead(chat: SavedChat) -> None:
    pro = chat.kit.orchestrator._contexts.model("PRO").backend_id("ai_studio")
    chat.kit.sim.script(refused(429, QUOTA, pro))
    await chat.ask("First.", MODEL_SELECTION="AUTO_PRO")
    await chat.ask("Second.", MODEL_SELECTION="FLASH")
    last = chat.bodies()[-1]
    assert names(last) == [[], ["level_fell", "quota_low"]]
    assert "PRO" in events(last)[1][0].text and "FLASH" in events(last)[1][0].text


async def test_a_connection_that_broke_off_is_told_when_it_is_back(chat: SavedChat) -> None:
    broken = {"match": {"method": "streamGenerateContent"}, "chunks": [], "end": "reset", "times": -1}
    await chat.ask("First.")
    chat.kit.sim.script(broken)
    await chat.ask("Second.")
    chat.kit.sim.reset()
    await chat.ask("Third.")
    await chat.ask("Fourth.")
    assert names(chat.bodies()[-1]) == [[], [], ["connection_restored"], []]


async def test_a_stage_that_breaks_costs_neither_the_answer_nor_the_prompt(
    chat: SavedChat, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(call: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(chat.kit.orchestrator.drafter, "prepare", broken)
    assert await chat.ask("Still there?")
    [body] = chat.bodies()
    assert "You are ECHO" in body.head
    assert "Still there?" in body.contents[0]
    assert "the turn goes on without it" in caplog.text
