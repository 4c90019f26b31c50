"""What the recording SDKs do to an answer before they send it back. Each habit is undone on both sides and counted.

url_safe      pydantic-ai writes signatures and media in the URL-safe base64 alphabet
own_id        pydantic-ai makes an id (`pyd_ai_…`) for calls that came without one
fake          pydantic-ai puts the sentinel, base64-encoded, on unsigned calls
snake         google-genai writes `tool_type` and adds empty args and the stored results to server tools
thoughts      pydantic-ai sends thought text back, in front of the answer; we never do
moved         pydantic-ai moves the signature of a last empty text part to the text before it
split         js-genai sends each delta as a model content of its own
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from echo_protocol import Part, content_from_wire, join_parts

HABITS: Final = ("url_safe", "own_id", "fake", "snake", "thoughts", "split", "moved")
#: The sentinel as pydantic-ai writes it.
FAKE: Final = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="


def same_parts(ours: Sequence[Part], theirs: Sequence[Part], seen: Counter[str]) -> bool:
    """Whether two answers are the same part by part, apart from the habits, which are counted in `seen`."""
    mine = [plain(part.wire, seen) for part in ours]
    other = [plain(part.wire, seen) for part in theirs]
    if mine != other and mine and mine == other[-len(mine) :]:
        if any(part.keys() > {"text", "thought"} for part in other[: -len(mine)]):
            return False
        seen["thoughts"] += 1
        return True
    if mine != other and len(mine) > len(other):
        seen["moved"] += 1
        other = [piece for part in other for piece in _with_signature_apart(part)]
    return mine == other


def joined_answer(contents: Sequence[dict[str, Any]], seen: Counter[str]) -> tuple[Part, ...]:
    """The parts of the model contents that follow each other in a request, joined as we join deltas."""
    if len(contents) > 1:
        seen["split"] += 1
    return join_parts(part for content in contents for part in content_from_wire(content).parts)


def plain(value: Any, seen: Counter[str]) -> Any:
    """A part without the habits of its sender."""
    if isinstance(value, list):
        return [plain(item, seen) for item in value]
    if not isinstance(value, dict):
        return value
    out: dict[str, Any] = {}
    for key, held in value.items():
        if key == "id" and isinstance(held, str) and held.startswith("pyd_ai_"):
            seen["own_id"] += 1
        elif key == "thoughtSignature" and held == FAKE:
            seen["fake"] += 1
        elif key in ("thoughtSignature", "data") and isinstance(held, str):
            standard = held.replace("-", "+").replace("_", "/")
            seen["url_safe"] += standard != held
            out[key] = standard
        elif key in ("toolCall", "toolResponse"):
            seen["snake"] += "tool_type" in held
            kind = held.get("toolType") or held.get("tool_type")
            out[key] = {"id": held.get("id"), "toolType": kind}
        else:
            out[key] = plain(held, seen)
    return out


def _with_signature_apart(part: dict[str, Any]) -> list[dict[str, Any]]:
    if not part.get("text") or "thoughtSignature" not in part:
        return [part]
    bare = {key: held for key, held in part.items() if key != "thoughtSignature"}
    return [bare, {**bare, "text": "", "thoughtSignature": part["thoughtSignature"]}]
