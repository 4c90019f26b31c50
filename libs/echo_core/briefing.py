"""What the model is to know when it is asked, and how it learns what has changed since the chat's prompt was sealed.

`systemInstruction` and `tools` are sealed at the first turn and sent again unchanged. What differs later is told in the
current message, once on each chain, as one `AEC_upgrade`; values that change with time or place as `AEC_temps` and
`AEC_lieu`. Source: docs/design.md sections 3 and 7.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from echo_aec import Artifact, ArtifactId, Item
from echo_core.alignment import Alignment, due
from echo_core.overlay import NO_OVERLAY, OverlayEntry, Told, parse_overlay
from echo_utils import canonical_json, sha256_tagged

#: What the keys of `Told` look like in an overlay; an overlay without any of them need not be read.
_MARKS: Final[Mapping[str, bytes]] = {
    "echo": b'"echo":',
    "instructions": b'"instructions":',
    "tools": b'"tools":',
    "values": b'"values":',
    "hosted": b'"hosted":',
    "reminded": b'"reminded":',
}
#: Those that one entry settles, whatever else it tells.
_SINGLE: Final = ("echo", "instructions", "hosted", "reminded")


#: A tagged hash is about as long.
_SHORT_CHARS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What the model is to know now.

    Args:
        echo: ECHO's own prompt.
        echo_version: the release that it comes from.
        instructions: those of model, folder, chat and user, joined.
        declarations: what can be called now: functionDeclarations by name.
        times: values that change with time, by their name in the instructions.
        places: values that change with place, likewise.
        person: values about whom the model talks to.
        hosted: texts that the host adds to its own system message, by name: skills, notes of tool servers.
        alignment: where the chain stands, None to tell no directive.
    """

    echo: str
    echo_version: str
    instructions: str
    declarations: Mapping[str, Mapping[str, Any]]
    times: Mapping[str, str]
    places: Mapping[str, str]
    person: Mapping[str, str] = field(default_factory=dict)
    hosted: Mapping[str, str] = field(default_factory=dict)
    alignment: Alignment | None = None

    @property
    def values(self) -> dict[str, str]:
        """All values by name."""
        return {**self.person, **self.times, **self.places}


#: The name under which `Told.values` keeps the model that was named last.
MODEL_VALUE: Final = "AEC_modele"


def model_entry(note: str, before: Told) -> OverlayEntry:
    """The entry that names the model; an empty one when it was named last on this chain.

    Args:
        note: an `AEC_modele` artifact.
        before: what the model knew, its value of `MODEL_VALUE` among it.
    """
    if before.values.get(MODEL_VALUE) == _mark(note):
        return OverlayEntry()
    return OverlayEntry(notes=(note,), told=Told(values={MODEL_VALUE: _mark(note)}))


def text_hash(text: str) -> str:
    """What stands for a text in `Told`."""
    return sha256_tagged(text.encode("utf-8", "backslashreplace"))


