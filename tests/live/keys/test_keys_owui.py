"""Keys inside a real Open WebUI: who may see them, and that none stays in its database."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from live.keys.conftest import CURIOUS, LIFECYCLE
from live.keys.owui import OpenWebUI

pytestmark = [pytest.mark.deep, pytest.mark.timeout(400)]

Until = Callable[[Callable[[], bool]], None]
INSTANCE_KEY = "instance-key-for-the-tests-7Q9x"
ANAS_KEY = "the-own-key-of-ana-for-tests-1Zp4"
VALVES = "/api/v1/functions/id/echo_orchestrator/valves/update"


def test_the_routes_need_a_token(owui: OpenWebUI) -> None:
    assert owui.call("GET", "/echo/api/health", token="").json()["status"] == "ok"
    for method, path in [("GET", "/echo/api/keys"), ("PUT", "/echo/api/keys"), ("DELETE", "/echo/api/keys"),
                         ("POST", "/echo/api/keys/test"), ("GET", "/echo/api/admin/key")]:  # fmt: skip
        assert owui.call(method, path, {"key": ANAS_KEY}, token="").status_code == 401, path
        assert owui.call(method, path, {"key": ANAS_KEY}, token="wrong").status_code == 401, path


def test_a_user_never_sees_anothers_key(owui: OpenWebUI) -> None:
    _, ana = owui.add_user("ana")
    _, ben = owui.add_user("ben")
    put = owui.call("PUT", "/echo/api/keys", {"key": f" {ANAS_KEY} "}, token=ana)
    assert put.json()["keys"][0]["tail"] == "…1Zp4"
    assert ANAS_KEY not in put.text
    seen = owui.call("GET", "/echo/api/keys", token=ben)
    assert seen.json() == {"keys": [], "fallback": None, "simulated": False, "admin": False}
    for path in ("/echo/api/admin/key", "/echo/api/admin/key/test"):
        assert owui.call("GET" if path.endswith("key") else "POST", path, token=ben).status_code == 401
    assert owui.call("DELETE", "/echo/api/keys", token=ben).json()["keys"] == []
    assert len(owui.call("GET", "/echo/api/keys", token=ana).json()["keys"]) == 1
    assert owui.call("DELETE", "/echo/api/keys", token=ana).json()["keys"] == []


def test_another_plugin_is_told_no_key(owui: OpenWebUI, until: Until) -> None:
    owui.install("curious", CURIOUS)
    owui.call("PUT", "/echo/api/keys", {"key": ANAS_KEY}).raise_for_status()
    owui.call("POST", VALVES, {"GEMINI_API_KEY": INSTANCE_KEY}).raise_for_status()
    until(lambda: owui.valves("echo_orchestrator")["GEMINI_API_KEY"] == "stored")
    question = {"model": "curious", "messages": [{"role": "user", "content": "what do you know?"}]}
    told = owui.call("POST", "/api/chat/completions", question).raise_for_status().text
    assert "admin@example.com" in told
    for key in (ANAS_KEY, INSTANCE_KEY):
        assert key not in told
        assert key[:12] not in told
    owui.call("DELETE", "/echo/api/keys").raise_for_status()


def test_a_key_typed_into_the_valve_leaves_open_webuis_database(owui: OpenWebUI, until: Until) -> None:
    owui.call("POST", VALVES, {"GEMINI_API_KEY": INSTANCE_KEY}).raise_for_status()
    until(lambda: owui.valves("echo_orchestrator")["GEMINI_API_KEY"] == "stored")
    assert owui.call("GET", "/echo/api/admin/key").json()["keys"][0]["tail"] == "…7Q9x"
    until(lambda: INSTANCE_KEY.encode() not in owui.database_bytes())
    assert INSTANCE_KEY not in owui.call("GET", "/api/v1/functions/export?include_valves=true").text
    assert INSTANCE_KEY not in owui.log


def test_emptying_the_valve_deletes_the_key(owui: OpenWebUI, until: Until) -> None:
    owui.call("PUT", "/echo/api/admin/key", {"key": INSTANCE_KEY}).raise_for_status()
    assert owui.valves("echo_orchestrator")["GEMINI_API_KEY"] == "stored"
    owui.call("POST", VALVES, {"GEMINI_API_KEY": "stored", "GEMINI_BASE_URL": "http://127.0.0.1:9"}).raise_for_status()
    assert len(owui.call("GET", "/echo/api/admin/key").json()["keys"]) == 1
    owui.call("POST", VALVES, {"GEMINI_API_KEY": ""}).raise_for_status()
    until(lambda: owui.call("GET", "/echo/api/admin/key").json()["keys"] == [])


def test_a_reload_replaces_the_routes(owui: OpenWebUI) -> None:
    owui.install("echo_lifecycle", LIFECYCLE + "\n# changed\n")
    owui.install("echo_lifecycle", LIFECYCLE)
    assert owui.call("GET", "/echo/api/health", token="").json()["status"] == "ok"
    owui.toggle("echo_lifecycle")
    assert owui.call("GET", "/echo/api/keys").headers["content-type"].startswith("text/html")
    owui.toggle("echo_lifecycle")
    assert owui.call("GET", "/echo/api/keys").json()["admin"] is True


def test_the_records_of_deleted_chats_and_users_go(owui: OpenWebUI, until: Until) -> None:
    user_id, token = owui.add_user("cyd")
    users = owui.data_dir / "echo" / "users"

    def new_chat(folder_id: str | None = None) -> tuple[str, Path]:
        form = {"chat": {"title": "t", "history": {"messages": {}, "currentId": None}}, "folder_id": folder_id}
        chat_id = owui.call("POST", "/api/v1/chats/new", form, token=token).raise_for_status().json()["id"]
        folder = users / user_id / "chats" / chat_id
        folder.mkdir(parents=True)
        (folder / "session.db").write_bytes(b"records")
        return chat_id, folder

    (kept_id, kept), (gone_id, gone) = new_chat(), new_chat()
    owui.call("DELETE", f"/api/v1/chats/{gone_id}", token=token).raise_for_status()
    until(lambda: not gone.exists())
    assert kept.exists()

    folder_id = owui.call("POST", "/api/v1/folders/", {"name": "f"}, token=token).raise_for_status().json()["id"]
    _, filed = new_chat(folder_id)
    deleted = owui.call("DELETE", f"/api/v1/folders/{folder_id}?delete_contents=true", token=token)
    deleted.raise_for_status()
    until(lambda: not filed.exists())
    assert kept.exists()

    owui.call("DELETE", "/api/v1/chats/", token=token).raise_for_status()
    until(lambda: not kept.exists())

    _, last = new_chat()
    owui.call("PUT", "/echo/api/keys", {"key": ANAS_KEY}, token=token).raise_for_status()
    owui.call("DELETE", f"/api/v1/users/{user_id}").raise_for_status()
    until(lambda: not (users / user_id).exists())
    assert not last.exists()
    assert kept_id != gone_id


def test_a_start_serves_the_routes_and_makes_up_for_what_was_missed(owui: OpenWebUI, until: Until) -> None:
    admin_id = owui.call("GET", "/api/v1/auths/").json()["id"]
    orphan = owui.data_dir / "echo" / "users" / admin_id / "chats" / "11111111-2222-4333-8444-555555555555"
    orphan.mkdir(parents=True)
    owui.stop()
    database = sqlite3.connect(owui.data_dir / "webui.db")
    valves = json.dumps({"GEMINI_API_KEY": INSTANCE_KEY, "GEMINI_BASE_URL": "http://127.0.0.1:9"})
    with database:
        database.execute("UPDATE function SET valves = ? WHERE id = 'echo_orchestrator'", (valves,))
    database.close()
    assert INSTANCE_KEY.encode() in owui.database_bytes()
    owui.start()
    assert owui.call("GET", "/echo/api/health", token="").json()["status"] == "ok"
    until(lambda: owui.valves("echo_orchestrator")["GEMINI_API_KEY"] == "stored")
    assert owui.valves("echo_orchestrator")["GEMINI_BASE_URL"] == "http://127.0.0.1:9"
    until(lambda: INSTANCE_KEY.encode() not in owui.database_bytes())
    until(lambda: not orphan.exists())
