"""Fifty turns in a real Open WebUI with all filters on, while everything around the chat changes."""

import json
import random
from collections import Counter
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import pytest

from echo_aec import parse_artifact
from echo_cli._model_record import EVERYBODY_READS
from echo_runtime.lifecycle import PIPE_ID
from live.bodies import Body, assert_continues, assert_valid
from live.moves import Conversation
from live.stack import Live
from live.test_tool_sources import CONNECTIONS, connection
from live.test_user_context import remember
from live.tool_servers import mcp_app, serving

TURNS = 50


class McpServer:
    """An MCP server that an administrator has connected, and that comes and goes."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._running = ExitStack()

    def up(self) -> None:
        url = self._running.enter_context(serving(mcp_app()))
        lab = connection(f"{url}/mcp", "mcp", "lab")
        lab["config"]["access_grants"] = [EVERYBODY_READS]
        self._live.admin.post(CONNECTIONS, {"TOOL_SERVER_CONNECTIONS": [lab]})

    def down(self) -> None:
        self._running.close()


def told(body: Body) -> Counter[str]:
    """How often each kind of artifact stands in a request."""
    parts = [part for content in body.json["contents"] if content["role"] == "user" for part in content["parts"]]
    texts = [part.get("text", "") for part in parts]
    return Counter(parse_artifact(text).id for text in texts if text.startswith("<artifact "))


@pytest.mark.deep
def test_fifty_turns_share_their_prefix_with_all_filters_on(live: Live) -> None:
    dice = random.Random(50)
    user = live.new_user("Fifty")
    server = McpServer(live)
    server.up()
    talk = Conversation(user, live.sim, tool_ids=["server:mcp:lab"], features={"memory": True})
    turns: list[Any] = []
    try:
        for turn in range(TURNS):
            if turn % 8 == 4:
                server.down()
            if turn % 8 == 7:
                server.up()
            if turn % 5 == 2:
                remember(user, f"She likes number {turn}.")
            level = dice.choice(("LITE", "FLASH", "PRO"))
            user.post(f"/api/v1/functions/id/{PIPE_ID}/valves/user/update", {"MODEL_SELECTION": level})
            place = {
                "{{USER_LOCATION}}": f"{turn // 9}.0, 2.0 (lat, long)",
                "{{CURRENT_DATE}}": f"2026-12-{1 + turn // 2:02}",
            }
            prompt = [{"role": "system", "content": f"Be brief ({turn // 10}). It is {{{{CURRENT_DATE}}}}."}]
            turns.append(talk.ask(f"Turn {turn}.", variables=user._variables() | place, messages=prompt))
    finally:
        server.down()
        live.admin.post(CONNECTIONS, {"TOOL_SERVER_CONNECTIONS": []})
    bodies = [talk.body(turn) for turn in turns]
    assert all(body.status == 200 for body in bodies)
    for earlier, later in pairwise(bodies):
        assert_valid(later)
        assert_continues(later, earlier)
    assert len({body.path for body in bodies}) == 3
    assert "shout" in json.dumps(bodies[-1].json["tools"])
    kinds = told(bodies[-1])
    assert min(kinds[kind] for kind in ("AEC_modele", "AEC_temps", "AEC_lieu", "AEC_identite", "AEC_upgrade")) >= 5
