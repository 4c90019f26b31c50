"""What is known of a chat's compactions: epochs, each of which says how the chain is sent from then on.

An epoch acts on the chains that hold its pivot, told by the pivot's cumulative hash, and only the newest one that acts
counts. Nothing that it leaves out is lost: the records stay, and undoing an epoch brings back the former bytes.
Source: docs/design.md section 7.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final, Literal

from echo_core.records import Shadow

#: Key in `echo_settings` under which a chat's `CompactionState` is kept.
STATE_KEY: Final = "compaction_state"
#: Key in `echo_settings`, with its id: the artifacts of a checkpoint.
CHECKPOINT_KEY: Final = "compaction_checkpoint:{checkpoint_id}"
#: Key in `echo_settings`, with an answer's id: what its last request weighed, see `Weighed`.
WEIGHED_KEY: Final = "weighed:{message_id}"

#: `mask` only put tool output and media aside; the other two put a checkpoint in place of what came before.
Method = Literal["mask", "model", "extract", "edited"]

#: (message id, number of the Content in its record, number of the Part).
MediaPlace = tuple[str, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """How a chain is sent from one compaction to the next.

    Args:
        id: unique in its chat.
        pivot_id: the user message that opens what is sent, "" when everything is sent.
        pivot_hash: its cumulative hash.
        checkpoint_id: names its checkpoint; an epoch that only masks keeps the former one's.
        masked_id: the last message whose tool output is put aside, "" for none.
        masked_hash: its cumulative hash; "" while it was being written, when only the id is known.
        masked_contents: how many Contents of that message are masked, 0 for all.
        dropped: media that are left out because they came again later.
        pinned: ids of the messages before the pivot that are quoted whole beside the checkpoint.
        method: who wrote the checkpoint.
        model_id: what summed up, "" when no model did.
        tokens_before: what the request would have weighed, and what it weighed afterwards.
        bytes_checkpoint: size of the artifact.
        created_at_s: epoch seconds.
        undone: the user took it back.
        unmet: what the order of force could not give, by name.
        edition: how often its checkpoint or its quotes were changed since.
    """

    id: str
    pivot_id: str = ""
    pivot_hash: str = ""
    checkpoint_id: str = ""
    masked_id: str = ""
    masked_hash: str = ""
    masked_contents: int = 0
    dropped: tuple[MediaPlace, ...] = ()
    pinned: tuple[str, ...] = ()
    method: Method = "mask"
    model_id: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    bytes_checkpoint: int = 0
    created_at_s: int = 0
    undone: bool = False
    unmet: tuple[str, ...] = ()
    edition: int = 0

    @property
    def edition_id(self) -> str:
        """Names what is sent by it: another one for each edition, because it weighs something else."""
        return f"{self.id}.{self.edition}" if self.edition else self.id

    def changed(self) -> "Epoch":
        """The next edition."""
        return replace(self, edition=self.edition + 1)

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> "Epoch":
        """Read what `asdict` wrote; keys of other versions are left alone."""
        known = {f.name: wire[f.name] for f in fields(cls) if f.name in wire}
        for name in ("pinned", "unmet"):
            known[name] = tuple(known.get(name) or ())
        known["dropped"] = tuple((str(m), int(c), int(p)) for m, c, p in known.get("dropped") or ())
        return cls(**known)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionState:
    """All compactions of a chat, on all its branches, and what the user pinned.

    Args:
        epochs: oldest first, undone ones included.
        pins: ids of messages that stay word for word.
    """

    epochs: tuple[Epoch, ...] = ()
    pins: tuple[str, ...] = ()

    def to_json(self) -> str:
        """As it is kept in `echo_settings`."""
        return json.dumps({"epochs": [asdict(epoch) for epoch in self.epochs], "pins": list(self.pins)})

    @classmethod
    def from_json(cls, text: str | None) -> "CompactionState":
        """Read `to_json`; None and damage are a chat that was never compacted, whose records are all there."""
        if not text:
            return cls()
        try:
            held = json.loads(text)
            epochs = tuple(Epoch.from_wire(wire) for wire in held.get("epochs") or ())
            return cls(epochs=epochs, pins=tuple(str(pin) for pin in held.get("pins") or ()))
        except (ValueError, TypeError, AttributeError):
            return cls()

    def in_force(self, chain: "Chain") -> Epoch | None:
        """The epoch by which a chain is sent: the newest one that was not undone and whose pivot lies on it."""
        near = self._near(chain)
        return next((epoch for epoch in near if not epoch.undone and chain.holds(epoch)), None)

    def taken_back(self, chain: "Chain") -> bool:
        """Whether the user's last word on this chain was to undo: then only the hard window compacts again."""
        newest = next((epoch for epoch in self._near(chain) if chain.holds(epoch)), None)
        return newest is not None and newest.undone

    def _near(self, chain: "Chain") -> list[Epoch]:
        """The epochs that name a message of a chain, newest first; those of other branches cost one look together."""
        ids = set(chain.ids) if len(self.epochs) > 1 else chain.ids
        return [epoch for epoch in reversed(self.epochs) if epoch.pivot_id in ids or epoch.masked_id in ids]

    def with_epoch(self, epoch: Epoch) -> "CompactionState":
        """With one more epoch, or with a known one in another form."""
        known = [held.id for held in self.epochs]
        if epoch.id not in known:
            return replace(self, epochs=(*self.epochs, epoch))
        return replace(self, epochs=tuple(epoch if held.id == epoch.id else held for held in self.epochs))


