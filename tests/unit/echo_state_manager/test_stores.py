"""Opening, sharing and closing the files of many chats."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from echo_core.records import VersionLock
from echo_paths import EchoPaths, NetworkFileSystemError, UnsafeIdError
from echo_state_manager import (
    SessionStore,
    SessionStores,
    StoreClosedError,
    StoreUnavailableError,
    repair,
    stores,
    verify,
)
from echo_state_manager.memory import MemoryShadowStore
from store_kit import CHAT, USER, ManualClock, chain, seal, shadow


@pytest.fixture
def paths(tmp_path: Path) -> EchoPaths:
    return EchoPaths(tmp_path)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def opener(paths: EchoPaths, clock: ManualClock) -> AsyncIterator[SessionStores]:
    opened = SessionStores(paths, clock, max_open=2, idle_s=60)
    yield opened
    await opened.close()


def open_threads() -> int:
    return sum("_connection_worker_thread" in thread.name for thread in threading.enumerate())


async def assert_open_threads(expected: int) -> None:
    """Threads end a moment after their file is closed."""
    async with asyncio.timeout(10):
        while open_threads() > expected:
            await asyncio.sleep(0.01)
    assert open_threads() == expected


async def test_the_file_is_in_wal_mode_where_the_layout_says(opener: SessionStores, paths: EchoPaths) -> None:
    async with opener.open(USER, CHAT) as store:
        await store.seal(seal())
        path = paths.session_db(USER, CHAT)
        assert path.with_name("session.db-wal").exists()
        assert path.parent.stat().st_mode & 0o777 == 0o700
        with sqlite3.connect(path) as other:
            assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        other.close()


async def test_one_chat_has_one_open_file_however_many_use_it(opener: SessionStores) -> None:
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(opener.open(USER, CHAT)) for _ in range(5)]
        assert len({id(store) for store in opened}) == 1
        await assert_open_threads(1)


async def test_simultaneous_first_uses_share_one_opening(opener: SessionStores) -> None:
    async def use(n: int) -> int:
        async with opener.open(USER, CHAT) as store:
            await store.seal(seal(f"m{n}"))
            return id(store)

    assert len(set(await asyncio.gather(*(use(n) for n in range(20))))) == 1


async def test_a_store_outlives_its_use_until_others_push_it_out(opener: SessionStores) -> None:
    async def identity(chat_id: str) -> int:
        async with opener.open(USER, chat_id) as store:
            return id(store)

    kept: list[object] = []
    async with opener.open(USER, "a") as first:
        kept.append(first)
    assert await identity("a") == id(first)
    await identity("b")
    await assert_open_threads(2)
    await identity("c")
    await assert_open_threads(2)
    async with opener.open(USER, "a") as again:
        assert again is not first
    with pytest.raises(StoreClosedError):
        await first.get_setting("k")


async def test_what_is_in_use_is_never_closed(opener: SessionStores) -> None:
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(opener.open(USER, f"c{n}")) for n in range(6)]
        await assert_open_threads(6)
        for store in opened:
            await store.seal(seal())
    await assert_open_threads(2)


async def test_idle_files_are_closed_at_the_next_use(opener: SessionStores, clock: ManualClock) -> None:
    async with opener.open(USER, "a"):
        pass
    clock.at_s += 61
    async with opener.open(USER, "b"):
        pass
    await assert_open_threads(1)


async def test_a_purged_chat_leaves_nothing_and_its_holders_are_told(opener: SessionStores, paths: EchoPaths) -> None:
    async with opener.open(USER, CHAT) as store:
        await store.seal(seal())
        await opener.purge(USER, CHAT)
        assert not paths.session_db(USER, CHAT).parent.exists()
        with pytest.raises(StoreClosedError):
            await store.seal(seal())
    await opener.purge(USER, CHAT)
    await opener.purge(USER, "temporary:none")
    assert await opener.chats_on_disk() == []
    async with opener.open(USER, CHAT) as fresh:
        assert await fresh.get_message_shadows(["m1"]) == {}


async def test_releasing_closes_what_is_open_and_deletes_nothing(opener: SessionStores) -> None:
    async with opener.open(USER, CHAT) as store:
        await store.seal(seal())
        await opener.release_chat(USER, CHAT)
        with pytest.raises(StoreClosedError):
            await store.seal(seal())
    for chat_id in ("never-opened", "temporary:none", "../x"):
        await opener.release_chat(USER, chat_id)
    async with opener.open(USER, CHAT) as fresh:
        assert await fresh.get_message_shadows(["m1"]) == {"m1": shadow()}


async def test_purging_a_chat_spares_the_others(opener: SessionStores) -> None:
    for user, chat in (("u1", "a"), ("u1", "b"), ("u2", "a")):
        async with opener.open(user, chat) as store:
            await store.seal(seal())
    await opener.purge("u1", "a")
    assert await opener.chats_on_disk() == [("u1", "b"), ("u2", "a")]


async def test_a_chat_purged_by_another_process_is_opened_anew(opener: SessionStores, paths: EchoPaths) -> None:
    async with opener.open(USER, CHAT) as old:
        await old.seal(seal())
        elsewhere = SessionStores(paths, ManualClock())
        await elsewhere.purge(USER, CHAT)
        async with opener.open(USER, CHAT) as fresh:
            assert fresh is not old
            assert await fresh.get_message_shadows(["m1"]) == {}
        assert await old.get_message_shadows(["m1"]) == {"m1": shadow()}
    with pytest.raises(StoreClosedError):
        await old.get_setting("k")


async def test_temporary_chats_stay_in_memory_until_dropped(opener: SessionStores, tmp_path: Path) -> None:
    async with opener.open(USER, "temporary:s") as store:
        assert isinstance(store, MemoryShadowStore)
        await store.seal(seal())
    async with opener.open(USER, "temporary:s") as store:
        assert await store.get_message_shadows(["m1"]) == {"m1": shadow()}
    async with opener.open("u2", "temporary:s") as store:
        assert await store.get_message_shadows(["m1"]) == {}
    await opener.purge(USER, "temporary:s")
    async with opener.open(USER, "temporary:s") as store:
        assert await store.get_message_shadows(["m1"]) == {}
    assert list(tmp_path.iterdir()) == []


async def test_api_calls_have_a_store_of_their_own(opener: SessionStores, paths: EchoPaths) -> None:
    async with opener.open_api(USER) as store:
        await store.seal(seal())
    assert paths.api_session_db(USER).exists()
    with pytest.raises(UnsafeIdError):
        async with opener.open(USER, "_api"):
            pass


async def test_a_network_disk_is_refused_before_anything_is_made(
    opener: SessionStores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("nas:/ / nfs4 rw 0 0\n")
    monkeypatch.setattr(stores, "require_local_file_system", lambda root: real(root, mounts))
    from echo_paths import require_local_file_system as real

    with pytest.raises(NetworkFileSystemError):
        async with opener.open(USER, CHAT):
            pass
    assert not (tmp_path / "users").exists()


async def test_a_data_folder_that_cannot_be_made_is_a_typed_error(tmp_path: Path, clock: ManualClock) -> None:
    (tmp_path / "file").touch()
    opener = SessionStores(EchoPaths(tmp_path / "file"), clock)
    for _ in range(2):
        with pytest.raises(StoreUnavailableError):
            async with opener.open(USER, CHAT):
                pass
    await opener.close()


async def test_a_cancelled_caller_does_not_undo_its_seal(opener: SessionStores) -> None:
    async with opener.open(USER, CHAT) as store:
        assert isinstance(store, SessionStore)
        turn = asyncio.create_task(store.seal(seal()))
        await asyncio.sleep(0)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert await store.get_message_shadows(["m1"]) == {"m1": shadow()}


async def test_a_cancelled_opening_leaves_a_usable_chat(opener: SessionStores) -> None:
    async def use() -> None:
        async with opener.open(USER, CHAT):
            raise AssertionError("cancelled before")

    turn = asyncio.create_task(use())
    await asyncio.sleep(0)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    async with opener.open(USER, CHAT) as store:
        await store.seal(seal())


def test_two_event_loops_and_threads_share_a_file(paths: EchoPaths, clock: ManualClock) -> None:
    opener = SessionStores(paths, clock)
    both_open = threading.Barrier(2, timeout=30)
    failures: list[BaseException] = []

    async def turns(name: str) -> None:
        async with opener.open(USER, CHAT) as store:
            await asyncio.to_thread(both_open.wait)
            for n in range(30):
                await store.seal(seal(f"{name}{n}", f"{name} {n}"))
            await asyncio.to_thread(both_open.wait)
            ids = [f"{who}{n}" for who in "ab" for n in range(30)]
            found = await store.get_message_shadows(ids)
            assert {key: value.visible_text for key, value in found.items()} == {
                f"{who}{n}": f"{who} {n}" for who in "ab" for n in range(30)
            }
        await opener.close()

    def run(name: str) -> None:
        try:
            asyncio.run(turns(name))
        except BaseException as error:
            failures.append(error)
            both_open.abort()

    threads = [threading.Thread(target=run, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_files_of_a_loop_that_is_gone_are_closed_by_another(paths: EchoPaths, clock: ManualClock) -> None:
    opener = SessionStores(paths, clock)

    async def use() -> None:
        async with opener.open(USER, CHAT) as store:
            await store.seal(seal())

    loop = asyncio.new_event_loop()
    loop.run_until_complete(use())
    loop.close()
    assert open_threads() == 1
    asyncio.run(opener.close())
    asyncio.run(assert_open_threads(0))


def test_an_open_store_does_not_keep_the_process_alive(tmp_path: Path) -> None:
    script = f"""
