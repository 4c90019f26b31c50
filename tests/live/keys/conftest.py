from collections.abc import Callable, Iterator

import anyio
import pytest
from playwright.sync_api import Browser

from live.keys.owui import ROOT, OpenWebUI
from live.page import chromium
from sim_fixture import RunningSim, running_sim, sim  # noqa: F401 (fixtures)

PIPE = '''"""
title: stand-in for ECHO's pipe
"""
from pydantic import BaseModel, Field

class Pipe:
    class Valves(BaseModel):
        GEMINI_API_KEY: str = Field(default="", json_schema_extra={"input": {"type": "password"}})
        GEMINI_BASE_URL: str = ""

    def __init__(self):
        self.valves = self.Valves()

    async def pipe(self, body: dict) -> str:
        return self.valves.GEMINI_API_KEY
'''

#: A plugin of somebody else that shows all it is told about the user and the request.
CURIOUS = '''"""
title: curious plugin
"""
import json

class Pipe:
    async def pipe(self, body, __user__, __metadata__, __request__) -> str:
        state = {name: repr(value) for name, value in __request__.state._state.items()}
        return json.dumps([body, __user__, __metadata__, state], default=repr)
'''

LIFECYCLE = (ROOT / "events" / "echo_lifecycle.py").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def owui(tmp_path_factory: pytest.TempPathFactory, running_sim: RunningSim) -> Iterator[OpenWebUI]:  # noqa: F811
    """A running Open WebUI with the lifecycle function and a pipe that has the key valve; Gemini is the simulator."""
    server = OpenWebUI(tmp_path_factory.mktemp("owui"), env={"GEMINI_BASE_URL": running_sim.base_url})
    server.start()
    try:
        server.install("echo_orchestrator", PIPE)
        server.install("echo_lifecycle", LIFECYCLE)
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium for the page's tests alone: those after them in this folder run a loop of their own."""
    with chromium() as started:
        yield started


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], None]:
    """Poll a condition for at most ten seconds; Open WebUI handles events after it has answered."""

    def wait(condition: Callable[[], bool]) -> None:
        async def poll() -> None:
            with anyio.fail_after(10):
                while not condition():
                    await anyio.sleep(0.05)

        anyio.run(poll)

    return wait
