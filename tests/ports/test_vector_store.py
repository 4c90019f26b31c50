"""One class of behaviour for all vector stores."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from echo_core.passages import ANYWHERE, META_ARTIFACTS, SESSION_RAG, PassageFilter
from echo_core.ports import VectorStore
from echo_memory import EdgeEngine, PassageStore, ServerEngine, TenantMissing, UnsafeFilter
from echo_memory.points import PointStore
from http_servers.asgi import AsgiServer
from passage_kit import WordEmbedder, passage
from qdrant_shim import QdrantShim


@pytest.fixture(params=["edge", "server"])
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[PointStore]:
    engine: EdgeEngine | ServerEngine
    if request.param == "edge":
        engine = EdgeEngine(tmp_path / "vectors")
        yield engine
        await engine.close()
        return
    shim = QdrantShim(tmp_path / "server")
    async with AsgiServer(shim.app) as server:
        engine = ServerEngine(server.url)
        yield engine
        await engine.close()
    shim.close()


@pytest.fixture
def store(engine: PointStore) -> VectorStore:
    return PassageStore(engine, WordEmbedder())


async def texts(store: VectorStore, user_id: str, where: PassageFilter = ANYWHERE) -> list[str]:
    page = await store.of(user_id, SESSION_RAG).scan(where)
    return sorted(one.text for one in page.passages)


class TestVectorStore:
    async def test_what_was_put_comes_back_as_it_was(self, store: VectorStore) -> None:
        one = passage(
            "p1",
            "Un café\u0000 à Nîmes 🎈",
            chat_id="c",
            source_id="s",
            position=3,
            meta={"page": 2, "share": 0.5, "sheet": "A", "whole": True},
        )
        mine = store.of("ada", SESSION_RAG)
        await mine.put([one])
        assert (await mine.scan()).passages == (one,)
        assert [found.passage for found in await mine.search("café Nîmes")] == [one]

    async def test_the_best_passage_is_first(self, store: VectorStore) -> None:
        mine = store.of("ada", SESSION_RAG)
        await mine.put([passage(str(i), f"paragraphe {i} sur la cuisine et le jardin") for i in range(30)])
        await mine.put([passage("key", "la serrure de la grange est rouillée")])
        for mode in ("hybrid", "dense", "lexical"):
            found = await mine.search("serrure rouillée grange", mode=mode, limit=3)  # type: ignore[arg-type]
            assert found[0].passage.passage_id == "key", mode
            assert len(found) <= 3
            assert list(found) == sorted(found, key=lambda one: -one.score)

    async def test_words_meet_across_their_forms_in_both_languages(self, store: VectorStore) -> None:
        mine = store.of("ada", SESSION_RAG)
        await mine.put(
            [passage("fr", "Les chevaux français étaient élevés ici."), passage("en", "He was running home.")]
        )
        for query, wanted in (("cheval", "fr"), ("FRANÇAISE", "fr"), ("runs", "en")):
            found = await mine.search(query, mode="lexical")
            assert [one.passage.passage_id for one in found] == [wanted], query

    async def test_nothing_is_found_where_nothing_bears_on_the_query(self, store: VectorStore) -> None:
        mine = store.of("ada", SESSION_RAG)
        assert await mine.search("anything") == ()
        await mine.put([passage("1", "alpha beta gamma")])
        assert list(await mine.search("omega psi chi phi upsilon")) == []
        assert list(await mine.search("   ")) == []
        assert list(await mine.search("alpha", limit=0)) == []

    async def test_the_same_id_replaces(self, store: VectorStore) -> None:
        mine = store.of("ada", SESSION_RAG)
        await mine.put([passage("1", "old words")])
        await mine.put([passage("1", "new words")])
        assert await texts(store, "ada") == ["new words"]

    async def test_filters_hold_together(self, store: VectorStore) -> None:
        mine = store.of("ada", SESSION_RAG)
        await mine.put(
            [
                passage(f"{chat}{n}", f"word {chat}{n}", chat_id=chat, source_id=f"s{n % 2}", meta={"page": n})
                for chat in "ab"
                for n in range(4)
            ]
        )
        await mine.put([passage("t", "word t", kind="turn")])
        cases = [
            (PassageFilter(chat_ids=("a",)), ["word a0", "word a1", "word a2", "word a3"]),
            (PassageFilter(chat_ids=("a", "b"), source_ids=("s0",)), ["word a0", "word a2", "word b0", "word b2"]),
            (PassageFilter(without_chat_ids=("a", "b")), ["word t"]),
            (PassageFilter(kinds=("turn",)), ["word t"]),
            (PassageFilter(passage_ids=("a1", "b9")), ["word a1"]),
            (PassageFilter(meta={"page": 3}), ["word a3", "word b3"]),
            (PassageFilter(at_least={"page": 1}, at_most={"page": 2}, chat_ids=("b",)), ["word b1", "word b2"]),
            (PassageFilter(chat_ids=()), []),
            (PassageFilter(passage_ids=()), []),
        ]
        for where, wanted in cases:
            assert await texts(store, "ada", where) == wanted, where
            assert await mine.count(where) == len(wanted), where
            assert {one.passage.text for one in await mine.search("word", where=where, limit=20)} == set(wanted), where

    async def test_an_empty_filter_list_deletes_nothing(self, store: VectorStore) -> None:
        mine = store.of("ada", SESSION_RAG)
        await mine.put([passage("1", "kept")])
        await mine.delete(PassageFilter(chat_ids=()))
        await mine.delete(PassageFilter(passage_ids=()))
        assert await texts(store, "ada") == ["kept"]

    async def test_pages_cover_everything_once(self, store: VectorStore) -> None:
        mine = store.of("ada", SESSION_RAG)
        await mine.put([passage(str(n), f"text {n}") for n in range(25)])
        seen, after = [], None
        for _ in range(10):
            page = await mine.scan(limit=7, after=after)
            seen += [one.passage_id for one in page.passages]
            after = page.after
            if after is None:
                break
        assert sorted(seen, key=int) == [str(n) for n in range(25)]

    async def test_notes_are_merged_into_meta(self, store: VectorStore) -> None:
        mine = store.of("ada", SESSION_RAG)
        await mine.put([passage("1", "text", meta={"level": 1, "seen": 5})])
        await mine.annotate(["1", "absent"], {"level": 2})
        await mine.annotate([], {"level": 9})
        assert (await mine.scan()).passages[0].meta == {"level": 2, "seen": 5}
        assert await mine.count(PassageFilter(at_least={"level": 2})) == 1

    async def test_collections_are_apart(self, store: VectorStore) -> None:
        await store.of("ada", SESSION_RAG).put([passage("1", "in the chat")])
        await store.of("ada", META_ARTIFACTS).put([passage("1", "for good")])
        await store.of("ada", SESSION_RAG).delete(ANYWHERE)
        assert [one.text for one in (await store.of("ada", META_ARTIFACTS).scan()).passages] == ["for good"]

    async def test_many_at_once(self, store: VectorStore) -> None:
        async def one(n: int) -> None:
            mine = store.of(f"user{n % 3}", SESSION_RAG)
            await mine.put([passage(f"{n}-{i}", f"note {n} {i}") for i in range(5)])
            assert await mine.search(f"note {n}")

        await asyncio.gather(*(one(n) for n in range(12)))
        assert sum([await store.of(f"user{n}", SESSION_RAG).count() for n in range(3)]) == 60


#: Filters of somebody who knows everything about a passage of another user.
KNOWN = [
    ANYWHERE,
    PassageFilter(passage_ids=("p1",)),
    PassageFilter(chat_ids=("ada-chat",)),
    PassageFilter(source_ids=("ada-file",)),
    PassageFilter(meta={"level": 5}),
    PassageFilter(at_least={"level": 0}),
    PassageFilter(without_chat_ids=("none",)),
    PassageFilter(kinds=("document",)),
]


class TestIsolation:
    """Another user's ids, chats and names of fields are known to the attacker; nothing crosses."""

    @pytest.fixture
    async def robbed(self, store: VectorStore) -> VectorStore:
        await store.of("ada", SESSION_RAG).put(
            [passage("p1", "the secret code is 4711", chat_id="ada-chat", source_id="ada-file", meta={"level": 5})]
        )
        return store

    @pytest.mark.parametrize("user_id", ["eve", "ada ", "ADA", "ada\u0000", "*", "ad", "ada,eve"])
    async def test_no_filter_reaches_another_user(self, robbed: VectorStore, user_id: str) -> None:
        hers = robbed.of(user_id, SESSION_RAG)
        for where in KNOWN:
            assert list(await hers.search("the secret code is 4711", where=where)) == [], where
            assert (await hers.scan(where)).passages == (), where
            assert await hers.count(where) == 0, where
            await hers.annotate(["p1"], {"level": 1})
            await hers.delete(where)
        assert await texts(robbed, "ada", PassageFilter(meta={"level": 5})) == ["the secret code is 4711"]

    async def test_a_value_of_meta_is_never_the_user(self, robbed: VectorStore) -> None:
        hers = robbed.of("eve", SESSION_RAG)
        await hers.put([passage("x", "mine", meta={"user": "ada"})])
        assert await texts(robbed, "ada") == ["the secret code is 4711"]
        assert await hers.count(PassageFilter(meta={"user": "ada"})) == 1

    @pytest.mark.parametrize("name", ["meta.user", "../user", "user[]", "", "a b", "Level", "a" * 65, "x\n"])
    async def test_a_name_cannot_leave_meta(self, name: str) -> None:
        # Refused before any engine is asked, so that none is needed.
        hers = PassageStore(EdgeEngine(Path("nowhere")), WordEmbedder()).of("eve", SESSION_RAG)
        with pytest.raises(UnsafeFilter):
            await hers.put([passage("x", "mine", meta={name: "ada"})])
        with pytest.raises(UnsafeFilter):
            await hers.search("code", where=PassageFilter(meta={name: "ada"}))
        with pytest.raises(UnsafeFilter):
            await hers.count(PassageFilter(at_least={name: 0}))
        with pytest.raises(UnsafeFilter):
            await hers.annotate(["p1"], {name: 1})

    async def test_the_same_ids_of_two_users_are_two_passages(self, robbed: VectorStore) -> None:
        hers = robbed.of("eve", SESSION_RAG)
        await hers.put([passage("p1", "overwritten", chat_id="ada-chat", source_id="ada-file")])
        assert await texts(robbed, "ada") == ["the secret code is 4711"]
        await robbed.delete_user("eve")
        assert await texts(robbed, "ada") == ["the secret code is 4711"]
        assert await texts(robbed, "eve") == []

    async def test_a_forged_page_mark_shows_nothing_of_others(self, robbed: VectorStore) -> None:
        hers = robbed.of("eve", SESSION_RAG)
        for after in ("7:", "x:y", "0:00000000-0000-0000-0000-000000000000", "-1:"):
            assert (await hers.scan(after=after)).passages == (), after
        with pytest.raises(UnsafeFilter):
            await hers.scan(after="0:zzz")

    async def test_nobody_is_not_a_user(self, store: VectorStore) -> None:
        with pytest.raises(TenantMissing):
            store.of("", SESSION_RAG)

    async def test_rarity_is_counted_among_the_own_passages_only(self, store: VectorStore) -> None:
        mine = store.of("ada", SESSION_RAG)
        await mine.put([passage("1", "zebra plum"), passage("2", "zebra fig"), passage("3", "plum fig kiwi")])
        before = [(one.passage.passage_id, one.score) for one in await mine.search("zebra kiwi", mode="lexical")]
        await store.of("eve", SESSION_RAG).put([passage(str(n), f"zebra {n}") for n in range(40)])
        after = [(one.passage.passage_id, one.score) for one in await mine.search("zebra kiwi", mode="lexical")]
        assert after == before


