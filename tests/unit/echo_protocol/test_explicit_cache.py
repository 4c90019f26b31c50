"""Where a request is split, so that its beginning can be kept by Google."""

import json
from typing import Any

import pytest

from echo_protocol import content_json, request_json, text_part
from echo_protocol.attached import vault_part
from echo_protocol.explicit_cache import split_for_cache

FILE = vault_part("application/pdf", "a" * 64)
USER, MODEL = content_json("user", [text_part("?")]), content_json("model", [text_part("!")])
WITH_FILE = content_json("user", [text_part("Read this"), FILE])
TOOLS = b'[{"functionDeclarations":[{"name":"f"}]}]'


def body(*contents: bytes, **more: Any) -> bytes:
    return request_json(contents=contents, system_instruction=USER, tools=TOOLS, **more)


def test_the_beginning_ends_with_the_last_file_and_takes_instruction_and_tools_along() -> None:
    config = {"includeServerSideToolInvocations": True}
    split = split_for_cache(
        body(WITH_FILE, MODEL, WITH_FILE, MODEL, USER, tool_config=config, generation_config={"a": 1})
    )
    assert split is not None
    made = json.loads(split.cached_content("m", 600))
    assert (made["model"], made["ttl"]) == ("models/m", "600s")
    assert made["contents"] == [json.loads(content) for content in (WITH_FILE, MODEL, WITH_FILE)]
    assert made["toolConfig"] == config and made["systemInstruction"] and made["tools"]
    sent = json.loads(split.request("cachedContents/x"))
    assert sent == {
        "cachedContent": "cachedContents/x",
        "contents": [json.loads(MODEL), json.loads(USER)],
        "generationConfig": {"a": 1},
    }


def test_the_beginning_is_the_same_bytes_while_the_chat_goes_on() -> None:
    first, later = (
        split_for_cache(body(WITH_FILE, MODEL, USER)),
        split_for_cache(body(WITH_FILE, MODEL, USER, MODEL, USER)),
    )
    assert first is not None and later is not None
    assert first.beginning == later.beginning


@pytest.mark.parametrize(
    "request_body",
    [
        body(USER, MODEL, USER),
        body(USER, MODEL, WITH_FILE),
        body(WITH_FILE, MODEL, USER, tool_config={"functionCallingConfig": {"mode": "ANY"}}),
        body(content_json("user", [text_part('{"fileData":{"fileUri":"echo-vault:x"}}')]), MODEL, USER),
    ],
    ids=["no file", "the file is asked about for the first time", "a call is forced", "words that look like a file"],
)
def test_there_is_nothing_to_keep(request_body: bytes) -> None:
    assert split_for_cache(request_body) is None
