"""What can go wrong with an answer of Gemini, as scripts for the simulator."""

import json
from typing import Any

from echo_workers.gemini_sim.core import faults


def half_json(text: str) -> faults.Entry:
    whole = faults.stream(text)["chunks"][0]["text"]
    return {"status": 200, "chunks": [{"text": faults.early_eof(text)["chunks"][0]["text"]}, {"text": whole[:40]}]}


def ended(reason: str, *parts: dict[str, Any], text: str = "") -> faults.Entry:
    said = [{"text": text}] if text else []
    chunk = {"candidates": [{"content": {"role": "model", "parts": [*said, *parts]}, "finishReason": reason}]}
    return {"status": 200, "chunks": [{"text": f"data: {json.dumps(chunk)}\r\n\r\n"}]}


UNKNOWN: dict[str, Any] = {"functionCall": {"name": "nobody_has_this", "args": {}, "id": "x1"}}
PER_DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
#: By name, from the words that the fault says before it strikes.
FAULTS: dict[str, Any] = {
    "latency": lambda text: faults.latency(20, text),
    "429 per minute": lambda text: faults.quota_exhausted(retry_s=34.4),
    "429 per day": lambda text: faults.quota_exhausted(quota_id=PER_DAY),
    "500": lambda text: faults.internal_error(),
    "503": lambda text: faults.overloaded(),
    "reset": lambda text: faults.reset(text),
    "early end": lambda text: faults.early_eof(text),
    "half a JSON": half_json,
    "error in mid-stream": lambda text: faults.mid_stream_error(text),
    "malformed call": lambda text: ended("MALFORMED_FUNCTION_CALL", text=text),
    "unexpected tool": lambda text: ended("UNEXPECTED_TOOL_CALL", UNKNOWN, text=text),
    "empty": lambda text: ended("STOP"),
    "safety stop": lambda text: ended("SAFETY", text=text),
}
#: A request matches at the beginning of the turn, or once a tool has answered.
POINTS = {"begin": "^(?!.*functionResponse)", "in the loop": "functionResponse"}
