"""Reading requests: both spellings, Google's texts for what it does not know, base64 as Google takes it."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_workers.gemini_sim.core.errors import GoogleRefusal
from echo_workers.gemini_sim.core.schema import MESSAGES, snake
from echo_workers.gemini_sim.core.wire import decode_base64, parse_json, read_message


def refusal(message: str, value: Any, path: str = "") -> GoogleRefusal:
    with pytest.raises(GoogleRefusal) as caught:
        read_message(message, value, path)
    return caught.value


def test_both_spellings_mix_at_every_level() -> None:
    read = read_message(
        "GenerateContentRequest",
        {
            "generationConfig": {"thinkingConfig": {"include_thoughts": True, "thinkingLevel": "LOW"}},
            "system_instruction": {"parts": [{"inline_data": {"mimeType": "image/png", "data": "AA-_"}}]},
        },
    )
    assert read == {
        "generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "LOW"}},
        "systemInstruction": {"parts": [{"inlineData": {"mimeType": "image/png", "data": "AA-_"}}]},
    }


def test_structs_stay_verbatim_and_nulls_count_as_absent() -> None:
    args = {"snake_case": {"camelCase": None}, "list": [1, {"x": None}]}
    read = read_message("Part", {"functionCall": {"name": "f", "args": args}, "thoughtSignature": None})
    assert read == {"functionCall": {"name": "f", "args": args}}


def test_all_unknown_fields_are_told_at_once_with_their_paths() -> None:
    body = {
        "contents": [{"parts": [{"text": "a", "colour": 1}]}],
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT", "$schema": "x"}}]}],
        "nonsense": 1,
    }
    error = refusal("GenerateContentRequest", body)
    assert error.text.splitlines() == [
        "Invalid JSON payload received. Unknown name \"colour\" at 'contents[0].parts[0]': Cannot find field.",
        "Invalid JSON payload received. Unknown name \"$schema\" at 'tools[0].function_declarations[0].parameters': "
        "Cannot find field.",
        'Invalid JSON payload received. Unknown name "nonsense": Cannot find field.',
    ]
    rows = error.body()["error"]["details"][0]["fieldViolations"]
    assert [row.get("field") for row in rows] == [
        "contents[0].parts[0]",
        "tools[0].function_declarations[0].parameters",
        None,
    ]


@pytest.mark.parametrize(
    ("message", "value", "text"),
    [
        (
            "Schema",
            {"type": ["STRING", "NULL"]},
            'Unknown name "type": Proto field is not repeating, cannot start list.',
        ),
        (
            "Schema",
            {"properties": {"a": {"type": "STRING"}, "b": {"const": 1}}},
            "Unknown name \"const\" at 'properties[1].value': Cannot find field.",
        ),
        (
            "Schema",
            {"properties": {"a": True}},
            "Invalid value at 'properties[0].value' (type.googleapis.com/google.ai.",
        ),
        ("Schema", {"type": "STRING", "enum": [1]}, "Invalid value at 'enum[0]' (TYPE_STRING), 1"),
        ("ThinkingConfig", {"thinkingLevel": "BOGUS"}, "Invalid value at 'thinking_level' (type.googleapis.com/"),
        ("GenerationConfig", {"temperature": "hot"}, "Invalid value at 'temperature' (TYPE_FLOAT), \"hot\""),
        ("Part", {"thought": "yes"}, "Invalid value at 'thought' (TYPE_BOOL), \"yes\""),
        ("Part", {"text": "lone \ud800"}, "Invalid value at 'text' (TYPE_STRING)"),
        (
            "Part",
            {"thoughtSignature": "a"},
            "Invalid value at 'thought_signature' (TYPE_BYTES), Base64 decoding failed for",
        ),
        ("Part", {"thoughtSignature": "AB"}, "Base64 decoding failed for"),
        (
            "FunctionResponse",
            {"response": "text"},
            "Invalid value at 'response' (type.googleapis.com/google.protobuf.Struct)",
        ),
        ("VideoMetadata", {"startOffset": "soon"}, "Invalid value at 'start_offset' (duration), \"soon\""),
    ],
)
def test_wrong_values_get_googles_words(message: str, value: Any, text: str) -> None:
    assert text in refusal(message, value).text


def test_a_part_has_one_kind_of_data() -> None:
    error = refusal("Content", {"parts": [{"functionCall": {"name": "f"}, "text": "a"}]})
    assert error.text == ("Invalid value at 'parts[0]' (oneof), oneof field 'data' is already set. Cannot set 'text'")


def test_paths_inside_an_envelope_begin_with_it() -> None:
    error = refusal("InternalRequest", {"contents": [{"bad": 1}]}, "request")
    assert error.text == (
        "Invalid JSON payload received. Unknown name \"bad\" at 'request.contents[0]': Cannot find field."
    )


def test_integers_may_be_strings_or_whole_floats() -> None:
    assert read_message("Schema", {"minItems": "3", "maxItems": 4.0}) == {"minItems": 3, "maxItems": 4}


@pytest.mark.parametrize("raw", [b"{", b"[1]", b'"x"', b"\xff"])
def test_a_body_that_is_no_object_is_refused(raw: bytes) -> None:
    with pytest.raises(GoogleRefusal, match="Invalid JSON payload received"):
        parse_json(raw)


@given(st.binary(max_size=50), st.booleans(), st.booleans())
def test_base64_of_either_alphabet_decodes(data: bytes, url_safe: bool, padded: bool) -> None:
    text = (base64.urlsafe_b64encode(data) if url_safe else base64.b64encode(data)).decode()
    assert decode_base64(text if padded else text.rstrip("=")) == data


@given(st.text(alphabet="AQgw+/-_=!", max_size=12))
def test_only_the_canonical_text_of_some_bytes_decodes(text: str) -> None:
    data = decode_base64(text)
    if data is not None:
        canonical = base64.b64encode(data).decode().rstrip("=")
        assert text.rstrip("=").replace("-", "+").replace("_", "/") == canonical


def test_every_field_of_the_table_leads_to_a_known_type() -> None:
    scalars = {"string", "bool", "int32", "int64", "float", "bytes", "duration", "timestamp", "struct", "value"}
    for message, fields in MESSAGES.items():
        for name, (canonical, shown, kind) in fields.items():
            bare = kind.strip("[]{}").removeprefix("enum:")
            assert kind.startswith(("enum:", "[enum:")) or bare in scalars or bare in MESSAGES, (message, name, kind)
            assert name in (canonical, shown)
            assert shown == snake(canonical)
