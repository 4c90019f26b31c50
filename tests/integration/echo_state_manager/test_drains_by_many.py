"""Directives under many processes and under kill -9: told once on each chain, none lost, none doubled."""

import asyncio
import json
import random
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any

import pytest

import drain_writer
from echo_aec import EchoAEC
from echo_paths import EchoPaths
from echo_state_manager import SessionStores
from store_kit import CHAT, USER, ManualClock

PROCESSES = 8
ROUNDS = 12


async def started(*arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, drain_writer.__file__, *arguments, stdin=PIPE, stdout=PIPE
    )


async def heard(process: Process) -> Any:
    assert process.stdout is not None
    return json.loads(await process.stdout.readline())


async def test_eight_processes_tell_each_directive_once_on_each_chain(tmp_path: Path) -> None:
    processes = await asyncio.gather(*(started("answers", str(tmp_path), f"p{n}") for n in range(PROCESSES)))
    assert await asyncio.gather(*map(heard, processes)) == ["ready"] * PROCESSES
    dice = random.Random(8)
    chain: list[str] = []
    told: list[str] = []
    for number in range(ROUNDS):
        for process in processes:  # all at once: pushes and drains of all of them meet
            assert process.stdin is not None
            order = {"question": number, "chain": chain, "push": [number * 2, number * 2 + 1]}
            process.stdin.write(json.dumps(order).encode() + b"\n")
        drained = await asyncio.gather(*map(heard, processes))
        assert all(each == drained[0] for each in drained), "side by side and again: the same for all"
        told += drained[0]
        chain = [*chain, f"q{number}", f"a{number}-p{dice.randrange(PROCESSES)}"]  # whichever the user goes on with
    await asyncio.gather(*(process.communicate(b"") for process in processes))
    stores = SessionStores(EchoPaths(tmp_path), ManualClock())
    async with stores.open(USER, CHAT) as store:
        asked = drain_writer.asking(ROUNDS, "last", chain)
        told += json.loads(await EchoAEC(store).drain_pending_directives(asked, drain_writer.overlay))
    await stores.close()
    pushed = [f"p{n}-{identity}" for n in range(PROCESSES) for identity in range(2 * ROUNDS)]
    assert sorted(told) == sorted(pushed)


async def killed(folder: Path, first: int, dice: random.Random) -> list[list[Any]]:
    """Let a process push and drain for a random while, kill it, and return what it had said."""
    process = await started("endless", str(folder), str(first))
    assert process.stdout is not None
    assert await heard(process) == "ready"
    said = [await heard(process) for _ in range(dice.randint(0, 12))]
    await asyncio.sleep(dice.random() * 0.004)
    process.send_signal(signal.SIGKILL)
    rest = await process.stdout.read()
    said += [json.loads(line) for line in rest.splitlines(keepends=True) if line.endswith(b"\n")]
    assert await process.wait() == -signal.SIGKILL
    return said


async def kill_repeatedly(folder: Path, times: int) -> int:
    """Kill and check; how many questions were asked."""
    dice = random.Random(9)
    pushed: set[str] = set()
    drained: dict[int, list[str]] = {}
    for _ in range(times):
        first = max(drained, default=-1) + 1
        for what, *values in await killed(folder, first, dice):
            if what == "pushed":
                pushed.add(values[0])
            else:
                drained[values[0]] = values[1]
        stores = SessionStores(EchoPaths(folder), ManualClock())
        async with stores.open(USER, CHAT) as store:
            aec = EchoAEC(store)
            told: list[str] = []
            last = max(drained, default=-1)
            for number in range(last + 2):  # the last one may have been written and not said, or not written
                asked = drain_writer.asking(number, f"a{number}", drain_writer.chain_of(number))
                again = json.loads(await aec.drain_pending_directives(asked, drain_writer.overlay))
                assert drained.setdefault(number, again) == again, "what was told stays told, and is told again so"
                told += again
            assert len(told) == len(set(told)), "none is doubled"
            assert pushed <= set(told), "none is lost"
            pushed = set(told)
        await stores.close()
    return len(drained)


async def test_a_kill_in_the_middle_of_a_drain_loses_none_and_doubles_none(tmp_path: Path) -> None:
    assert await kill_repeatedly(tmp_path, 5) > 5


@pytest.mark.deep
@pytest.mark.timeout(600)
async def test_a_hundred_kills_lose_none_and_double_none(tmp_path: Path) -> None:
    assert await kill_repeatedly(tmp_path, 100) > 100
