"""Every place where Open WebUI has tools from, and its permissions, over real servers and a real socket."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from echo_workers.gemini_sim.core.demo.picture import png
from live.client import Client, Turn
from live.socket import Socket
from live.stack import Live
from live.tool_servers import dying_server, mcp_app, openapi_app, serving

CONNECTIONS = "/api/v1/configs/tool_servers"


def connection(url: str, kind: str, server_id: str) -> dict[str, Any]:
    return {
        "url": url,
        "path": "openapi.json" if kind == "openapi" else "",
        "type": kind,
        "auth_type": "none",
        "key": "",
        "config": {"enable": True},
        "info": {"id": server_id, "name": server_id},
    }


@pytest.fixture(scope="module")
def servers(live: Live) -> Iterator[None]:
    """Both tool servers, connected by the administrator."""
    with serving(openapi_app()) as openapi, serving(mcp_app()) as mcp:
        connections = [connection(openapi, "openapi", "weather"), connection(f"{mcp}/mcp", "mcp", "lab")]
        live.admin.post(CONNECTIONS, {"TOOL_SERVER_CONNECTIONS": connections})
        yield
        live.admin.post(CONNECTIONS, {"TOOL_SERVER_CONNECTIONS": []})


@pytest.fixture(autouse=True)
def _fresh(live: Live) -> None:
    live.sim.reset()


def responses(live: Live) -> list[dict[str, Any]]:
    """The functionResponses of the last request."""
    body = json.loads(live.sim.requests("streamGenerateContent")[-1]["body"])
    return [part["functionResponse"] for part in body["contents"][-1]["parts"]]


def cards(turn: Turn) -> dict[str, str]:
    """The results that the page shows, by the tool's name."""
    names = {item["call_id"]: item["name"] for item in turn.output if item["type"] == "function_call"}
    return {
        names[item["call_id"]]: "".join(part.get("text", "") for part in item["output"])
        for item in turn.output
        if item["type"] == "function_call_output"
    }


def test_toolkits_openapi_and_mcp_servers_work_side_by_side(live: Live, toolkit: str, servers: None) -> None:
    turn = live.admin.turn(
        'Call get_weather {"city": "Lyon"} and call lab_shout {"text": "hello"} and call lab_picture {} '
        'and call forecast {"city": "Nice"} and call weigh {"what": "gold"}.',
        tool_ids=[toolkit, "server:weather", "server:mcp:lab"],
    )
    first = json.loads(live.sim.requests("streamGenerateContent")[0]["body"])
    declared = [tool["name"] for tool in first["tools"][0]["functionDeclarations"]]
    assert len(declared) == len(set(declared))
    assert {"get_weather", "lab_shout", "lab_picture", "forecast", "weigh", "read_tool_output"} <= set(declared)
    got = {response["name"]: response for response in responses(live)}
    assert json.loads(got["get_weather"]["response"]["output"]) == {"city": "Lyon", "celsius": 21}
    assert got["lab_shout"]["response"]["output"] == "HELLO"
    assert "the scale is broken" in got["weigh"]["response"]["error"]
    [image] = got["lab_picture"]["parts"]
    assert image["inlineData"]["mimeType"] == "image/png"
    assert set(cards(turn)) == set(got), "each call has its card"
    files = [item.get("files") for item in turn.output if item["type"] == "function_call_output"]
    [[file]] = [entry for entry in files if entry]
    assert file["url"].startswith("/api/v1/files/"), "no chat holds the bytes of a picture"


PICTURES = '''"""
title: Pictures
description: Pictures in the forms in which tools return them.
"""

import base64

PNG = "%s"


class Tools:
    async def as_data_uri(self) -> dict:
        """A picture inside an object."""
        return {"picture": "data:image/png;base64," + PNG}

    async def as_text(self) -> str:
        """Nothing but a picture."""
        return "data:image/png;base64," + PNG

    async def as_bytes(self) -> bytes:
        """The file itself."""
        return base64.b64decode(PNG)
'''


