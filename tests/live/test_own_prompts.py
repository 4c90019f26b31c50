"""A prompt that an administrator changes by `echoctl prompts`, in a running Open WebUI."""

import json
from itertools import pairwise
from pathlib import Path

from typer.testing import CliRunner

from echo_aec import parse_artifact
from echo_cli._app import build_app
from live.bodies import Body, assert_continues, assert_valid
from live.client import Client
from live.moves import Conversation
from live.stack import Live


def prompts(live: Live, *args: str) -> None:
    done = CliRunner().invoke(build_app(), ["prompts", *args, "--data", str(live.data), "--json"])
    assert done.exit_code == 0, done.output


def upgrades(body: Body) -> list[str]:
    """ECHO's own prompt, as the last question tells it."""
    texts = [part.get("text", "") for part in json.loads(body.said[-1].asked)["parts"]]
    notes = [parse_artifact(text) for text in texts if text.startswith("<artifact ")]
    return [item.text for note in notes if note.id == "AEC_upgrade" for item in note.items if item.tag == "echo"]


def test_another_prompt_upgrades_living_chats_opens_new_ones_and_is_taken_back(
    live: Live, ada: Client, tmp_path: Path
) -> None:
    file = tmp_path / "pis.md"
    file.write_text("You are ECHO ##ECHO_VERSION##, a pirate.", "utf-8")
    talk = Conversation(ada, live.sim)
    bodies = [talk.body(talk.ask("One."))]
    prompts(live, "set", "pis", str(file))
    try:
        bodies += [talk.body(talk.ask("Two.")), talk.body(talk.ask("Three."))]
        fresh = Conversation(ada, live.sim)
        [system] = fresh.body(fresh.ask("New.")).json["systemInstruction"]["parts"]
    finally:
        prompts(live, "rollback", "pis")
    bodies.append(talk.body(talk.ask("Four.")))
    for earlier, later in pairwise(bodies):
        assert_valid(later)
        assert_continues(later, earlier)
        assert later.json["systemInstruction"] == earlier.json["systemInstruction"]
    assert system["text"].endswith("a pirate.")
    told = [upgrades(body) for body in bodies]
    assert [len(each) for each in told] == [0, 1, 0, 1]
    assert told[1][0].endswith("a pirate.")
    assert told[3][0].startswith("# Who you are")
