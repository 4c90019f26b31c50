"""`echoctl serve`, as the container runs it: ECHO is there before anybody has an account, and choices are kept."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from echo_cli._functions import discover_functions
from echo_cli._model_record import ECHO_MODEL_ID
from echo_cli._ports import free_port
from echo_cli._process import Child
from echo_constants import ECHO_VERSION
from echo_runtime.bundle_setup import MARK
from live.bare import BOOT_LIMIT_S, SETTINGS
from live.client import Client, poll

pytestmark = [pytest.mark.owui, pytest.mark.timeout(600)]

LIBS = Path(__file__).resolve().parents[2] / "libs"
ACCOUNT = {"name": "First", "email": "first@localhost", "password": "a-password-for-tests"}


@contextmanager
def served(data: Path) -> Iterator[Client]:
    """`echoctl serve` on a data folder, without any account in its settings."""
    port = free_port()
    env = {
        **os.environ,
        **SETTINGS,
        "PYTHONPATH": str(LIBS),
        "DATA_DIR": str(data),
        "STATIC_DIR": str(data / "static"),
        "WEBUI_SECRET_KEY": "a secret for tests that is long enough",
    }
    command = [sys.executable, "-m", "echo_cli", "serve", "--port", str(port)]
    child = Child("serve", command, env=env, log=data / "logs" / "serve.log", cwd=data)
    client = Client(f"http://127.0.0.1:{port}")

    def up() -> bool | None:
        assert child.exit_status is None, child.tail()
        try:
            return httpx.get(f"{client.url}/ready", trust_env=False).is_success or None
        except httpx.TransportError:
            return None

    try:
        poll(up, "Open WebUI", BOOT_LIMIT_S)
        yield client
    finally:
        client.close()
        child.end()


@pytest.mark.deep
def test_echo_is_there_from_the_first_moment_and_what_was_switched_off_stays_off(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        assert client.get("/echo/api/health") == {"status": "ok", "version": ECHO_VERSION}
        client.token = client.post("/api/v1/auths/signup", ACCOUNT)["token"]
        stored = {item["id"]: item for item in client.get("/api/v1/functions/export")}
        for file in discover_functions():
            if file.kind != "tool":
                assert stored[file.id]["content"] == file.source
                assert stored[file.id]["is_active"] is True
                assert stored[file.id]["is_global"] is (file.scope == "global")
        tools = {item["id"]: item for item in client.get("/api/v1/tools/export")}
        for file in discover_functions():
            if file.kind == "tool":
                assert tools[file.id]["content"] == file.source
                assert tools[file.id]["specs"]
                assert tools[file.id]["access_grants"][0]["principal_id"] == "*"
        assert ECHO_MODEL_ID in {model["id"] for model in client.get("/api/models")["data"]}
        (record,) = (item for item in client.get("/api/v1/models/base") if item["id"] == ECHO_MODEL_ID)
        assert record["access_grants"][0]["principal_id"] == "*"

        client.post(f"/api/v1/functions/id/{ECHO_MODEL_ID}/toggle")
        lifecycle = stored["echo_lifecycle"]
        edited = {**lifecycle, "content": lifecycle["content"] + "\n# an older version\n"}
        client.post("/api/v1/functions/id/echo_lifecycle/update", edited)
        retired = {**lifecycle, "id": "echo_retired", "meta": {"description": "", MARK: {"version": "0.0.1"}}}
        client.post("/api/v1/functions/create", retired)
        client.post("/api/v1/functions/create", {**retired, "id": "somebody_elses", "meta": {"description": ""}})

    with served(tmp_path) as client:
        client.sign_in(ACCOUNT["email"], ACCOUNT["password"])
        again = {item["id"]: item for item in client.get("/api/v1/functions/export")}
        assert again[ECHO_MODEL_ID]["is_active"] is False, "switched off by the administrator"
        assert again["echo_lifecycle"]["content"] == lifecycle["content"], "brought up to date"
        assert "echo_retired" not in again
        assert "somebody_elses" in again
