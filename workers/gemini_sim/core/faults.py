"""Ready-made faults: each function returns one entry for `POST /__sim__/script` with Google's real body."""

import base64
import json
from typing import Any, Final

from echo_workers.gemini_sim.core.frames import one_line, sse_event

Entry = dict[str, Any]
_HIGH_DEMAND: Final = (
    "This model is currently experiencing high demand. Spikes in demand are usually temporary. Please try again later."
)


def _entry(status: int, texts: list[str], **more: Any) -> Entry:
    return {"status": status, "chunks": [{"text": text} for text in texts], **more}


def error_text(status: int, name: str, message: str, details: list[dict[str, Any]] | None = None) -> str:
    """A pretty-printed error envelope as the real service sends it."""
    error: dict[str, Any] = {"code": status, "message": message, "status": name}
    if details:
        error["details"] = details
    return json.dumps({"error": error}, indent=2) + "\n"


def response(text: str = "", *, finish: str | None = None, part: dict[str, Any] | None = None) -> dict[str, Any]:
    """One GenerateContentResponse with one part, for scripted streams."""
    candidate: dict[str, Any] = {"content": {"parts": [part or {"text": text}], "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        "modelVersion": "gemini-3-flash-preview",
        "responseId": "c2ltdWxhdGVkLXJlc3BvbnNl",
    }


def stream(*texts: str, finish: str | None = "STOP", delay_ms: float = 0, end: str = "close", **more: Any) -> Entry:
    """A scripted stream of texts; `finish=None` leaves the finish reason out (early EOF)."""
    last = len(texts) - 1
    chunks = [
        {
            "text": sse_event(response(text, finish=finish if index == last else None)).decode(),
            "delay_ms": delay_ms,
        }
        for index, text in enumerate(texts)
    ]
    return {"status": 200, "chunks": chunks, "end": end, **more}


def latency(delay_ms: float, text: str = "late answer", **more: Any) -> Entry:
    """A good stream whose first byte comes after `delay_ms`."""
    return stream(text, delay_ms=delay_ms, **more)


def slow_drip(text: str, delay_ms: float, size: int = 16, **more: Any) -> Entry:
    """A good stream cut into pieces of `size` bytes, `delay_ms` before each; cuts fall inside events and characters."""
    data = sse_event(response(text, finish="STOP"))
    pieces = [base64.b64encode(data[at : at + size]).decode() for at in range(0, len(data), size)]
    return {"status": 200, "chunks": [{"b64": piece, "delay_ms": delay_ms} for piece in pieces], **more}


def quota_exhausted(
    model: str = "gemini-3-flash-preview",
    retry_s: float = 56.185908122,
    quota_id: str = "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
    limit: int = 2,
    **more: Any,
) -> Entry:
    """429 with QuotaFailure, Help and RetryInfo. Source: third-party reports of the whole body."""
    metric = "generativelanguage.googleapis.com/generate_content_free_tier_requests"
    message = (
        "You exceeded your current quota, please check your plan and billing details. For more information on this "
        "error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, head to: "
        f"https://ai.dev/rate-limit. \n* Quota exceeded for metric: {metric}, limit: {limit}, model: {model}\n"
        f"Please retry in {retry_s:g}s."
    )
    details: list[dict[str, Any]] = [
        {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [
                {
                    "quotaMetric": metric,
                    "quotaId": quota_id,
                    "quotaDimensions": {"location": "global", "model": model},
                    "quotaValue": str(limit),
                }
            ],
        },
        {
            "@type": "type.googleapis.com/google.rpc.Help",
            "links": [
                {
                    "description": "Learn more about Gemini API quotas",
                    "url": "https://ai.google.dev/gemini-api/docs/rate-limits",
                }
            ],
        },
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{int(retry_s)}s"},
    ]
    return _entry(429, [error_text(429, "RESOURCE_EXHAUSTED", message, details)], **more)


def bare_429(**more: Any) -> Entry:
    """429 without details. Source: third-party."""
    return _entry(
        429, [error_text(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).")], **more
    )


def internal_error(**more: Any) -> Entry:
    """500. Source: third-party wording."""
    message = (
        "An internal error has occurred. Please retry or report in "
        "https://developers.generativeai.google/guide/troubleshooting"
    )
    return _entry(500, [error_text(500, "INTERNAL", message)], **more)


def overloaded(**more: Any) -> Entry:
    """503 as overloaded models answer. Source: third-party wording."""
    return _entry(503, [error_text(503, "UNAVAILABLE", _HIGH_DEMAND)], **more)


def deadline(**more: Any) -> Entry:
    """504. Source: third-party wording."""
    message = "Deadline expired before operation could complete."
    return _entry(504, [error_text(504, "DEADLINE_EXCEEDED", message)], **more)


def mid_stream_error(*texts: str, wrapped: bool = False, **more: Any) -> Entry:
    """A stream that breaks with a raw JSON object (no `data:`), HTTP status already 200. Source: third-party.

    `wrapped` puts it in a `data:` line, as some gateways do.
    """
    chunks = [sse_event(response(text)).decode() for text in texts]
    error = error_text(503, "UNAVAILABLE", _HIGH_DEMAND)
    chunks.append(f"data: {one_line(json.loads(error))}\r\n\r\n" if wrapped else error)
    return _entry(200, chunks, **more)


def early_eof(*texts: str, **more: Any) -> Entry:
    """A stream that ends cleanly without a finish reason."""
    return stream(*texts, finish=None, **more)


def reset(*texts: str, **more: Any) -> Entry:
    """A stream that is reset after some chunks."""
    return stream(*texts, finish=None, end="reset", **more)


def hang(*texts: str, **more: Any) -> Entry:
    """A stream that stops sending and stays open."""
    return stream(*texts, finish=None, end="hang", **more)


def capacity_exhausted(model: str = "gemini-3-flash", **more: Any) -> Entry:
    """503 of the Code Assist backend. Source: third-party."""
    message = f"No capacity available for model {model} on the server"
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "MODEL_CAPACITY_EXHAUSTED",
        "domain": "cloudcode-pa.googleapis.com",
        "metadata": {"model": model},
    }
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "9s"}
    return _entry(503, [error_text(503, "UNAVAILABLE", message, [info, retry])], **more)


def validation_required(**more: Any) -> Entry:
    """403 of the Code Assist backend: the user must act in a browser. Source: SDK types and third-party."""
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "VALIDATION_REQUIRED",
        "domain": "cloudcode-pa.googleapis.com",
        "metadata": {
            "validation_error_message": "Verify your account to continue.",
            "validation_url": "https://accounts.google.com/signin/continue",
            "validation_url_link_text": "Verify your account",
        },
    }
    return _entry(403, [error_text(403, "PERMISSION_DENIED", "Verify your account to continue.", [info])], **more)
