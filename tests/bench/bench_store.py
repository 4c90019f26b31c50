"""What the state store costs, beside the bare work of SQLite on the same rows.

    python tests/bench/bench_store.py [--turns 10 100 1000 5000] [--json FILE]

A turn is a question of 200 characters and an answer of 1,200 with one signature of 600, as text chats have them.
Times are milliseconds of the wall clock, medians unless said otherwise; `cpu` is the processor time of all threads,
which other work on the machine does not disturb. `cold` reads with an empty cache, `same` reads the same chain
again, `next` reads it after one more turn was sealed, `bare` is `SELECT` and `fetchall` by the sqlite3 module alone.
"""

import argparse
import asyncio
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "libs"), str(Path(__file__).resolve().parents[1])]

from echo_core.records import Seal, VersionLock  # noqa: E402
from echo_core.sealing import relink, seal_shadow, signature_rows  # noqa: E402
from echo_paths import EchoPaths  # noqa: E402
from echo_protocol import ROOT_PARENT  # noqa: E402
from echo_state_manager import SessionStore, SessionStores, verify  # noqa: E402
from store_kit import CHAT, USER, ManualClock, shadow  # noqa: E402

CHATS_AT_ONCE = 50


def turns(count: int, first: int = 0, parent: str = ROOT_PARENT) -> list[Seal]:
    seals: list[Seal] = []
    for n in range(first, first + count):
        for role, text, extra in (
            ("user", f"{n} " + "q" * 200, {}),
            ("model", f"{n} " + "a" * 1200, {"thoughtSignature": f"{n:06}" * 100}),
        ):
            parts = json.dumps([{"role": role, "parts": [{"text": text, **extra}]}]).encode()
            made = seal_shadow(shadow(f"{role}{n}", text, role=role, contents_json=parts), parent)
            parent = made.cumulative_hash
            seals.append(Seal(shadow=made, signatures=signature_rows(made, "gemini-3:aistudio")))
    return seals


async def timed_ms(work: Callable[[], Awaitable[Any]]) -> float:
    begin_s = time.perf_counter()
    await work()
    return (time.perf_counter() - begin_s) * 1000


async def median_ms(work: Callable[[int], Awaitable[Any]], times: int) -> float:
    return statistics.median([await timed_ms(lambda n=n: work(n)) for n in range(times)])


class StallWatch:
    """The longest time for which the event loop did not come round, in milliseconds."""

    def __init__(self) -> None:
        self.worst_ms = 0.0

    async def __aenter__(self) -> "StallWatch":
        self._task = asyncio.create_task(self._watch())
        await asyncio.sleep(0.02)
        self.worst_ms = 0.0
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.sleep(0.005)
        self._task.cancel()

    async def _watch(self) -> None:
        while True:
            begin_s = time.perf_counter()
            await asyncio.sleep(0.001)
            self.worst_ms = max(self.worst_ms, (time.perf_counter() - begin_s) * 1000 - 1)


def bare_read_ms(path: Path, ids: list[str]) -> float:
    connection = sqlite3.connect(path)
    begin_s = time.perf_counter()
    rows = connection.execute(
        "SELECT message_id, full_parts_json, cumulative_hash, updated_at, fingerprint FROM message_shadows "
        "WHERE message_id IN (SELECT value FROM json_each(?))",
        (json.dumps(ids),),
    ).fetchall()
    taken_ms = (time.perf_counter() - begin_s) * 1000
    connection.close()
    if len(rows) != len(ids):
        raise RuntimeError("the bare read missed rows")
    return taken_ms


async def chain_figures(count: int, folder: Path) -> dict[str, float]:
    paths = EchoPaths(folder)
    path = paths.session_db(USER, CHAT)
    seals = turns(count)
    ids = [made.shadow.message_id for made in seals]
    stores = SessionStores(paths, ManualClock())
    async with stores.open_file(path) as store:
        import_ms = await timed_ms(lambda: store.seal_many(seals))
    await stores.close()
    size_bytes = path.stat().st_size
    figures: dict[str, float] = {"turns": count, "import_ms": import_ms, "bytes_a_turn": size_bytes / count}
    figures["bare_ms"] = statistics.median(bare_read_ms(path, ids) for _ in range(5))
    colds, cpus, stalls = [], [], []
    for _ in range(5):
        async with StallWatch() as watch, stores.open_file(path) as store:
            begin_cpu_s = time.process_time()
            colds.append(await timed_ms(lambda: store.get_message_shadows(ids)))
            cpus.append((time.process_time() - begin_cpu_s) * 1000)
        stalls.append(watch.worst_ms)
        await stores.close()
    figures["cold_ms"], figures["cold_cpu_ms"] = statistics.median(colds), statistics.median(cpus)
    figures["cold_stall_ms"] = statistics.median(stalls)
    async with stores.open_file(path) as store:
        await warm_figures(store, seals, figures)
    await stores.close()
    return figures


