"""What a user sees of a chat's compaction and does about it: look, edit, pin, undo. For the action and the HUD.

Each call names chat and user; a chat of somebody else is as good as none.
"""

from dataclasses import dataclass, replace
from typing import Final

from echo_constants import Bilingual, StateError
from echo_core.compaction import EchoCompactionEngine
from echo_core.compaction_checkpoint import Checkpoint, read_checkpoint
from echo_core.compaction_planning import TARGET_SHARE, TRIGGER_SHARE
from echo_core.compaction_records import Chain, CompactionState, Epoch
from echo_core.ports import ShadowStore
from echo_core.prefix import PrefixBreak
from echo_runtime import _owui
from echo_runtime.breaks import BREAKS
from echo_runtime.compaction_store import artifacts_of, change_state, compaction_state, keep_artifacts
from echo_runtime.metering import context_stats
from echo_state_manager import SessionStores

#: UTF-8 bytes of a checkpoint that a user writes: twice the most that ECHO itself writes. Source: our choice.
MAX_NOTE_BYTES: Final = 262_144


class NoSuchCompaction(StateError):
    """What was to be looked at or changed is not there, or belongs to somebody else."""

    code = "no_such_compaction"
    api_status = 404
    audience = "user"
    message = Bilingual(
        en="There is no such compaction in this conversation.",
        fr="Cette conversation n'a pas de compaction de ce nom.",
    )
    remedy = Bilingual(
        en="Reload the page: it may have been undone or replaced.",
        fr="Rechargez la page : elle a pu être annulée ou remplacée.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionView:
    """How full a chat is, and what its compaction has done.

    Args:
        fill_tokens: what the next request brings along, without the new question; as the server counted it.
        trigger_share: share of the context at which a chat is compacted, and the next one down to which.
        epoch: the compaction in force, None for none.
        checkpoint: what stands for the messages before its pivot, None without one.
        epochs: all of them, on all branches, oldest first, undone ones included.
        pins: ids of the pinned messages.
    """

    fill_tokens: int
    trigger_share: float = TRIGGER_SHARE
    target_share: float = TARGET_SHARE
    epoch: Epoch | None = None
    checkpoint: Checkpoint | None = None
    epochs: tuple[Epoch, ...] = ()
    pins: tuple[str, ...] = ()


class CompactionDesk:
    """The commands.

    Args:
        sessions: the records of chats.
    """

    def __init__(self, sessions: SessionStores) -> None:
        self._sessions = sessions

    async def view(self, chat_id: str, user_id: str, message_id: str = "") -> CompactionView | None:
        """See `compaction_view`."""
        if not await self._owns(chat_id, user_id):
            return None
        async with self._sessions.open(user_id, chat_id) as store:
            state = await compaction_state(store)
            chain = await self._chain(store, chat_id, message_id)
            epoch = _standing(state, chain)
            artifacts = await artifacts_of(store, epoch)
            return CompactionView(
                fill_tokens=(await context_stats(store)).fill_tokens,
                epoch=epoch,
                checkpoint=read_checkpoint(artifacts[0]) if artifacts else None,
                epochs=state.epochs,
                pins=state.pins,
            )

    async def edit(self, chat_id: str, user_id: str, checkpoint_id: str, text: str) -> None:
        """Put a user's own words in place of a checkpoint's; pinned messages stay beside it.

        Raises:
            NoSuchCompaction: the chat has no such checkpoint, or is not the user's.
        """
        async with self._sessions.open(*await self._owned(chat_id, user_id)) as store:
            state = await compaction_state(store)
            epoch = next((e for e in state.epochs if e.checkpoint_id == checkpoint_id and not e.undone), None)
            held = await artifacts_of(store, epoch)
            if epoch is None or not held:
                raise NoSuchCompaction(f"no checkpoint {checkpoint_id[:40]!r}")
            chain = await self._chain(store, chat_id, epoch.pivot_id)
            note = Checkpoint(note=text).within(MAX_NOTE_BYTES)
            await keep_artifacts(
                store, checkpoint_id, [note.artifact(checkpoint_id, max(0, chain.place(epoch.pivot_id))), *held[1:]]
            )
            await change_state(store, lambda s: s.with_epoch(replace(epoch, method="edited").changed()))
            BREAKS.note(PrefixBreak.CHECKPOINT_EDIT, chat_id)

    async def undo(self, chat_id: str, user_id: str, message_id: str = "") -> Epoch:
        """Take the compaction in force back: the whole conversation is sent again as it was.

        ECHO then compacts this chain again only where it would not fit into the window, or when the user asks for it.

        Args:
            chat_id: which chat.
            user_id: whose.
            message_id: a message of the branch that is meant; "" for the newest compaction of the chat.

        Raises:
            NoSuchCompaction: none is in force, or the chat is not the user's.
        """
        async with self._sessions.open(*await self._owned(chat_id, user_id)) as store:
            chain = await self._chain(store, chat_id, message_id)
            undone: list[Epoch] = []

            def change(state: CompactionState) -> CompactionState:
                epoch = _standing(state, chain)
                if epoch is None:
                    return state
                undone[:] = [replace(epoch, undone=True)]
                return state.with_epoch(undone[0])

            await change_state(store, change)
            if not undone:
                raise NoSuchCompaction("nothing to undo")
            BREAKS.note(PrefixBreak.CHECKPOINT_EDIT, chat_id)
            return undone[0]

    async def pin(self, chat_id: str, user_id: str, message_id: str, *, pinned: bool = True) -> tuple[str, ...]:
        """Keep a message word for word through every compaction, or no longer; the ids that are pinned now.

        A message that a checkpoint stands for already is quoted beside it from the next turn on.

        Raises:
            NoSuchCompaction: the chat has no such message, or is not the user's.
        """
        async with self._sessions.open(*await self._owned(chat_id, user_id)) as store:
            if not await store.get_message_shadows([message_id]):
                raise NoSuchCompaction(f"no message {message_id[:60]!r}")

            def change(state: CompactionState) -> CompactionState:
                others = tuple(pin for pin in state.pins if pin != message_id)
                return replace(state, pins=(*others, message_id) if pinned else others)

            state = await change_state(store, change)
            await self._requote(store, chat_id, state, message_id)
            return state.pins

    async def _requote(self, store: ShadowStore, chat_id: str, state: CompactionState, message_id: str) -> None:
        """Bring the quotes beside the standing checkpoints in step with the pins."""
        for epoch in state.epochs:
            if epoch.undone or not epoch.checkpoint_id:
                continue
            chain = await self._chain(store, chat_id, epoch.pivot_id)
            before = chain.ids[: max(0, chain.place(epoch.pivot_id))]
            pins = tuple(m for m in before if m in state.pins)
            held = await artifacts_of(store, epoch)
            if message_id in before and held and pins != epoch.pinned:
                now = replace(epoch, pinned=pins).changed()
                quotes = EchoCompactionEngine.artifacts(Checkpoint(), now, chain)[1:]
                await keep_artifacts(store, epoch.checkpoint_id, [held[0], *quotes])
                await change_state(store, lambda s, now=now: s.with_epoch(now))  # type: ignore[misc]
                BREAKS.note(PrefixBreak.CHECKPOINT_EDIT, chat_id)

    async def _chain(self, store: ShadowStore, chat_id: str, message_id: str) -> Chain:
        """The chain that ends with a message; an empty one without."""
        if not message_id or chat_id.startswith(("local:", "temporary:")):
            return Chain()
        ids = list((await _owui.load_rows(chat_id)).chain(message_id).ids)
        shadows = await store.get_message_shadows(ids)
        there = [m for m in ids if m in shadows]
        return Chain(ids=there, shadows=[shadows[m] for m in there], pieces=[b""] * len(there))

    @staticmethod
    async def _owns(chat_id: str, user_id: str) -> bool:
        if chat_id.startswith(("local:", "temporary:")):
            return bool(user_id)  # kept under the user who asks, so nobody else's can be met
        return bool(user_id) and await _owui.chat_owner(chat_id) == user_id

    async def _owned(self, chat_id: str, user_id: str) -> tuple[str, str]:
        if not await self._owns(chat_id, user_id):
            raise NoSuchCompaction("not this user's chat")
        return user_id, chat_id


def _standing(state: CompactionState, chain: Chain) -> Epoch | None:
    """The epoch in force on a chain; without one, the newest of the chat."""
    if len(chain):
        return state.in_force(chain)
    return next((epoch for epoch in reversed(state.epochs) if not epoch.undone), None)


def desk() -> CompactionDesk:
    """The commands over the running server's records."""
    from echo_runtime.composition import services

    return CompactionDesk(services().sessions)


async def compaction_view(chat_id: str, user_id: str, message_id: str = "") -> CompactionView | None:
    """How full a chat is and what its compaction has done; None when the chat is not this user's.

    Args:
        chat_id: Open WebUI's chat id.
        user_id: who looks.
        message_id: the message at which the page stands, so that its branch counts; "" for the chat's newest.
    """
    return await desk().view(chat_id, user_id, message_id)
