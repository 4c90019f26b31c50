"""How a compacted chain is sent: the checkpoint on its pivot, nothing before it, old tool output put aside.

Always the same bytes for the same records, so that the server's cache holds from one compaction to the next.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from echo_core.compaction_masking import bare_piece, masked
from echo_core.compaction_records import Chain, Epoch
from echo_core.suture import INTERRUPTED
from echo_protocol import text_part
from echo_utils import dumps

#: How the Part of a checkpoint begins; in the words of a user it is made harmless before they are sealed.
CHECKPOINT_TAG: Final = '<artifact id="AEC_context_checkpoint"'

_HEAD: Final = b'{"role":"user","parts":['


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A chain as it is sent.

    Args:
        contents: serialised fragments up to the question; without one, up to the last message.
        question: the current user message with the checkpoint where it is the pivot, b"" where there is none.
        first: place in the chain of the first message that is sent.
        old: the beginning of `contents` that stays the same for the whole epoch.
        loose_from: place of the first message that is not in `old`.
    """

    contents: tuple[bytes, ...]
    question: bytes = b""
    first: int = 0
    old: bytes = b""
    loose_from: int = 0


@dataclass(slots=True)
class Rendered:
    """The beginning of a chat that was rendered last, and what it was made from: equal makings, equal bytes.

    Args:
        pieces: what the messages added, from the pivot on.
        made: the same as they are sent, joined.
    """

    key: tuple[Epoch, str] | None = None
    pieces: Sequence[bytes] = field(default_factory=list)
    made: bytes = b""


def with_checkpoint(content: bytes, checkpoint: str) -> bytes:
    """A user message with the checkpoint as its first Part; its own parts keep their bytes.

    Args:
        content: one serialised Content or an array of one.
        checkpoint: the artifacts, one Part each, already serialised and joined; "" changes nothing.
    """
    if not checkpoint:
        return content
    bracket, inner = (b"[", content[1:]) if content.startswith(b"[") else (b"", content)
    if not inner.startswith(_HEAD):
        raise ValueError("a pivot is a user message")
    return bracket + _HEAD + checkpoint.encode() + b"," + inner[len(_HEAD) :]


def checkpoint_parts(artifacts: Sequence[str]) -> str:
    """Artifacts as serialised Parts, joined."""
    return ",".join(dumps(dict(text_part(xml).wire)).decode() for xml in artifacts)


def strip_checkpoint_tag(contents_json: bytes) -> bytes:
    """A message without the checkpoint that stands on it; what the user wrote keeps its bytes, whatever it says.

    Args:
        contents_json: serialised Contents (an array) or one Content.

    Returns:
        The input itself when no Part of it is a checkpoint.
    """
    if b"AEC_context_checkpoint" not in contents_json:
        return contents_json
    items = json.loads(contents_json)
    contents = items if isinstance(items, list) else [items]
    kept = [{**c, "parts": [p for p in c["parts"] if not is_checkpoint(p)]} for c in contents]
    if all(len(now["parts"]) == len(before["parts"]) for now, before in zip(kept, contents, strict=True)):
        return contents_json
    return dumps(kept) if isinstance(items, list) else dumps(kept[0])


def is_checkpoint(part: Mapping[str, object]) -> bool:
    """Whether a Part is a checkpoint that ECHO put there."""
    text = part.get("text")
    return isinstance(text, str) and text.startswith(CHECKPOINT_TAG) and text.endswith("</artifact>")


def replay(chain: Chain, epoch: Epoch | None, checkpoint: str, kept: Rendered | None = None) -> Replayed:
    """A chain as it is sent under an epoch.

    Args:
        chain: as it would be sent without any.
        epoch: the one in force; None sends everything.
        checkpoint: what `checkpoint_parts` makes of its artifacts.
        kept: what was rendered for this chat last; brought up to date, so that a turn renders only what is new.
    """
    whole = chain.pieces[:-1] if chain.asked else chain.pieces
    question = b"[" + chain.pieces[-1] + b"]" if chain.asked else b""
    first, until = 0, -1
    if epoch is not None:
        first = max(0, chain.place(epoch.pivot_id)) if epoch.pivot_id else 0
        until = min(chain.masked_until(epoch), len(whole) - 1)
    if chain.asked and epoch is not None and epoch.pivot_id and first == len(chain) - 1:
        return Replayed(contents=(), question=with_checkpoint(question, checkpoint), first=first, loose_from=first + 1)
    old = _old(whole, chain, epoch, checkpoint, first, until, kept)
    loose_from = max(until + 1, first + 1 if epoch is not None and epoch.pivot_id else 0)
    rest = b",".join(filter(None, whole[loose_from:]))
    contents = tuple(filter(None, (old, rest)))
    if question and contents and chain.waiting:
        contents = (*contents, INTERRUPTED)
    return Replayed(contents=contents, question=question, first=first, old=old, loose_from=loose_from)


def _old(
    whole: Sequence[bytes],
    chain: Chain,
    epoch: Epoch | None,
    checkpoint: str,
    first: int,
    until: int,
    kept: Rendered | None,
) -> bytes:
    """The pivot and what is masked, joined; what follows is sent as it is."""
    if epoch is None:
        return b""
    end = max(until + 1, first + 1 if epoch.pivot_id else 0)
    source = whole[first:end]
    key = (epoch, checkpoint)
    if kept is not None and kept.key == key and kept.pieces == source:
        return kept.made
    dropped: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for message_id, content, part in epoch.dropped:
        dropped[message_id].append((content, part))
    made: list[bytes] = []
    for index, piece in enumerate(source, start=first):
        message_id = chain.ids[index]
        if index <= until:
            contents = epoch.masked_contents if index == until else 0
            piece = masked(piece, message_id, dropped.get(message_id, ()), contents=contents)
        if index == first and epoch.pivot_id:
            piece = with_checkpoint(bare_piece(piece)[1], checkpoint)
        made.append(piece)
    joined = b",".join(filter(None, made))
    if kept is not None:
        kept.key, kept.pieces, kept.made = key, list(source), joined
    return joined
