"""Which signatures go back: those of the same model family, endpoint and key, and no others."""

import json
from dataclasses import replace

import pytest

from echo_core.records import Shadow
from echo_protocol import Catalogue
from echo_runtime.scopes import Reader, Scopes

CATALOGUE = Catalogue.load()
SIGNED = [
    {"text": "Let me look."},
    {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "Y2FsbA=="},
    {"text": "", "thoughtSignature": "dGV4dA=="},
]
ANSWER = Shadow(
    message_id="a1",
    chat_id="c",
    role="model",
    contents_json=json.dumps([{"role": "model", "parts": SIGNED}]).encode(),
    backend="ai_studio:0123456789ab",
    model_id="gemini-3.8-flash",
)


def read(shadow: Shadow, model: str, signer: str) -> Shadow:
    return Scopes(CATALOGUE).readable(shadow, Reader(CATALOGUE.model(model), signer))


@pytest.mark.parametrize("model", ["gemini-3.8-flash", "gemini-3.1-pro-preview", "gemini-3.5-flash-lite"])
def test_c39_models_of_one_family_read_each_others_signatures_to_the_byte(model: str) -> None:
    assert read(ANSWER, model, ANSWER.backend) is ANSWER


@pytest.mark.parametrize(
    ("model", "signer"),
    [
        ("gemini-2.5-pro", "ai_studio:0123456789ab"),
        ("gemini-3.8-flash", "ai_studio:ba9876543210"),
        ("gemini-3.8-flash", "ai_studio:"),
        ("gemini-3.8-flash", "code_assist:0123456789ab"),
    ],
    ids=["family", "key", "no key", "endpoint"],
)
def test_c39_another_family_endpoint_or_key_gets_the_words_and_calls_without_signatures(
    model: str, signer: str
) -> None:
    contents = json.loads(read(ANSWER, model, signer).contents_json)
    assert contents == [{"role": "model", "parts": [SIGNED[0], {"functionCall": {"name": "look", "args": {}}}]}]
    assert b"thoughtSignature" in ANSWER.contents_json, "the record itself keeps them for the day when they count again"


@pytest.mark.parametrize("changes", [{"model_id": ""}, {"contents_json": b'[{"role":"model","parts":[{"text":"a"}]}]'}])
def test_what_nobody_signed_is_read_by_everybody_as_it_is(changes: dict[str, object]) -> None:
    shadow = replace(ANSWER, **changes)  # type: ignore[arg-type]
    assert read(shadow, "gemini-2.5-pro", "code_assist:") is shadow
