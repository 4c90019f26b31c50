"""Where tools come from, and what of them is declared."""

from types import SimpleNamespace
from typing import Any

import pytest

from echo_protocol import Catalogue
from echo_runtime import PipeCall, _owui_rights
from echo_runtime.google_tools import position_of
from echo_runtime.tool_config import Tooling, tool_config, tooling_of
from echo_runtime.toolset import tools_of
from echo_runtime.turn_context import Anchors
from echo_state_manager.memory import MemoryShadowStore

PAGE = {"session_id": "s", "message_id": "m", "chat_id": "temporary:s"}


async def tool_function(**args: Any) -> str:
    return "done"


class NoSignature:
    """As the clients of tool servers are: nothing about it can be found out."""

    __signature__ = None

    async def __call__(self, **args: Any) -> str:
        return "done"


def spec(name: str, **properties: Any) -> dict[str, Any]:
    return {"name": name, "description": name, "parameters": {"type": "object", "properties": properties}}


def native(name: str, function: Any = tool_function, **more: Any) -> dict[str, Any]:
    return {"spec": spec(name, x={"type": "string"}), "callable": function, **more}


def call_of(tools: Any, metadata: dict[str, Any] | None = None, **changes: Any) -> PipeCall:
    values: dict[str, Any] = {"body": {}, "user": {"id": "u"}, "valves": SimpleNamespace(), "tools": tools}
    return PipeCall(**(values | {"metadata": PAGE if metadata is None else metadata} | changes))