@pytest.fixture
def pictures(live: Live) -> Iterator[str]:
    """The id of a toolkit that returns pictures."""
    form = {"id": "live_pictures", "name": "Pictures", "content": PICTURES % png("cat"), "meta": {"description": ""}}
    live.admin.post("/api/v1/tools/create", {**form, "access_grants": []})
    yield "live_pictures"
    live.admin.delete("/api/v1/tools/id/live_pictures/delete")


def test_c20_pictures_of_tools_reach_the_model_in_whatever_form_they_come(
    live: Live, servers: None, pictures: str
) -> None:
    turn = live.admin.turn(
        "Call as_data_uri {} and call as_text {} and call as_bytes {} and call lab_picture {}.",
        tool_ids=[pictures, "server:mcp:lab"],
    )
    got = {response["name"]: response for response in responses(live)}
    assert len(got) == 4
    for name, response in got.items():
        [part] = response["parts"]
        assert (name, part["inlineData"]["mimeType"]) == (name, "image/png")
        assert len(json.dumps(response["response"])) < 500, "the picture is not in the text as well"
    files = [file for item in turn.output if item["type"] == "function_call_output" for file in item.get("files") or []]
    assert len(files) == 4 and all(file["url"].startswith("/api/v1/files/") for file in files)
    again = live.admin.turn("And now?", chat_id=turn.chat_id, parent=turn.assistant_id, tool_ids=[pictures])
    assert again.error == ""
    history = json.loads(live.sim.requests("streamGenerateContent")[-1]["body"])["contents"]
    answered = [
        part["functionResponse"] for content in history for part in content["parts"] if "functionResponse" in part
    ]
    assert answered == list(got.values()), "and they stay where they were, byte for byte"


def test_a_long_result_is_read_on_in_the_next_turn_of_its_chat_and_in_no_other(live: Live, servers: None) -> None:
    turn = live.admin.turn("Call get_report {}.", tool_ids=["server:weather"])
    [response] = responses(live)
    told = response["response"]["output"].rpartition('read_tool_output(id="')[2]
    name = told.partition('"')[0]
    again = live.admin.turn(
        f'Call read_tool_output {{"id": "{name}", "range": "-40"}}.',
        chat_id=turn.chat_id,
        parent=turn.assistant_id,
        tool_ids=["server:weather"],
    )
    assert "row 039999" in responses(live)[0]["response"]["output"]
    assert "row 039999" in cards(again)["read_tool_output"]
    stranger = live.admin.turn(f'Call read_tool_output {{"id": "{name}"}}.', tool_ids=["server:weather"])
    assert "No result is kept" in responses(live)[0]["response"]["error"]
    assert stranger.error == ""


class Tab(Socket):
    """A browser tab that answers what it is asked."""

    def __init__(self, live: Live, client: Client, answer: Callable[[dict[str, Any]], Any]) -> None:
        self._answer = answer
        self.asked: list[dict[str, Any]] = []
        super().__init__(live.url, client.token)

    def _take(self, event: dict[str, Any]) -> Any:
        super()._take(event)
        told = event["data"]
        if told.get("type") in ("confirmation", "execute:tool"):
            self.asked.append(told)
            return self._answer(told)
        return None


@contextmanager
def tab(live: Live, answer: Callable[[dict[str, Any]], Any]) -> Iterator[Tab]:
    opened = Tab(live, live.admin, answer)
    yield opened
    opened.close()


@pytest.fixture
def permissions(live: Live) -> Iterator[None]:
    """Tool permissions, switched on by the administrator."""
    before = live.admin.get("/api/v1/chats/config")
    live.admin.post("/api/v1/chats/config", before | {"ENABLE_TOOL_PERMISSIONS": True})
    yield
    live.admin.post("/api/v1/chats/config", before)


