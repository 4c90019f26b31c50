"""A checkpoint without any model: sentences chosen by plain rules, the same ones every time."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from echo_core.compaction_checkpoint import SECTIONS, Checkpoint, shortened
from echo_core.compaction_transcript import Said

#: What names a thing so exactly that losing or inventing it would matter: addresses, paths and files, quoted code,
#: identifiers, dates, numbers of three digits and more.
_TERM: Final = re.compile(
    r"https?://[^\s<>\"')\]]+"
    r"|(?:[\w.-]+)?(?:/[\w.-]+){2,}"
    r"|\b[\w-]+\.(?:py|js|ts|md|txt|json|ya?ml|toml|csv|pdf|docx?|xlsx?|png|jpe?g|sql|sh|html|css|rs|go|c|h)\b"
    r"|`[^`\n]{2,80}`"
    r"|\b(?=[\w.-]*\d)(?=[\w.-]*[^\W\d_])\w[\w-]*(?:\.[\w-]+)*"
    r"|\b[^\W_]\w*_\w+\b"
    r"|\b\d[\d.,:-]*\d{2,}\b"
)
_SENTENCE: Final = re.compile(r"[^.!?\n]+(?:[.!?](?![\s)\"'»]|$)[^.!?\n]*)*[.!?]*")

#: Words by which a sentence tells what it is, in the two languages of the interface.
_MUST: Final = re.compile(
    r"\b(must|never|always|do not|don't|only|required?|forbidden|remember|important|doi(?:t|s|vent)|jamais|toujours|"
    r"ne pas|il faut|interdit|obligatoire|retiens|n'oublie|uniquement)\b",
    re.IGNORECASE,
)
_DECIDED: Final = re.compile(
    r"\b(decid\w+|we(?:'ll| will) (?:use|take|go)|let's|agreed|chosen?|settled|on (?:va|prend|garde)|"
    r"choisi\w*|décid\w+|retenu\w*|convenu\w*|d'accord pour)\b",
    re.IGNORECASE,
)
_OPEN: Final = re.compile(
    r"\b(todo|to do|next step|remaining|still (?:need|open|to)|not yet|later|pending|reste à|à faire|prochaine étape|"
    r"pas encore|plus tard|en attente)\b",
    re.IGNORECASE,
)
_FILE: Final = re.compile(r"https?://|/|\.\w{1,5}$")
#: UTF-8 bytes of one sentence that are kept. Source: our choice.
_SENTENCE_BYTES: Final = 400
_GOAL_BYTES: Final = 600


def terms(text: str) -> set[str]:
    """What a text names exactly."""
    return {found.group().strip("`.,:;") for found in _TERM.finditer(text)}


def sentences(text: str) -> Iterator[str]:
    """The sentences and lines of a text."""
    for found in _SENTENCE.finditer(text):
        sentence = found.group().strip()
        if len(sentence) > 2:
            yield sentence


def extract(messages: Sequence[Said], before: Checkpoint, size_bytes: int) -> Checkpoint:
    """A checkpoint of a stretch, the former one taken in.

    Args:
        messages: oldest first.
        before: what stood for everything above them.
        size_bytes: how large it may be in UTF-8.
    """
    lists: dict[str, list[str]] = {name: [] for name in SECTIONS[1:]}
    for message in messages:
        for sentence in sentences(message.text):
            section = _section(sentence, by_user=message.role == "user")
            if section:
                lists[section].append(shortened(sentence, _SENTENCE_BYTES))
        lists["artefacts"] += _artefacts(message)
    asked = [message.text for message in messages if message.role == "user" and message.text]
    if asked:
        lists["open_tasks"].append(shortened(f"Last asked before this point: {asked[-1]}", _GOAL_BYTES))
    goal = before.goal or (shortened(asked[0], _GOAL_BYTES) if asked else "")
    new = Checkpoint.of(goal, {name: dict.fromkeys(texts) for name, texts in lists.items()})
    return before.joined(new).within(size_bytes)


def _section(sentence: str, *, by_user: bool) -> str:
    if by_user and _MUST.search(sentence):
        return "user_words"
    if _DECIDED.search(sentence):
        return "decisions"
    if _OPEN.search(sentence):
        return "open_tasks"
    if _MUST.search(sentence):
        return "constraints"
    return "facts" if terms(sentence) else ""


def _artefacts(message: Said) -> list[str]:
    named = sorted(term for term in terms(message.text) if _FILE.search(term))
    attached = [line.strip("[]") for line in message.asides if "attached" in line]
    return [*named, *attached]


def missing_sentences(messages: Sequence[Said], lost: Iterable[str]) -> tuple[str, ...]:
    """The sentences that name what was lost, each once, oldest first."""
    wanted = set(lost)
    found: list[str] = []
    for message in messages:
        for sentence in sentences(message.text):
            here = terms(sentence) & wanted
            if here:
                found.append(shortened(sentence, _SENTENCE_BYTES))
                wanted -= here
    return tuple(found)
