"""One file written by many, and many files written at once."""

import asyncio
import sys
from pathlib import Path

import store_writer
from echo_paths import EchoPaths
from echo_state_manager import SessionStores, verify
from store_kit import CHAT, USER, ManualClock, chain

READ_AND_CLOSE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA user_version").fetchall()
connection.close()
"""


async def test_eight_threads_in_two_processes_lose_nothing(tmp_path: Path) -> None:
    count = 25
    writers = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            store_writer.__file__,
            *("seals", str(tmp_path), name, "4", str(count)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        for name in "xy"
    ]
    for out, err in await asyncio.gather(*(writer.communicate() for writer in writers)):
        assert (out, err) == (b"done\n", b"")
    stores = SessionStores(EchoPaths(tmp_path), ManualClock())
    async with stores.open_file(EchoPaths(tmp_path).session_db(USER, CHAT)) as store:
        expected = {
            made.shadow.message_id: made.shadow
            for name in "xy"
            for thread in range(4)
            for made in chain([f"{name}{thread}- {n}" for n in range(count)], prefix=f"{name}{thread}-")
        }
        assert await store.get_message_shadows(list(expected)) == expected
        report = await verify(store)
        assert (report.breaks, report.messages, report.chains) == ((), 8 * count, 8)
    await stores.close()


async def test_a_second_look_at_an_open_file_does_not_drop_its_locks(tmp_path: Path) -> None:
    """Without its locks, the next process to close the file would take itself for the last one and remove the log."""
    path = EchoPaths(tmp_path).session_db(USER, CHAT)
    first, second = SessionStores(EchoPaths(tmp_path), ManualClock()), SessionStores(EchoPaths(tmp_path), ManualClock())
    async with first.open(USER, CHAT) as store:
        await store.save_setting("kept", "yes")
        async with second.open_file(path) as same:
            assert await same.get_setting("kept") == "yes"
        await second.close()
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", READ_AND_CLOSE, str(path))
        assert await process.wait() == 0
        assert path.with_name(path.name + "-wal").exists()
        await store.save_setting("kept", "still")
        assert await store.get_setting("kept") == "still"
    await first.close()


async def test_fifty_chats_seal_at_once(tmp_path: Path) -> None:
    stores = SessionStores(EchoPaths(tmp_path), ManualClock(), max_open=20)

    async def turn(n: int) -> None:
        async with stores.open(USER, f"chat{n}") as store:
            for made in chain([f"chat {n}", "a" * 40_000, "b", f"end of {n}"]):
                await store.seal(made)

    async def check(n: int) -> None:
        async with stores.open_file(EchoPaths(tmp_path).session_db(USER, f"chat{n}")) as store:
            report = await verify(store)
            assert (report.breaks, report.messages) == ((), 4)
            found = await store.get_message_shadow("m3")
            assert found is not None
            assert found.visible_text == f"end of {n}"

    await asyncio.gather(*(turn(n) for n in range(50)))
    await asyncio.gather(*(check(n) for n in range(50)))
    await stores.close()
