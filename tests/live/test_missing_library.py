"""C11 and its kind: another plugin changes or removes a package that ECHO stands on."""

from collections.abc import Iterator

import pytest

from echo_cli._functions import FUNCTIONS_ROOT
from echo_cli._owui_api import OwuiAnswerError
from live.stack import Live

BROKEN = "echo_broken"


@pytest.fixture
def broken(live: Live) -> Iterator[str]:
    """ECHO's own pipe in an Open WebUI where its libraries cannot be imported."""
    source = (FUNCTIONS_ROOT / "pipes" / "echo_orchestrator.py").read_text(encoding="utf-8")
    content = source.replace("from echo_runtime import", "from echo_runtime_that_is_gone import")
    assert content != source
    form = {"id": BROKEN, "name": "Broken", "content": content, "meta": {"description": ""}}
    live.admin.post("/api/v1/functions/create", form)
    live.admin.post(f"/api/v1/functions/id/{BROKEN}/toggle")
    live.admin.get("/api/models", refresh="true")
    yield BROKEN
    live.admin.delete(f"/api/v1/functions/id/{BROKEN}/delete")


def test_missing_libraries_are_told_and_leave_the_function_on(live: Live, broken: str) -> None:
    """Open WebUI would switch off a function whose import fails, and users would only read that there is no model."""
    turn = live.admin.turn("Hello?", model=broken)
    assert "install the echo-owui wheel" in turn.error
    assert "installez la roue echo-owui" in turn.error
    assert "No module named 'echo_runtime_that_is_gone'" in live.log()
    reference = turn.error.rpartition("(")[2].rstrip(")")
    assert f"is_gone' ({reference})" in live.log()
    with pytest.raises(OwuiAnswerError) as refused:
        live.admin.complete([{"role": "user", "content": "Hello?"}], model=broken)
    assert "503" in str(refused.value)
    assert "install the echo-owui wheel" in str(refused.value)
    [chunk] = list(live.admin.stream([{"role": "user", "content": "Hello?"}], model=broken))
    assert "install the echo-owui wheel" in chunk["error"]
    assert live.admin.get(f"/api/v1/functions/id/{broken}")["is_active"] is True
