"""Looks at what a model wrote as a checkpoint before anything rests on it."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from echo_core.compaction_checkpoint import SECTIONS, Checkpoint
from echo_core.compaction_extract import missing_sentences, sentences, terms
from echo_core.compaction_transcript import Said

Fault = Literal["unreadable", "empty", "cut_off", "tool_syntax", "not_smaller", "invented", "dropped"]

#: What a model writes that calls tools in words, or ECHO's own tags.
_TOOL_SYNTAX: Final = re.compile(
    r"functionCall|functionResponse|tool_call|tool_code|tool_outputs|<\s*/?\s*(?:tool|function|invoke|artifact)\b|"
    r'default_api\.|"(?:name|tool)"\s*:\s*"[^"]+"\s*,\s*"(?:args|arguments|parameters|input)"\s*:',
    re.IGNORECASE,
)
#: Shares of what a checkpoint names that may be unknown in its source, and that it must keep of what has to be kept.
#: Below them it is mended, sentence by sentence; beyond them nothing in it is believed. Source: our choice.
_MAX_INVENTED: Final = 0.25
_MIN_KEPT: Final = 0.5
#: More exact names than these are not asked of a checkpoint; the newest count. Source: our choice.
_MAX_WANTED: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of looking.

    Args:
        checkpoint: mended where it could be; None when nothing in it is believed.
        faults: what was wrong with it as it came.
    """

    checkpoint: Checkpoint | None
    faults: tuple[Fault, ...] = ()


def verify(written: Checkpoint | None, messages: Sequence[Said], before: Checkpoint, size_bytes: int) -> Verdict:
    """Hold a checkpoint against what it stands for.

    Args:
        written: by a model; None when its answer was not to be read.
        messages: the stretch that it stands for, with the former checkpoint.
        before: the former checkpoint.
        size_bytes: how large it may be in UTF-8; a larger one is cut.
    """
    if written is None:
        return Verdict(checkpoint=None, faults=("unreadable",))
    if not any(getattr(written, name) for name in SECTIONS[1:]):
        return Verdict(checkpoint=None, faults=("empty",))
    source = "\n".join([*before.texts(), *(message.whole() for message in messages)])
    if any(_TOOL_SYNTAX.search(text) and text not in source for text in written.texts()):
        return Verdict(checkpoint=None, faults=("tool_syntax",))
    if written.size_bytes >= len(source.encode("utf-8", "surrogatepass")):
        return Verdict(checkpoint=None, faults=("not_smaller",))
    true, invented = _without_inventions(written, source)
    if invented > _MAX_INVENTED or true.is_empty:
        return Verdict(checkpoint=None, faults=("invented",))
    whole, kept = _with_what_was_dropped(true, messages, before)
    faults: list[Fault] = ["invented"] if invented else []
    if kept < 1:
        faults.append("dropped")
    if kept < _MIN_KEPT:
        return Verdict(checkpoint=None, faults=tuple(faults))
    return Verdict(checkpoint=whole.within(size_bytes), faults=tuple(faults))


def _without_inventions(written: Checkpoint, source: str) -> tuple[Checkpoint, float]:
    """The lines that name nothing unknown, and the share of the others."""
    plain = _plain(source)
    lines = written.lines()
    true = [
        (name, text)
        for name, text in lines
        if all(_plain(term) in plain for term in terms(text)) and (name != "user_words" or _plain(text) in plain)
    ]
    share = 1 - len(true) / len(lines)
    lists = {name: tuple(t for section, t in true if section == name) for name in SECTIONS[1:]}
    goal = next((text for name, text in true if name == "goal"), "")
    return Checkpoint.of(goal, lists), share


def _with_what_was_dropped(
    written: Checkpoint, messages: Sequence[Said], before: Checkpoint
) -> tuple[Checkpoint, float]:
    """With sentences for what the user named and it does not, and the share that it had kept."""
    wanted = _wanted(messages, before)
    if not wanted:
        return written, 1.0
    said = _plain("\n".join(written.texts()))
    lost = [term for term in wanted if _plain(term) not in said]
    earlier = tuple(text for text in before.texts() if terms(text) & set(lost))
    found = missing_sentences(messages, lost)
    return replace(written, facts=(*earlier, *written.facts, *found)), 1 - len(lost) / len(wanted)


def _wanted(messages: Sequence[Said], before: Checkpoint) -> list[str]:
    """The exact names that must not be lost: the former checkpoint's and the user's, newest last."""
    named: dict[str, None] = {}
    for text in (*before.texts(), *(s for m in messages if m.role == "user" for s in sentences(m.text))):
        for term in sorted(terms(text)):
            named.pop(term, None)
            named[term] = None
    return list(named)[-_MAX_WANTED:]


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).casefold()


#: What the second pass answers. Source: Gemini API docs, Structured output.
REVIEW_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "missing": {"type": "array", "items": {"type": "string"}},
        "wrong": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["missing", "wrong"],
}


def reviewed(written: Checkpoint, answer: str) -> Checkpoint:
    """A checkpoint as the second pass wants it: lines that it calls wrong are gone, what it misses is a fact.

    What it adds is held against the source like everything else; an answer that cannot be read changes nothing.
    """
    try:
        said = json.loads(answer)
    except ValueError:
        return written
    if not isinstance(said, dict):
        return written
    wrong = {_plain(text) for text in said.get("wrong") or () if isinstance(text, str)}
    missing = tuple(text.strip() for text in said.get("missing") or () if isinstance(text, str) and text.strip())
    lists = {name: tuple(text for text in getattr(written, name) if _plain(text) not in wrong) for name in SECTIONS[1:]}
    lists["facts"] = tuple(dict.fromkeys((*lists["facts"], *missing)))
    return Checkpoint.of(written.goal, lists)
