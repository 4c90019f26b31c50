"""Turn structure: roles, empty parts, calls and their responses."""

from typing import Any

import pytest

from echo_workers.gemini_sim.core.errors import GoogleRefusal
from echo_workers.gemini_sim.core.models import find_model
from echo_workers.gemini_sim.core.turns import check_contents, check_turns, current_turn_start

COUNT = "Please ensure that the number of function response parts is equal to the number of function call parts"
CALL_PLACE = "Please ensure that function call turn comes immediately after a user turn"
RESPONSE_PLACE = "Please ensure that function response turn comes immediately after a function call turn."


def model(name: str) -> Any:
    return find_model(name, "v1beta", "generateContent", with_retired=True)


def call(name: str = "f", call_id: str | None = None) -> dict[str, Any]:
    return {"functionCall": {"name": name, **({"id": call_id} if call_id else {})}}


def answer(name: str = "f", call_id: str | None = None) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {}, **({"id": call_id} if call_id else {})}}


def turn(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


HELLO = turn("user", {"text": "hello"})


@pytest.mark.parametrize(
    ("contents", "text"),
    [
        ([], "* GenerateContentRequest.contents: contents is not specified\n"),
        ([{"role": "user"}], "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n"),
        ([turn("assistant", {"text": "a"})], "Please use a valid role: user, model."),
        (
            [turn("user", {"text": "a"}, {"thought": True})],
            "* GenerateContentRequest.contents[0].parts[1].data: required oneof field 'data' must have one initialized "
            "field\n",
        ),
    ],
)
def test_shapeless_contents_are_refused(contents: list[dict[str, Any]], text: str) -> None:
    with pytest.raises(GoogleRefusal) as caught:
        check_contents(contents)
    assert caught.value.text == text


@pytest.mark.parametrize(
    ("contents", "text"),
    [
        ([HELLO, turn("model", call(), call()), turn("user", answer())], COUNT),
        ([HELLO, turn("model", call()), turn("user", answer(), answer())], COUNT),
        ([HELLO, turn("model", call()), HELLO], COUNT),
        ([HELLO, turn("model", call())], COUNT),
        ([HELLO, turn("model", call()), turn("user", {"text": "wait"}), turn("model", {"text": "?"})], COUNT),
        ([turn("model", call()), turn("user", answer())], CALL_PLACE),
        ([HELLO, turn("user", answer())], RESPONSE_PLACE),
        ([HELLO, turn("model", {"text": "hi"}), turn("user", answer())], RESPONSE_PLACE),
        ([HELLO, turn("model", answer())], RESPONSE_PLACE),
    ],
)
def test_calls_without_their_responses_are_refused(contents: list[dict[str, Any]], text: str) -> None:
    with pytest.raises(GoogleRefusal, match=text.replace("(", r"\(")):
        check_turns(contents, model("gemini-3-flash-preview"))


def test_parallel_calls_may_be_answered_in_neighbouring_contents() -> None:
    contents = [HELLO, turn("model", call(), call("g")), turn("user", answer()), turn("user", answer("g"))]
    check_turns(contents, model("gemini-3-flash-preview"))


def test_models_of_the_second_generation_let_a_call_go_unanswered() -> None:
    check_turns([HELLO, turn("model", call()), HELLO], model("gemini-2.0-flash"))


def test_a_model_turn_may_answer_its_own_call_of_an_mcp_server() -> None:
    check_turns([HELLO, turn("model", call(), answer(), {"text": "done"}), HELLO], model("gemini-2.5-flash"))


@pytest.mark.parametrize(("name", "strict"), [("gemini-3-flash-preview", False), ("gemini-3.5-flash", True)])
def test_response_ids_must_match_from_three_point_five_on(name: str, strict: bool) -> None:
    contents = [HELLO, turn("model", call("f", "a"), call("f", "b")), turn("user", answer("f", "a"), answer("f", "x"))]
    if strict:
        with pytest.raises(GoogleRefusal, match=r"functionResponse\.id does not match functionCall\.id"):
            check_turns(contents, model(name))
    else:
        check_turns(contents, model(name))


def test_ids_may_come_back_in_another_order_or_be_absent_on_both_sides() -> None:
    later = model("gemini-3.8-flash")
    check_turns(
        [HELLO, turn("model", call("f", "a"), call("f", "b")), turn("user", answer("f", "b"), answer("f", "a"))], later
    )
    check_turns([HELLO, turn("model", call()), turn("user", answer())], later)


def test_the_current_turn_begins_at_the_last_real_user_message() -> None:
    contents = [
        HELLO,
        turn("model", {"text": "hi"}),
        HELLO,
        turn("model", call()),
        turn("user", answer(), {"text": "x"}),
    ]
    assert current_turn_start(contents) == 2
    assert current_turn_start([turn("user", answer())]) == 0