async def warm_figures(store: SessionStore, seals: list[Seal], figures: dict[str, float]) -> None:
    ids = [made.shadow.message_id for made in seals]
    count = len(seals) // 2
    await store.get_message_shadows(ids)
    begin_cpu_s = time.process_time()
    figures["same_ms"] = await median_ms(lambda _: store.get_message_shadows(ids), 20)
    figures["same_cpu_ms"] = (time.process_time() - begin_cpu_s) / 20 * 1000
    more = turns(20, first=count, parent=seals[-1].shadow.cumulative_hash)
    nexts, seal_costs = [], []
    for made in more:
        seal_costs.append(await timed_ms(lambda made=made: store.seal(made)))
        ids.append(made.shadow.message_id)
        nexts.append(await timed_ms(lambda: store.get_message_shadows(ids)))
    figures["next_ms"], figures["seal_ms"] = statistics.median(nexts), statistics.median(seal_costs)
    lock = VersionLock(updated_at_s=1, fingerprint="sha256:" + "f" * 64, provisional=False)
    figures["lock_ms"] = await median_ms(lambda n: store.lock(f"user{n % count}", lock), 20)
    record = b"x" * 16 * 1024
    figures["log_ms"] = await median_ms(lambda _: store.append_turn_log("running", [record]), 20)
    rebuilt, parent = [], "sha256:" + "e" * 64
    for made in seals:
        rebuilt.append(relink(made.shadow, parent))
        parent = rebuilt[-1].cumulative_hash
    figures["relink_ms"] = await timed_ms(lambda: store.relink_many(rebuilt))
    figures["verify_ms"] = await timed_ms(lambda: verify(store))


async def bare_seal_ms(folder: Path) -> float:
    """One transaction with the same rows, by the sqlite3 module, on the event loop."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE shadows (id TEXT PRIMARY KEY, parts BLOB, hash TEXT)")
    connection.execute("CREATE TABLE signatures (id TEXT PRIMARY KEY, value TEXT)")
    connection.execute("CREATE TABLE suture (hash TEXT PRIMARY KEY, parent TEXT)")
    costs = []
    for made in turns(50):
        one = made.shadow
        begin_s = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        row = (one.message_id, one.contents_json, one.cumulative_hash)
        connection.execute("INSERT INTO shadows VALUES (?, ?, ?)", row)
        for signature in made.signatures:
            connection.execute(
                "INSERT INTO signatures VALUES (?, ?)", (signature.message_id, signature.thought_signature)
            )
        connection.execute("INSERT INTO suture VALUES (?, ?)", (one.cumulative_hash, one.parent_hash))
        connection.execute("COMMIT")
        costs.append((time.perf_counter() - begin_s) * 1000)
    connection.close()
    return statistics.median(costs)


async def crowd_figures(folder: Path) -> dict[str, float]:
    stores = SessionStores(EchoPaths(folder), ManualClock())
    costs: list[float] = []

    async def chat(n: int) -> None:
        async with stores.open(USER, f"chat{n}") as store:
            for made in turns(3):
                costs.append(await timed_ms(lambda made=made: store.seal(made)))

    async with StallWatch() as watch:
        first_ms = await timed_ms(lambda: asyncio.gather(*(chat(n) for n in range(CHATS_AT_ONCE))))
    opened = len(costs)
    begin_cpu_s = time.process_time()
    async with StallWatch() as warm_watch:
        warm_ms = await timed_ms(lambda: asyncio.gather(*(chat(n) for n in range(CHATS_AT_ONCE))))
    await stores.close()
    cpu_ms = (time.process_time() - begin_cpu_s) * 1000
    warm = sorted(costs[opened:])
    return {
        "chats": CHATS_AT_ONCE,
        "seals": len(warm),
        "with_opening_ms": first_ms,
        "with_opening_stall_ms": watch.worst_ms,
        "open_files_ms": warm_ms,
        "open_files_stall_ms": warm_watch.worst_ms,
        "a_seal_median_ms": statistics.median(warm),
        "a_seal_p95_ms": warm[int(len(warm) * 0.95)],
        "a_seal_cpu_ms": cpu_ms / len(warm),
        "seals_a_second": len(warm) / warm_ms * 1000,
    }


def show(rows: list[dict[str, float]]) -> None:
    for name in rows[0]:
        print(f"{name:>22}", "".join(f"{row[name]:>12.2f}" for row in rows))
    print()


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, nargs="+", default=[10, 100, 1000, 5000])
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    options = parser.parse_args()
    chains = []
    for count in options.turns:
        with tempfile.TemporaryDirectory() as folder:
            chains.append(await chain_figures(count, Path(folder)))
    show(chains)
    with tempfile.TemporaryDirectory() as folder:
        bare_ms = await bare_seal_ms(Path(folder))
        crowd = await crowd_figures(Path(folder))
    show([{"bare_seal_ms": bare_ms, **crowd}])
    figures = {"chains": chains, "crowd": crowd, "bare_seal_ms": bare_ms}
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))
    print(json.dumps(figures))


if __name__ == "__main__":
    asyncio.run(main())
