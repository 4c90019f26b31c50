"""What the state store costs, beside the bare work of SQLite on the same rows.

    python tests/bench/bench_store.py [--turns 10 100 1000 5000] [--encrypted-turns 1000] [--json FILE]

A turn is a question of 200 characters and an answer of 1,200 with one signature of 600, as text chats have them.
Times are milliseconds of the wall clock, medians unless said otherwise; `cpu` is the processor time of all threads,
which other work on the machine does not disturb. `cold` reads with an empty cache, `same` reads the same chain
again, `next` reads it after one more turn was sealed, `bare` is `SELECT` and `fetchall` by the sqlite3 module alone.
Encrypted figures are of the same work with ENCRYPT_RECORDS on. `size` is what the files of chats weigh a turn, beside
the bytes that were sealed: text as above; tool with one call, its answer and a signature on each; image with a picture
of 1 MB and a signature of 300 KB. `growth` is the second half of such a chat alone.
"""

import argparse
import asyncio
import base64
import json
import random
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
from echo_state_manager.crypto import MasterSecret  # noqa: E402
from store_kit import CHAT, USER, ManualClock, shadow  # noqa: E402

CHATS_AT_ONCE = 50
SECRET = MasterSecret("ECHO_SECRET_KEY", "of the bench")

#: Kind of turn → how many are measured.
SIZED = {"text": 200, "tool": 200, "image": 20}


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


def sized_turns(kind: str, count: int) -> list[Seal]:
    """Turns of one kind; no two have the same picture, signature or result."""
    dice = random.Random(1)
    seals: list[Seal] = []
    parent = ROOT_PARENT
    for n in range(count):
        if kind == "text":
            made = turns(1, first=n, parent=parent)
        else:
            contents = tool_answer(n, dice) if kind == "tool" else image_answer(n, dice)
            asked = seal_shadow(shadow(f"user{n}", f"{n} " + "q" * 200, role="user"), parent)
            said = shadow(f"model{n}", f"{n} " + "a" * 300, contents_json=json.dumps(contents).encode())
            answered = seal_shadow(said, asked.cumulative_hash)
            tool_io = json.dumps(contents[:2]).encode() if kind == "tool" else None
            rows = signature_rows(answered, "gemini-3:aistudio")
            made = [Seal(shadow=asked), Seal(shadow=answered, signatures=rows, tool_io_json=tool_io)]
        seals += made
        parent = made[-1].shadow.cumulative_hash
    return seals


def tool_answer(n: int, dice: random.Random) -> list[dict[str, Any]]:
    call = {"functionCall": {"name": "search", "args": {"q": f"question {n}"}}, "thoughtSignature": noise(dice, 900)}
    response = {"functionResponse": {"name": "search", "response": {"result": noise(dice, 4_000)}}}
    text = {"text": f"{n} " + "a" * 300, "thoughtSignature": noise(dice, 600)}
    return [
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [response]},
        {"role": "model", "parts": [text]},
    ]


def image_answer(n: int, dice: random.Random) -> list[dict[str, Any]]:
    picture = {"inlineData": {"mimeType": "image/png", "data": noise(dice, 1_000_000)}}
    parts = [{"text": f"{n} " + "a" * 300}, {**picture, "thoughtSignature": noise(dice, 300_000)}]
    return [{"role": "model", "parts": parts}]


