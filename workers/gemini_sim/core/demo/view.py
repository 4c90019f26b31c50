"""What the demo model looks at: the request reduced to the few things that steer it."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from echo_constants import Locale

_ARTIFACT: Final = re.compile(r"<artifact\b.*?</artifact>", re.DOTALL | re.IGNORECASE)
_FRENCH: Final = re.compile(
    r"\b(le|la|les|des|une|est|et|pour|avec|dans|quel|quelle|bonjour|merci|appelle|écris|dessine|je|tu|vous|nous|"
    r"ce|cette|mots|qui|que|sur|mon|ma|mes)\b",
    re.IGNORECASE,
)
_ENGLISH: Final = re.compile(
    r"\b(the|a|an|is|are|and|for|with|in|what|which|hello|thanks|call|write|draw|i|you|we|this|that|words|who|on|my)\b",
    re.IGNORECASE,
)
_CALL: Final = re.compile(r"\b(?:call|appelle)\s+`?([A-Za-z_][\w.:-]*)`?", re.IGNORECASE)
_THEN: Final = re.compile(r"\b(?:then|puis|ensuite)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Figures of the request that the demo answer tells."""

    turns: int
    prompt_tokens: int
    cached_tokens: int
    signatures: int
    signatures_valid: int
    attachments: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAsk:
    """One call that the prompt asks for; `args` is None when it names none."""

    name: str
    args: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The request as the demo model sees it.

    Args:
        prompt: text of the last user message, without artifacts.
        steps_done: model steps with function calls since that message.
        results: function responses of the last step, in order: (name, response).
        tools: declared function names and their parameter schemas.
        mode: function calling mode.
        allowed: names that mode ANY is limited to.
        schema: the response schema when JSON is asked for, `{}` when JSON without schema, None for text.
        image: the answer holds an image.
    """

    prompt: str
    locale: Locale
    facts: Facts
    steps_done: int = 0
    results: Sequence[tuple[str, Mapping[str, Any]]] = ()
    tools: Mapping[str, Mapping[str, Any]]
    mode: str = "AUTO"
    allowed: Sequence[str] = ()
    schema: Mapping[str, Any] | None = None
    image: bool = False


def language_of(text: str) -> Locale:
    """French when more French than English small words are in the text."""
    sample = text[-4_000:]
    return "fr" if len(_FRENCH.findall(sample)) > len(_ENGLISH.findall(sample)) else "en"


def bare_prompt(parts: Sequence[Mapping[str, Any]]) -> str:
    """The texts of a message, one a line, without `<artifact>` blocks (they are data, not a request)."""
    text = "\n".join(str(part["text"]) for part in parts if "text" in part and not part.get("thought"))
    return _ARTIFACT.sub("", text).strip()


def asked_calls(prompt: str) -> list[list[ToolAsk]]:
    """The steps of calls that a prompt asks for: `call a {...} and call b {...}, then call c {...}`.

    Calls of one step are parallel; `then`, `puis` and `ensuite` begin a new step.
    """
    steps: list[list[ToolAsk]] = []
    decoder = json.JSONDecoder()
    last_end = 0
    for found in _CALL.finditer(prompt):
        if found.start() < last_end:
            continue
        rest = prompt[found.end() :]
        gap = len(rest) - len(rest.lstrip(" \t`\n:"))
        args: Mapping[str, Any] | None = None
        end = found.end()
        if rest[gap : gap + 1] == "{":
            try:
                value, stop = decoder.raw_decode(rest[gap:])
            except ValueError:
                continue
            args, end = value, found.end() + gap + stop
        if not steps or _THEN.search(prompt[last_end : found.start()]):
            steps.append([])
        steps[-1].append(ToolAsk(name=found.group(1), args=args))
        last_end = end
    return [step for step in steps if step]
