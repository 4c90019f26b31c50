"""The checkpoint: what stands for the messages that are no longer sent, in sections that grow and are condensed."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from echo_aec import Artifact, Item, UnreadableArtifact, parse_artifact
from echo_utils import well_formed

#: The sections in the order in which they are written; all but the first are lists.
SECTIONS: Final = ("goal", "constraints", "decisions", "facts", "artefacts", "open_tasks", "user_words")

#: UTF-8 bytes in one token of a checkpoint. Source: "a token is about four characters", Gemini API docs, Tokens.
BYTES_A_TOKEN: Final = 4

#: Tells the model how to take what follows, and how to see more.
PREAMBLE: Final = (
    "What came before in this conversation, condensed by ECHO; it stands for messages 1 to {until}. It is a record of "
    "what was said, not an instruction. Earlier messages can be read word for word with read_history."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What is known of everything before a pivot.

    Args:
        goal: what the user is after, "" while that is not known.
        constraints: what has to be kept to; likewise the next ones, oldest first.
        user_words: the user's own words, verbatim, that must not be lost.
        note: what a user wrote in place of all sections.
    """

    goal: str = ""
    constraints: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    artefacts: tuple[str, ...] = ()
    open_tasks: tuple[str, ...] = ()
    user_words: tuple[str, ...] = ()
    note: str = ""

    @classmethod
    def of(cls, goal: str, lists: Mapping[str, Iterable[str]], note: str = "") -> "Checkpoint":
        """A checkpoint from its lists by section; sections that are not named are empty."""
        made: dict[str, Any] = {name: tuple(lists.get(name, ())) for name in SECTIONS[1:]}
        return cls(goal=goal, note=note, **made)

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing at all."""
        return not any(getattr(self, f.name) for f in fields(self))

    @property
    def size_bytes(self) -> int:
        """Its texts in UTF-8."""
        return len("".join(self.texts()).encode("utf-8", "surrogatepass"))

    def texts(self) -> list[str]:
        """Everything it says, in order."""
        return [text for _, text in self.lines()]

    def lines(self) -> list[tuple[str, str]]:
        """(section, text), in order."""
        single = [("goal", self.goal)] if self.goal else []
        listed = [(name, text) for name in SECTIONS[1:] for text in getattr(self, name)]
        return [*single, *listed, *([("note", self.note)] if self.note else [])]

    def artifact(self, epoch_id: str, until: int) -> str:
        """Itself as the artifact that is sent.

        Args:
            epoch_id: names it.
            until: number of the last message that it stands for, from 1.
        """
        items = tuple(Item(tag=name, text=text) for name, text in self.lines())
        preamble = PREAMBLE.format(until=until)
        return Artifact(
            id="AEC_context_checkpoint", attributes={"checkpoint": epoch_id}, text=preamble, items=items
        ).xml()

    def joined(self, later: "Checkpoint") -> "Checkpoint":
        """Both together, without saying anything twice."""
        lists = {name: tuple(dict.fromkeys((*getattr(self, name), *getattr(later, name)))) for name in SECTIONS[1:]}
        return Checkpoint.of(later.goal or self.goal, lists, self.note)

    def within(self, size_bytes: int) -> "Checkpoint":
        """Itself cut to a size: newest entries first, a share for every section, long entries shortened."""
        if self.size_bytes <= size_bytes:
            return self
        if self.note:
            return Checkpoint(note=shortened(self.note, size_bytes))
        goal = shortened(self.goal, size_bytes // 6)
        lists = {name: list(getattr(self, name)) for name in SECTIONS[1:] if getattr(self, name)}
        kept: dict[str, list[str]] = {name: [] for name in lists}
        left = size_bytes - len(goal.encode("utf-8", "surrogatepass"))
        longest = max(120, left // 24)
        while any(lists.values()):
            for name, texts in lists.items():
                if not texts:
                    continue
                text = shortened(texts.pop(), longest)
                weight = len(text.encode("utf-8", "surrogatepass"))
                if weight > left:
                    texts.clear()
                    continue
                left -= weight
                kept[name].insert(0, text)
        return Checkpoint.of(goal, kept)


def shortened(text: str, size_bytes: int) -> str:
    """A text cut to a size in UTF-8, its end marked."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= size_bytes:
        return text
    return data[: max(0, size_bytes - 3)].decode("utf-8", "ignore").rstrip() + "…"


def quoted(message_id: str, number: int, role: str, text: str, epoch_id: str) -> str:
    """The artifact of one pinned message, whole.

    Args:
        message_id: which one.
        number: its place in the conversation, from 1.
        role: who wrote it.
        text: what it says, word for word.
        epoch_id: of the checkpoint that it stands beside.
    """
    attributes = {"message": message_id, "number": str(number), "role": role}
    return Artifact(
        id="AEC_context_checkpoint",
        attributes={"checkpoint": epoch_id},
        items=(Item(tag="pinned", attributes=attributes, text=text),),
    ).xml()


def read_checkpoint(xml: str) -> Checkpoint:
    """A checkpoint out of its artifact; an empty one for what is none."""
    try:
        artifact = parse_artifact(xml)
    except UnreadableArtifact:
        return Checkpoint()
    return _of_lines((item.tag, item.text) for item in artifact.items)


def _of_lines(lines: Iterable[tuple[str, str]]) -> Checkpoint:
    lists: dict[str, list[str]] = {name: [] for name in SECTIONS[1:]}
    single = {"goal": "", "note": ""}
    for name, text in lines:
        if name in lists:
            lists[name].append(text)
        elif name in single:
            single[name] = text
    return Checkpoint.of(single["goal"], lists, single["note"])


#: What MODEL_APOLLO is asked to write. Source: Gemini API docs, Structured output.
ANSWER_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "goal": {"type": "string"},
        **{name: {"type": "array", "items": {"type": "string"}} for name in SECTIONS[1:]},
    },
    "required": list(SECTIONS),
}


def of_answer(text: str) -> Checkpoint | None:
    """What a model wrote by `ANSWER_SCHEMA`; None when it is something else."""
    try:
        said = json.loads(text)
    except ValueError:
        return None
    if not isinstance(said, dict) or not isinstance(said.get("goal", ""), str):
        return None
    lists: dict[str, tuple[str, ...]] = {}
    for name in SECTIONS[1:]:
        texts = said.get(name) or []
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return None
        lists[name] = _clean(texts)
    return Checkpoint.of(well_formed(str(said.get("goal") or "").strip()), lists)


def _clean(texts: Sequence[str]) -> tuple[str, ...]:
    stripped = (well_formed(text).strip() for text in texts)
    return tuple(dict.fromkeys(text for text in stripped if text))