@dataclass(frozen=True, slots=True)
class Chain:
    """The messages from the root to the one that is asked now, as they would be sent without any compaction.

    Args:
        ids: of the messages, root first.
        shadows: their records.
        pieces: what each adds to `contents`, as `Assembly.pieces`; that of the question is its bare Content.
        asked: whether the last one is the question that is asked now, so that its overlay comes later.
        waiting: whether what comes before the question ends with a turn of the user.
    """

    ids: Sequence[str] = field(default_factory=list)
    shadows: Sequence[Shadow] = field(default_factory=list)
    pieces: Sequence[bytes] = field(default_factory=list)
    asked: bool = False
    waiting: bool = False

    def __len__(self) -> int:
        return len(self.ids)

    def place(self, message_id: str, cumulative_hash: str = "") -> int:
        """Where a message with this history stands, -1 when it does not."""
        try:
            index = self.ids.index(message_id)
        except ValueError:
            return -1
        return index if cumulative_hash in ("", self.shadows[index].cumulative_hash) else -1

    def masked_until(self, epoch: Epoch) -> int:
        """Place of the last message whose tool output is put aside, -1 when none on this chain is."""
        return self.place(epoch.masked_id, epoch.masked_hash) if epoch.masked_id else -1

    def holds(self, epoch: Epoch) -> bool:
        """Whether an epoch acts on this chain."""
        if epoch.pivot_id and self.place(epoch.pivot_id, epoch.pivot_hash) < 0:
            return False
        # A checkpoint acts on where only what was masked lies on another branch.
        return bool(epoch.pivot_id) or self.masked_until(epoch) >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """What the server counted when an answer's last request was sent; the next turn goes on from it.

    Args:
        hash: cumulative hash of the answer: another history above it weighs something else.
        epoch_id: `Epoch.edition_id` of the one by which the request was made, "" for none.
        tokens: of the request and all that came back, thoughts included, since their signatures bring them along.
        ratio: counted tokens for one that we estimated.
        frame_bytes: of system instruction and tools.
    """

    hash: str
    epoch_id: str
    tokens: int
    ratio: float
    frame_bytes: int

    def to_json(self) -> str:
        """As it is kept in `echo_settings`."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | None) -> "Weighed | None":
        """Read `to_json`; None for what cannot be read."""
        try:
            return cls(**json.loads(text)) if text else None
        except (ValueError, TypeError):
            return None
