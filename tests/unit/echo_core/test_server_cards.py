from echo_core.server_cards import ServerCards
from echo_events import ToolCalled, ToolFinished
from echo_protocol import ServerToolUsed, assistant_contents, part_from_wire


def used(wire: dict[str, object]) -> ServerToolUsed:
    return ServerToolUsed(part_from_wire(wire))  # type: ignore[arg-type]


CODE = used({"executableCode": {"language": "PYTHON", "code": "print(6*7)"}})


def result(outcome: str, output: str) -> ServerToolUsed:
    return used({"codeExecutionResult": {"outcome": outcome, "output": output}})


def test_code_is_shown_with_its_output() -> None:
    cards = ServerCards()
    assert cards.show(CODE) == []
    called, finished = cards.show(result("OUTCOME_OK", "42\n"))
    assert called == ToolCalled(
        call_id="google_1", name="code_execution", arguments_json='{"language":"python","code":"print(6*7)"}'
    )
    assert finished == ToolFinished(call_id="google_1", text="42\n")


def test_code_that_failed_is_shown_as_a_failed_call() -> None:
    cards = ServerCards()
    cards.show(CODE)
    _, finished = cards.show(result("OUTCOME_FAILED", "ZeroDivisionError"))
    assert isinstance(finished, ToolFinished) and finished.text == "error: ZeroDivisionError"


def test_searches_that_overlap_meet_their_own_results() -> None:
    cards = ServerCards()
    for call_id, words in (("a", "rain"), ("b", "sun")):
        call = {"id": call_id, "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": [words]}}
        assert cards.show(used({"toolCall": call})) == []
    names = []
    for call_id in ("b", "a", "b"):
        shown = cards.show(used({"toolResponse": {"id": call_id, "toolType": "GOOGLE_SEARCH_WEB", "response": {}}}))
        names += [event.arguments_json for event in shown if isinstance(event, ToolCalled)]
    assert names == ['{"queries":["sun"]}', '{"queries":["rain"]}']


def test_output_without_code_shows_nothing() -> None:
    assert ServerCards().show(result("OUTCOME_OK", "42")) == []


def test_cards_of_googles_tools_are_no_calls_when_an_answer_is_recovered() -> None:
    items = [
        {"type": "function_call", "call_id": "google_1", "name": "code_execution", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "google_1", "output": [{"type": "input_text", "text": "42"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "It is 42."}]},
    ]
    [content] = assistant_contents("", items)
    assert [part.wire for part in content.parts] == [{"text": "It is 42."}]
