"""The nightly work on memories: 100 users with 2,000 memories each, over real files and the real vector engine.

Beside it stands the bare reading of the same memories. The embedder counts words: what is embedded anew at night is
little, and how fast a model does that is told by bench_retrieval.py.
"""

import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

from _harness import ROOT, Report, json_option

sys.path.insert(0, str(ROOT / "tests"))

from echo_core.memories import RETENTION_DAYS, Fact, Memory
from echo_memory import EdgeEngine, PassageStore
from echo_paths import EchoPaths
from echo_runtime.memory_desk import MemoryDesk
from echo_runtime.nightly import Nightly
from echo_state_manager.identity import IdentityStore
from echo_state_manager.leases import JobLeases
from echo_state_manager.memories import MemoryStores
from passage_kit import WordEmbedder
from store_kit import SECRET, ManualClock

USERS = 100
MEMORIES = 2_000
#: Of a user's memories, those of the last month that were only observed, and those whose time is over.
TRIVIAL_SHARE = 0.1
EXPIRED_SHARE = 0.01
_DAY_S = 86_400


def memories_of(dice: random.Random, now_s: int) -> list[Memory]:
    made = []
    for number in range(MEMORIES):
        draw = dice.random()
        importance = 1 if draw < TRIVIAL_SHARE else dice.randint(2, 5)
        age_days = dice.uniform(0, 20) if draw >= EXPIRED_SHARE else RETENTION_DAYS[importance - 1] + 1
        at_s = now_s - int(age_days * _DAY_S)
        topic = f"matter {dice.randrange(MEMORIES)}"
        fact = Fact(text=f"The {topic} stands at {number}.", topic=topic, value=str(number))
        made.append(Memory(id=f"m_{number}", fact=fact, importance=importance, created_at_s=at_s, reinforced_at_s=at_s))
    return made


async def measure(report: Report, folder: Path) -> None:
    clock, paths = ManualClock(), EchoPaths(folder)
    passages = PassageStore(EdgeEngine(paths.qdrant_dir), WordEmbedder())
    identity = IdentityStore(paths.identity_db, SECRET, clock)
    stores = MemoryStores(paths, clock)
    desk = MemoryDesk(stores, lambda: passages, clock)
    dice = random.Random(9)
    for user in range(USERS):
        made = memories_of(dice, int(clock.now_s()))
        store = await stores.of(f"user{user}")
        await store.change(0, made)
        await store.mark_embedded(made)
    begun = time.perf_counter()
    for user in range(USERS):
        await (await stores.of(f"user{user}")).snapshot()
    bare_s = time.perf_counter() - begun
    begun = time.perf_counter()
    night = await Nightly(desk, JobLeases(identity, clock, "bench"), clock).run_if_due()
    ours_s = time.perf_counter() - begun
    assert night is not None
    assert (night.users, night.failed) == (USERS, 0)
    report.ratio(f"{USERS} users, {MEMORIES} memories each: a night", "s", ours_s, bare_s)
    report.figure("a user", "ms", ours_s / USERS * 1_000, at_most=1_000.0)
    report.figure("expired", "", float(night.expired))
    report.figure("fused", "", float(night.fused))
    await desk.close()
    await identity.close()
    await passages.close()


def main(json_file: Path | None) -> int:
    report = Report("the nightly work on memories")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(report, Path(folder)))
    return report.finish(json_file)


if __name__ == "__main__":
    sys.exit(main(json_option(__doc__ or "")))
