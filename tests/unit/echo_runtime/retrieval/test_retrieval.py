import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from echo_core.passages import META_ARTIFACTS, SESSION_RAG
from echo_http import SystemClock
from echo_ingestion.records import ID_CHARS
from echo_memory import PassageStore
from echo_paths import EchoPaths
from echo_runtime import composition, retrieval
from echo_runtime.purge import Purger
from echo_runtime.retrieval import VectorPurge, begin, end, passages
from echo_state_manager import SessionStores
from echo_state_manager.identity import IdentityStore
from passage_kit import WordEmbedder, passage
from store_kit import SECRET


class Tables:
    """Open WebUI's tables: everybody and everything asked for exists."""

    async def living_chats(self, chat_ids):
        return set(chat_ids)

    async def living_users(self, user_ids):
        return set(user_ids)

    async def living_files(self, file_ids):
        return set(file_ids)


@pytest.fixture
async def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EchoPaths]:
    """ECHO's data folder, as this loop's services know it, with an embedder that needs no model."""
    paths = EchoPaths(tmp_path)
    clock = SystemClock()
    identity = IdentityStore(paths.identity_db, SECRET, clock)
    services = composition.Services(
        clock=clock,
        paths=paths,
        identity=identity,
        sessions=SessionStores(paths, clock, SECRET),
        keys=composition.KeyRing(identity, {}),
        documents=composition.DocumentDesk(paths),
        memories=composition.MemoryDesk(composition.MemoryStores(paths, clock), retrieval.passages, clock),
    )
    composition._services[asyncio.get_running_loop()] = services
    monkeypatch.delenv("QDRANT_URL", raising=False)
    monkeypatch.setattr(retrieval, "embedder_of", lambda env: WordEmbedder())
    yield paths
    await end()
    await services.sessions.close()
    await identity.close()
    composition._services.pop(asyncio.get_running_loop())


async def test_one_store_serves_a_loop(paths: EchoPaths) -> None:
    assert passages() is passages()
    await passages().of("ada", SESSION_RAG).put([passage("1", "orchard")])
    assert paths.qdrant_dir.is_dir()


async def test_nothing_is_opened_where_nothing_was_kept(paths: EchoPaths) -> None:
    begin()
    await asyncio.gather(*retrieval._tasks)
    await VectorPurge().purge("ada", "c1")
    await VectorPurge().purge_user("ada")
    assert not paths.qdrant_dir.exists()


async def test_a_deleted_chat_and_a_deleted_user_take_their_vectors_along(paths: EchoPaths) -> None:
    store = passages()
    for user_id in ("ada", "bob"):
        for chat_id in ("c1", "c2"):
            await store.of(user_id, SESSION_RAG).put([passage(f"{chat_id}", "orchard", chat_id=chat_id)])
        await store.of(user_id, META_ARTIFACTS).put([passage("m", "likes plums")])
        paths.session_db(user_id, "c1").parent.mkdir(parents=True)
    purge = VectorPurge()
    purger = Purger(paths, composition.services().identity, Tables(), [purge], [purge])
    await purger.purge_chat("c1", "ada")
    counts = [[await store.of(who, name).count() for name in (SESSION_RAG, META_ARTIFACTS)] for who in ("ada", "bob")]
    assert counts == [[1, 1], [2, 1]]
    await purger.purge_user("ada")
    counts = [[await store.of(who, name).count() for name in (SESSION_RAG, META_ARTIFACTS)] for who in ("ada", "bob")]
    assert counts == [[0, 0], [2, 1]]


async def test_a_file_that_goes_takes_its_passages_of_all_chats_along(paths: EchoPaths) -> None:
    sha256 = "ab" * 32
    for user_id in ("ada", "bob"):
        mine = passages().of(user_id, SESSION_RAG)
        await mine.put([passage(f"{n}", "orchard", chat_id=f"c{n}", source_id=sha256[:ID_CHARS]) for n in range(2)])
        await mine.put([passage("other", "orchard", chat_id="c1", source_id="cd" * 8)])
    await VectorPurge().purge_document("ada", sha256)
    assert [await passages().of(who, SESSION_RAG).count() for who in ("ada", "bob")] == [1, 3]


async def test_a_new_model_re_indexes_after_the_start(paths: EchoPaths) -> None:
    former = PassageStore(retrieval.engine_of(paths, {}), WordEmbedder("former", 32))
    await former.of("ada", SESSION_RAG).put([passage("1", "orchard")])
    begin()
    await asyncio.gather(*retrieval._tasks)
    (found,) = await passages().of("ada", SESSION_RAG).search("orchard")
    assert found.cosine is not None
    await end()
    assert await passages().of("ada", SESSION_RAG).count() == 1
