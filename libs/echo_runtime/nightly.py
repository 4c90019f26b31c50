"""What is done with memories at night: what has expired is forgotten, what was observed is fused. One user at a time.

Any process of the instance does it, under a lease, once a night; a night that nobody was there for is made up for at
the next look.
"""

import asyncio
import logging
import os
import socket
from dataclasses import dataclass
from functools import cache
from typing import Final
from uuid import uuid4

from echo_constants import EchoError
from echo_core.ports import Clock
from echo_runtime.memory_desk import MemoryDesk
from echo_state_manager.leases import JobLeases

log = logging.getLogger(__name__)

JOB: Final = "memory_nightly"

_DAY_S: Final = 24 * 3600
#: When a night's work is due, in seconds after midnight UTC. Source: our choice, night or early morning in Europe.
DUE_S: Final = 3 * 3600
#: A process that is silent for so long has lost the job. Source: our choice; one user takes well under a second.
LEASE_S: Final = 600.0
#: Between two looks whether it is time, and before the first one: a server that starts has other things to do.
#: Source: our choice.
LOOK_S: Final = 600.0
FIRST_LOOK_S: Final = 60.0

_tasks: set[asyncio.Task[None]] = set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What one night's work came to.

    Args:
        users: whose memories were looked at.
        expired: memories that were forgotten.
        fused: memories that were made of others, or rose to level 2.
        failed: users whose memories could not be used.
    """

    users: int = 0
    expired: int = 0
    fused: int = 0
    failed: int = 0


class Nightly:
    """The nightly work on all users' memories.

    Args:
        desk: the memories; each call names one user.
        leases: sees to it that one process does it.
        clock: time.
    """

    def __init__(self, desk: MemoryDesk, leases: JobLeases, clock: Clock) -> None:
        self._desk = desk
        self._leases = leases
        self._clock = clock

    async def run_if_due(self) -> Night | None:
        """Do what is due; None where nothing is, or another process is at it.

        Raises:
            StateError: identity.db cannot be used.
        """
        night = int((self._clock.now_s() - DUE_S) // _DAY_S)
        if not await self._leases.take(JOB, night, LEASE_S):
            return None
        try:
            done = await self._run()
        except BaseException:
            await asyncio.shield(self._leases.give_up(JOB))
            raise
        if done is not None:
            await self._leases.finish(JOB, night)
            log.info("Memories at night: %s", done)
        return done

    async def keep_looking(self) -> None:
        """Look again and again; ends when it is cancelled."""
        await self._clock.sleep(FIRST_LOOK_S)
        while True:
            try:
                await self.run_if_due()
            except EchoError as error:
                log.warning("The nightly work waits for the next look: %s", error)
            await self._clock.sleep(LOOK_S)

    async def _run(self) -> Night | None:
        """All users, one after the other; None where the lease was lost on the way."""
        users, expired, fused, failed = await self._desk.users(), 0, 0, 0
        for user_id in users:
            if not await self._leases.renew(JOB, LEASE_S):
                return None
            try:
                forgotten, made = await self._desk.tidy(user_id)
            except EchoError as error:  # one user's file must not keep the others waiting
                log.warning("The memories of one user were left as they are: %s", error)
                failed += 1
            else:
                expired, fused = expired + forgotten, fused + made
        return Night(users=len(users), expired=expired, fused=fused, failed=failed)


@cache
def process_name() -> str:
    """Names this process among those that share a data folder."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"


def begin() -> None:
    """Begin to look after the night's work on the running server."""
    task = asyncio.get_running_loop().create_task(_look())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def _look() -> None:
    from echo_runtime.composition import services

    try:
        shared = services()
    except EchoError as error:
        log.warning("There is no nightly work: %s", error)
        return
    leases = JobLeases(shared.identity, shared.clock, process_name())
    await Nightly(shared.memories, leases, shared.clock).keep_looking()


async def end() -> None:
    """Stop; what is not done is done after the next start."""
    tasks = tuple(_tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
