from echo_events import (
    CallsHandedOver,
    ChatChunkRenderer,
    CompletionBuilder,
    HandedCall,
    MediaShown,
    NoticeShown,
    TextStreamed,
    ThoughtStreamed,
    ToolCalled,
    TurnEvent,
    TurnFailed,
    TurnFinished,
    UsageCounted,
)

HEAD = {"completion_id": "chatcmpl-1", "created_s": 7, "model": "echo"}
TURN: list[TurnEvent] = [
    ThoughtStreamed("hm"),
    TextStreamed("Let me look."),
    ToolCalled(call_id="c", name="t", arguments_json="{}"),
    NoticeShown("waiting"),
    TextStreamed("It is"),
    TextStreamed(" 18."),
    UsageCounted({"total_tokens": 3}),
    TurnFinished("length"),
]
FAILURE = TurnFailed(message="Gemini is busy.", code="model_overloaded", reference="ab12")


def test_chunks_carry_text_and_thoughts_apart() -> None:
    renderer = ChatChunkRenderer(**HEAD)
    deltas = [w["choices"][0]["delta"] for e in TURN for w in renderer.render(e) if w.get("choices")]
    assert deltas == [
        {"role": "assistant", "reasoning_content": "hm"},
        {"content": "Let me look."},
        {"content": "\n\nIt is"},
        {"content": " 18."},
        {},
    ]


def test_the_last_chunk_names_the_finish_reason_and_usage_comes_before() -> None:
    renderer = ChatChunkRenderer(**HEAD)
    *_, usage, last = [w for e in TURN for w in renderer.render(e)]
    assert usage["usage"] == {"total_tokens": 3}
    assert last["choices"][0]["finish_reason"] == "length"
    assert last["id"] == "chatcmpl-1"


def test_the_whole_completion_equals_the_stream() -> None:
    builder = CompletionBuilder(**HEAD)
    for event in TURN:
        builder.add(event)
    completion = builder.build()
    assert completion["choices"][0]["message"] == {
        "role": "assistant",
        "content": "Let me look.\n\nIt is 18.",
        "reasoning_content": "hm",
    }
    assert completion["choices"][0]["finish_reason"] == "length"
    assert completion["usage"] == {"total_tokens": 3}


def test_a_failure_before_any_text_is_a_refusal() -> None:
    builder = CompletionBuilder(**HEAD)
    builder.add(ThoughtStreamed("hm"))
    assert builder.refusal is None
    builder.add(FAILURE)
    assert builder.refusal == FAILURE


def test_a_stream_that_fails_ends_with_an_error_in_openais_form() -> None:
    [error] = ChatChunkRenderer(**HEAD).render(FAILURE)
    assert error == {"error": {"message": "Gemini is busy. (ab12)", "code": "model_overloaded", "type": "echo_error"}}


def test_a_failure_after_text_keeps_the_text() -> None:
    builder = CompletionBuilder(**HEAD)
    builder.add(TextStreamed("half"))
    builder.add(FAILURE)
    completion = builder.build()
    assert completion["choices"][0]["message"]["content"] == "half"
    assert completion["error"]["code"] == "model_overloaded"
    assert builder.refusal is None


def test_api_callers_get_images_as_links() -> None:
    builder = CompletionBuilder(**HEAD)
    builder.add(MediaShown("/api/v1/files/1/content"))
    assert "![image](/api/v1/files/1/content)" in builder.build()["choices"][0]["message"]["content"]


HANDED = CallsHandedOver((HandedCall("id1", "weather", '{"city":"Lyon"}'),))
CALLED = {"id": "id1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Lyon"}'}}


def test_calls_of_the_callers_own_tools_are_a_delta_with_indices() -> None:
    [delta] = ChatChunkRenderer(**HEAD).render(HANDED)
    assert delta["choices"][0]["delta"] == {"role": "assistant", "tool_calls": [{"index": 0, **CALLED}]}


def test_a_completion_of_nothing_but_calls_has_no_content() -> None:
    builder = CompletionBuilder(**HEAD)
    for event in (HANDED, TurnFinished("tool_calls")):
        builder.add(event)
    assert builder.refusal is None
    [choice] = builder.build()["choices"]
    assert choice["message"] == {"role": "assistant", "content": None, "tool_calls": [CALLED]}
    assert choice["finish_reason"] == "tool_calls"
