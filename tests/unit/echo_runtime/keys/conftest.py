from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from echo_paths import EchoPaths
from echo_state_manager.crypto import MasterSecret
from echo_state_manager.identity import IdentityStore
from sim_fixture import running_sim, sim  # noqa: F401 (fixtures)
from store_kit import ManualClock


@pytest.fixture
def paths(tmp_path: Path) -> EchoPaths:
    return EchoPaths(tmp_path / "echo")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def identity(paths: EchoPaths, clock: ManualClock) -> AsyncIterator[IdentityStore]:
    store = IdentityStore(paths.identity_db, MasterSecret("ECHO_SECRET_KEY", "secret"), clock)
    yield store
    await store.close()
