"""Fixtures for the whole pipe in process: `kit` over a simulator, with what Open WebUI does played."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from echo_runtime import PipeCall, _owui, _owui_rights, orchestrator
from sim_fixture import RunningSim, running_sim, sim
from turn_kit import Kit, pipe

__all__ = ["kit", "plain_results", "running_sim", "sim"]


@pytest.fixture
async def kit(tmp_path: Path, sim: RunningSim) -> AsyncIterator[Kit]:
    async with pipe(tmp_path, sim) as opened:
        yield opened


@pytest.fixture(autouse=True)
def plain_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open WebUI's own reading of results and its permissions, played: it is not there."""

    async def readable(*args: Any, off_loop: bool) -> tuple[str, list[Any], list[Any]]:
        result = args[2]
        return result if isinstance(result, str) else json.dumps(result), [], []

    async def permitted(request: Any, user: Any, feature: str) -> bool:
        return True

    async def search_engine(request: Any) -> str:
        return ""

    async def no_stages(call: PipeCall) -> None:
        """What the filters do is not tested here."""

    monkeypatch.setattr(orchestrator, "run_missing_stages", no_stages)
    monkeypatch.setattr(_owui, "readable_result", readable)
    monkeypatch.setattr(_owui_rights, "may_use_feature", permitted)
    monkeypatch.setattr(_owui_rights, "search_engine", search_engine)
