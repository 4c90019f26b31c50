"""Installing into a real Open WebUI: twice, over changes, over an administrator's choices, and out again."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from echo_cli import build_app
from echo_cli._exit_codes import ExitCode
from echo_cli._functions import discover_functions
from echo_cli._installer import ForeignFunctionError, Installer, Report, function_form
from echo_cli._owui_api import OwuiAnswerError
from live.client import Client
from live.conftest import MINIMAL
from live.stack import Live

pytestmark = pytest.mark.owui
PIPE = "echo_orchestrator"

HEAD = '"""\ntitle: {title}\nid: {id}\ntitle_fr: {title} fr\n"""\n\n\n'
BODIES = {
    "filters/echo_filter.py": "class Filter:\n    pass\n",
    "actions/echo_action.py": "class Action:\n    pass\n",
    "events/echo_event.py": "class Event:\n    async def event(self, event: dict):\n        pass\n",
    "tools/echo_tool.py": 'class Tools:\n    def one(self) -> int:\n        """Count."""\n        return 1\n',
}
EXTRAS = {name: HEAD.format(title=Path(name).stem, id=Path(name).stem) + body for name, body in BODIES.items()}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """An Open WebUI of this module's own; nobody but its pipe answers."""
    stack = Live(tmp_path_factory.mktemp("plain"), backend="google", functions_root=MINIMAL)
    yield stack.start()
    stack.stop()


@pytest.fixture
def files(plain: Live, tmp_path: Path) -> Iterator[Path]:
    """Function files of all kinds, and an Open WebUI that has none of them."""
    root = tmp_path / "functions"
    shutil.copytree(MINIMAL, root)
    for name, source in EXTRAS.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(source, encoding="utf-8")
    Installer(plain.admin, discover_functions(root)).uninstall()
    yield root
    Installer(plain.admin, discover_functions(root)).uninstall()


def install(plain: Live, root: Path, **options: Any) -> Report:
    return Installer(plain.admin, discover_functions(root)).install(**options)


def actions(report: Report) -> dict[str, str]:
    return {f"{change.kind} {change.id}": change.action for change in report.changes}


def function(admin: Client, identity: str) -> dict[str, Any]:
    found: dict[str, Any] = admin.get(f"/api/v1/functions/id/{identity}")
    return found


def test_everything_is_installed_and_every_user_can_talk_to_it(plain: Live, files: Path) -> None:
    report = install(plain, files)
    assert set(actions(report).values()) == {"created"} and report.changed
    assert {name: function(plain.admin, name)["is_active"] for name in (PIPE, "echo_filter", "echo_event")} == {
        PIPE: True,
        "echo_filter": True,
        "echo_event": True,
    }
    assert function(plain.admin, "echo_filter")["is_global"] is True
    assert function(plain.admin, "echo_action")["is_global"] is False
    model = plain.admin.get("/api/v1/models/model", id=PIPE)
    assert model["meta"]["actionIds"] == ["echo_action"] and model["meta"]["toolIds"] == ["echo_tool"]
    assert model["meta"]["profile_image_url"].startswith("data:image/png;base64,")
    assert model["meta"]["i18n"]["fr-FR"]["description"]

    user = plain.new_user()
    assert [offered["id"] for offered in user.get("/api/models")["data"]] == [PIPE]
    assert user.turn("hello").text == "You said: hello"
    assert "echo_tool" in {tool["id"] for tool in user.get("/api/v1/tools/")}


def test_a_second_run_changes_nothing_and_says_so(plain: Live, files: Path) -> None:
    install(plain, files)
    before = plain.admin.get("/api/v1/functions/export"), plain.admin.get("/api/v1/models/base")
    report = install(plain, files)
    assert set(actions(report).values()) == {"unchanged"} and not report.changed
    assert (plain.admin.get("/api/v1/functions/export"), plain.admin.get("/api/v1/models/base")) == before


def test_changed_source_is_updated_in_place_and_valves_stay(plain: Live, files: Path) -> None:
    install(plain, files)
    path = f"/api/v1/functions/id/{PIPE}/valves"
    plain.admin.post(f"{path}/update", {"GREETING": "Echo:"})
    pipe = files / "pipes" / "echo_orchestrator.py"
    pipe.write_text(pipe.read_text().replace('yield word + " "', 'yield word.upper() + " "'))

    report = install(plain, files, valves={"GREETING": "ignored", "LIMIT": "7"})
    assert actions(report)[f"pipe {PIPE}"] in ("updated", "valves_set")
    assert plain.admin.get(path) == {"GREETING": "Echo:", "LIMIT": 7}
    assert plain.new_user().turn("hello").text == "ECHO: HELLO"
    assert not install(plain, files, valves={"GREETING": "ignored", "LIMIT": "8"}).changed


