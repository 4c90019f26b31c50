"""A process that writes to a store and says on standard output what is committed; tests kill it or run several.

python store_writer.py turns DATA_DIR FIRST_TURN        turns of one chat without end
python store_writer.py seals DATA_DIR NAME THREADS N    N messages a thread, each thread with an event loop of its own
"""

import asyncio
import sys
import threading
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "libs"), str(Path(__file__).resolve().parent)]

from echo_core.records import Seal  # noqa: E402
from echo_paths import EchoPaths  # noqa: E402
from echo_protocol import ROOT_PARENT  # noqa: E402
from echo_state_manager import SessionStores  # noqa: E402
from store_kit import CHAT, USER, ManualClock, chain, sealed, shadow  # noqa: E402

BATCHES = 6
RECORDS = 5


def question(turn: int, parent: str) -> Seal:
    """What turn `turn` asks; anybody can make it again to compare."""
    return sealed(f"q{turn}", f"question {turn} " + "?" * (40_000 if turn % 7 == 0 else 100), parent, role="user")


def answer(turn: int, parent: str) -> Seal:
    """What turn `turn` answers, signed; every fifth with an image signature."""
    return sealed(f"a{turn}", f"answer {turn}", parent, signed=f"{turn}-" * (30_000 if turn % 5 == 0 else 20))


def log_batch(turn: int, batch: int) -> list[bytes]:
    """Records of the running turn."""
    return [f"turn {turn} batch {batch} record {n} ".encode() * 40 for n in range(RECORDS)]


def parent_of(turn: int) -> str:
    """Cumulative hash of the answer before a turn."""
    parent = ROOT_PARENT
    for earlier in range(turn):
        parent = answer(earlier, question(earlier, parent).shadow.cumulative_hash).shadow.cumulative_hash
    return parent


def say(*words: object) -> None:
    print(*words, flush=True)


async def turns(paths: EchoPaths, first: int) -> None:
    stores = SessionStores(paths, ManualClock())
    parent = parent_of(first)
    async with stores.open(USER, CHAT) as store:
        say("open")
        turn = first
        while True:
            asked = question(turn, parent)
            await store.seal(asked)
            say("asked", turn)
            await store.seal(Seal(shadow=shadow(f"a{turn}", "", state="streaming", cumulative_hash="")))
            say("streams", turn)
            for batch in range(BATCHES):
                await store.append_turn_log(f"a{turn}", log_batch(turn, batch))
                say("logged", turn, batch)
            answered = answer(turn, asked.shadow.cumulative_hash)
            await store.seal(answered)
            say("answered", turn)
            parent = answered.shadow.cumulative_hash
            turn += 1


async def seals(paths: EchoPaths, name: str, count: int) -> None:
    stores = SessionStores(paths, ManualClock())
    async with stores.open(USER, CHAT) as store:
        for made in chain([f"{name} {n}" for n in range(count)], prefix=name):
            await store.seal(made)
    await stores.close()


def main() -> None:
    mode, paths = sys.argv[1], EchoPaths(Path(sys.argv[2]))
    if mode == "turns":
        asyncio.run(turns(paths, int(sys.argv[3])))
        return
    name, threads, count = sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    workers = [
        threading.Thread(target=lambda n=n: asyncio.run(seals(paths, f"{name}{n}-", count))) for n in range(threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    say("done")


if __name__ == "__main__":
    main()
