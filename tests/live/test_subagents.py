"""Sub-agents in a real Open WebUI: exact history, the chat's totals, and nothing of another user's."""

import json
from collections.abc import Iterator
from itertools import pairwise

import pytest

from echo_cli._model_record import EVERYBODY_READS
from live.client import Client
from live.moves import Conversation
from live.records import session_rows, verified
from live.stack import Live

TOOL = "delegate_to_subagent"
#: A toolkit that tells which keys of ECHO's it finds, and tries the cache with the ids of an answer.
PEEPHOLE = '''
"""
title: Peephole
"""
from echo_runtime.tools_cache import _TOOLS_CACHE, turn_tools


class Tools:
    async def peep(self, __metadata__: dict, __user__: dict) -> str:
        """Look around."""
        turn, _ = turn_tools(__user__["id"], __metadata__)
        others = [t for turns in _TOOLS_CACHE.values() for t in turns if t is not turn]
        stolen = [turn_tools(__user__["id"], {"message_id": t.answer_id, "chat_id": t.chat_id})[0] for t in others]
        found = {key: __metadata__.get(key) for key in ("_echo_tools_dict", "_echo_body_tools", "MODEL_SELECTION")}
        return repr((sorted(found["_echo_tools_dict"]), len(found["_echo_body_tools"]), found["MODEL_SELECTION"],
                     turn is not None, len(others), stolen))
'''


@pytest.fixture(scope="module")
def peephole(live: Live) -> Iterator[str]:
    form = {"id": "live_peephole", "name": "Peephole", "content": PEEPHOLE.lstrip(), "meta": {"description": ""}}
    live.admin.post("/api/v1/tools/create", {**form, "access_grants": [EVERYBODY_READS]})
    yield "live_peephole"
    live.admin.delete("/api/v1/tools/id/live_peephole/delete")


def test_a_delegated_turn_is_sealed_like_any_other_and_counts_in_the_chat(live: Live, lea: Client) -> None:
    live.sim.reset()
    talk = Conversation(lea, live.sim, tool_ids=["echo_subagent", "echo_codex"])
    turn = talk.ask(f"Please call {TOOL} {json.dumps({'task': 'call codex_workspaces {}'})}")
    (item,) = (item for item in turn.output if item["type"] == "function_call_output")
    told = item["output"][0]["text"]
    assert "[Sous-agent, FLASH : 2 requêtes, 1 appels d'outils" in told
    names = [item["name"] for item in turn.output if item["type"] == "function_call"]
    assert names == [TOOL]
    again = talk.ask("And now?")
    bodies = [json.loads(request["body"]) for request in live.sim.requests("streamGenerateContent")]
    agents = [body for body in bodies if "sous-agent d'ECHO" in body["systemInstruction"]["parts"][0]["text"]]
    assert len(agents) == 2
    assert agents[0]["contents"] == [{"role": "user", "parts": [{"text": "call codex_workspaces {}"}]}]
    own = [body["contents"] for body in bodies if body not in agents]
    assert [after[: len(before)] == before for before, after in pairwise(own)] == [True, True]
    assert own[-1][2]["parts"][0]["functionResponse"]["response"]["output"] == told
    usage = turn.message["usage"]
    assert [row.get("agent") for row in usage["rounds"]] == [None, "sub-agent 1", "sub-agent 1", None]
    assert again.message["usage"]["chat"]["input_tokens"] > usage["input_tokens"]
    assert usage["chat"]["context_tokens"] < usage["total_tokens"]
    assert verified(live, lea.id, turn.chat_id).is_sound
    rows = session_rows(live, turn.chat_id, "SELECT value FROM echo_settings WHERE key = 'MODEL_SELECTION'")
    assert rows == [("FLASH",)]


def test_tools_see_their_own_turn_and_nothing_of_another_users(
    live: Live, ada: Client, lea: Client, peephole: str
) -> None:
    live.sim.reset()
    hanging = {"status": 200, "chunks": [], "end": "hang", "match": {"body_regex": "ADAS-TURN"}}
    live.sim.script(hanging)
    adas = Conversation(ada, live.sim, tool_ids=["echo_subagent"])
    adas.start("ADAS-TURN")
    live.sim.wait_requests(1, "streamGenerateContent")
    turn = Conversation(lea, live.sim, tool_ids=[peephole, "echo_subagent"]).ask("Please call peep {}")
    (item,) = (item for item in turn.output if item["type"] == "function_call_output")
    assert item["output"][0]["text"] == repr((["delegate_to_subagent", "peep"], 3, "FLASH", True, 1, [None]))
    assert adas.chat_id is not None
    ada.stop(adas.chat_id)
