"""The nightly work: once a night in one process, made up for when it was missed, and each user by himself."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from echo_constants import Bilingual, StateError
from echo_core.memories import FUSED, RETENTION_DAYS, Fact, Provenance
from echo_core.passages import META_ARTIFACTS
from echo_memory import EdgeEngine, PassageStore
from echo_memory.keeping import Proposal
from echo_paths import EchoPaths
from echo_runtime.memory_desk import MemoryDesk
from echo_runtime.nightly import FIRST_LOOK_S, JOB, LEASE_S, LOOK_S, Night, Nightly
from echo_state_manager.identity import IdentityStore
from echo_state_manager.leases import JobLeases
from echo_state_manager.memories import MemoryStores
from passage_kit import WordEmbedder
from store_kit import SECRET, ManualClock

DAY_S = 24 * 3600


class Unreadable(StateError):
    code = "unreadable"
    message = Bilingual(en="unreadable", fr="illisible")


class House:
    """One data folder, with as many processes as there are leases."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock(1_800_000_000.0 // DAY_S * DAY_S + 12 * 3600)
        paths = EchoPaths(folder)
        self.passages = PassageStore(EdgeEngine(folder / "qdrant"), WordEmbedder())
        self.identity = IdentityStore(paths.identity_db, SECRET, self.clock)
        self.desk = MemoryDesk(MemoryStores(paths, self.clock), lambda: self.passages, self.clock)

    def process(self, name: str, desk: MemoryDesk | None = None) -> Nightly:
        return Nightly(desk or self.desk, JobLeases(self.identity, self.clock, name), self.clock)

    async def observe(self, user_id: str, topic: str, value: str) -> None:
        fact = Fact(text=f"The {topic} of {user_id} is {value}.", topic=topic, value=value)
        await self.desk.keep(user_id, Proposal(fact=fact, origin="reading", source=Provenance(chat_id="c")))

    async def texts(self, user_id: str) -> list[str]:
        return [memory.text for memory in (await self.desk.list_memories(user_id)).memories]

    async def close(self) -> None:
        await self.desk.close()
        await self.identity.close()
        await self.passages.close()


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    opened = House(tmp_path)
    yield opened
    await opened.close()


async def test_a_night_is_worked_once_and_the_next_one_again(house: House) -> None:
    one, other = house.process("one"), house.process("other")
    assert await one.run_if_due() == Night()
    assert await one.run_if_due() is None
    assert await other.run_if_due() is None
    house.clock.at_s += DAY_S
    assert await other.run_if_due() == Night()
    assert await one.run_if_due() is None


async def test_nights_that_nobody_was_there_for_are_made_up_for_at_once(house: House) -> None:
    await house.observe("ada", "favourite tea", "oolong")
    assert await house.process("one").run_if_due() == Night(users=1)
    house.clock.at_s += (RETENTION_DAYS[0] + 5) * DAY_S
    assert await house.process("two").run_if_due() == Night(users=1, expired=1)
    assert await house.texts("ada") == []
    assert await house.passages.of("ada", META_ARTIFACTS).count() == 0, "nor can it be found"
    assert await house.process("two").run_if_due() is None


async def test_each_users_observations_are_fused_by_themselves(house: House) -> None:
    for user_id in ("ada", "eve"):
        await house.observe(user_id, "hobbies", f"chess with {user_id}")
        await house.observe(user_id, "hobbies", f"sailing with {user_id}")
    night = await house.process("one").run_if_due()
    assert night == Night(users=2, fused=2)
    for user_id, stranger in (("ada", "eve"), ("eve", "ada")):
        [memory] = (await house.desk.list_memories(user_id)).memories
        assert memory.importance == FUSED
        assert f"chess with {user_id}" in memory.text
        assert f"sailing with {user_id}" in memory.text
        assert stranger not in memory.text
        assert len(await house.desk.history(user_id, memory.id)) == 3


async def test_while_one_process_is_at_it_no_other_is_until_it_falls_silent(house: House) -> None:
    dead = JobLeases(house.identity, house.clock, "dead")
    night = int((house.clock.now_s() - 3 * 3600) // DAY_S)
    assert await dead.take(JOB, night, LEASE_S)
    living = house.process("living")
    assert await living.run_if_due() is None
    house.clock.at_s += LEASE_S + 1
    assert await living.run_if_due() == Night()
    assert not await dead.renew(JOB, LEASE_S), "who was too slow has lost it"


async def test_two_processes_at_the_same_moment_are_one_at_work(house: House) -> None:
    nights = await asyncio.gather(*(house.process(str(n)).run_if_due() for n in range(8)))
    assert sum(night is not None for night in nights) == 1


async def test_one_users_trouble_keeps_nobody_waiting(house: House) -> None:
    class Troubled(MemoryDesk):
        async def users(self) -> list[str]:
            return ["broken", *await house.desk.users()]

        async def tidy(self, user_id: str) -> tuple[int, int]:
            if user_id == "broken":
                raise Unreadable
            return await house.desk.tidy(user_id)

    await house.observe("ada", "hobbies", "chess")
    await house.observe("ada", "hobbies", "sailing")
    troubled = Troubled(MemoryStores(EchoPaths(Path("/nowhere")), house.clock), lambda: house.passages, house.clock)
    assert await house.process("one", troubled).run_if_due() == Night(users=2, fused=1, failed=1)


async def test_a_night_that_broke_off_is_begun_again(house: House) -> None:
    class Cut(MemoryDesk):
        async def users(self) -> list[str]:
            raise asyncio.CancelledError

    cut = Cut(MemoryStores(EchoPaths(Path("/nowhere")), house.clock), lambda: house.passages, house.clock)
    with pytest.raises(asyncio.CancelledError):
        await house.process("one", cut).run_if_due()
    assert await house.process("two").run_if_due() == Night()


async def test_the_server_looks_by_itself_soon_after_its_start_and_goes_on_looking(house: House) -> None:
    waits: list[float] = []
    looked = asyncio.Event()

    class Sleepless(ManualClock):
        async def sleep(self, delay_s: float) -> None:
            waits.append(delay_s)
            if len(waits) == 3:
                looked.set()
                await asyncio.Event().wait()

    clock = Sleepless(house.clock.at_s)
    nightly = Nightly(house.desk, JobLeases(house.identity, clock, "one"), clock)
    task = asyncio.create_task(nightly.keep_looking())
    await asyncio.wait_for(looked.wait(), 10)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert waits == [FIRST_LOOK_S, LOOK_S, LOOK_S]
    assert await nightly.run_if_due() is None, "the first look did the work"
