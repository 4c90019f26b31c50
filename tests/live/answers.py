"""Scripted answers of Gemini for the live tests, beside those in the simulator's `core/faults.py`."""

import json
from collections.abc import Mapping
from typing import Any

from echo_protocol import Catalogue
from echo_workers.gemini_sim.core.faults import Entry, error_text, response
from echo_workers.gemini_sim.core.frames import sse_event

Json = dict[str, Any]

CATALOGUE = Catalogue.load()
#: The model that stands behind each level.
MODEL = {level: CATALOGUE.resolve(level, "ai_studio").backend_id("ai_studio") for level in ("LITE", "FLASH", "PRO")}
JUDGEMENT = {
    "method": "generateContent",
    "model": MODEL["LITE"],
    "body_regex": "which model level|quel niveau de modèle",
}
PLAN = "# Transfer Plan\n\nGoal: the proof."


def saying(marker: str) -> Json:
    """Matches only streams whose request holds this text; several tests' chats never meet."""
    return {"method": "streamGenerateContent", "body_regex": marker}


def thought(text: str) -> Json:
    """A part of a thought summary."""
    return {"text": text, "thought": True}


def call(name: str, **args: Any) -> Json:
    """A functionCall part, unsigned: scripted answers are for turns that end with them."""
    return {"functionCall": {"name": name, "args": args}}


def parts(*items: Json, delay_ms: float = 0, finish: str = "STOP", **more: Any) -> Entry:
    """A stream with one part a chunk, `delay_ms` before each but the first."""
    last = len(items) - 1
    chunks = [
        {
            "text": sse_event(response(part=item, finish=finish if index == last else None)).decode(),
            "delay_ms": delay_ms if index else 0,
        }
        for index, item in enumerate(items)
    ]
    return {"status": 200, "chunks": chunks, **more}


def only(candidate: Mapping[str, Any] | None = None, **more: Any) -> Entry:
    """A stream of one response without content: a bare candidate, or none at all."""
    body: Json = {"usageMetadata": {"promptTokenCount": 10, "totalTokenCount": 10}, **more}
    if candidate is not None:
        body["candidates"] = [{"index": 0, **candidate}]
    return {"status": 200, "chunks": [{"text": sse_event(body).decode()}]}


def counted(text: str, *, prompt: int, cached: int = 0, answered: int = 1) -> Entry:
    """An answer with these token counts."""
    usage = {
        "promptTokenCount": prompt,
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": answered,
        "totalTokenCount": prompt + answered,
    }
    body = {**response(text, finish="STOP"), "usageMetadata": usage}
    return {"status": 200, "match": {"method": "streamGenerateContent"}, "chunks": [{"text": sse_event(body).decode()}]}


def prompt_blocked() -> Entry:
    """The question is refused. Source: https://ai.google.dev/api/generate-content (PromptFeedback)."""
    return only(promptFeedback={"blockReason": "PROHIBITED_CONTENT"})


def spent_thinking(*thoughts: str) -> Entry:
    """The token limit is reached before the answer begins."""
    return parts(*[thought(text) for text in thoughts], finish="MAX_TOKENS")


def key_rejected() -> Entry:
    """400 for a key that Google does not know."""
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "API_KEY_INVALID",
        "domain": "googleapis.com",
    }
    message = "API key not valid. Please pass a valid API key."
    return {"status": 400, "chunks": [{"text": error_text(400, "INVALID_ARGUMENT", message, [info])}]}


def model_unknown(model: str) -> Entry:
    """404 for a model that is gone."""
    message = f"models/{model} is not found for API version v1beta, or is not supported for generateContent."
    return {"status": 404, "chunks": [{"text": error_text(404, "NOT_FOUND", message)}]}


def judged(level: str) -> Entry:
    """What MODEL_LITE thinks of a first message."""
    answer = response(json.dumps({"level": level}), finish="STOP")
    return {"match": JUDGEMENT, "status": 200, "chunks": [{"text": json.dumps(answer)}]}


def handing_over(to: str, words: str) -> Entry:
    """The model that is asked with these words passes the task on."""
    args = {"target": to, "transfer_plan": PLAN}
    call = {"functionCall": {"id": "h4nd0ver", "name": "new_cognitive_level", "args": args}}
    signed = {**call, "thoughtSignature": "skip_thought_signature_validator"}
    return {**parts(signed), "match": {"method": "streamGenerateContent", "body_regex": words}}
