"""What a sub-agent leaves behind: its result as the model and the card get it, and its exchange as text to be read."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from echo_constants import Bilingual, Locale
from echo_runtime.own_tools import READ_TOOL_OUTPUT
from echo_utils import dumps, well_formed

_SUMMARY: Final = Bilingual(
    en="Sub-agent, {level}: {requests} requests, {calls} tool calls, {tokens} tokens.",
    fr="Sous-agent, {level} : {requests} requêtes, {calls} appels d'outils, {tokens} jetons.",
)
_EXCHANGE: Final = Bilingual(
    en='How it got there: {reader}(id="{exchange}").', fr='Comment il y est arrivé : {reader}(id="{exchange}").'
)


def result_text(
    locale: Locale, answer: str, *, level: str, requests: int, calls: int, tokens: int, exchange: str
) -> str:
    """The answer, and under it what it took and where its making can be read.

    Args:
        locale: the language of the line under the answer.
        answer: as the sub-agent gave it.
        level: where it ended.
        requests: sent to the model.
        calls: of tools.
        tokens: sent and received.
        exchange: id for `read_tool_output`, "" when nothing was kept.
    """
    told = [_SUMMARY.render(locale, level=level, requests=requests, calls=calls, tokens=tokens)]
    if exchange:
        told.append(_EXCHANGE.render(locale, reader=READ_TOOL_OUTPUT, exchange=exchange))
    return f"{answer}\n\n[{' '.join(told)}]"


def exchange_text(task: str, context: str, hops: Sequence[bytes]) -> str:
    """A sub-agent's task and everything after it, as text; signatures and media left out.

    Args:
        task: what it was asked.
        context: what it was told beside it, "" for nothing.
        hops: its serialised Contents.
    """
    lines = [f"# Task\n\n{task}"]
    if context:
        lines.append(f"# Context\n\n{context}")
    for hop in hops:
        lines.extend(_part_text(part) for part in json.loads(hop).get("parts", ()))
    return well_formed("\n\n".join(line for line in lines if line))


def _part_text(part: Mapping[str, Any]) -> str:
    return "\n\n".join(_said(part))


def _said(part: Mapping[str, Any]) -> Iterator[str]:
    if part.get("thought"):
        return
    if text := part.get("text"):
        yield str(text)
    if call := part.get("functionCall"):
        yield f"→ {call.get('name')} {dumps(call.get('args') or {}).decode()}"
    if answered := part.get("functionResponse"):
        response = answered.get("response") or {}
        text = response.get("output") if set(response) == {"output"} else response
        yield f"← {answered.get('name')}\n{text if isinstance(text, str) else dumps(text).decode()}"
    if media := part.get("inlineData"):
        yield f"[{media.get('mimeType', '?')}]"
