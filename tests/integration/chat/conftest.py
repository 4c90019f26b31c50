from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chat_kit import Host, SavedChat
from sim_fixture import RunningSim, running_sim, sim
from turn_kit import pipe

__all__ = ["running_sim", "sim"]


@pytest.fixture
async def chat(tmp_path: Path, sim: RunningSim, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SavedChat]:
    """An empty saved chat of a user, with all of ECHO's filters on."""
    async with pipe(tmp_path, sim) as kit:
        host = Host()
        host.play(monkeypatch, kit)
        yield SavedChat(kit, host)
