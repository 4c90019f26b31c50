"""Memories over real files and the real vector engine: kept, found, corrected, forgotten, and nobody else's."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from echo_constants import UpstreamError
from echo_core.memories import AXIOM, TRIVIAL
from echo_memory import PackagedEmbedder
from echo_runtime.memory_errors import MemorySecretError, NoSuchMemoryError
from memory_kit import DAY_S, Memories, memories
from passage_kit import WordEmbedder
from store_kit import ManualClock


@pytest.fixture
async def own(tmp_path: Path) -> AsyncIterator[Memories]:
    async with memories(tmp_path, ManualClock()) as made:
        yield made


async def test_what_is_told_comes_back_with_its_source_and_survives_a_restart(own: Memories, tmp_path: Path) -> None:
    await own.tell("ada", "The project uses PostgreSQL 16.")
    await own.desk.close()
    await own.store.close()
    async with memories(tmp_path, own.clock, WordEmbedder()) as again:
        [one] = await again.desk.recall("ada", "Which PostgreSQL does the project use?", 5)
    assert one.memory.text == "The project uses PostgreSQL 16."
    assert (one.memory.source.chat_id, one.memory.source.message_id) == ("c1", "q1")


async def test_nobody_reaches_the_memories_of_somebody_else(own: Memories) -> None:
    kept = await own.tell("ada", "The vault code word is heron.")
    name = kept.memory.id
    assert await own.recalled("lea", "vault code word heron") == []
    assert (await own.desk.list_memories("lea")).total == 0
    assert await own.desk.everything("lea") == []
    for touch in (own.desk.get("lea", name), own.desk.pin("lea", name, True), own.desk.history("lea", name),
                  own.desk.edit("lea", name, "Mine now.", 1)):  # fmt: skip
        with pytest.raises(NoSuchMemoryError):
            await touch
    assert await own.desk.forget("lea", [name]) == []
    assert await own.recalled("ada", "vault code word heron") == [kept.memory.text]


async def test_forgetting_takes_the_history_along_and_what_chats_were_told(own: Memories) -> None:
    first = await own.tell("ada", "I live in Lyon.", "home", "Lyon")
    second = await own.tell("ada", "I live in Nice.", "home", "Nice")
    ids = sorted([first.memory.id, second.memory.id])
    assert [one.id for one in await own.desk.history("ada", second.memory.id)] == [second.memory.id, first.memory.id]
    assert sorted(await own.desk.forget("ada", [second.memory.id])) == ids
    assert own.redacted == [("ada", ids)]
    assert await own.desk.everything("ada") == []
    assert await own.recalled("ada", "Where do I live? Lyon Nice") == []


async def test_only_what_holds_is_recalled(own: Memories) -> None:
    await own.tell("ada", "I live in Lyon.", "home", "Lyon")
    await own.tell("ada", "I live in Nice.", "home", "Nice")
    assert await own.recalled("ada", "Where do I live, Lyon or Nice?") == ["I live in Nice."]


async def test_an_edit_and_a_pin_hold_and_keep_the_history(own: Memories) -> None:
    kept = await own.tell("ada", "I work with Vim.")
    pinned = await own.desk.pin("ada", kept.memory.id, True)
    edited = await own.desk.edit("ada", pinned.id, "I work with Emacs.", AXIOM)
    assert (edited.pinned, edited.importance, edited.origin) == (True, AXIOM, "page")
    assert [one.text for one in await own.desk.history("ada", edited.id)] == ["I work with Emacs.", "I work with Vim."]
    assert await own.recalled("ada", "Which editor do I work with?") == ["I work with Emacs."]
    with pytest.raises(NoSuchMemoryError):
        await own.desk.edit("ada", kept.memory.id, "Another.", TRIVIAL)
    with pytest.raises(MemorySecretError):
        await own.desk.edit("ada", edited.id, "My password is hunter2", TRIVIAL)


async def test_what_is_not_told_again_expires_and_the_night_removes_it(own: Memories) -> None:
    await own.tell("ada", "The build runs on Ninja.")
    own.clock.at_s += 31 * DAY_S
    assert await own.recalled("ada", "build Ninja") == []
    assert await own.desk.tidy("ada") == (1, 0)
    assert (await own.desk.list_memories("ada")).total == 0


async def test_facts_told_at_once_are_one_memory(own: Memories) -> None:
    told = [own.tell("ada", f"{words} Lyon.", "home", "Lyon") for words in ("I live in", "My home is", "My flat is in")]
    await asyncio.gather(*told)
    assert (await own.desk.list_memories("ada")).total == 1


async def test_without_the_engine_nothing_is_lost_and_it_is_searchable_later(tmp_path: Path) -> None:
    class Broken(WordEmbedder):
        works = False

        async def embed_documents(self, texts):  # type: ignore[no-untyped-def]
            if not self.works:
                raise UpstreamError("away")
            return await super().embed_documents(texts)

    embedder = Broken()
    async with memories(tmp_path, ManualClock(), embedder) as own:
        await own.tell("ada", "The heron nests in May.")
        assert (await own.desk.list_memories("ada", "HERON")).total == 1
        embedder.works = True
        assert await own.recalled("ada", "When does the heron nest?") == ["The heron nests in May."]


async def test_an_unrelated_axiom_never_outranks_what_bears_on_the_question(tmp_path: Path) -> None:
    """With the real packaged model."""
    async with memories(tmp_path, ManualClock(), PackagedEmbedder()) as own:
        await own.tell("ada", "Deployment goes through GitLab CI to a Kubernetes cluster.", importance=TRIVIAL)
        await own.tell("ada", "Never use emojis in answers.", importance=AXIOM)
        assert (await own.recalled("ada", "How do we deploy?"))[0].startswith("Deployment")
        await own.tell("ada", "Deployment goes through staging, never straight to production.", importance=AXIOM)
        assert (await own.recalled("ada", "How do we deploy?"))[
            0
        ] == "Deployment goes through staging, never straight to production."
