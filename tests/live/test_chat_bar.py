"""The switches of the chat bar in the real Open WebUI: what the model is offered, and that it is told nothing else."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from echo_cli._model_record import ECHO_MODEL_ID
from echo_runtime.lifecycle import PIPE_ID
from echo_workers.gemini_sim.core.faults import response
from echo_workers.gemini_sim.core.frames import sse_event
from live import answers
from live.client import Client, Turn
from live.stack import Live
from live.tool_servers import searxng_app, serving

RETRIEVAL = "/api/v1/retrieval/config"
RECORD = "/api/v1/models/model"
OWN_VALVES = f"/api/v1/functions/id/{PIPE_ID}/valves/user/update"
ARTIST = "models/gemini-3.1-flash-image:"
#: Words of the prompts that Open WebUI has for its own features. Source: `open_webui/config.py`, release 0.12.4.
NATIVE_PROMPTS = ("Pyodide", "/mnt/uploads", "code_interpreter", "<attached_files>", "<context>")


@pytest.fixture(autouse=True)
def _empty(sim_reset: None) -> None:
    """Each test sees its own requests only."""


@contextmanager
def web_search(live: Live, engine: str, **more: str) -> Iterator[None]:
    """Web search as an administrator switches it on."""
    before = live.admin.get(RETRIEVAL)["web"]
    live.admin.post(f"{RETRIEVAL}/update", {"web": {"ENABLE_WEB_SEARCH": True, "WEB_SEARCH_ENGINE": engine, **more}})
    yield
    names = ("ENABLE_WEB_SEARCH", "WEB_SEARCH_ENGINE", *more)
    live.admin.post(f"{RETRIEVAL}/update", {"web": {name: before[name] for name in names}})


def sent(live: Live) -> list[dict[str, Any]]:
    return [json.loads(request["body"]) for request in live.sim.requests("streamGenerateContent")]


def kinds(body: dict[str, Any]) -> set[str]:
    return {kind for tool in body.get("tools", []) for kind in tool}


def functions(body: dict[str, Any]) -> set[str]:
    groups = [tool.get("functionDeclarations", []) for tool in body.get("tools", [])]
    return {declared["name"] for group in groups for declared in group}


def assert_no_native_prompt(live: Live) -> None:
    for request in live.sim.requests("GenerateContent"):
        assert not [words for words in NATIVE_PROMPTS if words in request["body"]]


def told(turn: Turn) -> str:
    return "\n".join(str(status.get("description")) for status in turn.message.get("statusHistory") or [])


def test_web_search_is_googles_unless_searxng_is_set(live: Live, toolkit: str) -> None:
    with web_search(live, "duckduckgo"):
        turn = live.admin.turn("What is new?", features={"web_search": True}, tool_ids=[toolkit])
    [body] = sent(live)
    assert {"googleSearch", "urlContext", "functionDeclarations"} == kinds(body)
    assert body["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert "search_web" not in functions(body)
    assert turn.error == ""
    assert_no_native_prompt(live)


def test_google_maps_comes_with_web_search_for_users_who_switched_it_on(live: Live, ada: Client) -> None:
    place = {"uri": "https://maps.google.com/?cid=7", "title": "Le Petit Four", "placeId": "places/abc"}
    wire = response("In the next street.", finish="STOP")
    wire["candidates"][0]["groundingMetadata"] = {"groundingChunks": [{"maps": place}]}
    ada.post(OWN_VALVES, {"GOOGLE_MAPS": True})
    live.sim.script({"status": 200, "chunks": [{"text": sse_event(wire).decode()}]})
    with web_search(live, "duckduckgo"):
        there = {"{{USER_LOCATION}}": "45.764, 4.836 (lat, long)"}
        turn = ada.turn("A bakery?", features={"web_search": True}, variables=there)
    ada.post(OWN_VALVES, {})
    [body] = sent(live)
    assert {"googleSearch", "urlContext", "googleMaps"} <= kinds(body)
    assert body["toolConfig"]["retrievalConfig"] == {"latLng": {"latitude": 45.764, "longitude": 4.836}}
    [source] = turn.message["sources"]
    assert (source["source"]["name"], source["source"]["url"]) == ("Le Petit Four", place["uri"])
    assert turn.error == ""


def test_searxng_answers_searches_where_the_administrator_set_it(live: Live) -> None:
    asked: list[dict[str, str]] = []
    with (
        serving(searxng_app(asked)) as address,
        web_search(live, "searxng", SEARXNG_QUERY_URL=f"{address}/search"),
    ):
        turn = live.admin.turn('Call search_web {"query": "grey herons"}.', features={"web_search": True})
    [search] = asked
    assert (search["q"], search["format"]) == ("grey herons", "json")
    first, second = sent(live)
    assert "search_web" in functions(first)
    assert "googleSearch" not in kinds(first)
    [part] = second["contents"][-1]["parts"]
    results = json.loads(part["functionResponse"]["response"]["output"])
    assert [row["link"] for row in results] == [f"https://example.org/{n}" for n in (1, 2, 3)]
    assert "grey herons" in results[0]["snippet"]
    assert [row["source"]["url"] for row in turn.message["sources"]] == [row["link"] for row in results]
    assert_no_native_prompt(live)


def test_code_interpreter_is_geminis_code_execution(live: Live, ada: Client) -> None:
    turn = ada.turn("Compute something.", features={"code_interpreter": True})
    [body] = sent(live)
    assert "codeExecution" in kinds(body)
    assert "execute_code" not in functions(body)
    assert turn.error == ""
    again = ada.turn("And without?", chat_id=turn.chat_id, parent=turn.assistant_id)
    assert again.error == ""
    assert "codeExecution" not in kinds(sent(live)[-1])
    ada.complete([{"role": "user", "content": "Over the API."}], features={"code_interpreter": True})
    assert "codeExecution" in kinds(sent(live)[-1])
    assert_no_native_prompt(live)


def test_image_generation_is_the_image_model(live: Live, ada: Client) -> None:
    turn = ada.turn("Draw a heron.", features={"image_generation": True})
    [request] = live.sim.requests("streamGenerateContent")
    assert ARTIST in request["path"]
    assert json.loads(request["body"])["generationConfig"]["responseModalities"] == ["TEXT", "IMAGE"]
    assert [file["type"] for file in turn.message["files"]] == ["image"]
    assert_no_native_prompt(live)


@pytest.fixture
def built_in(live: Live) -> Iterator[None]:
    """Open WebUI's own tools, switched on for ECHO by an administrator."""
    record = live.admin.get(RECORD, id=ECHO_MODEL_ID)
    capabilities = record["meta"]["capabilities"]
    on = {**record, "meta": {**record["meta"], "capabilities": {**capabilities, "builtin_tools": True}}}
    for wanted in (on, record):
        live.admin.post(f"{RECORD}/update", wanted)
        live.admin.get("/api/models", refresh="true")
        if wanted is on:
            yield


