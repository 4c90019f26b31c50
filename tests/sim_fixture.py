"""Starts the Gemini simulator for tests, on a thread with a loop of its own.

Use the `sim` fixture (a running simulator, as good as new before each test):

    pytest_plugins = ["sim_fixture"]         # in a conftest.py, or: from sim_fixture import sim  # noqa: F401

    async def test_x(sim):
        sim.script(faults.overloaded())
        ...  # talk to sim.base_url
        assert sim.requests()[0]["status"] == 503
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from echo_workers.gemini_sim import SimSettings, serve


class RunningSim:
    """A simulator that serves on 127.0.0.1.

    Args:
        base_url: `http://127.0.0.1:PORT` (or https), without a path.
    """

    def __init__(self, settings: SimSettings | None = None, *, certfile: str | None = None, keyfile: str | None = None):
        self._settings = settings
        self._tls = {"certfile": certfile, "keyfile": keyfile}
        self._ready = threading.Event()
        self._stop: Callable[[], None] | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="gemini-sim", daemon=True)
        self.port = 0
        self.base_url = ""

    def start(self) -> "RunningSim":
        self._thread.start()
        if not self._ready.wait(10) or self._error is not None:
            raise RuntimeError("the simulator did not start") from self._error
        verify: Any = not self._tls["certfile"]
        self._control = httpx.Client(base_url=self.base_url, verify=verify, timeout=10)
        return self

    def stop(self) -> None:
        self._control.close()
        if self._stop is not None:
            self._stop()
        self._thread.join(10)
        assert not self._thread.is_alive(), "the simulator did not stop"

    def __enter__(self) -> "RunningSim":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._error = error
            self._ready.set()
            raise

    async def _serve(self) -> None:
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        self._stop = lambda: loop.call_soon_threadsafe(stopped.set)

        def ready(port: int) -> None:
            self.port = port
            self.base_url = f"{'https' if self._tls['certfile'] else 'http'}://127.0.0.1:{port}"
            self._ready.set()

        await serve("127.0.0.1", 0, shutdown_trigger=stopped.wait, on_ready=ready, settings=self._settings, **self._tls)

    def script(self, *entries: dict[str, Any]) -> int:
        """Queue scripted answers; returns how many are waiting."""
        answer = self._control.post("/__sim__/script", json=list(entries))
        assert answer.status_code == 200, answer.text
        return answer.json()["queued"]

    def requests(self) -> list[dict[str, Any]]:
        """What arrived, oldest first."""
        return self._control.get("/__sim__/requests").raise_for_status().json()

    def reset(self, *, everything: bool = False) -> None:
        """Empty the request list and the script queue; `everything` makes it a fresh simulator."""
        self._control.post("/__sim__/reset", json={"everything": everything}).raise_for_status()

    def advance(self, seconds: float) -> float:
        """Move the simulator's clock ahead; returns what it then shows, epoch seconds."""
        return self._control.post("/__sim__/clock", json={"advance_s": seconds}).raise_for_status().json()["now_s"]

    def settings(self, **values: Any) -> None:
        """Change `SimSettings` by name."""
        answer = self._control.post("/__sim__/settings", json=values)
        assert answer.status_code == 200, answer.text

    def wait_for(self, condition: Callable[[list[dict[str, Any]]], bool], limit_s: float = 5) -> list[dict[str, Any]]:
        """Poll the request list until the condition holds; fails after the limit."""
        deadline = time.monotonic() + limit_s
        while True:
            rows = self.requests()
            if condition(rows):
                return rows
            assert time.monotonic() < deadline, f"not met within {limit_s} s: {rows}"
            threading.Event().wait(0.01)


@pytest.fixture(scope="session")
def running_sim() -> Iterator[RunningSim]:
    """One simulator for the whole run; prefer `sim`."""
    with RunningSim() as running:
        yield running


@pytest.fixture
def sim(running_sim: RunningSim) -> RunningSim:
    """The simulator as if it had just started."""
    running_sim.reset(everything=True)
    return running_sim
