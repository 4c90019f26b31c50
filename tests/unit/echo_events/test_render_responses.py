"""The Responses form, judged by Open WebUI's own reducer: what the page would hold at the end."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_events import (
    MediaShown,
    NoticeShown,
    ResponsesRenderer,
    SourcesFound,
    TextStreamed,
    ThoughtEnded,
    ThoughtStreamed,
    ToolCalled,
    ToolFinished,
    ToolProgressed,
    TurnEvent,
    TurnFailed,
    TurnFinished,
    TurnStopped,
    UsageCounted,
)

CALL = ToolCalled(call_id="call_0_0", name="weather", arguments_json='{"city": "Paris"}')
DONE = ToolFinished(call_id="call_0_0", text="18 °C")


def wires(events: Sequence[TurnEvent]) -> list[dict[str, Any]]:
    renderer = ResponsesRenderer("m1")
    return [json.loads(json.dumps(wire)) for event in events for wire in renderer.render(event)]


@pytest.fixture(scope="module", autouse=True)
def open_webui_importable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Open WebUI refuses to be imported without a secret, and writes into its data folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEBUI_SECRET_KEY", "only for this test")
        patch.setenv("DATA_DIR", str(tmp_path_factory.mktemp("owui")))
        yield


def page(events: Sequence[TurnEvent]) -> list[dict[str, Any]]:
    """The output items as Open WebUI 0.12.4 itself assembles them."""
    from open_webui.utils.response import handle_responses_streaming_event

    output: list[dict[str, Any]] = []
    for wire in wires(events):
        if wire.get("type", "").startswith("response."):
            output, _ = handle_responses_streaming_event(wire, output)
    return output


def shown(output: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(item["type"], (item.get("content") or [{"text": ""}])[0].get("text", "")) for item in output]


def test_thoughts_text_and_tools_keep_their_order() -> None:
    events = [
        ThoughtStreamed("Let me "),
        ThoughtStreamed("look."),
        ThoughtEnded(2.4),
        TextStreamed("I will check."),
        CALL,
        DONE,
        ThoughtStreamed("Warm."),
        ThoughtEnded(1.0),
        TextStreamed("It is "),
        TextStreamed("18 °C."),
        TurnFinished(),
    ]
    assert shown(page(events)) == [
        ("reasoning", "Let me look."),
        ("message", "I will check."),
        ("function_call", ""),
        ("function_call_output", ""),
        ("reasoning", "Warm."),
        ("message", "It is 18 °C."),
    ]


def test_a_thought_shows_how_long_it_took() -> None:
    [thought, _] = page([ThoughtStreamed("a"), ThoughtEnded(7.9), TextStreamed("b"), TurnFinished()])
    assert thought["duration"] == 7
    assert thought["status"] == "completed"


def test_every_card_has_its_result() -> None:
    call, result = page([CALL, DONE, TurnFinished()])
    assert call["call_id"] == result["call_id"] == "call_0_0"
    assert result["output"] == [{"type": "input_text", "text": "18 °C"}]


def test_files_and_embeds_ride_on_the_result() -> None:
    finished = ToolFinished(call_id="c", text="t", files=({"type": "image", "url": "/f"},), embeds=("<p>x</p>",))
    [item] = page([finished])
    assert item["files"] == [{"type": "image", "url": "/f"}]
    assert item["embeds"] == ["<p>x</p>"]


def test_partial_text_stays_when_the_turn_fails() -> None:
    events = [TextStreamed("half an ans"), TurnFailed(message="Gemini is busy.", code="x", reference="ab12")]
    assert shown(page(events)) == [("message", "half an ans")]
    assert wires(events)[-1] == {"error": "Gemini is busy. (ab12)"}


@pytest.mark.parametrize("end", [TurnStopped(), TurnFinished("length")])
def test_an_open_item_is_closed_by_any_end(end: TurnEvent) -> None:
    [item] = page([TextStreamed("x"), end])
    assert item["status"] == "completed"


def test_images_sources_notices_and_usage_have_their_own_channels() -> None:
    source = {"source": {"name": "A"}, "document": ["d"], "metadata": [{"source": "u"}]}
    given_wires = wires([MediaShown("/i.png"), SourcesFound((source,)), NoticeShown("n"), UsageCounted({"a": 1})])
    assert [wire.get("event", {}).get("type") for wire in given_wires] == [None, "source", "status", None]
    assert given_wires[0]["choices"][0]["delta"]["images"][0]["image_url"] == {"url": "/i.png"}
    assert given_wires[-1] == {"choices": [], "usage": {"a": 1}}


TEXTS = st.text(min_size=1, max_size=20)
STREAM = st.lists(st.one_of(TEXTS.map(TextStreamed), TEXTS.map(ThoughtStreamed)), max_size=30)


@given(STREAM)
def test_no_text_is_lost_doubled_or_moved(stream: list[TurnEvent]) -> None:
    output = page([*stream, TurnFinished()])
    for kind, cls in (("message", TextStreamed), ("reasoning", ThoughtStreamed)):
        told = "".join(event.text for event in stream if isinstance(event, cls))
        assert "".join(text for item, text in shown(output) if item == kind) == told
    ids = [item["id"] for item in output]
    assert len(ids) == len(set(ids))


def test_progress_shows_on_the_card_and_the_result_puts_its_name_right_again() -> None:
    renderer = ResponsesRenderer("p")
    [called] = renderer.render(ToolCalled(call_id="c1", name="delegate", arguments_json='{"task":"count"}'))
    [told] = renderer.render(ToolProgressed(call_id="c1", doing="look (1)", steps=("1. look",)))
    assert (told["output_index"], told["item"]["id"], told["item"]["call_id"]) == (0, "c1", "c1")
    assert told["item"]["name"] == "delegate: look (1)"
    assert json.loads(told["item"]["arguments"]) == {"task": "count", "…": "1. look"}
    again, result = renderer.render(ToolFinished(call_id="c1", text="3"))
    assert again == called
    assert (result["output_index"], result["item"]["call_id"]) == (1, "c1")
    assert renderer.render(ToolProgressed(call_id="c1", doing="late")) == []


@pytest.mark.parametrize("arguments", ["", "[]", "{", "{}"])
def test_progress_leaves_arguments_that_cannot_be_added_to_as_they_are(arguments: str) -> None:
    renderer = ResponsesRenderer("p")
    renderer.render(ToolCalled(call_id="c1", name="delegate", arguments_json=arguments))
    [told] = renderer.render(ToolProgressed(call_id="c1", doing="thinking"))
    assert told["item"]["arguments"] == arguments
    [told] = renderer.render(ToolProgressed(call_id="c1", doing="thinking", steps=("1. look",)))
    assert told["item"]["arguments"] == ('{"…":"1. look"}' if arguments == "{}" else arguments)
    assert renderer.render(ToolProgressed(call_id="nobody", doing="thinking")) == []


def test_progress_leaves_no_trace_in_what_the_page_keeps() -> None:
    other = ToolCalled(call_id="call_0_1", name="clock", arguments_json="{}")
    told = ToolProgressed(call_id="call_0_0", doing="asks the sky", steps=("1. asks the sky",))
    late = ToolFinished(call_id="call_0_1", text="noon")
    assert page([CALL, other, told, late, told, DONE]) == page([CALL, other, late, DONE])
