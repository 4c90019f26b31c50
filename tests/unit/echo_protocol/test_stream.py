"""A stream becomes events while it runs, and one result at its end."""

from typing import Any

import pytest

from echo_protocol import (
    CallReceived,
    CitationsReceived,
    MediaReceived,
    ServerToolUsed,
    StreamProcessor,
    StreamResult,
    TextDelta,
    ThoughtDelta,
    UnreadableChunk,
    UnreadablePart,
    Usage,
)


def chunk(*parts: dict[str, Any], reason: str | None = None, **candidate: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **candidate}
    return {"candidates": [body if reason is None else {**body, "finishReason": reason}]}


def run(*chunks: dict[str, Any]) -> tuple[list[Any], StreamResult]:
    processor = StreamProcessor()
    events = [event for one in chunks for event in processor.process(one)]
    return events, processor.finish()


def test_thoughts_and_answer_are_told_apart() -> None:
    events, result = run(
        chunk({"text": "hm ", "thought": True}),
        chunk({"text": "hm", "thought": True}, {"text": "Hel"}),
        chunk({"text": "lo"}, {"text": "", "thoughtSignature": "c2ln"}, reason="STOP"),
    )
    assert events == [ThoughtDelta("hm "), ThoughtDelta("hm"), TextDelta("Hel"), TextDelta("lo")]
    assert [part.wire for part in result.parts] == [
        {"text": "hm hm", "thought": True},
        {"text": "Hello"},
        {"text": "", "thoughtSignature": "c2ln"},
    ]
    assert result.outcome == "complete"
    assert result.text == "Hello"


def test_every_kind_of_part_has_its_event() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "eA=="}}
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    output = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
    search = {"toolCall": {"id": "a", "toolType": "GOOGLE_SEARCH_WEB"}, "thoughtSignature": "c2ln"}
    call = {"functionCall": {"id": "b", "name": "f", "args": {"x": 1}}}
    events, result = run(chunk(image, code, output, search, call, {"novel": {}}, reason="STOP"))
    assert [type(event) for event in events] == [MediaReceived, *[ServerToolUsed] * 3, CallReceived]
    assert [part.wire for part in result.parts] == [image, code, output, search, call, {"novel": {}}]
    assert [(c.name, c.args, c.call_id) for c in result.calls] == [("f", {"x": 1}, "b")]


TEXT = {"text": "x"}
CALL = {"functionCall": {"name": "f", "args": {}}}
ANSWER = {"functionResponse": {"name": "f", "response": {}}}
THOUGHT = {"text": "x", "thought": True}


@pytest.mark.parametrize(
    ("parts", "reason", "outcome"),
    [
        ([TEXT], "STOP", "complete"),
        ([{"inlineData": {"mimeType": "image/png", "data": "aWNvbg=="}}], "STOP", "complete"),
        ([{"inlineData": {"mimeType": "image/png", "data": ""}}], "STOP", "empty"),
        ([CALL], "STOP", "tool_calls"),
        ([TEXT, CALL], "OTHER", "tool_calls"),
        ([CALL], "MAX_TOKENS", "tool_calls"),
        ([CALL, ANSWER, TEXT], "STOP", "complete"),
        ([TEXT], "MAX_TOKENS", "max_tokens"),
        ([], "MAX_TOKENS", "max_tokens_while_thinking"),
        ([THOUGHT], "MAX_TOKENS", "max_tokens_while_thinking"),
        ([THOUGHT], "STOP", "thoughts_only"),
        ([], "STOP", "empty"),
        ([{"text": ""}], "STOP", "empty"),
        ([{"text": " \n"}], "STOP", "empty"),
        ([], "SAFETY", "answer_blocked"),
        ([TEXT], "RECITATION", "answer_blocked"),
        ([CALL], "PROHIBITED_CONTENT", "answer_blocked"),
        ([], "MALFORMED_FUNCTION_CALL", "malformed_call"),
        ([CALL], "UNEXPECTED_TOOL_CALL", "unexpected_tool_call"),
        ([TEXT], "CONTINUATION", "continuation"),
        ([TEXT], "MISSING_THOUGHT_SIGNATURE", "other"),
        ([TEXT], "A_REASON_OF_NEXT_YEAR", "other"),
        ([TEXT], None, "no_finish_reason"),
        ([CALL], None, "no_finish_reason"),
        ([TEXT], "FINISH_REASON_UNSPECIFIED", "no_finish_reason"),
    ],
)
def test_the_outcome_says_what_to_do_next(parts: list[dict[str, Any]], reason: str | None, outcome: str) -> None:
    assert run(chunk(*parts, reason=reason))[1].outcome == outcome


