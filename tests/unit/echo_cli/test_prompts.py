"""`echoctl prompts` over a real data folder."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from echo_cli._app import build_app
from echo_prompts import SHIPPED


def run(data: Path, *args: str) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(build_app(), ["prompts", *args, "--data", str(data), "--json"])
    return done.exit_code, json.loads(done.stdout)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "echo").mkdir()
    return tmp_path / "echo"


def test_a_prompt_is_shown_tried_set_and_rolled_back(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "new.md"
    file.write_text("Parlez en vers.", "utf-8")
    code, before = run(data, "show", "pis", "--language", "fr")
    assert (code, before["prompt"]["text"]) == (0, SHIPPED.text("pis", "fr"))
    assert "+Parlez en vers." in run(data, "preview", "pis", str(file), "--language", "fr")[1]["diff"]
    assert run(data, "show", "pis", "--language", "fr")[1] == before
    assert run(data, "set", "pis", str(file), "--language", "fr")[1]["prompt"]["version"] == 1
    listed = run(data, "list")[1]["prompts"]
    assert [(p["name"], p["locale"]) for p in listed if p["version"]] == [("pis", "fr")]
    assert run(data, "rollback", "pis", "--language", "fr")[0] == 0
    after = run(data, "show", "pis", "--language", "fr")[1]
    assert after["prompt"]["text"] == SHIPPED.text("pis", "fr")
    assert [version["text"] for version in after["versions"]] == ["Parlez en vers.", None]


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["show", "nothing"], "prompt_unknown"),
        (["set", "pis", "EMPTY"], "prompt_refused"),
        (["set", "pis", "MISSING"], "prompt_file"),
        (["rollback", "pis", "--to", "7"], "prompt_version_unknown"),
    ],
)
def test_what_cannot_be_done_is_told_and_changes_nothing(
    data: Path, tmp_path: Path, args: list[str], code: str
) -> None:
    (tmp_path / "EMPTY").write_text("\n")
    places = {name: str(tmp_path / name) for name in ("EMPTY", "MISSING")}
    status, told = run(data, *(places.get(arg, arg) for arg in args))
    assert status != 0
    assert told["error"]["code"] == code
    assert list(data.iterdir()) == []