def test_open_webuis_own_tools_come_when_the_administrator_wants_them(live: Live, ada: Client, built_in: None) -> None:
    turn = ada.turn(
        "Call get_current_timestamp {}.", features={"web_search": True, "code_interpreter": True, "memory": True}
    )
    first, second = sent(live)
    assert {"get_current_timestamp", "execute_code"} <= functions(first)
    assert "codeExecution" not in kinds(first), "one of the two runs code, not both"
    [part] = second["contents"][-1]["parts"]
    assert "current_timestamp" in part["functionResponse"]["response"]["output"]
    assert turn.error == ""
    assert_no_native_prompt(live)


def test_a_tool_that_nobody_can_run_is_left_out_and_told(live: Live, lea: Client) -> None:
    bare = {"type": "function", "function": {"name": "nobody_runs_this", "parameters": {"type": "object"}}}
    turn = lea.turn("Salut.", tools=[bare])
    [body] = sent(live)
    assert "nobody_runs_this" not in functions(body)
    assert "nobody_runs_this" in told(turn)
    assert "ne peut pas être proposé" in told(turn)
    assert turn.error == ""


def test_whoever_may_not_search_is_offered_no_search(live: Live, ada: Client) -> None:
    before = live.admin.get("/api/v1/users/default/permissions")
    features = {**before["features"], "web_search": False, "code_interpreter": False}
    live.admin.post("/api/v1/users/default/permissions", {**before, "features": features})
    try:
        ada.turn("Search.", features={"web_search": True, "code_interpreter": True})
    finally:
        live.admin.post("/api/v1/users/default/permissions", before)
    [body] = sent(live)
    assert not {"googleSearch", "urlContext", "codeExecution"} & kinds(body)
    assert not {"search_web", "execute_code"} & functions(body)


def test_a_switch_that_the_model_cannot_have_is_told(live: Live, ada: Client) -> None:
    live.sim.script(answers.parts({"text": "Fine."}))
    turn = ada.turn("Draw.", features={"image_generation": True, "web_search": True})
    assert turn.error == ""
    assert {request["status"] for request in live.sim.requests("streamGenerateContent")} == {200}