def test_a_refused_prompt_has_no_candidates() -> None:
    _, result = run({"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "no"}})
    assert (result.outcome, result.block_reason, result.finish_message) == ("prompt_blocked", "SAFETY", "no")
    _, result = run({"promptFeedback": {"blockReasonMessage": "no"}})
    assert (result.outcome, result.block_reason) == ("prompt_blocked", "BLOCK_REASON_UNSPECIFIED")
    _, result = run({"promptFeedback": {"safetyRatings": []}, **chunk(TEXT, reason="STOP")})
    assert result.outcome == "complete"


def test_content_after_an_early_stop_still_counts() -> None:
    _, result = run(
        {"candidates": [{"content": {}, "finishReason": "STOP"}]},
        {"candidates": [{"content": {"parts": [TEXT]}}]},
        {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"totalTokenCount": 3}},
    )
    assert (result.outcome, result.text, result.usage.total_tokens) == ("complete", "x", 3)


def test_only_candidate_zero_counts() -> None:
    other = {"content": {"parts": [{"text": "other"}]}, "index": 1, "finishReason": "SAFETY"}
    first = {"content": {"parts": [TEXT]}, "finishReason": "STOP"}
    _, result = run({"candidates": [other, first]}, {"candidates": [other]})
    assert (result.text, result.finish_reason) == ("x", "STOP")


def test_facts_of_the_answer_are_kept() -> None:
    events, result = run(
        {**chunk(TEXT), "modelVersion": "gemini-x", "responseId": "r1", "usageMetadata": {"promptTokenCount": 9}},
        {
            **chunk(
                reason="CONTINUATION",
                continuationToken="dG9r",
                finishMessage="more",
                groundingMetadata={"webSearchQueries": ["q"]},
                citationMetadata={"citationSources": [{"uri": "https://a.example"}]},
                urlContextMetadata={"urlMetadata": [{"retrievedUrl": "https://b.example"}]},
            ),
            "usageMetadata": {"promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 2,
                              "thoughtsTokenCount": 3, "toolUsePromptTokenCount": 1, "totalTokenCount": 16},
        },
    )  # fmt: skip
    assert result.usage == Usage(
        prompt_tokens=10, cached_tokens=4, candidates_tokens=2, thoughts_tokens=3, tool_prompt_tokens=1, total_tokens=16
    )
    assert (result.model_version, result.response_id) == ("gemini-x", "r1")
    assert (result.continuation_token, result.finish_message) == ("dG9r", "more")
    assert result.grounding == {"webSearchQueries": ["q"]}
    assert events[-1] == CitationsReceived(
        {"webSearchQueries": ["q"]}, ({"uri": "https://a.example"},), ({"retrievedUrl": "https://b.example"},)
    )


def test_usage_without_counts_does_not_erase_counts() -> None:
    full = {"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2}}
    _, result = run(full, {"usageMetadata": {"trafficType": "ON_DEMAND"}})
    assert result.usage == Usage(prompt_tokens=5, candidates_tokens=2, total_tokens=7)


def test_usage_adds_up_over_hops() -> None:
    one = Usage(prompt_tokens=1, cached_tokens=2, candidates_tokens=3, thoughts_tokens=4, total_tokens=8)
    assert one + one + Usage() == Usage(
        prompt_tokens=2, cached_tokens=4, candidates_tokens=6, thoughts_tokens=8, total_tokens=16
    )
    assert one.output_tokens == 7


def test_arguments_that_arrive_in_pieces_make_one_call() -> None:
    def piece(path: str, more: bool = False, **value: Any) -> dict[str, Any]:
        return {"jsonPath": path, **value, **({"willContinue": True} if more else {})}

    def part(*pieces: dict[str, Any], more: bool = True) -> dict[str, Any]:
        return {"functionCall": {"partialArgs": list(pieces), **({"willContinue": True} if more else {})}}

    events, result = run(
        chunk({"functionCall": {"id": "i1", "name": "cook", "willContinue": True}, "thoughtSignature": "c2ln"}),
        chunk(part(piece("$.dish.steps[0].text", True, stringValue="cut "))),
        chunk(part(piece("$.dish.steps[0].text", True, stringValue="it"))),
        chunk(part(piece("$.dish.steps[0].text", stringValue=""), piece("$.dish.steps[1].text", stringValue="eat"))),
        chunk(part(piece("$.n", numberValue=2), piece("$.hot", boolValue=False), piece("$['a b']", nullValue="x"))),
        chunk({"functionCall": {"partialArgs": [piece("$.dish.steps[1]", numberValue=0)]}}),
        chunk({"functionCall": {"name": "wash", "args": {}}}, reason="STOP"),
    )
    args = {"dish": {"steps": [{"text": "cut it"}, 0]}, "n": 2, "hot": False, "a b": None}
    whole = {"functionCall": {"id": "i1", "name": "cook", "args": args}, "thoughtSignature": "c2ln"}
    assert [part.wire for part in result.parts] == [whole, {"functionCall": {"name": "wash", "args": {}}}]
    assert [event.part.name for event in events] == ["cook", "wash"]
    assert result.outcome == "tool_calls"


def test_a_call_cut_while_its_arguments_arrive_is_left_out() -> None:
    events, result = run(chunk(TEXT, {"functionCall": {"name": "f", "willContinue": True}}))
    assert events == [TextDelta("x")]
    assert [part.wire for part in result.parts] == [TEXT]


@pytest.mark.parametrize("path", ["", "x", "$", "$.a[5]", "$.a..b", "$[0]"])
def test_an_argument_path_that_leads_nowhere_is_refused(path: str) -> None:
    with pytest.raises(UnreadableChunk):
        run(chunk({"functionCall": {"name": "f", "partialArgs": [{"jsonPath": path, "stringValue": "x"}]}}))


@pytest.mark.parametrize("bad", ["x", {"candidates": {}}, {"candidates": [{"content": {"parts": {}}}]}])
def test_a_chunk_of_another_shape_is_refused(bad: Any) -> None:
    with pytest.raises(UnreadableChunk):
        StreamProcessor().process(bad)


def test_a_part_that_is_no_object_is_refused() -> None:
    with pytest.raises(UnreadablePart):
        StreamProcessor().process({"candidates": [{"content": {"parts": ["x"]}}]})


def test_finishing_early_does_not_disturb_the_stream() -> None:
    processor = StreamProcessor()
    processor.process(chunk({"text": "a"}))
    assert processor.finish().text == "a"
    processor.process(chunk({"text": "b"}, reason="STOP"))
    assert [part.wire for part in processor.finish().parts] == [{"text": "ab"}]


def test_counts_may_be_text_and_nonsense_is_nothing() -> None:
    _, result = run(
        {"usageMetadata": {"promptTokenCount": "7", "candidatesTokenCount": "x", "thoughtsTokenCount": True}}
    )
    assert result.usage == Usage(prompt_tokens=7, total_tokens=7)
