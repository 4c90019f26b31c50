"""`read_history`: the model reads earlier messages word for word, those included that a checkpoint stands for."""

import re
from collections.abc import Sequence
from typing import Any, Final

from anyio import to_thread

from echo_core.compaction_transcript import Said, said
from echo_core.ports import PassageRecall, ShadowStore
from echo_runtime.own_tools import OWN_TYPE, OutputError

READ_HISTORY: Final = "read_history"

#: Characters of one reading. Source: our choice, about 10,000 tokens.
_PAGE_CHARS: Final = 40_000
#: Places that one search shows, and characters around each. Source: our choice.
_MAX_HITS: Final = 12
_AROUND_CHARS: Final = 400
#: Messages that are read at once while searching. Source: our choice, a fraction of a second of parsing.
_BATCH: Final = 500
_RANGE: Final = re.compile(r"\s*(?:(?P<first>\d+)\s*(?:-\s*(?P<last>\d+)?)?|-\s*(?P<end>\d+))\s*")

_SPEC: Final = {
    "name": READ_HISTORY,
    "description": "Read earlier messages of this conversation word for word, also those that only a checkpoint stands "
    "for. Give a position to read messages, or a text to find where it was said.",
    "parameters": {
        "type": "object",
        "properties": {
            "position": {
                "type": "string",
                "description": 'Message numbers, the first message being 1: "12", "12-20", "12-" or "-5" for the last.',
            },
            "text": {
                "type": "string",
                "description": "Words to look for, in any case; with position, only in these messages.",
            },
        },
    },
}


def read_history_entry(
    store: ShadowStore, chain: Sequence[str], recall: PassageRecall | None = None, *, owner: tuple[str, str] = ("", "")
) -> dict[str, Any]:
    """`read_history(position, text)` over the chain that is being answered, and nothing else.

    Args:
        store: the chat's records.
        chain: ids of its messages, root first.
        recall: finds what was said in other words, too; None looks for the words alone.
        owner: (user id, chat id) for `recall`.
    """

    async def read_history(position: str = "", text: str = "") -> str:
        first, last = _span(str(position or ""), len(chain))
        wanted = str(text or "").strip()
        if not wanted:
            return await _page(store, chain, first, last)
        found = await _hits(store, chain, first, last, wanted)
        if recall is not None and len(found) < _MAX_HITS:
            found += await _recalled(recall, owner, chain, wanted, _MAX_HITS - len(found))
        if not found:
            raise OutputError(f"Nothing in messages {first}-{last} holds {wanted[:80]!r}. Try fewer or other words.")
        return "\n\n".join(found)

    return {"callable": read_history, "spec": _SPEC, "type": OWN_TYPE, "tool_id": f"{OWN_TYPE}:{READ_HISTORY}"}


async def _page(store: ShadowStore, chain: Sequence[str], first: int, last: int) -> str:
    """Messages by number, as many as one reading holds."""
    out: list[str] = []
    room = _PAGE_CHARS
    for message in await _read(store, chain, first, last):
        whole = f"[message {message.number}, {message.role}]\n{message.whole()}"
        if len(whole) > room and out:
            out.append(f'[Go on with position="{message.number}-".]')
            break
        out.append(whole if len(whole) <= room else f"{whole[:room]}\n[cut: {len(whole) - room} more characters]")
        room -= len(whole)
    return "\n\n".join(out)


async def _hits(store: ShadowStore, chain: Sequence[str], first: int, last: int, wanted: str) -> list[str]:
    """Where some words were said, newest first."""
    words = wanted.casefold()
    found: list[str] = []
    for end in range(last, first - 1, -_BATCH):
        messages = await _read(store, chain, max(first, end - _BATCH + 1), end)
        for message in reversed(messages):
            whole = message.whole()
            at = whole.casefold().find(words)
            if at < 0:
                continue
            start, stop = max(0, at - _AROUND_CHARS), at + len(wanted) + _AROUND_CHARS
            cut = ("…" if start else "") + whole[start:stop] + ("…" if stop < len(whole) else "")
            found.append(f"[message {message.number}, {message.role}]\n{cut}")
            if len(found) >= _MAX_HITS:
                return found
    return found


async def _recalled(
    recall: PassageRecall, owner: tuple[str, str], chain: Sequence[str], wanted: str, limit: int
) -> list[str]:
    user_id, chat_id = owner
    passages = await recall.recall(user_id=user_id, chat_id=chat_id, text=wanted, limit=limit)
    places = {message_id: number for number, message_id in enumerate(chain, start=1)}
    return [f"[message {places[p.message_id]}, in other words]\n{p.text}" for p in passages if p.message_id in places]


async def _read(store: ShadowStore, chain: Sequence[str], first: int, last: int) -> list[Said]:
    """Messages by number in words; parsing them leaves the event loop."""
    ids = list(chain[first - 1 : last])
    shadows = await store.get_message_shadows(ids)

    def words() -> list[Said]:
        numbered = enumerate(ids, start=first)
        return [said(shadows[m], n, result_chars=_PAGE_CHARS) for n, m in numbered if m in shadows]

    return await to_thread.run_sync(words)


def _span(told: str, total: int) -> tuple[int, int]:
    """Numbers of the first and last message that are meant.

    Raises:
        OutputError: it cannot be read, or there are no such messages.
    """
    if not told.strip():
        return 1, total
    found = _RANGE.fullmatch(told)
    if found is None:
        raise OutputError(f'{told[:40]!r} is no position. Give one like "12", "12-20", "12-" or "-5".')
    if found["end"]:
        return max(1, total - int(found["end"]) + 1), total
    first = int(found["first"])
    last = int(found["last"]) if found["last"] else total if "-" in told else first
    if not 1 <= first <= last or first > total:
        raise OutputError(f"There are messages 1 to {total}; {told[:40]!r} is not among them.")
    return first, min(last, total)
