"""Chats in the session memory: each message once, edits anew, over restarts, and gone with the chat."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from echo_constants import Bilingual, UpstreamError
from echo_core.passages import SESSION_RAG, PassageFilter, Vector
from echo_core.ports import Passage
from echo_core.records import Seal, Shadow
from echo_memory import EdgeEngine, PassageStore
from echo_paths import EchoPaths
from echo_protocol import content_json, join_contents, text_part
from echo_runtime.document_desk import DocumentDesk
from echo_runtime.document_index import DocumentIndex
from echo_runtime.past_recall import PastRecall
from echo_runtime.search_tools import SearchToolkit
from echo_runtime.turn_index import TurnIndex
from echo_state_manager import SessionStores
from passage_kit import WordEmbedder
from store_kit import ManualClock

Turns = Sequence[tuple[str, str]]


class Down(UpstreamError):
    code = "down"
    message = Bilingual(en="down", fr="en panne")


class Gate(WordEmbedder):
    """An embedder that waits, or fails, when it is told to."""

    def __init__(self) -> None:
        super().__init__(floor=0.3)
        self.open = asyncio.Event()
        self.open.set()
        self.asked = asyncio.Event()
        self.broken = False

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.asked.set()
        await self.open.wait()
        if self.broken:
            raise Down("no embedder")
        return await super().embed_documents(texts)


class Desk:
    """One data folder with an index over it."""

    def __init__(self, folder: Path) -> None:
        self.paths = EchoPaths(folder)
        self.embedder = Gate()
        self.passages = PassageStore(EdgeEngine(folder / "qdrant"), self.embedder)
        self.sessions = SessionStores(self.paths, ManualClock())
        self.index = TurnIndex(lambda: self.passages, self.sessions, self.paths)

    async def say(self, *shadows: Shadow, user: str = "ada", chat: str = "c") -> None:
        async with self.sessions.open(user, chat) as store:
            await store.seal_many([Seal(shadow=replace(shadow, chat_id=chat)) for shadow in shadows])
        self.index.soon(user, chat)

    async def indexed(self, user: str = "ada", chat: str = "c") -> dict[str, str]:
        """The passages of a chat by message, when all is done."""
        await self.index.settled(user, chat)
        page = await self.passages.of(user, SESSION_RAG).scan(PassageFilter(chat_ids=(chat,)))
        return {one.source_id: one.text for one in page.passages}

    async def recall(self, text: str, chain: Sequence[str], limit: int = 3, **given: float) -> Sequence[Passage]:
        async with self.sessions.open("ada", "c") as store:
            recall = PastRecall(self.index.of("ada"), store, chain, **given)
            return await recall.recall(user_id="ada", chat_id="c", text=text, limit=limit)

    async def close(self) -> None:
        await self.index.forget()
        await self.passages.close()
        await self.sessions.close()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    opened = Desk(tmp_path)
    yield opened
    await opened.close()


def asked(message_id: str, *texts: str) -> Shadow:
    contents = join_contents([content_json("user", [text_part(text) for text in texts])])
    invariant = f"sha256:{hash(texts)}"
    return Shadow(message_id=message_id, chat_id="c", role="user", contents_json=contents, invariant_hash=invariant)


TRACTOR = asked("m1", "The tractor stands in the red barn")
APPLES = asked("m2", "Twelve apple trees grow behind the house")


async def test_each_message_is_embedded_once(desk: Desk) -> None:
    await desk.say(TRACTOR)
    assert await desk.indexed() == {"m1": "The tractor stands in the red barn"}
    await desk.say(APPLES)
    await desk.index.settled("ada")
    desk.index.soon("ada", "c")
    assert (await desk.indexed()).keys() == {"m1", "m2"}
    assert len(desk.embedder.embedded) == 2


async def test_an_edited_message_is_found_as_it_is_now_and_no_longer_as_it_was(desk: Desk) -> None:
    await desk.say(TRACTOR, APPLES)
    await desk.index.settled("ada")
    desk.embedder.open.clear()
    desk.embedder.asked.clear()
    await desk.say(asked("m1", "The tractor was sold to a neighbour"))
    await desk.embedder.asked.wait()
    before = await desk.recall("where is the tractor", ["m1", "m2"])
    assert [one.text for one in before] == ["The tractor was sold to a neighbour"]
    desk.embedder.open.set()
    assert (await desk.indexed())["m1"] == "The tractor was sold to a neighbour"
    after = await desk.recall("where is the tractor", ["m1", "m2"])
    assert [one.text for one in after] == ["The tractor was sold to a neighbour"]


async def test_what_changes_while_it_is_embedded_is_embedded_again(desk: Desk) -> None:
    desk.embedder.open.clear()
    await desk.say(TRACTOR)
    await desk.embedder.asked.wait()
    await desk.say(asked("m1", "The tractor was sold"))
    desk.embedder.open.set()
    assert await desk.indexed() == {"m1": "The tractor was sold"}


async def test_what_lies_on_another_branch_or_belongs_to_somebody_else_is_not_recalled(desk: Desk) -> None:
    await desk.say(TRACTOR, APPLES)
    await desk.say(asked("m9", "The tractor of Eve"), user="eve", chat="c")
    await desk.index.settled("ada")
    await desk.index.settled("eve")
    assert await desk.recall("where is the tractor", ["m2"]) == []
    assert await desk.recall("where is the tractor", ["m2", "m9"]) == []
    [found] = await desk.recall("where is the tractor", ["m1", "m2"])
    assert (found.message_id, found.score) == ("m1", 1.0)


async def test_a_restart_goes_on_where_the_embedder_failed(desk: Desk, tmp_path: Path) -> None:
    desk.embedder.broken = True
    await desk.say(TRACTOR)
    await desk.index.settled("ada")
    [found] = await desk.recall("tractors in barns", ["m1"])
    assert found.message_id == "m1", "found by its words meanwhile"
    assert list(desk.paths.unindexed_chats()) == [("ada", "c")]
    await desk.close()
    again = Desk(tmp_path)

    async def owner(chat_id: str) -> str:
        return "ada"

    assert await again.index.resume(owner) == 1
    assert (await again.indexed()).keys() == {"m1"}
    assert list(again.paths.unindexed_chats()) == []
    await again.close()


async def test_a_chat_that_changed_hands_or_is_gone_is_not_resumed(desk: Desk) -> None:
    desk.embedder.broken = True
    await desk.say(TRACTOR)
    await desk.index.settled("ada")

    async def nobody(chat_id: str) -> None:
        return None

    assert await desk.index.resume(nobody) == 0


async def test_a_purge_ends_what_is_being_written(desk: Desk) -> None:
    desk.embedder.open.clear()
    await desk.say(*(asked(f"m{n}", f"Number {n} is said") for n in range(30)))
    await desk.embedder.asked.wait()
    forgetting = asyncio.create_task(desk.index.forget(chat_id="c"))
    await asyncio.sleep(0)
    desk.embedder.open.set()
    await forgetting
    assert len(desk.embedder.embedded) < 30
    assert await desk.index.settled("ada") is None


async def test_previews_and_attached_texts_are_not_what_was_said(desk: Desk) -> None:
    await desk.say(asked("m1", '<artifact id="AEC_smart_context">An outline</artifact>', "Read this, please"))
    await desk.say(asked("m2#shared", "Ada: said to several"))
    assert await desk.indexed() == {"m1": "Read this, please"}


async def test_a_session_memory_that_hangs_leaves_the_search_to_words(desk: Desk) -> None:
    await desk.say(TRACTOR, APPLES)
    await desk.index.settled("ada")
    hanging = asyncio.Event()

    async def hang(texts: Sequence[str]) -> Sequence[Vector]:
        await hanging.wait()
        return []

    desk.embedder.embed_queries = hang  # type: ignore[method-assign]
    [found] = await desk.recall("tractors", ["m1", "m2"], wait_s=0.05)
    assert found.message_id == "m1"


async def test_temporary_chats_leave_nothing(desk: Desk) -> None:
    desk.index.soon("ada", "temporary:socket")
    await desk.index.settled("ada")
    assert not desk.paths.root.joinpath("users").exists()
    assert desk.embedder.embedded == []


async def test_a_search_over_all_chats_says_who_said_it_in_the_readers_language(desk: Desk, tmp_path: Path) -> None:
    await desk.say(TRACTOR)
    await desk.index.settled("ada")
    documents = DocumentDesk(EchoPaths(tmp_path))
    tools = SearchToolkit(lambda: DocumentIndex(lambda: desk.passages), lambda: documents)
    shown: list[dict[str, Any]] = []

    async def emit(event: dict[str, Any]) -> None:
        shown.append(event)

    metadata = {"chat_id": "another", "variables": {"{{USER_LANGUAGE}}": "fr-FR"}}
    told = await tools.search_session(
        "where does the tractor stand", __user__={"id": "ada"}, __metadata__=metadata, __event_emitter__=emit
    )
    [row] = told["passages"]
    assert (row["text"], row["name"], row["chat"]) == (
        "The tractor stands in the red barn", "Dit par vous dans une discussion", "c",
    )  # fmt: skip
    assert shown[0]["data"]["source"]["name"] == "Dit par vous dans une discussion"
    told = await tools.search_session("where does the tractor stand", __user__={"id": "eve"}, __metadata__=metadata)
    assert told["passages"] == [], "nobody else's"