def test_what_the_administrator_decided_stays(plain: Live, files: Path) -> None:
    install(plain, files)
    admin = plain.admin
    admin.post("/api/v1/functions/id/echo_filter/toggle")
    record = admin.get("/api/v1/models/model", id=PIPE)
    record["name"] = "Our assistant"
    record["params"] |= {"system": "Be brief.", "function_calling": "legacy"}
    admin.post("/api/v1/models/model/update", record)
    admin.post("/api/v1/models/model/access/update", {"id": PIPE, "access_grants": []})

    report = install(plain, files)
    assert report.switched_off == ["echo_filter"]
    assert actions(report)[f"model {PIPE}"] == "updated"
    record = admin.get("/api/v1/models/model", id=PIPE)
    assert record["name"] == "Our assistant" and record["access_grants"] == []
    assert record["params"] == {"system": "Be brief.", "function_calling": "native", "reasoning_tags": False}
    assert function(admin, "echo_filter")["is_active"] is False

    assert actions(install(plain, files, enable=True))["filter echo_filter"] == "enabled"
    assert function(admin, "echo_filter")["is_active"] is True


def test_an_installation_that_was_cut_off_is_finished(plain: Live, files: Path) -> None:
    known = {found.id: found for found in discover_functions(files)}
    plain.admin.post("/api/v1/functions/create", function_form(known["echo_filter"], "installing"))
    report = install(plain, files)
    assert actions(report)["filter echo_filter"] == "finished"
    stored = function(plain.admin, "echo_filter")
    assert stored["is_active"] and stored["is_global"]
    assert not install(plain, files).changed


def test_a_function_that_echo_no_longer_has_is_removed(plain: Live, files: Path) -> None:
    install(plain, files)
    (files / "actions" / "echo_action.py").unlink()
    assert actions(install(plain, files))["action echo_action"] == "retired"
    assert plain.admin.get("/api/v1/models/model", id=PIPE)["meta"]["actionIds"] == []
    assert not install(plain, files).changed


def test_a_foreign_function_is_never_overwritten(plain: Live, files: Path) -> None:
    source = '"""\ntitle: Mine\n"""\n\n\nclass Filter:\n    pass\n'
    form = {"id": "echo_filter", "name": "Mine", "content": source, "meta": {"description": "", "manifest": {}}}
    plain.admin.post("/api/v1/functions/create", form)
    with pytest.raises(ForeignFunctionError):
        install(plain, files)
    assert function(plain.admin, "echo_filter")["content"] == source
    with pytest.raises(OwuiAnswerError):
        function(plain.admin, PIPE)
    Installer(plain.admin, discover_functions(files)).uninstall()
    assert function(plain.admin, "echo_filter")["content"] == source
    plain.admin.delete("/api/v1/functions/id/echo_filter/delete")


def test_uninstall_removes_all_that_is_echos_and_nothing_else(plain: Live, files: Path) -> None:
    foreign = {
        "id": "somebody_elses",
        "name": "x",
        "content": '"""\ntitle: x\n"""\n\n\nclass Filter:\n    pass\n',
        "meta": {"description": "", "manifest": {}},
    }
    plain.admin.post("/api/v1/functions/create", foreign)
    install(plain, files)
    report = Installer(plain.admin, discover_functions(files)).uninstall()
    assert set(actions(report).values()) == {"removed"} and len(report.changes) == 6
    assert [found["id"] for found in plain.admin.get("/api/v1/functions/export")] == ["somebody_elses"]
    assert plain.admin.get("/api/v1/tools/export") == [] and plain.admin.get("/api/v1/models/base") == []
    assert not Installer(plain.admin, discover_functions(files)).uninstall().changed
    plain.admin.delete("/api/v1/functions/id/somebody_elses/delete")


def test_the_commands_do_the_same_and_answer_in_json(plain: Live, tmp_path: Path) -> None:
    account = ["--url", plain.api_url, "--email", plain.admin.email, "--password", plain.admin.password, "--json"]
    runner, app = CliRunner(), build_app()
    first = json.loads(runner.invoke(app, ["install", *account]).stdout)
    again = json.loads(runner.invoke(app, ["install", *account]).stdout)
    assert first["ok"] and first["changed"] and again["ok"] and not again["changed"]

    records = tmp_path / "echo"
    records.mkdir()
    (records / "identity.db").write_text("")
    asked = runner.invoke(app, ["uninstall", *account, "--data", str(records)])
    assert asked.exit_code == ExitCode.DECLINED and records.exists()
    kept = json.loads(runner.invoke(app, ["uninstall", *account, "--yes", "--keep-data"]).stdout)
    assert kept["changed"] and kept["data_removed"] is None and records.exists()
    gone = json.loads(runner.invoke(app, ["uninstall", *account, "--yes", "--data", str(records)]).stdout)
    assert gone["data_removed"] == str(records) and not records.exists()


def test_a_plain_user_or_a_wrong_password_cannot_install(plain: Live) -> None:
    user = plain.new_user()
    runner, app = CliRunner(), build_app()
    account = ["--url", plain.api_url, "--json", "--email", user.email, "--password"]
    refused = json.loads(runner.invoke(app, ["install", *account, user.password]).stdout)
    assert refused["exit_code"] == ExitCode.AUTH and refused["error"]["code"] == "owui_not_admin"
    wrong = json.loads(runner.invoke(app, ["install", *account, "wrong"]).stdout)
    assert wrong["exit_code"] == ExitCode.AUTH and wrong["error"]["code"] == "owui_sign_in"
    foreign = ["--url", plain.api_url, "--json", "--token", "not-a-token"]
    assert json.loads(runner.invoke(app, ["install", *foreign]).stdout)["error"]["code"] == "owui_sign_in"
