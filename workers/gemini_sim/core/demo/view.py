"""What the demo model looks at: the request reduced to the few things that steer it."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from echo_constants import LOCALES, Locale
from echo_prompts import SHIPPED

_ARTIFACT: Final = re.compile(r"<artifact\b(?:[^<>]*/>|.*?</artifact>)", re.DOTALL | re.IGNORECASE)
#: Small words that tell the language. Words that both languages have ("on", "plus", "me") are left out.
_FRENCH: Final = re.compile(
    r"\b(le|la|les|des|du|de|un|une|est|sont|et|ou|où|pour|avec|dans|quel|quelle|quels|quelles|quoi|combien|comment|"
    r"pourquoi|bonjour|merci|oui|non|appelle|écris|ecris|rédige|dessine|donne|explique|pouvez|peux|je|tu|il|elle|vous|"
    r"nous|ce|cette|mots|qui|que|sur|mon|ma|mes|pas|au|aux|en|par|\w*[àâçéèêëîïôùûœ]\w*)\b|\b(?:qu|[cdjlmnst])['’]\w",
    re.IGNORECASE,
)
_ENGLISH: Final = re.compile(
    r"\b(the|a|an|is|are|and|or|for|with|in|of|to|from|about|what|which|how|why|when|where|hello|thanks|please|yes|"
    r"call|write|draw|give|explain|do|does|did|can|could|i|you|we|it|this|that|not|have|has|words|who|my|many)\b",
    re.IGNORECASE,
)
#: By how many words one language has to lead before a message alone decides; "call", a name or "ok" do not.
_SURE_LEAD: Final = 2
_CALL: Final = re.compile(r"\b(?:call|appelle)\s+`?([A-Za-z_][\w.:-]*)`?", re.IGNORECASE)
#: Each typographic double quote is one character, so places in the text stay where they are.
STRAIGHT_QUOTES: Final = dict.fromkeys(map(ord, "“”„‟«»″＂"), '"')
_GAP: Final = " \t`\n:\u00a0\u202f"
_THEN: Final = re.compile(r"\b(?:then|puis|ensuite)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Figures of the request that the demo answer tells."""

    turns: int
    prompt_tokens: int
    cached_tokens: int
    cache_min_tokens: int
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


def language_of(text: str, earlier: Sequence[str] = ()) -> Locale:
    """The language of a message, by the small words of French and English in it.

    A message that hardly tells (a word, a command) is read together with what its writer said `earlier`.
    """
    lead = _french_lead(text)
    if abs(lead) < _SURE_LEAD:
        lead += sum(_french_lead(one) for one in earlier)
    return "fr" if lead > 0 else "en"


def goes_on(prompt: str) -> bool:
    """Whether a message is ECHO's request to continue the last answer, possibly behind the name of its writer."""
    return prompt.endswith(tuple(SHIPPED.text("continue", locale) for locale in LOCALES))


def _french_lead(text: str) -> int:
    sample = text[-4_000:]
    return len(_FRENCH.findall(sample)) - len(_ENGLISH.findall(sample))


def bare_prompt(parts: Sequence[Mapping[str, Any]]) -> str:
    """The texts of a message, one a line, without `<artifact>` blocks (they are data, not a request)."""
    text = "\n".join(str(part["text"]) for part in parts if "text" in part and not part.get("thought"))
    return _ARTIFACT.sub("", text).strip()


def _read_object(text: str) -> tuple[Mapping[str, Any], int] | None:
    """The JSON object that a text begins with, and its length; None when it cannot be read.

    Open WebUI's input turns straight quotes into typographic ones while the user types, so these work as well.
    """
    decoder = json.JSONDecoder()
    for candidate in (text, text.translate(STRAIGHT_QUOTES)):
        with suppress(ValueError):
            value, length = decoder.raw_decode(candidate)
            return value, length
    return None


def asked_calls(prompt: str) -> list[list[ToolAsk]]:
    """The steps of calls that a prompt asks for: `call a {...} and call b {...}, then call c {...}`.

    Calls of one step are parallel; `then`, `puis` and `ensuite` begin a new step.
    """
    steps: list[list[ToolAsk]] = []
    last_end = 0
    for found in _CALL.finditer(prompt):
        if found.start() < last_end:
            continue
        rest = prompt[found.end() :]
        gap = len(rest) - len(rest.lstrip(_GAP))
        args: Mapping[str, Any] | None = None
        end = found.end()
        if rest[gap : gap + 1] == "{":
            read = _read_object(rest[gap:])
            if read is None:
                continue
            args, end = read[0], found.end() + gap + read[1]
        if not steps or _THEN.search(prompt[last_end : found.start()]):
            steps.append([])
        steps[-1].append(ToolAsk(name=found.group(1), args=args))
        last_end = end
    return [step for step in steps if step]
