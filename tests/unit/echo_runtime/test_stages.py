from typing import Any, ClassVar

import pytest

from echo_constants import EchoError
from echo_runtime import PipeCall, _owui, stages
from echo_runtime._owui import FunctionSwitch
from echo_runtime.environment import Machine
from echo_runtime.health import DiskNearlyFull, Health
from echo_runtime.inlet_entry import enter
from echo_runtime.model_record import ECHO_MODEL_ID
from echo_runtime.stages import STAGES, StageInput, run_missing_stages, run_stage
from echo_runtime.turn_context import TurnContext, shared_context
from scripted import FakeClock

KEEP_ALIVE = "tcp_keepalive_filter"
ENVIRONMENT = "build_environment_domain"


class ScriptedHealth(Health):
    """Finds what the test says; in reality Open WebUI is asked where the folder is."""

    def __init__(self) -> None:
        self.found: EchoError | None = None

    def finding(self) -> EchoError | None:
        return self.found


@pytest.fixture(autouse=True)
def health(monkeypatch: pytest.MonkeyPatch) -> ScriptedHealth:
    scripted = ScriptedHealth()

    async def machine() -> Machine:
        return Machine(FakeClock(), scripted)

    monkeypatch.setattr(stages, "machine", machine)
    return scripted


class Valves:
    """As a filter's Valves."""

    def __init__(self, **values: Any) -> None:
        self._values = values

    def model_dump(self) -> dict[str, Any]:
        return self._values


class UserValves(Valves):
    """As a filter's UserValves."""

    def __init__(self, *, enabled: bool) -> None:
        super().__init__(ENABLED=enabled)
        self.ENABLED = enabled


def call_with(metadata: dict[str, Any]) -> PipeCall:
    return PipeCall(body={}, user={}, metadata=metadata, valves=None, tools={})


def switches(monkeypatch: pytest.MonkeyPatch, **found: FunctionSwitch) -> list[list[str]]:
    """Open WebUI's functions as the pipe would read them; what was asked for."""
    asked: list[list[str]] = []

    async def function_switches(names: list[str]) -> dict[str, FunctionSwitch]:
        asked.append(names)
        return found

    monkeypatch.setattr(_owui, "function_switches", function_switches)
    return asked


async def test_the_filter_leaves_its_stage_for_the_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = switches(monkeypatch)
    metadata: dict[str, Any] = {}
    await enter(KEEP_ALIVE, Valves(HEARTBEAT_S=3, SHOW_STATUS=False), {}, metadata, {"id": ECHO_MODEL_ID})
    for name in STAGES:
        await run_stage(name, StageInput(metadata=metadata))
    call = call_with(metadata)
    await run_missing_stages(call)
    assert asked == []
    assert call.shared.heartbeat is not None
    assert (call.shared.heartbeat.interval_s, call.shared.heartbeat.shows_status) == (3.0, False)


async def test_another_model_is_left_alone() -> None:
    metadata: dict[str, Any] = {}
    await enter(KEEP_ALIVE, Valves(), {}, metadata, {"id": "llama"})
    assert metadata == {}


async def test_a_workspace_model_on_echo_has_the_stage() -> None:
    metadata: dict[str, Any] = {}
    await enter(KEEP_ALIVE, Valves(), {}, metadata, {"id": "tutor", "info": {"base_model_id": ECHO_MODEL_ID}})
    assert shared_context(metadata).stages == {KEEP_ALIVE: "done"}


async def test_a_stage_that_a_user_switched_off_stays_off_in_the_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    switches(monkeypatch, **{KEEP_ALIVE: FunctionSwitch(active=True, valves={})})
    metadata: dict[str, Any] = {}
    user = {"valves": UserValves(enabled=False)}
    await enter(KEEP_ALIVE, Valves(), user, metadata, {"id": ECHO_MODEL_ID})
    call = call_with(metadata)
    await run_missing_stages(call)
    assert (call.shared.stages[KEEP_ALIVE], call.shared.heartbeat) == ("off", None)


async def test_the_pipe_does_what_no_filter_did(monkeypatch: pytest.MonkeyPatch) -> None:
    switches(monkeypatch)
    call = call_with({})
    await run_missing_stages(call)
    assert set(call.shared.stages) == set(STAGES)
    assert call.shared.heartbeat is not None


async def test_a_filter_that_an_administrator_switched_off_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    switches(monkeypatch, **{KEEP_ALIVE: FunctionSwitch(active=False, valves={})})
    call = call_with({})
    await run_missing_stages(call)
    assert (call.shared.stages[KEEP_ALIVE], call.shared.heartbeat) == ("off", None)


async def test_an_installed_filter_that_did_not_run_lends_its_valves(monkeypatch: pytest.MonkeyPatch) -> None:
    switches(monkeypatch, **{KEEP_ALIVE: FunctionSwitch(active=True, valves={"HEARTBEAT_S": 9})})
    call = call_with({})
    await run_missing_stages(call)
    assert call.shared.heartbeat is not None and call.shared.heartbeat.interval_s == 9.0


async def test_a_broken_stage_is_not_tried_again_and_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(given: StageInput, shared: TurnContext) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(stages, "STAGES", {KEEP_ALIVE: broken})
    switches(monkeypatch)
    metadata: dict[str, Any] = {}
    await enter(KEEP_ALIVE, Valves(), {}, metadata, {"id": ECHO_MODEL_ID})
    call = call_with(metadata)
    await run_missing_stages(call)
    assert call.shared.stages == {KEEP_ALIVE: "failed"}
    assert "the turn goes on without it" in caplog.text


async def test_switches_that_cannot_be_read_count_as_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def unreadable(names: list[str]) -> dict[str, FunctionSwitch]:
        raise OSError("database is locked")

    monkeypatch.setattr(_owui, "function_switches", unreadable)
    call = call_with({})
    await run_missing_stages(call)
    assert call.shared.heartbeat is not None
    assert "database is locked" in caplog.text


@pytest.mark.parametrize(("role", "told"), [("admin", 1), ("user", 0)])
async def test_only_an_administrator_is_told_what_is_wrong_with_the_machine(
    health: ScriptedHealth, role: str, told: int
) -> None:
    health.found = DiskNearlyFull(free_mib=3, folder="/data")
    metadata: dict[str, Any] = {"variables": {"{{USER_LANGUAGE}}": "fr-FR"}}
    await enter(ENVIRONMENT, Valves(), {"role": role}, metadata, {"id": ECHO_MODEL_ID})
    notices = shared_context(metadata).notices
    assert len(notices) == told
    assert all("3 Mio" in text for text in notices)


async def test_an_api_caller_is_spoken_to_in_the_language_it_accepts() -> None:
    class Request:
        headers: ClassVar[dict[str, str]] = {"accept-language": "fr"}

    metadata: dict[str, Any] = {}
    await enter(ENVIRONMENT, Valves(), {}, metadata, {"id": ECHO_MODEL_ID}, Request())
    assert call_with(metadata).locale == "fr"
