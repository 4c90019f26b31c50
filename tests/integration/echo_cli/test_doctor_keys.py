"""Doctor asks the simulator about keys, as it would ask Google."""

import pytest

from echo_cli._checks.base import Finding, Surroundings
from echo_cli._checks.keys import KeysCheck
from echo_constants import LOCALES
from echo_workers.gemini_sim.core import faults
from sim_fixture import RunningSim

KEY = "a-key-that-the-simulator-takes"


def examined(**environ: str) -> list[Finding]:
    return list(KeysCheck().run(Surroundings(environ=environ, environ_is_known=True)))


def texts(finding: Finding) -> str:
    both = (finding.diagnosis.what, finding.diagnosis.remedy)
    return " ".join(text.render(locale, **finding.fields) for text in both for locale in LOCALES)


def test_a_key_that_gemini_takes_is_in_order(sim: RunningSim) -> None:
    assert examined(GEMINI_API_KEY=KEY, GEMINI_BASE_URL=sim.base_url) == []
    (request,) = sim.requests()
    assert (request["method"], request["path"].split("?")[0]) == ("GET", "/v1beta/models")


def test_in_a_demo_no_key_is_called_good(sim: RunningSim) -> None:
    (finding,) = examined(GEMINI_API_KEY=KEY, GEMINI_BASE_URL=sim.base_url, ECHO_SIMULATOR_URL=f"{sim.base_url}/")
    assert (finding.diagnosis.code, finding.diagnosis.severity) == ("simulator_answers", "warning")
    assert "GEMINI_API_KEY=... make run" in texts(finding)
    assert sim.requests() == []
    assert examined(GEMINI_API_KEY=KEY, GEMINI_BASE_URL=sim.base_url, ECHO_SIMULATOR_URL="http://127.0.0.1:9") == []


def test_a_key_that_gemini_refuses_is_found_and_not_shown(sim: RunningSim) -> None:
    (finding,) = examined(GEMINI_API_KEY="bad-key-of-somebody", GEMINI_BASE_URL=sim.base_url)
    assert finding.diagnosis.code == "key_refused"
    assert "bad-key-of-somebody" not in texts(finding) + finding.detail


def test_a_key_without_quota_is_a_warning_only(sim: RunningSim) -> None:
    sim.script(faults.bare_429())
    (finding,) = examined(GEMINI_API_KEY=KEY, GEMINI_BASE_URL=sim.base_url)
    assert (finding.diagnosis.code, finding.diagnosis.severity) == ("key_limited", "warning")


@pytest.mark.parametrize("fault", [faults.overloaded(), faults.hang() | {"end": "reset"}])
def test_a_backend_that_does_not_answer_well_is_found(sim: RunningSim, fault: dict[str, object]) -> None:
    sim.script(fault)
    (finding,) = examined(GEMINI_API_KEY=KEY, GEMINI_BASE_URL=sim.base_url)
    assert finding.diagnosis.code == "backend_unreachable"
    assert sim.base_url in texts(finding)


def test_a_backend_that_is_not_there_is_found() -> None:
    (finding,) = examined(GEMINI_API_KEY=KEY, GEMINI_BASE_URL="http://127.0.0.1:9")
    assert finding.diagnosis.code == "backend_unreachable"


def test_no_key_at_all_is_a_warning() -> None:
    (finding,) = examined()
    assert (finding.diagnosis.code, finding.diagnosis.severity) == ("key_missing", "warning")