class TestChangeOfModel:
    async def test_passages_are_found_by_words_until_they_are_re_indexed(self, engine: PointStore) -> None:
        first = PassageStore(engine, WordEmbedder("one", 64))
        await first.of("ada", SESSION_RAG).put([passage(str(n), f"note {n} orchard") for n in range(40)])
        await first.of("bob", SESSION_RAG).put([passage("b", "bob's orchard")])
        embedder = WordEmbedder("two", 32)
        second = PassageStore(engine, embedder)
        mine = second.of("ada", SESSION_RAG)
        found = await mine.search("orchard", limit=50)
        assert len(found) == 40
        assert {one.cosine for one in found} == {None}
        await mine.put([passage("3", "written anew orchard")])
        await mine.delete(PassageFilter(passage_ids=("4",)))
        assert await mine.count() == 39
        assert await second.reindex() == 39
        assert await mine.count() == 39
        assert "note 3 orchard" not in await texts(second, "ada")
        assert all(one.cosine is not None for one in await mine.search("orchard", limit=50))
        assert await texts(second, "bob") == ["bob's orchard"]
        assert [one.model for one in await engine.generations(SESSION_RAG)] == ["two"]

    async def test_what_is_deleted_while_it_is_re_indexed_stays_deleted(self, engine: PointStore) -> None:
        first = PassageStore(engine, WordEmbedder("one", 64))
        await first.of("ada", SESSION_RAG).put([passage(str(n), f"note {n}") for n in range(5)])

        class Deleting(WordEmbedder):
            async def embed_documents(self, texts):  # type: ignore[no-untyped-def]
                if not self.embedded:
                    await second.of("ada", SESSION_RAG).delete(PassageFilter(passage_ids=("2",)))
                return await super().embed_documents(texts)

        second = PassageStore(engine, Deleting("two", 32))
        await second.reindex()
        assert await texts(second, "ada") == ["note 0", "note 1", "note 3", "note 4"]

    async def test_models_of_one_dimension_are_not_mixed(self, engine: PointStore) -> None:
        await PassageStore(engine, WordEmbedder("one", 64)).of("ada", SESSION_RAG).put([passage("1", "orchard")])
        other = PassageStore(engine, WordEmbedder("other", 64))
        assert [one.cosine for one in await other.of("ada", SESSION_RAG).search("orchard")] == [None]