import asyncio, sys
sys.path[:0] = {sys.path!r}
from pathlib import Path
from store_kit import ManualClock, seal
from echo_paths import EchoPaths
from echo_state_manager import SessionStores
opener = SessionStores(EchoPaths(Path({str(tmp_path)!r})), ManualClock())
async def main():
    async with opener.open("u", "c") as store:
        await store.seal(seal())
asyncio.run(main())
print("done")
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.stdout, ended.returncode) == ("done\n", 0)


async def test_no_call_blocks_the_event_loop(opener: SessionStores, no_blocking: object) -> None:
    seals = chain(["q", "big", "q2", "a" * 700_000])
    async with opener.open(USER, CHAT) as store:
        assert isinstance(store, SessionStore)
        await store.seal_many(seals)
        await store.append_turn_log("m9", [b"x"])
        await store.lock("m1", VersionLock(updated_at_s=1, fingerprint="f", provisional=False))
        await store.get_message_shadows([f"m{n}" for n in range(400)])
        await store.get_signatures("m1")
        await store.save_setting("k", "v")
        assert (await verify(store)).is_sound
        await repair(store)
    async with opener.open(USER, CHAT):
        pass
    await opener.chats_on_disk()
    await opener.purge(USER, CHAT)


async def test_unused_files_are_closed_when_they_hold_too_much_the_oldest_first(
    paths: EchoPaths, clock: ManualClock
) -> None:
    texts = {name: name * 1000 for name in ("a", "b", "c")}
    one = shadow("m1", texts["a"])
    size_bytes = len(one.contents_json) + len(one.overlay_json) + len(one.visible_text)
    held = SessionStores(paths, clock, max_held_bytes=2 * size_bytes)
    stores_by_chat: dict[str, SessionStore] = {}
    for name, text in texts.items():
        async with held.open_file(paths.session_db(USER, name)) as store:
            await store.seal(seal("m1", text))
            await store.get_message_shadows(["m1"])
            stores_by_chat[name] = store
    with pytest.raises(StoreClosedError):
        await stores_by_chat["a"].get_message_shadows(["m1"])
    assert stores_by_chat["b"].held_bytes == stores_by_chat["c"].held_bytes == size_bytes
    await held.close()