@pytest.fixture(autouse=True)
def open_webui(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What the administrator set."""
    setup = SimpleNamespace(permitted=True, engine="")

    async def permitted(request: Any, user: Any, feature: str) -> bool:
        return bool(setup.permitted)

    async def search_engine(request: Any) -> str:
        return str(setup.engine)

    monkeypatch.setattr(_owui_rights, "may_use_feature", permitted)
    monkeypatch.setattr(_owui_rights, "search_engine", search_engine)
    return setup


async def tooling(call: PipeCall, model: str = "gemini-3.8-flash") -> Tooling:
    return await tooling_of(call, MemoryShadowStore(), Catalogue.load().model(model), "ai_studio")


def wire_of(made: Tooling) -> bytes:
    """The serialised tools, b"" for none."""
    return made.conversion.tools_json() or b""


def test_c01_every_kind_of_tool_is_offered_exactly_once() -> None:
    tools = {
        "memory": native("memory", type="builtin", tool_id="builtin:memory"),
        "roll": native("roll", tool_id="dice"),
        "lab_shout": native("lab_shout", type="mcp", client=object(), direct=False),
        "get_weather": native("get_weather", type="external", tool_id="server:0"),
        "page": {"spec": spec("page"), "direct": True, "server": {"url": "http://localhost"}},
    }
    body = {"tools": [{"type": "function", "function": entry["spec"]} for entry in tools.values()]}
    found = tools_of(call_of(tools, body=body, event_call=tool_function), None)
    assert [one["name"] for one in found.specs] == [*tools]
    assert found.runnable == tools
    assert not found.left_out and not found.handed_over


async def test_c02_tools_that_share_a_function_or_have_no_signature_keep_their_own_names() -> None:
    tools = {
        "lab_a": native("lab_a", type="mcp"),
        "lab_b": native("lab_b", type="mcp"),
        "odd": native("odd", NoSignature()),
    }
    made = await tooling(call_of(tools))
    assert wire_of(made).count(b'"functionDeclarations"') == 1, "one Tool object for all declarations"
    assert list(made.conversion.original_names) == ["lab_a", "lab_b", "odd", "read_tool_output"]


@pytest.mark.parametrize("tools", [None, {}, [], "nonsense"])
def test_no_tools_need_no_reader_of_results(tools: Any) -> None:
    found = tools_of(call_of(tools), MemoryShadowStore())
    assert not found.specs and not found.runnable and not found.left_out


def test_a_list_of_specs_has_nothing_that_runs() -> None:
    found = tools_of(call_of([spec("a"), {"type": "function", "function": spec("b")}, 7]), MemoryShadowStore())
    assert not found.specs
    assert [name for name, _ in found.left_out] == ["a", "b"]


def test_what_has_no_callable_no_spec_or_no_browser_is_left_out() -> None:
    tools = {
        "good": native("good"),
        "bare": {"spec": spec("bare")},
        "shapeless": {"callable": tool_function},
        "none": None,
        "page": {"spec": spec("page"), "direct": True, "server": {}},
    }
    found = tools_of(call_of(tools, body={"tools": [spec("good"), spec("from_a_filter")]}), None)
    assert [*found.runnable] == ["good"]
    assert {name for name, _ in found.left_out} == {"bare", "shapeless", "none", "page", "from_a_filter"}


def test_the_name_under_which_a_tool_is_kept_is_the_one_that_is_declared() -> None:
    body = {"tools": [{"type": "function", "function": spec("other")}]}
    found = tools_of(call_of({"key": native("other")}, body=body), None)
    assert [one["name"] for one in found.specs] == ["key"]
    assert not found.left_out


def test_a_tool_of_the_users_that_is_named_like_echos_own_gives_way() -> None:
    found = tools_of(call_of({"read_tool_output": native("read_tool_output")}), MemoryShadowStore())
    assert [one["name"] for one in found.specs] == ["read_tool_output"]
    assert found.runnable["read_tool_output"]["type"] == "echo"
    assert [name for name, _ in found.left_out] == ["read_tool_output"]


async def test_what_is_left_out_is_told_in_the_users_language() -> None:
    french = {**PAGE, "variables": {"{{USER_LANGUAGE}}": "fr-FR"}}
    made = await tooling(call_of({"bare": {"spec": spec("bare")}}, metadata=french))
    assert made.notices == (
        "L'outil bare ne peut pas être proposé à Gemini : il est fourni sans code qui permette de l'exécuter.",
    )


SEARCH = {**PAGE, "features": {"web_search": True}}
BOTH = {**PAGE, "features": {"web_search": True, "code_interpreter": True}}


async def test_the_toggles_bring_geminis_own_tools() -> None:
    made = await tooling(call_of({}, metadata=BOTH))
    assert wire_of(made) == b'[{"googleSearch":{}},{"urlContext":{}},{"codeExecution":{}}]'
    assert tool_config(wire_of(made)) is None and not made.notices


async def test_c03_googles_tools_beside_functions_set_the_flag() -> None:
    made = await tooling(call_of({"roll": native("roll")}, metadata=SEARCH))
    assert b'{"googleSearch":{}}' in wire_of(made)
    assert tool_config(wire_of(made)) == {"includeServerSideToolInvocations": True}


async def test_models_that_cannot_mix_keep_the_functions_and_say_so() -> None:
    made = await tooling(call_of({"roll": native("roll")}, metadata=SEARCH), "gemini-2.5-flash")
    assert b"googleSearch" not in wire_of(made)
    assert tool_config(wire_of(made)) is None
    [notice] = made.notices
    assert notice.startswith("Gemini 2.5 Flash cannot use Google Search together with other tools")
    alone = await tooling(call_of({}, metadata=SEARCH), "gemini-2.5-flash")
    assert wire_of(alone) == b'[{"googleSearch":{}},{"urlContext":{}}]' and not alone.notices


async def test_models_without_googles_tools_say_so() -> None:
    made = await tooling(call_of({}, metadata=BOTH), "gemma-4-31b-it")
    assert wire_of(made) == b""
    assert [notice.partition(" does not offer ")[2] for notice in made.notices] == [
        "Google Search; it is left out of this answer.",
        "code execution; it is left out of this answer.",
    ]


async def test_an_administrator_may_forbid_a_toggle(open_webui: SimpleNamespace) -> None:
    open_webui.permitted = False
    assert wire_of(await tooling(call_of({}, metadata=BOTH))) == b""


async def test_searxng_serves_where_it_is_configured(open_webui: SimpleNamespace) -> None:
    open_webui.engine = "searxng"
    made = await tooling(call_of({}, metadata=SEARCH))
    assert [*made.toolset.runnable] == ["search_web", "read_tool_output"]
    assert b"googleSearch" not in wire_of(made)


async def test_open_webuis_own_tools_serve_where_they_are_enabled() -> None:
    tools = {"search_web": native("search_web", type="builtin"), "execute_code": native("execute_code", type="builtin")}
    made = await tooling(call_of(tools, metadata=BOTH))
    assert b"googleSearch" not in wire_of(made) and b"codeExecution" not in wire_of(made)


async def test_the_declarations_do_not_depend_on_whether_a_result_was_cut() -> None:
    store = MemoryShadowStore()
    call = call_of({"roll": native("roll")})
    model = Catalogue.load().model("gemini-3.8-flash")
    before = await tooling_of(call, store, model, "ai_studio")
    await store.keep_tool_output("m", "c", "x" * 1_000_000)
    assert wire_of(await tooling_of(call, store, model, "ai_studio")) == wire_of(before)


def with_maps(tools: Any = None, metadata: dict[str, Any] | None = None, **body: Any) -> PipeCall:
    """Web search by a user who switched maps on."""
    user = {"id": "u", "valves": SimpleNamespace(GOOGLE_MAPS=True)}
    return call_of(tools or {}, metadata={**(metadata or SEARCH)}, user=user, body=body)


async def test_maps_come_with_web_search_for_those_who_switched_them_on() -> None:
    made = await tooling(with_maps())
    assert wire_of(made) == b'[{"googleSearch":{}},{"urlContext":{}},{"googleMaps":{}}]'
    assert b"googleMaps" not in wire_of(await tooling(with_maps(metadata=PAGE)))
    assert b"googleMaps" not in wire_of(await tooling(call_of({}, metadata=SEARCH)))


async def test_maps_stand_beside_functions_with_the_flag() -> None:
    wire = wire_of(await tooling(with_maps({"roll": native("roll")})))
    assert b'{"googleMaps":{}}' in wire
    assert tool_config(wire) == {"includeServerSideToolInvocations": True}


@pytest.mark.parametrize(
    ("model", "body", "told"),
    [
        ("gemini-4-hydrogen", {}, "Gemini 4 Hydrogen does not offer Google Maps; it is left out of this answer."),
        ("gemini-2.5-flash", {}, "Gemini 2.5 Flash cannot use Google Maps together with other tools"),
        ("gemini-3.8-flash", {"response_format": {"type": "json_object"}}, "in an answer that has to be JSON"),
    ],
)
async def test_maps_are_left_out_where_google_refuses_them(model: str, body: dict[str, Any], told: str) -> None:
    made = await tooling(with_maps(**body), model)
    assert wire_of(made) == b'[{"googleSearch":{}},{"urlContext":{}}]'
    [notice] = made.notices
    assert told in notice


async def test_maps_stay_in_an_answer_in_plain_text() -> None:
    assert b"googleMaps" in wire_of(await tooling(with_maps(response_format={"type": "text"})))


async def test_maps_are_not_asked_where_searxng_serves(open_webui: SimpleNamespace) -> None:
    open_webui.engine = "searxng"
    assert b"googleMaps" not in wire_of(await tooling(with_maps()))


def standing(place: str) -> PipeCall:
    call = with_maps()
    call.shared.anchors = Anchors(places={"USER_LOCATION": place})
    return call


def test_where_the_user_is_goes_along_with_maps_only() -> None:
    position = position_of(standing("45.764, -4.836 (lat, long)"))
    lyon = {"latitude": 45.764, "longitude": -4.836}
    assert position == lyon
    assert tool_config(b'[{"googleMaps":{}}]', position) == {"retrievalConfig": {"latLng": lyon}}
    assert tool_config(b'[{"googleSearch":{}}]', position) is None
    assert tool_config(b'[{"googleMaps":{}}]') is None


@pytest.mark.parametrize("place", ["", "Lyon", "91.0, 2.0 (lat, long)", "45.0, 181.0 (lat, long)", "1, 2"])
def test_what_is_no_position_is_not_sent(place: str) -> None:
    assert position_of(standing(place)) is None
