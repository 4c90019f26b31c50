"""Tools that ECHO adds to the user's own, in the shape of Open WebUI's `__tools__`."""

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from echo_core.ports import ShadowStore, ToolOutputSlice
from echo_protocol import FunctionResponsePart, parse_contents, unbox_tool_output
from echo_runtime import _owui

READ_TOOL_OUTPUT: Final = "read_tool_output"
#: Open WebUI's name for its own search; ECHO's goes by it, too.
SEARCH_WEB: Final = "search_web"
#: Marks an entry as ECHO's: it needs no approval, and its results are text already.
OWN_TYPE: Final = "echo"
#: Characters of one reading when the model names no end. Source: our choice, about 15,000 tokens.
_PAGE_CHARS: Final = 60_000
_MAX_PAGE_CHARS: Final = 200_000
#: Hexadecimal digits of a user's hash: enough for the writers of one chat.
_TAG_CHARS: Final = 12
_RANGE: Final = re.compile(r"\s*(?:(?P<start>\d+)\s*(?:-\s*(?P<end>\d+)?)?|-\s*(?P<last>\d+))\s*")

#: `content.part` of a result that was put aside; see `echo_core.compaction_masking`.
_PLACE: Final = re.compile(r"(\d{1,6})\.(\d{1,6})")

_READ_SPEC: Final = {
    "name": READ_TOOL_OUTPUT,
    "description": "Read more of a long tool result that was cut in this chat. The end of a cut result tells its id.",
    "parameters": {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The id that the end of the cut result tells."},
            "range": {
                "type": "string",
                "description": 'Characters to read: "240000-300000", "240000-" for what follows, "-5000" for the end.',
            },
        },
        "required": ["id"],
    },
}

_SEARCH_SPEC: Final = {
    "name": SEARCH_WEB,
    "description": "Search the web. Returns titles, links and snippets as JSON.",
    "parameters": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to search for."},
            "count": {"type": "integer", "description": "How many results, at most what the administrator set."},
        },
        "required": ["query"],
    },
}


class OutputError(ValueError):
    """Told to the model: what it asked for cannot be read, and what to ask instead."""


def output_id(answer_id: str, card_id: str) -> str:
    """What names a kept result inside its chat."""
    return f"{card_id}@{answer_id}"


def kept_for(card_id: str, user_id: str) -> str:
    """What stands for a call in the records of results: others who write in the chat do not find it.

    Args:
        card_id: of the call.
        user_id: for whom the tool ran.
    """
    return f"{card_id}.{hashlib.sha256(user_id.encode()).hexdigest()[:_TAG_CHARS]}"


def read_tool_output_entry(store: ShadowStore, user_id: str, chain: Collection[str] = ()) -> dict[str, Any]:
    """`read_tool_output(id, range)` over the records of one chat.

    Args:
        store: belongs to one chat, so no other chat's results can be read.
        user_id: who reads: only results of tools that ran for the same person.
        chain: ids of the messages whose results may have been put aside: those that this reader is sent.
    """

    async def read_tool_output(id: str = "", range: str = "") -> str:  # noqa: A002 (the names that the model sees)
        card_id, _, answer_id = str(id).strip().partition("@")
        start, end = _span(str(range or ""))
        key = kept_for(card_id, user_id)
        kept = await store.read_tool_output(answer_id, key, start, end) if card_id and answer_id else None
        if kept is None and answer_id in chain:
            kept = await _put_aside(store, answer_id, card_id, slice(start, end))
        if kept is None:
            raise OutputError(f"No result is kept under the id {str(id)[:100]!r} in this chat.")
        if not kept.text:
            raise OutputError(f"The result has {kept.total_chars} characters; the range lies outside.")
        until = kept.start + len(kept.text)
        return f"[characters {kept.start}-{until} of {kept.total_chars}]\n{kept.text}"

    return {
        "callable": read_tool_output,
        "spec": _READ_SPEC,
        "type": OWN_TYPE,
        "tool_id": f"{OWN_TYPE}:{READ_TOOL_OUTPUT}",
    }


async def _put_aside(store: ShadowStore, answer_id: str, place: str, wanted: slice) -> ToolOutputSlice | None:
    """A result that a compaction put aside, out of the record of its answer; None for what is no such place."""
    numbers = _PLACE.fullmatch(place)
    shadow = await store.get_message_shadow(answer_id) if numbers else None
    if numbers is None or shadow is None:
        return None
    contents = parse_contents(shadow.contents_json)
    content, part = int(numbers[1]), int(numbers[2])
    if content >= len(contents) or part >= len(contents[content].parts):
        return None
    found = contents[content].parts[part]
    if not isinstance(found, FunctionResponsePart):
        return None
    text = unbox_tool_output(found.response)
    start, end, _ = wanted.indices(len(text))
    return ToolOutputSlice(text=text[start:end], start=start, total_chars=len(text))


def search_web_entry(request: Any, user: Mapping[str, Any]) -> dict[str, Any]:
    """`search_web(query, count)` over the search engine that the administrator configured in Open WebUI."""

    async def search_web(query: str = "", count: int | None = None) -> str:
        return await _owui.search_web(request, user, query, count)

    return {"callable": search_web, "spec": _SEARCH_SPEC, "type": "builtin", "tool_id": f"builtin:{SEARCH_WEB}"}


def search_sources(text: str) -> tuple[dict[str, Any], ...]:
    """The pages that `search_web` found, in Open WebUI's source shape; () for what is no list of results."""
    try:
        results = json.loads(text)
    except ValueError:
        return ()
    rows = [row for row in results if isinstance(row, Mapping)] if isinstance(results, list) else []
    return tuple(
        {
            "source": {"id": url, "name": url, "url": url},
            "document": [str(row.get("snippet") or "")],
            "metadata": [{"source": url, "name": str(row.get("title") or url)}],
        }
        for row in rows
        if (url := str(row.get("link") or ""))
    )


def is_own(tool: Mapping[str, Any]) -> bool:
    """Whether an entry of the tools is one of ECHO's."""
    return tool.get("type") == OWN_TYPE


def _span(told: str) -> tuple[int, int | None]:
    """A range in words as the bounds of a slice, never longer than a page may be.

    Raises:
        OutputError: it cannot be read.
    """
    if not told.strip():
        return 0, _PAGE_CHARS
    found = _RANGE.fullmatch(told)
    if found is None:
        raise OutputError(f'{told[:40]!r} is no range. Give one like "240000-300000", "240000-" or "-5000".')
    if found["last"]:
        return -min(int(found["last"]), _MAX_PAGE_CHARS) or -1, None
    start = int(found["start"])
    end = int(found["end"]) if found["end"] else start + _PAGE_CHARS
    if end <= start:
        raise OutputError(f"{told[:40]!r} ends before it begins.")
    return start, min(end, start + _MAX_PAGE_CHARS)
