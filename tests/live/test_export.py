"""A chat that was deleted, or went to another machine, comes back through a file with everything that it said."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from echo_cli import build_app
from echo_paths import EchoPaths
from live.bodies import Body, assert_continues, assert_valid
from live.client import Client, poll
from live.moves import Conversation
from live.stack import Live


def echoctl(live: Live, *arguments: str) -> dict[str, Any]:
    """Run a command on the data of the running stack."""
    ended = CliRunner().invoke(build_app(), [*arguments, "--data", str(live.data), "--json"])
    assert ended.exit_code == 0, ended.output
    facts: dict[str, Any] = json.loads(ended.stdout)
    return facts


def signatures(body: Body) -> list[int]:
    """Signatures that came back, answer by answer."""
    return [said.signatures for said in body.said[:-1]]


def import_json(live: Live, client: Client, whole: dict[str, Any]) -> Conversation:
    """What Open WebUI's own import makes of a downloaded chat."""
    form = {key: whole[key] for key in ("chat", "meta", "pinned") if key in whole}
    [made] = client.post("/api/v1/chats/import", {"chats": [form]})
    again = Conversation(client, live.sim, str(made["id"]))
    again.last = made["chat"]["history"]["currentId"]
    return again


def test_a_deleted_chat_comes_back_for_its_owner_only(live: Live, ada: Client, lea: Client, tmp_path: Path) -> None:
    talk = Conversation(ada, live.sim)
    turns = [talk.ask(f"Question {index}.") for index in range(3)]
    file, whole, chat_id = tmp_path / "chat.echo", talk.exported(), str(talk.chat_id)
    exported = echoctl(live, "export", "--chat", chat_id, "--out", str(file))
    assert exported["chats"] == [{"chat": chat_id, "messages": 6}]
    before = talk.body(turns[-1])
    folder = EchoPaths(live.data / "echo").chat_dir(ada.id, chat_id)
    ada.delete(f"/api/v1/chats/{chat_id}")
    poll(lambda: None if folder.exists() else True, "the deleted chat's records are gone")

    again = import_json(live, ada, whole)
    taken = echoctl(live, "import", str(file))
    assert (taken["user"], taken["added"]) == (ada.id, 6)
    sent = again.body(again.ask())
    assert_valid(sent)
    assert_continues(sent, before)
    assert signatures(sent) == [1, 1, 1]

    strangers = import_json(live, lea, whole)
    sent = strangers.body(strangers.ask())
    assert_valid(sent)
    assert signatures(sent) == [0, 0, 0]

    # The chat keeps them from now on; deleting it deletes what was imported, too.
    assert echoctl(live, "verify", "--user", ada.id)["sound"]
    ada.delete(f"/api/v1/chats/{again.chat_id}")
    poll(lambda: True if left(live, ada) == 0 else None, "what was imported is gone with its chat")


def left(live: Live, owner: Client) -> int:
    """How many messages were imported for a user and are still there."""
    imported = echoctl(live, "verify", "--user", owner.id, "--chat", "_imported")
    return int(imported["messages"])
