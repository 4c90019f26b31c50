"""Whom the model talks to, when and where: what the user's own settings say of it.

Told in the current message when it is another than the last one told on the chain, so it costs the cache nothing.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from echo_runtime import _owui_prompts
from echo_runtime.turn_context import Anchors

#: Time is told in steps: a new note only when a step has passed. Source: our choice.
DEFAULT_TIME_STEP_MIN: Final = 10

#: Memories beyond this are left to Open WebUI's own memory tools; the newest are kept. Source: our choice.
MAX_MEMORIES_CHARS: Final = 8_000

#: What the page says where the user has not allowed it to know. Source: Open WebUI 0.12.4, `getPromptVariables`.
_UNKNOWN: Final = ("", "Unknown", "User location not provided")


async def anchors(
    user: Mapping[str, Any], metadata: Mapping[str, Any], options: Mapping[str, Any], now_s: float
) -> Anchors:
    """The user's settings as the model is told them.

    Args:
        user: Open WebUI's user.
        metadata: of the request; `variables` come from the page, `features.memory` is the user's switch.
        options: `TIME_STEP_MIN`, `TELL_PERSON`, `TELL_LOCATION`, `TELL_MEMORIES`; absent ones count as on.
        now_s: epoch seconds.
    """
    sent = metadata.get("variables")
    page = sent if isinstance(sent, Mapping) else {}
    zone_name = str(page.get("{{CURRENT_TIMEZONE}}") or user.get("timezone") or "")
    places = {"CURRENT_TIMEZONE": zone_name}
    if options.get("TELL_LOCATION", True):
        places["USER_LOCATION"] = str(page.get("{{USER_LOCATION}}") or "")
    person = {"USER_LANGUAGE": str(page.get("{{USER_LANGUAGE}}") or "")}
    if options.get("TELL_PERSON", True):
        person["USER_NAME"] = str(user.get("name") or "")
    if options.get("TELL_MEMORIES", True) and _wants_memories(metadata):
        person["MEMORIES"] = _listed(await _owui_prompts.memories(str(user.get("id") or "")))
    times = {"NOW": _now(now_s, zone_name, int(options.get("TIME_STEP_MIN", DEFAULT_TIME_STEP_MIN)))}
    return Anchors(person=_known(person), times=times, places=_known(places))


def _wants_memories(metadata: Mapping[str, Any]) -> bool:
    features = metadata.get("features")
    return isinstance(features, Mapping) and bool(features.get("memory"))


def _known(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value not in _UNKNOWN or name == "MEMORIES"}


def _now(now_s: float, zone_name: str, step_min: int) -> str:
    try:
        zone = ZoneInfo(zone_name or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        zone = ZoneInfo("UTC")
    step_s = 60 * step_min
    moment = datetime.fromtimestamp(now_s // step_s * step_s, zone)
    return moment.strftime("%A %Y-%m-%d %H:%M %z")


def _listed(memories: list[str]) -> str:
    """One a line, the newest as far as there is room."""
    lines: list[str] = []
    room = MAX_MEMORIES_CHARS
    for memory in reversed(memories):
        line = "- " + " ".join(memory.split())
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    return "\n".join(reversed(lines))
