"""Records that belong to no chat go when they are old, and imported ones with the chat that they were imported for."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from echo_core.ports import ShadowStore
from echo_paths import EchoPaths
from echo_runtime.retention import API_KEPT_S, IMPORTED_KEPT_S, Retention
from echo_state_manager import SessionStores
from store_kit import ManualClock, sealed

DAY_S = 24 * 3600
OLD = ("ada", "bob")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def sessions(tmp_path: Path, clock: ManualClock) -> AsyncIterator[SessionStores]:
    opened = SessionStores(EchoPaths(tmp_path), clock)
    yield opened
    await opened.close()


@pytest.fixture
def retention(tmp_path: Path, sessions: SessionStores, clock: ManualClock) -> Retention:
    return Retention(sessions, EchoPaths(tmp_path), clock)


async def fill(tmp_path: Path, sessions: SessionStores) -> None:
    paths = EchoPaths(tmp_path)
    for user in OLD:
        for path in (paths.api_session_db(user), paths.imported_session_db(user), paths.session_db(user, "chat")):
            async with sessions.open_file(path) as store:
                await store.seal_many([sealed("m0", "a" * 50_000), sealed("m1", "short", signed="s")])


async def left(sessions: SessionStores, path: Path) -> tuple[int, int]:
    """Messages and large values in a file."""
    async with sessions.open_file(path) as store:
        blobs = await store.file.rows("SELECT count(*) FROM blobs")
        return len(await store.message_ids()), blobs[0][0]


async def test_sessions_of_api_callers_who_never_come_back_are_removed(
    tmp_path: Path, sessions: SessionStores, retention: Retention, clock: ManualClock
) -> None:
    await fill(tmp_path, sessions)
    paths = EchoPaths(tmp_path)
    await retention.tidy()
    assert await left(sessions, paths.api_session_db("ada")) == (2, 1)
    clock.at_s += API_KEPT_S + DAY_S
    await retention.tidy()
    for user in OLD:
        assert await left(sessions, paths.api_session_db(user)) == (0, 0)
        assert await left(sessions, paths.imported_session_db(user)) == (2, 1)
    clock.at_s += IMPORTED_KEPT_S
    await retention.tidy()
    for user in OLD:
        assert await left(sessions, paths.imported_session_db(user)) == (0, 0)
        assert await left(sessions, paths.session_db(user, "chat")) == (2, 1), "a chat's own records stay"


async def test_it_looks_once_a_day(
    tmp_path: Path, sessions: SessionStores, retention: Retention, clock: ManualClock
) -> None:
    clock.at_s = 100 * DAY_S
    await retention.tidy()
    await fill(tmp_path, sessions)
    async with sessions.open_api("ada") as store:
        await store.file.write(lambda tx: tx.rows("UPDATE message_shadows SET created_at = 0"))
    clock.at_s += DAY_S - 1
    await retention.tidy()
    assert (await left(sessions, EchoPaths(tmp_path).api_session_db("ada")))[0] == 2
    clock.at_s += 1
    await retention.tidy()
    assert (await left(sessions, EchoPaths(tmp_path).api_session_db("ada")))[0] == 0


async def test_one_file_that_cannot_be_used_does_not_keep_the_others(
    tmp_path: Path, sessions: SessionStores, retention: Retention, clock: ManualClock
) -> None:
    await fill(tmp_path, sessions)
    clock.at_s += API_KEPT_S + DAY_S
    await sessions.close()
    broken = EchoPaths(tmp_path).api_session_db("ada")
    broken.write_bytes(b"no database" * 100)
    await retention.tidy()
    assert (await left(sessions, EchoPaths(tmp_path).api_session_db("bob")))[0] == 0


async def test_a_deleted_chat_takes_only_its_own_imported_messages_along(
    tmp_path: Path, sessions: SessionStores, retention: Retention
) -> None:
    imported = EchoPaths(tmp_path).imported_session_db("ada")
    async with sessions.open_file(imported) as store:
        await store.seal_many([sealed("m0", "a" * 50_000), sealed("m1", "one"), sealed("other", "b" * 50_000)])
    async with sessions.open("ada", "chat") as chat:
        await chat_of(chat)
    await retention.purge("bob", "chat")
    await retention.purge("ada", "another")
    await retention.purge("ada", "temporary:socket")
    await retention.purge("ada", "../escape")
    assert await left(sessions, imported) == (3, 2)
    await retention.purge("ada", "chat")
    async with sessions.open_file(imported) as store:
        assert await store.message_ids() == ["other"]
    assert await left(sessions, imported) == (1, 1)


async def chat_of(store: ShadowStore) -> None:
    await store.seal_many([sealed("m0", "a" * 50_000), sealed("m1", "one"), sealed("new", "two")])
