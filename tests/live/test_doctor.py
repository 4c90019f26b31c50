"""Doctor on a real Open WebUI: first all is well, then one thing after the other is really broken and put right."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from typer.testing import CliRunner

from echo_cli import build_app
from echo_cli._exit_codes import ExitCode
from echo_cli._functions import discover_functions
from echo_cli._installer import Installer
from echo_cli._model_record import ECHO_MODEL_ID
from live.client import Client
from live.stack import Live

PIPE = f"/api/v1/functions/id/{ECHO_MODEL_ID}"
LIFECYCLE = "/api/v1/functions/id/echo_lifecycle"
CHAT_CONFIG = "/api/v1/chats/config"
OWN_KEY = "/echo/api/admin/key"


def examine(live: Live) -> tuple[int, dict[str, Any]]:
    arguments = ["doctor", "--url", live.api_url, "--token", live.admin.token or "", "--json"]
    result = CliRunner().invoke(build_app(), arguments)
    return result.exit_code, json.loads(result.stdout)


def codes(report: dict[str, Any], severity: str = "problem") -> set[str]:
    found = (finding for check in report["checks"] for finding in check["findings"])
    return {finding["code"] for finding in found if finding["severity"] == severity}


def test_a_fresh_installation_is_healthy_and_everything_was_looked_at(live: Live) -> None:
    exit_code, report = examine(live)
    assert codes(report) == set(), report
    assert exit_code == ExitCode.OK and report["healthy"] is True
    assert [check["name"] for check in report["checks"] if check["verdict"] == "skipped"] == []


def test_the_account_of_our_own_stack_need_not_be_given(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(build_app(), ["doctor", "--url", live.api_url, "--json"])
    assert [check["name"] for check in json.loads(result.stdout)["checks"] if check["verdict"] == "skipped"] == []
    result = CliRunner().invoke(build_app(), ["install", "--url", live.api_url, "--json"])
    assert json.loads(result.stdout)["changed"] is False
    monkeypatch.setattr("os.getuid", lambda: os.geteuid() + 1)
    result = CliRunner().invoke(build_app(), ["install", "--url", live.api_url, "--json"])
    assert json.loads(result.stdout)["error"]["code"] == "no_account"


@contextmanager
def toggled(admin: Client, path: str) -> Iterator[None]:
    admin.post(f"{path}/toggle")
    try:
        yield
    finally:
        admin.post(f"{path}/toggle")


@contextmanager
def edited_function(admin: Client) -> Iterator[None]:
    present = admin.get(PIPE)
    admin.post(f"{PIPE}/update", {**present, "content": present["content"] + "\n# changed by hand\n"})
    try:
        yield
    finally:
        Installer(admin, discover_functions()).install()


@contextmanager
def edited_record(admin: Client, change: Callable[[dict[str, Any]], object]) -> Iterator[None]:
    before = next(item for item in admin.get("/api/v1/models/base") if item["id"] == ECHO_MODEL_ID)
    changed = json.loads(json.dumps(before))
    change(changed)
    admin.post("/api/v1/models/model/update", changed, id=ECHO_MODEL_ID)
    try:
        yield
    finally:
        admin.post("/api/v1/models/model/update", before, id=ECHO_MODEL_ID)


@contextmanager
def own_model(admin: Client) -> Iterator[None]:
    record = {"id": "tutor", "base_model_id": ECHO_MODEL_ID, "name": "Tutor", "meta": {}}
    admin.post("/api/v1/models/create", {**record, "params": {"function_calling": "legacy"}})
    try:
        yield
    finally:
        admin.post("/api/v1/models/model/delete", {"id": "tutor"})


@contextmanager
def own_compaction(admin: Client) -> Iterator[None]:
    before = admin.get(CHAT_CONFIG)
    admin.post(CHAT_CONFIG, {**before, "ENABLE_CONTEXT_COMPACTION": True})
    try:
        yield
    finally:
        admin.post(CHAT_CONFIG, before)


def set_param(record: dict[str, Any], key: str, value: object) -> None:
    record["params"][key] = value


BROKEN: dict[str, tuple[Callable[[Client], Any], str]] = {
    "pipe switched off": (lambda admin: toggled(admin, PIPE), "pipe_off"),
    "lifecycle switched off": (lambda admin: toggled(admin, LIFECYCLE), "lifecycle_not_running"),
    "function edited by hand": (edited_function, "function_outdated"),
    "built-in tools on": (
        lambda admin: edited_record(admin, lambda record: record["meta"]["capabilities"].update(builtin_tools=True)),
        "model_capability",
    ),
    "legacy function calling": (
        lambda admin: edited_record(admin, lambda record: set_param(record, "function_calling", "legacy")),
        "model_parameter",
    ),
    "think tags scanned": (
        lambda admin: edited_record(admin, lambda record: set_param(record, "reasoning_tags", True)),
        "model_parameter",
    ),
    "own model with legacy calls": (own_model, "model_parameter"),
    "native compaction on": (own_compaction, "native_compaction_on"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_on_the_server_is_found_and_gone_once_it_is_put_right(live: Live, name: str) -> None:
    broken, code = BROKEN[name]
    with broken(live.admin):
        exit_code, report = examine(live)
        assert code in codes(report), report
        assert exit_code == ExitCode.CHECK_FAILED
    assert codes(examine(live)[1]) == set()


def test_a_key_that_gemini_refuses_is_found(live: Live) -> None:
    # Under another name the simulator is not known as one, so that it is asked as Google would be.
    valves = live.admin.get(f"{PIPE}/valves") or {}
    elsewhere = live.sim.url.replace("127.0.0.1", "localhost")
    live.admin.post(f"{PIPE}/valves/update", {**valves, "GEMINI_BASE_URL": elsewhere})
    live.admin.request("PUT", OWN_KEY, {"key": "bad-key-that-nobody-takes"})
    try:
        assert codes(examine(live)[1]) == {"key_refused"}
    finally:
        live.admin.delete(OWN_KEY)
        live.admin.post(f"{PIPE}/valves/update", valves)
    assert codes(examine(live)[1]) == set()
    assert "simulator_answers" in codes(examine(live)[1], "warning")


def test_a_plain_user_is_told_that_an_administrator_is_needed(live: Live) -> None:
    arguments = ["doctor", "--url", live.api_url, "--token", live.new_user().token or "", "--json"]
    report = json.loads(CliRunner().invoke(build_app(), arguments).stdout)
    assert "owui_not_admin" in codes(report)
    assert {check["name"] for check in report["checks"] if check["verdict"] == "skipped"} == {"functions", "model"}
