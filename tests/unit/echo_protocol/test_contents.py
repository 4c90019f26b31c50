"""Contents are bytes joined verbatim, in a shape that Gemini takes."""

import json
from typing import Any

import pytest

from echo_protocol import (
    LOST_RESPONSE,
    Content,
    EmptyContent,
    UnreadablePart,
    check_turn_shape,
    close_dangling_calls,
    content_from_wire,
    content_json,
    function_call_part,
    function_response_part,
    join_contents,
    merge_content_json,
    merge_neighbours,
    parse_contents,
    request_json,
    text_part,
)


def user(*texts: str) -> Content:
    return Content("user", tuple(text_part(text) for text in texts))


def model(*texts: str) -> Content:
    return Content("model", tuple(text_part(text) for text in texts))


F = function_call_part("f", {"x": 1}, call_id="i1")
G = function_call_part("g", {})
F_DONE = function_response_part(F, {"output": "1"})
G_DONE = function_response_part(G, {"output": "2"})
CALLS = Content("model", (F, G))


def wires(contents: Any) -> list[Any]:
    return [(c.role, [part.wire for part in c.parts]) for c in contents]


def test_a_content_is_compact_utf8() -> None:
    assert content_json("user", [text_part("é\u2028")]) == '{"role":"user","parts":[{"text":"é\u2028"}]}'.encode()


def test_a_content_without_parts_is_refused() -> None:
    with pytest.raises(EmptyContent):
        content_json("model", [])


def test_sealed_bytes_are_joined_untouched() -> None:
    odd = b'{ "role":"user", "parts":[{"text":"\\u00e9"}] }'
    array = b'[{"role":"model","parts":[{"text":"a"}]},{"role":"user","parts":[{"text":"b"}]}]'
    joined = join_contents([odd, array, b"[]", b"[ ]"])
    assert joined == b"[" + odd + b"," + array[1:]
    assert len(json.loads(joined)) == 3
    assert join_contents([]) == b"[]"


def test_a_request_has_one_key_order_and_leaves_out_what_is_empty() -> None:
    system, tools = b'{"parts":[{"text":"s"}]}', b'[{"functionDeclarations":[]}]'
    full = request_json(
        continuation_token="dG9r",
        safety_settings=[{"category": "c", "threshold": "OFF"}],
        generation_config={"seed": 1},
        tool_config={"functionCallingConfig": {"mode": "AUTO"}},
        contents=[content_json("user", [text_part("q")])],
        tools=tools,
        system_instruction=system,
    )
    assert list(json.loads(full)) == [
        "systemInstruction", "tools", "contents", "toolConfig", "generationConfig", "safetySettings",
        "continuationToken",
    ]  # fmt: skip
    assert system in full
    assert tools in full
    assert request_json(contents=[], generation_config={}, safety_settings=[]) == b'{"contents":[]}'
    assert (
        json.loads(request_json(contents=[], cached_content="cachedContents/a"))["cachedContent"] == "cachedContents/a"
    )


def test_two_hops_share_every_byte_up_to_the_new_contents() -> None:
    first = [content_json("user", [text_part("q")])]
    second = [*first, content_json("model", [F]), content_json("user", [F_DONE])]
    one = request_json(contents=first, generation_config={"thinkingConfig": {"thinkingLevel": "LOW"}})
    two = request_json(contents=second, generation_config={"thinkingConfig": {"thinkingLevel": "HIGH"}})
    shared = b'{"contents":[' + first[0]
    assert one.startswith(shared)
    assert two.startswith(shared + b",")


def test_two_turns_of_one_role_merge_as_bytes() -> None:
    merged = merge_content_json(content_json("user", [F_DONE]), content_json("user", [text_part("q")]))
    assert merged == content_json("user", [F_DONE, text_part("q")])
    with pytest.raises(UnreadablePart):
        merge_content_json(content_json("user", [F_DONE]), content_json("model", [F]))


