"""Decides what the demo model says: tool calls on request, task JSON, schema JSON, long text, image, or a report."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from echo_constants import Locale
from echo_workers.gemini_sim.core.demo.phrases import (
    ADD_TOOL,
    BELOW_CACHE,
    CAPPED,
    IMAGE_DONE,
    NO_TOOL,
    NO_TOOLS_HERE,
    REPORT,
    SHARE,
    THOUGHT,
    THOUGHT_GOING_ON,
    TOOL_SAID,
    TOOLS_HERE,
    TURNS_MANY,
    TURNS_ONE,
)
from echo_workers.gemini_sim.core.demo.picture import png
from echo_workers.gemini_sim.core.demo.prose import long_text, paragraph
from echo_workers.gemini_sim.core.demo.structured import instance, task_answer
from echo_workers.gemini_sim.core.demo.view import STRAIGHT_QUOTES, Facts, ToolAsk, View, asked_calls, goes_on

_WORDS: Final = re.compile(
    r"\b(?:write|écris|ecris|rédige)\b[^.\n]{0,40}?\b(\d{1,6})\s+(?:words|mots)\b", re.IGNORECASE
)
_DRAW: Final = re.compile(r"\b(?:draw|paint|dessine|generate an image|génère une image)\b", re.IGNORECASE)
_BARE_CALL: Final = re.compile(r"\W*(?:(?:please|svp)\W+)?(?:call|appelle)\s+\S+\s*", re.IGNORECASE)
#: The most that `write N words` gives: a page that renders 20,000 words of Markdown while they stream freezes.
_WORDS_MAX: Final = 3_000
_TOOLS_TOLD: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One part of the answer before it is signed and cut into chunks."""

    kind: Literal["thought", "text", "call", "image"]
    text: str = ""
    name: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)


def _quote(prompt: str) -> str:
    """One line of the prompt; quotes in it become straight, since typographic ones stand around it."""
    line = " ".join(prompt.translate(STRAIGHT_QUOTES).split())
    return line if len(line) <= 160 else line[:157] + "…"


def _turns(view: View) -> str:
    count = view.facts.turns
    return (TURNS_ONE if count == 1 else TURNS_MANY).render(view.locale, turns=count)


def thought(view: View) -> Piece:
    """The thought summary that includeThoughts asks for."""
    if goes_on(view.prompt):
        return Piece(kind="thought", text=THOUGHT_GOING_ON.render(view.locale))
    return Piece(kind="thought", text=THOUGHT.render(view.locale, quote=_quote(view.prompt), turns=_turns(view)))


def _written(words: int, locale: Locale) -> str:
    if words <= _WORDS_MAX:
        return long_text(words, locale)
    most = f"{_WORDS_MAX:,}".replace(",", "," if locale == "en" else "\u202f")
    return CAPPED.render(locale, most=most) + long_text(_WORDS_MAX, locale)


def _calls(view: View) -> list[Piece] | None:
    if view.mode == "NONE" or not view.tools:
        return None
    steps = asked_calls(view.prompt)
    if view.steps_done < len(steps):
        asked = [ask for ask in steps[view.steps_done] if ask.name in view.tools]
        if asked:
            return [_call(view, ask) for ask in asked]
    if view.mode == "ANY":
        name = next((name for name in view.allowed if name in view.tools), next(iter(view.tools)))
        return [_call(view, ToolAsk(name=name, args=None))]
    return None


def _call(view: View, ask: ToolAsk) -> Piece:
    args = ask.args if ask.args is not None else instance(view.tools[ask.name], _quote(view.prompt)[:40])
    return Piece(kind="call", name=ask.name, args=args if isinstance(args, Mapping) else {})


def _result_text(view: View) -> str:
    blocks = []
    for name, response in view.results:
        value = response.get("output", response.get("result", response.get("error", response)))
        shown = value if isinstance(value, str) else "```json\n" + json.dumps(value, ensure_ascii=False) + "\n```"
        blocks.append(TOOL_SAID.render(view.locale, name=name, value=shown[:4_000]))
    return "\n\n".join(blocks)


def _report(view: View) -> str:
    facts: Facts = view.facts
    percent = round(100 * facts.cached_tokens / facts.prompt_tokens) if facts.prompt_tokens else 0
    share = SHARE.render(view.locale, percent=percent)
    if not facts.cached_tokens and facts.prompt_tokens < facts.cache_min_tokens:
        share = BELOW_CACHE.render(view.locale, minimum=facts.cache_min_tokens)
    return REPORT.render(
        view.locale,
        quote=_quote(view.prompt),
        turns=facts.turns,
        prompt_tokens=facts.prompt_tokens,
        cached_tokens=facts.cached_tokens,
        share=share,
        signatures=facts.signatures,
        signatures_valid=facts.signatures_valid,
        attachments=facts.attachments,
        tools=_tool_names(view) or "–",
    )


def _tool_names(view: View) -> str:
    shown = [f"`{name}`" for name in sorted(view.tools)]
    return ", ".join(shown[:_TOOLS_TOLD]) + (" …" if len(shown) > _TOOLS_TOLD else "")


def _missing_tools(view: View) -> str:
    """What to say about tools that the message clearly wants and the request does not declare; empty when none.

    "Call me later" wants none: only arguments, or a message that is nothing but the command, make it clear.
    """
    asked = [ask for step in asked_calls(view.prompt) for ask in step]
    bare = _BARE_CALL.fullmatch(view.prompt) is not None
    names = dict.fromkeys(ask.name for ask in asked if ask.name not in view.tools and (ask.args is not None or bare))
    if not names or view.mode == "NONE":
        return ""
    here = TOOLS_HERE.render(view.locale, tools=_tool_names(view)) if view.tools else NO_TOOLS_HERE.render(view.locale)
    missing = [NO_TOOL.render(view.locale, name=name) for name in [*names][:3]]
    return "\n\n".join([*missing, here, ADD_TOOL.render(view.locale)])


def plan(view: View) -> list[Piece]:
    """The answer to a request, without thoughts."""
    calls = _calls(view)
    if calls:
        return calls
    task = task_answer(view.prompt)
    if task is not None:
        return [Piece(kind="text", text=json.dumps(task, ensure_ascii=False))]
    if view.schema is not None:
        value = instance(view.schema, _quote(view.prompt)[:40]) if view.schema else {"answer": _quote(view.prompt)}
        return [Piece(kind="text", text=json.dumps(value, ensure_ascii=False))]
    if view.results:
        return [Piece(kind="text", text=_result_text(view))]
    if goes_on(view.prompt):
        return [Piece(kind="text", text=paragraph(view.facts.turns, view.locale))]
    wanted = _WORDS.search(view.prompt)
    if wanted:
        return [Piece(kind="text", text=_written(int(wanted.group(1)), view.locale))]
    if view.image or _DRAW.search(view.prompt):
        return [Piece(kind="text", text=IMAGE_DONE.render(view.locale)), Piece(kind="image", text=png(view.prompt))]
    return [Piece(kind="text", text=_missing_tools(view) or _report(view))]
