"""Whatever a request holds, the answer is an answer or a refusal with Google's envelope, never a crash."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from echo_workers.gemini_sim.core.errors import GoogleRefusal
from echo_workers.gemini_sim.core.models import all_models
from echo_workers.gemini_sim.services.count import count_tokens
from echo_workers.gemini_sim.services.embed import embed_batch, embed_one
from echo_workers.gemini_sim.services.generate import Generation
from echo_workers.gemini_sim.services.journal import Journal
from echo_workers.gemini_sim.services.prompt import Caller, read_prompt
from echo_workers.gemini_sim.services.state import SimState

MODELS = [model for model in all_models(with_retired=True) if "generateContent" in model.methods]
WRONG = st.sampled_from([None, [], {}, "", "x", "call f {}", "\ud800", 3, -1, 0.5, True, [[]], [None], {"unknown": 1}])
PNG = {"mimeType": "image/png", "data": "iVBORw0KGgo="}
SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 1},
        "list": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}},
        "deep": {"type": "object", "properties": {"b": {"type": "boolean"}}, "required": ["b"]},
    },
    "required": ["n"],
}
JSON_SCHEMA = {**SCHEMA, "$defs": {"N": {"type": ["object", "null"], "properties": {"next": {"$ref": "#/$defs/N"}}}}}
#: Every kind of field that a request can have, all of it valid.
WHOLE: dict[str, Any] = {
    "systemInstruction": {"parts": [{"text": "Be kind."}]},
    "tools": [
        {
            "functionDeclarations": [
                {"name": "f", "parameters": SCHEMA},
                {"name": "g", "parametersJsonSchema": JSON_SCHEMA},
            ]
        }
    ],
    "toolConfig": {"functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": ["f"]}},
    "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}],
    "labels": {"a": "b"},
    "generationConfig": {
        "temperature": 1,
        "topK": 64,
        "maxOutputTokens": 900,
        "stopSequences": ["stone"],
        "responseMimeType": "text/plain",
        "responseModalities": ["TEXT"],
        "thinkingConfig": {"include_thoughts": True},
        "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}},
    },
    "contents": [
        {"role": "user", "parts": [{"text": "call f {} and call g {}"}, {"inline_data": PNG}]},
        {
            "role": "model",
            "parts": [
                {"text": "**Thinking**", "thought": True},
                {
                    "functionCall": {"id": "a", "name": "f", "args": {"n": 1}},
                    "thoughtSignature": "skip_thought_signature_validator",
                },
                {"functionCall": {"id": "b", "name": "g"}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "a", "name": "f", "response": {"output": "1"}}},
                {"functionResponse": {"id": "b", "name": "g", "response": {}, "parts": [{"inlineData": PNG}]}},
            ],
        },
        {"role": "model", "parts": [{"text": "done", "thoughtSignature": "AAAA"}, {"executableCode": {"code": "1"}}]},
        {"role": "user", "parts": [{"text": "write 40 words"}, {"fileData": {"fileUri": "https://example.com/a.mp4"}}]},
    ],
}
EMBED = {"content": {"parts": [{"text": "a"}]}, "outputDimensionality": 128, "taskType": "CLUSTERING"}
COUNT = {"generateContentRequest": {**WHOLE, "model": "models/x"}}


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) inside a JSON value."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


@st.composite
def broken(draw: st.DrawFn, whole: dict[str, Any], most: int) -> dict[str, Any]:
    """A valid request with up to `most` places deleted, replaced, doubled, or swapped with another."""
    body = json.loads(json.dumps(whole))
    for _ in range(draw(st.integers(0, most))):
        spots = places(body)
        if not spots:
            return body
        container, key = spots[draw(st.integers(0, len(spots) - 1))]
        match draw(st.sampled_from(["delete", "wrong", "double", "swap"])):
            case "delete":
                del container[key]
            case "double" if isinstance(container, list):
                container.append(deepcopy(container[key]))
            case "swap":
                other, at = spots[draw(st.integers(0, len(spots) - 1))]
                container[key] = deepcopy(other[at])
            case _:
                container[key] = deepcopy(draw(WRONG))
    return body


def envelope_of(error: GoogleRefusal) -> None:
    body = json.loads(json.dumps(error.body()))
    assert 400 <= body["error"]["code"] < 500
    assert body["error"]["message"]
    assert body["error"]["status"]


@settings(max_examples=200)
@given(broken(WHOLE, 3), st.sampled_from(MODELS), st.booleans())
def test_any_request_is_answered_or_refused(body: dict[str, Any], model: Any, stream: bool) -> None:
    state = SimState()
    try:
        prompt = read_prompt(body, model, Caller(key="k"), state)
        chunks = list(Generation(prompt=prompt, state=state, stream=stream, serial=1).chunks())
    except GoogleRefusal as refused:
        envelope_of(refused)
    else:
        assert chunks[-1]["candidates"][0]["finishReason"] in ("STOP", "MAX_TOKENS")
        assert chunks[-1]["usageMetadata"]["totalTokenCount"] >= prompt.prompt_tokens


@given(broken(COUNT, 3), broken(EMBED, 3), broken({"requests": [EMBED, EMBED]}, 3))
def test_any_other_body_is_answered_or_refused(count: Any, one: Any, batch: Any) -> None:
    model, state = MODELS[0], SimState()
    for attempt in (
        lambda: count_tokens(count, model, Caller(key="k"), state),
        lambda: embed_one(one, model),
        lambda: embed_batch(batch, model),
    ):
        try:
            assert attempt()
        except GoogleRefusal as refused:
            envelope_of(refused)


@pytest.mark.deep
@settings(max_examples=3_000, derandomize=False)
@given(broken(WHOLE, 6), st.sampled_from(MODELS))
def test_any_request_is_answered_or_refused_deep(body: dict[str, Any], model: Any) -> None:
    state = SimState()
    try:
        prompt = read_prompt(body, model, Caller(key="k"), state)
        assert Generation(prompt=prompt, state=state, stream=False, serial=1).whole()["candidates"]
    except GoogleRefusal as refused:
        envelope_of(refused)


def test_the_journal_forgets_its_oldest_rows_when_it_grows_too_large() -> None:
    journal = Journal(kept_bytes=25)
    for _ in range(4):
        journal.open("POST", "/x", "1.1", [], b"0123456789")
    assert [entry.n for entry in journal.entries] == [3, 4]
    journal.open("POST", "/x", "1.1", [], b"0" * 100)
    assert [entry.n for entry in journal.entries] == [5]