@pytest.mark.parametrize("bad", ['{"role":"user"}', "[3]", '[{"parts":{}}]', '[{"parts":["x"]}]'])
def test_what_is_no_list_of_contents_is_refused(bad: str) -> None:
    with pytest.raises(UnreadablePart):
        parse_contents(bad.encode())


@pytest.mark.parametrize("role", ["user", "function", "tool", None])
def test_a_foreign_role_is_the_user(role: str | None) -> None:
    assert content_from_wire({"role": role, "parts": [{"text": "a"}]}).role == "user"


def test_neighbours_of_one_role_merge_and_empty_turns_go() -> None:
    merged = merge_neighbours([user("a"), Content("model", ()), user("b"), model("c")])
    assert wires(merged) == wires([user("a", "b"), model("c")])


@pytest.mark.parametrize(
    ("given", "closed"),
    [
        ([user("q"), CALLS], [user("q"), CALLS, "lost f", "lost g"]),
        ([user("q"), CALLS, Content("user", (F_DONE,))], [user("q"), CALLS, F_DONE, "lost g"]),
        ([user("q"), CALLS, user("next")], [user("q"), CALLS, "lost f", "lost g", text_part("next")]),
        ([user("q"), CALLS, Content("user", (G_DONE, F_DONE))], [user("q"), CALLS, F_DONE, G_DONE]),
        ([user("q"), CALLS, Content("user", (F_DONE, G_DONE))], [user("q"), CALLS, F_DONE, G_DONE]),
        ([user("q"), model("a"), Content("user", (F_DONE, text_part("x")))], [user("q"), model("a"), text_part("x")]),
        ([user("q"), CALLS, model("a")], [user("q"), CALLS, model("a"), "lost f", "lost g"]),
    ],
)
def test_every_call_gets_an_answer_in_order(given: list[Content], closed: list[Any]) -> None:
    lost = {"lost f": function_response_part(F, LOST_RESPONSE), "lost g": function_response_part(G, LOST_RESPONSE)}
    expected: list[Content] = []
    for item in closed:
        if isinstance(item, Content):
            expected.append(item)
        else:
            expected.append(Content("user", (lost[item] if isinstance(item, str) else item,)))
    result = close_dangling_calls(given)
    assert wires(result) == wires(merge_neighbours(expected))
    assert check_turn_shape(result) == []
    assert close_dangling_calls(result) == result


def test_an_id_is_echoed_only_when_the_call_had_one() -> None:
    assert F_DONE.wire == {"functionResponse": {"id": "i1", "name": "f", "response": {"output": "1"}}}
    assert G_DONE.wire == {"functionResponse": {"name": "g", "response": {"output": "2"}}}


def test_calls_that_their_own_turn_answers_are_not_open() -> None:
    assert check_turn_shape([user("q"), Content("model", (F, F_DONE, text_part("a")))]) == []


@pytest.mark.parametrize(
    ("contents", "problem"),
    [
        ([model("a")], "starts with a user turn"),
        ([user("a"), user("b")], "two user turns"),
        ([user("a"), Content("model", ())], "no parts"),
        ([user("a"), CALLS], "not answered"),
        ([user("a"), CALLS, Content("user", (G_DONE, F_DONE))], "not answered in order"),
        ([user("a"), CALLS, Content("user", (F_DONE,))], "not answered"),
        ([Content("user", (F_DONE,))], "without a call"),
        ([Content("user", (F,))], "holds a functionCall"),
    ],
)
def test_what_gemini_would_refuse_is_named(contents: list[Content], problem: str) -> None:
    assert any(problem in found for found in check_turn_shape(contents))


def test_a_good_conversation_has_no_problems() -> None:
    step = Content("user", (F_DONE, G_DONE, text_part("and?")))
    assert check_turn_shape([user("q"), CALLS, step, model("a"), user("b")]) == []
    assert check_turn_shape([]) == []