def test_each_call_is_asked_about_and_a_refusal_is_told(live: Live, servers: None, permissions: None) -> None:
    def answer(told: dict[str, Any]) -> bool:
        return bool(told["data"]["tool_call"]["arguments"]["city"] == "Lyon")

    with tab(live, answer) as asked:
        turn = live.admin.turn(
            'Call get_weather {"city": "Lyon"} and call get_weather {"city": "Nice"}.',
            tool_ids=["server:weather"],
            session_id=asked.id,
            params={"tool_approval_mode": "ask"},
        )
    assert [told["data"]["tool_call"]["arguments"]["city"] for told in asked.asked] == ["Lyon", "Nice"]
    allowed, refused = [response["response"] for response in responses(live)]
    assert "celsius" in allowed["output"]
    assert "did not allow this call" in refused["error"]
    assert turn.error == "" and turn.text


def test_always_is_full_access_in_the_chat_bar_and_counts_at_once(live: Live, servers: None, permissions: None) -> None:
    """Open WebUI 0.12.4's dialog has two answers; its "always" is `handleToolApprovalModeChange` of `Chat.svelte`."""
    begun = live.admin.turn("Hello.")

    def always(told: dict[str, Any]) -> bool:
        live.admin.request("PATCH", f"/api/v1/chats/{begun.chat_id}/params", {"tool_approval_mode": "full"})
        return True

    def ask(text: str, after: Turn, mode: str) -> Turn:
        return live.admin.turn(
            text,
            chat_id=begun.chat_id,
            parent=after.assistant_id,
            tool_ids=["server:weather"],
            session_id=asked.id,
            params={"tool_approval_mode": mode},
        )

    with tab(live, always) as asked:
        two = 'Call get_weather {"city": "Lyon"} and call get_weather {"city": "Nice"}.'
        first = ask(two, begun, "ask")
        assert ["celsius" in response["response"]["output"] for response in responses(live)] == [True, True]
        kept = live.admin.chat(begun.chat_id)["chat"]["params"]
        second = ask('Call get_weather {"city": "Metz"}.', first, kept["tool_approval_mode"])
        assert "celsius" in responses(live)[0]["response"]["output"]
    assert [told["data"]["tool_call"]["arguments"] for told in asked.asked] == [{"city": "Lyon"}]
    assert (first.error, second.error) == ("", "")


def test_tools_of_the_users_own_browser_run_there(live: Live) -> None:
    before = live.admin.get("/api/v1/configs/connections")
    live.admin.post("/api/v1/configs/connections", before | {"ENABLE_DIRECT_INTEGRATIONS": True})
    spec = {
        "name": "open_door",
        "description": "Opens a door.",
        "parameters": {"type": "object", "properties": {"which": {"type": "string"}}},
    }
    server = {"url": "http://localhost:9", "path": "", "specs": [spec], "info": {"title": "House"}}
    with tab(live, lambda told: [{"door": told["data"]["params"]["which"]}, {}]) as asked:
        turn = live.admin.turn('Call open_door {"which": "front"}.', session_id=asked.id, tool_servers=[server])
    live.admin.post("/api/v1/configs/connections", before)
    [told] = asked.asked
    assert (told["type"], told["data"]["name"]) == ("execute:tool", "open_door")
    [response] = responses(live)
    assert json.loads(response["response"]["output"]) == {"door": "front"}
    assert "front" in cards(turn)["open_door"]


@pytest.mark.deep
def test_a_tool_server_whose_process_is_killed_in_a_call_costs_no_answer(live: Live) -> None:
    before = live.admin.get(CONNECTIONS)
    with dying_server() as address:
        live.admin.post(CONNECTIONS, {"TOOL_SERVER_CONNECTIONS": [connection(address, "openapi", "mortal")]})
        turn = live.admin.turn("Call die {}.", tool_ids=["server:mortal"])
    live.admin.post(CONNECTIONS, before)
    [first] = responses(live)
    assert "rror" in json.dumps(first["response"])
    again = live.admin.turn("And now?", chat_id=turn.chat_id, parent=turn.assistant_id)
    assert (turn.error, again.error) == ("", "")
    assert turn.text and again.text
    assert {request["status"] for request in live.sim.requests("streamGenerateContent")} == {200}