def tool_hashes(declarations: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """What stands for declarations in `Told`."""
    return {name: sha256_tagged(canonical_json(declared)) for name, declared in declarations.items()}


def known(sealed: Told, overlays: Sequence[bytes], values: Sequence[str]) -> Told:
    """What the model knows at the end of a chain.

    Args:
        sealed: what the sealed prompt and tools say.
        overlays: of the answers on the chain, oldest first.
        values: names of the values that matter.
    """
    wanted = {*_SINGLE, "tools"} | ({"values"} if values else set())
    found: dict[str, Any] = {}
    told_values: dict[str, str] = {}
    for told in _newest_first(overlays, wanted):
        for key in _SINGLE:
            if (said := getattr(told, key)) not in ("", None):
                found.setdefault(key, said)
        if told.tools is not None and told.selection == sealed.selection:
            found.setdefault("tools", told.tools)
        told_values = {**told.values, **told_values}
        wanted.difference_update(found)
        if told_values.keys() >= set(values):
            wanted.discard("values")
        if not wanted:
            break
    return Told(
        echo=found.get("echo", sealed.echo),
        instructions=found.get("instructions", sealed.instructions),
        tools=found.get("tools", sealed.tools),
        selection=sealed.selection,
        values=told_values,
        hosted=found.get("hosted"),
        reminded=found.get("reminded"),
    )


def _newest_first(overlays: Sequence[bytes], wanted: set[str]) -> Iterator[Told]:
    for overlay in reversed(overlays):
        if overlay != NO_OVERLAY and any(_MARKS[key] in overlay for key in wanted):
            yield from (entry.told for entry in reversed(parse_overlay(overlay)))


def news(now: Briefing, before: Told, declared: Mapping[str, str]) -> OverlayEntry:
    """The entry that brings the model from what it knew to what it is to know; an empty one when that is the same.

    Args:
        now: what it is to know.
        before: what it knew.
        declared: hash of each declaration that is sent in `tools`; only others are spelt out.
    """
    items: list[Item] = []
    told: dict[str, Any] = {}
    for tell in (_own_words, _hosted):
        new_items, new_told = tell(now, before)
        items += new_items
        told |= new_told
    tools = tool_hashes(now.declarations)
    if tools != dict(before.tools or {}):
        items += _tool_items(now.declarations, tools, before.tools or {}, declared)
        told |= {"tools": tools, "selection": before.selection}
    notes: list[str] = []
    directive, reminded = (None, None) if now.alignment is None else due(now.alignment, before.reminded)
    if directive is not None:
        notes.append(directive.xml())
        told["reminded"] = reminded
    if items:
        notes.append(Artifact(id="AEC_upgrade", items=tuple(items)).xml())
    for kind, of_kind in _KINDS_OF_VALUES:
        notes += _values(kind, _changed(of_kind(now), before.values))
    values = {name: _mark(value) for name, value in now.values.items()}
    if any(before.values.get(name) != mark for name, mark in values.items()):
        told["values"] = {**before.values, **values}  # all of them, so that nobody has to look further back
    return OverlayEntry(notes=tuple(notes), told=Told(**told))


def _own_words(now: Briefing, before: Told) -> tuple[list[Item], dict[str, Any]]:
    """ECHO's prompt and the instructions, each whole where it has become another."""
    items: list[Item] = []
    told: dict[str, Any] = {}
    echo, instructions = text_hash(now.echo), text_hash(now.instructions)
    if echo != before.echo:
        items.append(Item(tag="echo", attributes={"version": now.echo_version}, text=now.echo))
        told["echo"] = echo
    if instructions != before.instructions:
        items.append(Item(tag="instructions", text=now.instructions))
        told["instructions"] = instructions
    return items, told


def _hosted(now: Briefing, before: Told) -> tuple[list[Item], dict[str, Any]]:
    """Texts that the host has added, changed or dropped."""
    hashes = {name: text_hash(text) for name, text in now.hosted.items()}
    known_hashes = before.hosted or {}
    if hashes == dict(known_hashes):
        return [], {}
    items: list[Item] = []
    for name in (*now.hosted, *(name for name in known_hashes if name not in now.hosted)):
        if hashes.get(name) == known_hashes.get(name):
            continue
        change = "removed" if name not in hashes else "changed" if name in known_hashes else "added"
        items.append(Item(tag="host", attributes={"name": name, "change": change}, text=now.hosted.get(name, "")))
    return items, {"hosted": hashes}


_KINDS_OF_VALUES: Final[tuple[tuple[ArtifactId, Callable[[Briefing], Mapping[str, str]]], ...]] = (
    ("AEC_identite", lambda now: now.person),
    ("AEC_temps", lambda now: now.times),
    ("AEC_lieu", lambda now: now.places),
)


def _tool_items(
    declarations: Mapping[str, Mapping[str, Any]],
    now: Mapping[str, str],
    before: Mapping[str, str],
    declared: Mapping[str, str],
) -> Iterator[Item]:
    for name in sorted(now.keys() | before.keys()):
        if now.get(name) == before.get(name):
            continue
        change = "removed" if name not in now else "changed" if name in before else "added"
        spelt = name in now and now[name] != declared.get(name)
        text = canonical_json(declarations[name]).decode() if spelt else ""
        yield Item(tag="tool", attributes={"name": name, "change": change}, text=text)


def _changed(now: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in now.items() if before.get(name) != _mark(value)}


def _mark(value: str) -> str:
    """What stands for a value in `Told`: itself while it is short."""
    return value if len(value) <= _SHORT_CHARS else text_hash(value)


def _values(kind: ArtifactId, values: Mapping[str, str]) -> Iterator[str]:
    if values:
        items = tuple(Item(tag="value", attributes={"name": name}, text=value) for name, value in values.items())
        yield Artifact(id=kind, items=items).xml()
