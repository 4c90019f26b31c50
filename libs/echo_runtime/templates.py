"""The instructions of model, folder, chat and user, from the raw templates that Open WebUI keeps.

Open WebUI's own system message is made anew for each request: with today's date, memories, skills and what tool servers
say. Sent as `systemInstruction` it would change the prefix of every request.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from echo_core.ports import Clock
from echo_runtime import _owui_prompts
from echo_runtime.call import PipeCall

#: Variables whose values change while a chat lives: they stay names in the instructions. Source: Open WebUI 0.12.4,
#: `getPromptVariables` of the page and `utils/task.py`.
TIMES: Final = ("CURRENT_DATE", "CURRENT_TIME", "CURRENT_DATETIME", "CURRENT_WEEKDAY")
PLACES: Final = ("CURRENT_TIMEZONE", "USER_LOCATION")

_VARIABLE: Final = re.compile(r"\{\{([A-Z_]+)\}\}")
_PERSONAL: Final = "USER_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructions:
    """What the model was told to be, and the values that this text leaves open.

    Args:
        text: joined by blank lines, "" when nobody gave any.
        times: values by name.
        places: values by name.
        shown: each of the templates as Open WebUI's own system message has it, with all values filled in.
    """

    text: str
    times: Mapping[str, str]
    places: Mapping[str, str]
    shown: tuple[str, ...] = ()


class Templates:
    """Collects the instructions of a call.

    Args:
        clock: for the date where the page did not send one.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def collect(self, call: PipeCall, *, shared: bool) -> Instructions:
        """The instructions of one call.

        Args:
            call: who asks, where.
            shared: in a chat with several writers nothing that is one person's own is told: neither the user's prompt
                and folder nor the variables about a person.
        """
        raw = await _of_chat(call) if shared else await _of_user(call)
        own = await _owui_prompts.of_subagent() if call.metadata.get("internal") is True else ""
        text = "\n\n".join(template for template in (*raw, own) if template)
        if "{{" not in text:
            return Instructions(text=text, times={}, places={}, shown=tuple(raw))
        if not shared and ".variables." in text:
            raw = tuple(_owui_prompts.with_own_variables(one, call.metadata, call.user) for one in raw)
            text = "\n\n".join(template for template in raw if template)
        values = await self._values(call, set(_VARIABLE.findall(text)))
        open_names = {*TIMES, *PLACES} | ({name for name in values if name.startswith(_PERSONAL)} if shared else set())
        told = {name: value for name, value in values.items() if not (shared and name in PLACES)}
        return Instructions(
            text=_VARIABLE.sub(lambda m: m[0] if m[1] in open_names else values.get(m[1], m[0]), text),
            times={name: told[name] for name in TIMES if name in told},
            places={name: told[name] for name in PLACES if name in told},
            shown=tuple(_VARIABLE.sub(lambda m: values.get(m[1], m[0]), one) for one in raw),
        )

    async def _values(self, call: PipeCall, names: set[str]) -> dict[str, str]:
        """The values of some variables: as the page sent them, else as Open WebUI would fill them in."""
        sent = call.metadata.get("variables")
        given = sent if isinstance(sent, Mapping) else {}
        values = {name: str(given[key]) for name in names if (key := f"{{{{{name}}}}}") in given}
        missing = names - values.keys()
        if missing & {*TIMES, "CURRENT_TIMEZONE"}:
            moment = self._moments(call)
            values |= {name: moment[name] for name in missing if name in moment}
        if "USER_GROUPS" in missing:
            values["USER_GROUPS"] = await _owui_prompts.group_names(call.user_id)
        info = call.user.get("info") or {}
        person = {"USER_LOCATION": info.get("location") if isinstance(info, Mapping) else None}
        person |= {f"USER_{key.upper()}": call.user.get(key) for key in ("name", "email", "bio", "gender")}
        person["USER_BIRTH_DATE"] = call.user.get("date_of_birth")
        return values | {name: str(person[name] or "Unknown") for name in missing & person.keys()}

    def _moments(self, call: PipeCall) -> dict[str, str]:
        """Date and time in Open WebUI's formats, in the user's time zone."""
        try:
            zone = ZoneInfo(str(call.user.get("timezone") or "UTC"))
        except (ZoneInfoNotFoundError, ValueError):
            zone = ZoneInfo("UTC")
        now = datetime.fromtimestamp(self._clock.now_s(), zone)
        date, time = now.strftime("%Y-%m-%d"), now.strftime("%I:%M:%S %p")
        return {
            "CURRENT_DATE": date,
            "CURRENT_TIME": time,
            "CURRENT_DATETIME": f"{date} {time}",
            "CURRENT_WEEKDAY": now.strftime("%A"),
            "CURRENT_TIMEZONE": zone.key,
        }


async def _of_user(call: PipeCall) -> tuple[str, ...]:
    """The templates of model, folder and whoever asks: the chat's own if it has one, else the user's for all chats."""
    chat_id = call.chat_id if call.is_saved else ""
    folder_id = str(call.metadata.get("folder_id") or "")
    context = call.metadata.get("chat_context")
    messages: Any = context.get("messages") if isinstance(context, Mapping) else None
    if messages is None and call.request is not None:  # releases before 0.12 keep no copy
        messages = (await call.request.json()).get("messages")
    asked = [_text(m) for m in messages or [] if isinstance(m, Mapping) and m.get("role") == "system"]
    kept = await _owui_prompts.of_user(call.called_model, chat_id, folder_id, call.user)
    return kept.model, kept.folder, *asked


async def _of_chat(call: PipeCall) -> tuple[str, ...]:
    """The templates that belong to the model and to the chat itself, whoever asks."""
    kept = await _owui_prompts.of_chat(call.called_model, call.chat_id)
    return kept.model, kept.chat


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(b.get("text") or "") for b in blocks if isinstance(b, Mapping) and b.get("type") == "text")