def noise(dice: random.Random, size_bytes: int) -> str:
    """Base64 that does not repeat."""
    return base64.b64encode(dice.randbytes(size_bytes * 3 // 4)).decode()


def weight_bytes(seal: Seal) -> int:
    """What a record is made of, without hashes and names: its values once each."""
    return len(seal.shadow.contents_json) + len(seal.shadow.visible_text) + len(seal.tool_io_json or b"")


async def size_figures(kind: str, folder: Path, *, encrypted: bool) -> dict[str, float]:
    count = SIZED[kind]
    seals = sized_turns(kind, count)
    path = EchoPaths(folder).session_db(USER, CHAT)
    stores = SessionStores(EchoPaths(folder), ManualClock(), SECRET)
    sizes: list[int] = []
    cost_ms = 0.0
    for half in (seals[:count], seals[count:]):
        async with stores.open_file(path, encrypted=encrypted) as store:
            for made in half:
                cost_ms += await timed_ms(lambda made=made: store.seal(made))
        await stores.close()
        sizes.append(path.stat().st_size)
    sealed = sum(map(weight_bytes, seals))
    return {
        "turns": count,
        "sealed_bytes_a_turn": sealed / count,
        "file_bytes_a_turn": sizes[1] / count,
        "growth_bytes_a_turn": (sizes[1] - sizes[0]) / (count / 2),
        "file_to_sealed": sizes[1] / sealed,
        "seal_ms_a_turn": cost_ms / count,
    }


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


async def chain_figures(count: int, folder: Path, *, encrypted: bool = False) -> dict[str, float]:
    paths = EchoPaths(folder)
    path = paths.session_db(USER, CHAT)
    seals = turns(count)
    ids = [made.shadow.message_id for made in seals]
    stores = SessionStores(paths, ManualClock(), SECRET)
    async with stores.open_file(path, encrypted=encrypted) as store:
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


class BareFile:
    """The same rows by the sqlite3 module, on the event loop, one transaction a message."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = NORMAL")
        self.connection.execute("CREATE TABLE IF NOT EXISTS shadows (id TEXT PRIMARY KEY, parts BLOB, hash TEXT)")
        self.connection.execute("CREATE TABLE IF NOT EXISTS signatures (id TEXT PRIMARY KEY, value TEXT)")
        self.connection.execute("CREATE TABLE IF NOT EXISTS suture (hash TEXT PRIMARY KEY, parent TEXT)")

    def seal(self, made: Seal) -> None:
        one, run = made.shadow, self.connection.execute
        run("BEGIN IMMEDIATE")
        run("INSERT OR REPLACE INTO shadows VALUES (?, ?, ?)", (one.message_id, one.contents_json, one.cumulative_hash))
        for row in made.signatures:
            run("INSERT OR REPLACE INTO signatures VALUES (?, ?)", (row.message_id, row.thought_signature))
        run("INSERT OR REPLACE INTO suture VALUES (?, ?)", (one.cumulative_hash, one.parent_hash))
        run("COMMIT")


def bare_crowd_figures(folder: Path) -> dict[str, float]:
    """Fifty files written one after the other, as nobody waits for anybody then."""
    begin_s = time.perf_counter()
    files = [BareFile(folder / f"bare{n}.db") for n in range(CHATS_AT_ONCE)]
    for file in files:
        for made in turns(3):
            file.seal(made)
    first_ms = (time.perf_counter() - begin_s) * 1000
    costs: list[float] = []
    begin_cpu_s, begin_s = time.process_time(), time.perf_counter()
    for file in files:
        for made in turns(3):
            before_s = time.perf_counter()
            file.seal(made)
            costs.append((time.perf_counter() - before_s) * 1000)
    warm_ms = (time.perf_counter() - begin_s) * 1000
    cpu_ms = (time.process_time() - begin_cpu_s) * 1000
    for file in files:
        file.connection.close()
    costs.sort()
    return {
        "chats": CHATS_AT_ONCE,
        "seals": len(costs),
        "with_opening_ms": first_ms,
        "with_opening_stall_ms": first_ms,
        "open_files_ms": warm_ms,
        "open_files_stall_ms": warm_ms,
        "a_seal_median_ms": statistics.median(costs),
        "a_seal_p95_ms": costs[int(len(costs) * 0.95)],
        "a_seal_cpu_ms": cpu_ms / len(costs),
        "seals_a_second": len(costs) / warm_ms * 1000,
    }


async def crowd_figures(folder: Path, *, encrypted: bool) -> dict[str, float]:
    stores = SessionStores(EchoPaths(folder), ManualClock(), SECRET)
    costs: list[float] = []

    async def chat(n: int) -> None:
        async with stores.open(USER, f"chat{n}", encrypted=encrypted) as store:
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


def show(title: str, rows: dict[str, dict[str, float]]) -> None:
    print(f"{title:>22}", "".join(f"{name:>16}" for name in rows))
    for name in next(iter(rows.values())):
        print(f"{name:>22}", "".join(f"{row[name]:>16.2f}" for row in rows.values()))
    print()


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, nargs="+", default=[10, 100, 1000, 5000])
    parser.add_argument("--encrypted-turns", type=int, nargs="+", default=[1000])
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    options = parser.parse_args()
    chains, sizes, crowd = {}, {}, {}
    counts = [(count, False) for count in options.turns] + [(count, True) for count in options.encrypted_turns]
    for count, encrypted in counts:
        with tempfile.TemporaryDirectory() as folder:
            name = f"{count} encrypted" if encrypted else str(count)
            chains[name] = await chain_figures(count, Path(folder), encrypted=encrypted)
    show("a chain", chains)
    for kind in SIZED:
        for encrypted in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                name = f"{kind} encr." if encrypted else kind
                sizes[name] = await size_figures(kind, Path(folder), encrypted=encrypted)
    show("size", sizes)
    for encrypted in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            crowd["encrypted" if encrypted else "plain"] = await crowd_figures(Path(folder), encrypted=encrypted)
    with tempfile.TemporaryDirectory() as folder:
        crowd["bare, in a row"] = bare_crowd_figures(Path(folder))
    show("50 chats at once", crowd)
    figures = {"chains": chains, "sizes": sizes, "crowd": crowd}
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))
    print(json.dumps(figures))


if __name__ == "__main__":
    asyncio.run(main())
