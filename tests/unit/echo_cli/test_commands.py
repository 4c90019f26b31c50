"""install, uninstall and up up to the point where a real Open WebUI is needed."""

import json
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from echo_cli import build_app
from echo_cli._exit_codes import ExitCode
from echo_cli.install import ValveSyntaxError, parse_valve
from echo_cli.uninstall import NotEchoDataError, echo_data_folder


def test_a_valve_is_given_as_name_and_value_or_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret\n")
    assert parse_valve("MODEL=a=b") == ("MODEL", "a=b")
    assert parse_valve(f"KEY=@{tmp_path / 'key'}") == ("KEY", "secret")


@pytest.mark.parametrize("given", ["MODEL", "=x", "not a name=x", "KEY=@/nonexistent/file"])
def test_a_valve_in_another_form_is_told(given: str) -> None:
    with pytest.raises(ValveSyntaxError) as told:
        parse_valve(given)
    assert given in told.value.user_message("en")


def test_only_a_folder_with_echos_records_may_be_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ECHO_DATA_DIR", raising=False)
    monkeypatch.delenv("DATA_DIR", raising=False)
    assert echo_data_folder(None) is None
    assert echo_data_folder(tmp_path / "absent") is None
    assert echo_data_folder(tmp_path) == tmp_path
    (tmp_path / "holiday.jpg").write_text("")
    with pytest.raises(NotEchoDataError):
        echo_data_folder(tmp_path)
    (tmp_path / "identity.db").write_text("")
    assert echo_data_folder(tmp_path) == tmp_path


def test_the_servers_own_environment_says_where_its_records_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECHO_DATA_DIR", str(tmp_path / "another"))
    (tmp_path / "another").mkdir()
    (tmp_path / "echo").mkdir()
    assert echo_data_folder(None, {"DATA_DIR": str(tmp_path)}) == tmp_path / "echo"
    assert echo_data_folder(None, {}) is None
    assert echo_data_folder(None) == tmp_path / "another"


def test_a_backup_finds_what_make_run_made_and_else_says_how_to_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ECHO_DATA_DIR", raising=False)
    monkeypatch.delenv("DATA_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    argv = ["backup", "--out", "copy.tar.gz", "--json"]
    refused = json.loads(CliRunner().invoke(build_app(), argv).stdout)
    assert refused["error"]["code"] == "data_not_named" and "--data .run/data" in refused["error"]["remedy"]
    (tmp_path / ".run/data/echo").mkdir(parents=True)
    assert CliRunner().invoke(build_app(), argv).exit_code == ExitCode.OK
    assert (tmp_path / "copy.tar.gz").exists()


def test_a_bundle_replaces_a_file_only_when_told_so(tmp_path: Path) -> None:
    out = tmp_path / "echo.json"
    out.write_text("mine")
    argv = ["bundle", "--out", str(out), "--json"]
    refused = json.loads(CliRunner().invoke(build_app(), argv).stdout)
    assert refused["error"]["code"] == "bundle_exists" and "--force" in refused["error"]["remedy"]
    assert out.read_text() == "mine"
    assert CliRunner().invoke(build_app(), [*argv, "--force"]).exit_code == ExitCode.OK
    assert isinstance(json.loads(out.read_text()), list)


@pytest.mark.parametrize("option", ["--port", "--sim-port"])
def test_up_on_a_busy_port_starts_nothing_and_names_a_free_one(tmp_path: Path, option: str) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = str(listener.getsockname()[1])
        argv = ["up", "--demo", option, port, "--data", str(tmp_path), "--json"]
        if option == "--sim-port":
            argv += ["--port", _free()]
        answer = CliRunner().invoke(build_app(), argv)
    document = json.loads(answer.stdout)
    assert answer.exit_code == ExitCode.PORT_BUSY
    assert port in document["error"]["message"] and option in document["error"]["remedy"]
    assert not (tmp_path / "webui.db").exists()
    assert not (tmp_path / "run" / "logs").exists()


def _free() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])
