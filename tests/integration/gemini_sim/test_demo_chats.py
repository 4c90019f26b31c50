"""What the demo model makes of a whole chat: its language, going on, thoughts in chunks."""

import json
from typing import Any

import httpx
import pytest

from echo_constants import Locale
from echo_prompts import SHIPPED
from sim_fixture import RunningSim

MODEL = "/v1beta/models/gemini-3-flash-preview"


@pytest.fixture
def http(sim: RunningSim) -> Any:
    headers = {"x-goog-api-key": "api-key"}
    with httpx.Client(base_url=sim.base_url, headers=headers, timeout=30) as client:
        yield client


def ask(*texts: str, **config: Any) -> dict[str, Any]:
    roles = ("user", "model")
    contents = [{"role": roles[at % 2], "parts": [{"text": text}]} for at, text in enumerate(texts)]
    return {"contents": contents, "generationConfig": config}


def answer(http: httpx.Client, *texts: str) -> str:
    value = http.post(f"{MODEL}:generateContent", json=ask(*texts)).raise_for_status().json()
    return "".join(part["text"] for part in value["candidates"][0]["content"]["parts"])


@pytest.mark.parametrize("last", ["ok", "Modifié : combien de tours ?", "call f"])
def test_a_french_chat_stays_french(http: httpx.Client, last: str) -> None:
    told = answer(http, "Bonjour, parle-moi de la mer", "the sea is what it is", last)
    assert "jetons" in told or "J'appellerais" in told
    assert "tokens" in answer(http, "Tell me about the sea", "la mer est belle", "ok")


@pytest.mark.parametrize("account", ["en", "fr"])
def test_going_on_speaks_the_language_of_the_chat_and_not_of_the_account(http: httpx.Client, account: Locale) -> None:
    said = SHIPPED.text("continue", account)
    french = answer(http, "Bonjour, parle-moi de la mer", "La mer", said)
    english = answer(http, "Tell me about the sea", "The sea", said)
    assert " la " in french and " the " not in french
    assert " the " in english and " la " not in english
    assert said not in french + english


def test_a_small_first_request_tells_where_the_cache_starts(http: httpx.Client) -> None:
    assert "the cache of this model starts at" in answer(http, "Hello, what is this?")


def test_thoughts_stream_in_many_small_chunks(http: httpx.Client) -> None:
    body = ask("Hello, what is this?", thinkingConfig={"includeThoughts": True})
    streamed = http.post(f"{MODEL}:streamGenerateContent?alt=sse", json=body).raise_for_status().text
    chunks = [json.loads(line[6:]) for line in streamed.splitlines() if line.startswith("data: ")]
    parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
    thoughts = [part["text"] for part in parts if part.get("thought")]
    assert len(thoughts) > 10
    whole = http.post(f"{MODEL}:generateContent", json=body).json()["candidates"][0]["content"]["parts"]
    assert whole[0]["text"] == "".join(thoughts)
