"""Decides what the demo model says: tool calls on request, task JSON, schema JSON, long text, image, or a report."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from echo_constants import Bilingual, Locale
from echo_workers.gemini_sim.core.demo.picture import png
from echo_workers.gemini_sim.core.demo.structured import instance, task_answer
from echo_workers.gemini_sim.core.demo.view import Facts, ToolAsk, View, asked_calls

_WORDS: Final = re.compile(
    r"\b(?:write|écris|ecris|rédige)\b[^.\n]{0,40}?\b(\d{1,6})\s+(?:words|mots)\b", re.IGNORECASE
)
_DRAW: Final = re.compile(r"\b(?:draw|paint|dessine|generate an image|génère une image)\b", re.IGNORECASE)

_REPORT: Final = Bilingual(
    en=(
        "**Simulated answer** (no Gemini key is in use).\n\n"
        "You wrote: “{quote}”\n\n"
        "| what I received | value |\n|---|---|\n"
        "| turns | {turns} |\n"
        "| prompt tokens | {prompt_tokens} |\n"
        "| from the cache | {cached_tokens} ({share} %) |\n"
        "| signatures, of them valid | {signatures}, {signatures_valid} |\n"
        "| attachments | {attachments} |\n"
        "| tools declared | {tools} |\n\n"
        'Try `call NAME {{"arg": 1}}`, `write 300 words` or `draw a cat`.'
    ),
    fr=(
        "**Réponse simulée** (aucune clé Gemini n'est utilisée).\n\n"
        "Vous avez écrit : « {quote} »\n\n"
        "| ce que j'ai reçu | valeur |\n|---|---|\n"
        "| tours | {turns} |\n"
        "| jetons de la requête | {prompt_tokens} |\n"
        "| venant du cache | {cached_tokens} ({share} %) |\n"
        "| signatures, dont valides | {signatures}, {signatures_valid} |\n"
        "| pièces jointes | {attachments} |\n"
        "| outils déclarés | {tools} |\n\n"
        'Essayez `appelle NOM {{"arg": 1}}`, `écris 300 mots` ou `dessine un chat`.'
    ),
)
_TOOL_SAID: Final = Bilingual(en="**`{name}`** answered:\n\n{value}", fr="**`{name}`** a répondu :\n\n{value}")
_NO_TOOL: Final = Bilingual(
    en="The tool `{name}` is not declared, so I cannot call it.",
    fr="L'outil `{name}` n'est pas déclaré, je ne peux donc pas l'appeler.",
)
_THOUGHT: Final = Bilingual(
    en="**Reading the request**\n\nThe user asks: “{quote}”. I count {turns} turns and pick the fitting answer.\n\n\n",
    fr="**Lecture de la demande**\n\nL'utilisateur demande : « {quote} ». Je compte {turns} tours et choisis la "
    "réponse.\n\n\n",
)
_IMAGE_DONE: Final = Bilingual(en="Here is the image.", fr="Voici l'image.")
_ENGLISH: Final = (
    "the river keeps its course while every stone remembers a different light and each morning opens another path "
    "through quiet fields where patient hands gather what the season gives"
)
_FRENCH: Final = (
    "la rivière garde son cours tandis que chaque pierre retient une autre lumière et que le matin ouvre un nouveau "
    "chemin parmi des champs calmes où des mains patientes cueillent la saison"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One part of the answer before it is signed and cut into chunks."""

    kind: Literal["thought", "text", "call", "image"]
    text: str = ""
    name: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)


def _quote(prompt: str) -> str:
    line = " ".join(prompt.split())
    return line if len(line) <= 160 else line[:157] + "…"


def thought(view: View) -> Piece:
    """The thought summary that includeThoughts asks for."""
    return Piece(kind="thought", text=_THOUGHT.render(view.locale, quote=_quote(view.prompt), turns=view.facts.turns))


def long_text(words: int, locale: Locale) -> str:
    """Markdown of exactly `words` words, in sections of 100: a heading of two words and two paragraphs."""
    source = (_ENGLISH if locale == "en" else _FRENCH).split()
    title = "Part" if locale == "en" else "Partie"
    blocks: list[str] = []
    left = words
    while left > 0:
        section = min(100, left)
        left -= section
        if section > 2:
            blocks.append(f"## {title} {len(blocks) // 3 + 1}")
            section -= 2
        start = words - left
        run = [source[(start + index) % len(source)] for index in range(section)]
        blocks += [" ".join(half) for half in (run[:48], run[48:]) if half]
    return "\n\n".join(blocks)


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
        blocks.append(_TOOL_SAID.render(view.locale, name=name, value=shown[:4_000]))
    return "\n\n".join(blocks)


def _report(view: View) -> str:
    facts: Facts = view.facts
    share = round(100 * facts.cached_tokens / facts.prompt_tokens) if facts.prompt_tokens else 0
    return _REPORT.render(
        view.locale,
        quote=_quote(view.prompt),
        turns=facts.turns,
        prompt_tokens=facts.prompt_tokens,
        cached_tokens=facts.cached_tokens,
        share=share,
        signatures=facts.signatures,
        signatures_valid=facts.signatures_valid,
        attachments=facts.attachments,
        tools=", ".join(sorted(view.tools)[:20]) or "–",
    )


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
    wanted = _WORDS.search(view.prompt)
    if wanted:
        return [Piece(kind="text", text=long_text(int(wanted.group(1)), view.locale))]
    if view.image or _DRAW.search(view.prompt):
        return [Piece(kind="text", text=_IMAGE_DONE.render(view.locale)), Piece(kind="image", text=png(view.prompt))]
    missing = [ask.name for step in asked_calls(view.prompt) for ask in step if ask.name not in view.tools]
    refusals = [_NO_TOOL.render(view.locale, name=name) for name in missing[:3] if view.mode != "NONE"]
    return [Piece(kind="text", text="\n\n".join([*refusals, _report(view)]))]
