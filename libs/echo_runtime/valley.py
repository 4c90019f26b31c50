"""The valley of death: in a long context what was said in the middle is lost, so what bears on a question comes back.

Source: Liu et al., Lost in the Middle (2023), https://arxiv.org/abs/2307.03172; the fill is that of docs/design.md.
"""

from collections.abc import Sequence
from typing import Final

from anyio import to_thread

from echo_aec import Artifact, Item, parse_artifact
from echo_core.overlay import parse_overlay
from echo_core.ports import Passage, ShadowStore
from echo_memory.lexical import sparse_query
from echo_runtime.call import PipeCall
from echo_runtime.history import Rebuilt
from echo_runtime.history_recall import StemRecall
from echo_runtime.metering import context_stats
from echo_runtime.past_recall import PastRecall
from echo_runtime.turn_index import PASSAGE_CHARS, TurnIndex, words_of

#: The filter and stage by which chats are indexed and recalled.
FILTER: Final = "conversation_rag_filter"

#: From this fill on, or once a chat was compacted, passages come back. Source: docs/design.md section 8, issue text.
FILL_PERCENT: Final = 30

#: Passages that come back beside one question, and the share of the window that they take at most. Source: our choice;
#: in windows of usual sizes the number counts, some 1,000 tokens.
MOST_PASSAGES: Final = 5
MOST_SHARE: Final = 0.02
_CHARS_A_TOKEN: Final = 4
#: Of what is found, so many are looked at. The same question asked before is the best match of all and tells nothing:
#: a question of which no more than this share of the words is new. Source: our choice.
_CANDIDATES: Final = 20
_NEWS_SHARE: Final = 0.4
#: The last messages of a chain are near the question as it is. Source: our choice, two turns.
_NEAR: Final = 4
#: Answers beside whose questions a passage is not told once more. Source: our choice, what is still near.
_LATELY: Final = 20
_OPENING: Final = '<artifact id="AEC_recall"'
#: As much of a question as says what it is about. Source: our choice.
_QUESTION_CHARS: Final = 2_000


class Valley:
    """Brings passages of a chat's own past back beside its questions.

    Args:
        index: the chats in the session memory; None where nothing is indexed, and nothing comes back.
    """

    def __init__(self, index: TurnIndex | None = None) -> None:
        self.index = index

    def soon(self, call: PipeCall, owner_id: str) -> None:
        """Let what a turn said be indexed, unless that is switched off or the records are encrypted."""
        # Vectors and the texts beside them lie on the disk as they are.
        encrypts = bool(getattr(call.valves, "ENCRYPT_RECORDS", False))
        wanted = is_on(call) and call.shared.memory.indexes and call.is_saved and not encrypts
        if self.index is not None and wanted:
            self.index.soon(owner_id, call.chat_id)

    def most_tokens(self, call: PipeCall, window_tokens: int) -> int:
        """What may come back beside the question of a call."""
        if self.index is None or not is_on(call):
            return 0
        return min(int(MOST_SHARE * window_tokens), MOST_PASSAGES * PASSAGE_CHARS // _CHARS_A_TOKEN)

    async def recalled(
        self, call: PipeCall, store: ShadowStore, history: Rebuilt, window_tokens: int
    ) -> tuple[str, ...]:
        """The artifact that tells what bears on the question, () where there is nothing to tell.

        Nothing is told to several writers. Another answer to the same question keeps what the first one was told.

        Args:
            call: who asks.
            store: the chat's records.
            history: its conversation.
            window_tokens: what the chat may fill.
        """
        tells = call.shared.tells_own and is_on(call) and not history.shared
        if self.index is None or not tells or not history.question or history.overlay is not None:
            return ()
        if history.epoch is None and 100 * (await context_stats(store)).fill_tokens < FILL_PERCENT * window_tokens:
            return ()
        told = _told_lately(history.overlays)
        text = words_of(history.question)[:_QUESTION_CHARS]
        chain = history.view.ids[:-1]
        if not text or len(chain) <= _NEAR:
            return ()
        recall = recall_of(self.index, call, store, chain[:-_NEAR])
        found = await recall.recall(user_id=call.user_id, chat_id=call.chat_id, text=text, limit=_CANDIDATES)
        found = [one for one in found if one.text not in told]
        found = await to_thread.run_sync(_best, text, found, self.most_tokens(call, window_tokens) * _CHARS_A_TOKEN)
        places = {message_id: number for number, message_id in enumerate(chain, start=1)}
        shadows = await store.get_message_shadows([one.message_id for one in found])
        return _artifact([(one, places[one.message_id], shadows[one.message_id].role) for one in found])


def is_on(call: PipeCall) -> bool:
    """Whether nobody switched the filter off for this turn."""
    return call.shared.stages.get(FILTER) != "off"


def recall_of(
    index: TurnIndex | None, call: PipeCall, store: ShadowStore, chain: Sequence[str]
) -> PastRecall | StemRecall:
    """What finds earlier passages of a chain: by meaning where the chat is indexed, else by words alone."""
    if index is None or not call.is_saved:
        return StemRecall(store, chain)
    return PastRecall(index.of(call.user_id), store, chain)


def _told_lately(overlays: Sequence[bytes]) -> set[str]:
    """The passages that came back beside the last questions and are still sent."""
    entries = [entry for overlay in overlays[-_LATELY:] for entry in parse_overlay(overlay)]
    notes = [note for entry in entries for note in entry.notes if note.startswith(_OPENING)]
    return {item.text for note in notes for item in parse_artifact(note).items}


def _best(question: str, found: Sequence[Passage], chars: int) -> list[Passage]:
    """The first of them that are not the question itself and have room together."""
    asked = frozenset(sparse_query(question).indices)
    out: list[Passage] = []
    for one in found:
        room = len(one.text) <= chars and len(out) < MOST_PASSAGES
        if room and not (one.text.endswith("?") and _asks_the_same(asked, one.text)):
            out.append(one)
            chars -= len(one.text)
    return out


def _asks_the_same(asked: frozenset[int], text: str) -> bool:
    stems = sparse_query(text).indices
    return sum(stem not in asked for stem in stems) <= _NEWS_SHARE * len(stems)


def _artifact(found: Sequence[tuple[Passage, int, str]]) -> tuple[str, ...]:
    """In the order in which it was said."""
    items = tuple(
        Item(tag="passage", attributes={"number": str(number), "role": role}, text=one.text)
        for one, number, role in sorted(found, key=lambda each: each[1])
    )
    return (Artifact(id="AEC_recall", items=items).xml(),) if items else ()
