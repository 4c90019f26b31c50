"""A user's memory around his turns: what bears on a question stands beside it, and what he said is read afterwards."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from echo_constants import EchoError
from echo_core.ports import Clock, ModelBackend
from echo_events import Happening
from echo_protocol import Backend, ModelInfo
from echo_runtime.call import PipeCall
from echo_runtime.history import Rebuilt
from echo_runtime.memory_desk import MemoryDesk
from echo_runtime.memory_ground import said_in
from echo_runtime.memory_reading import MemoryReader, Reading
from echo_runtime.memory_redaction import memory_artifact
from echo_runtime.model_questions import Interviewer
from echo_runtime.valley import is_on
from echo_state_manager.memories import UnreadTurn
from echo_utils import dumps

log = logging.getLogger(__name__)

#: Memories that stand beside one question. Source: our choice, some 200 tokens.
MOST_RECALLED: Final = 6
#: As much of a question as says what it is about. Source: our choice.
_QUESTION_CHARS: Final = 2_000
#: A search that takes longer is given up for this turn. Source: our choice; the first one loads the model.
_RECALL_LIMIT_S: Final = 2.0
#: Silence of a user after which what he said is read. Source: our choice: a burst of turns is one request.
IDLE_S: Final = 90.0
#: Source: our choice.
_READING_LIMIT_S: Final = 60.0

#: Lets a user's chats be told something; takes happening, event id and user id.
Push = Callable[[Happening, str, str], Awaitable[None]]


class Remembering:
    """Brings memories to turns and takes turns to memory. One an event loop.

    Args:
        desk: the memories.
        reader: reads what was said; None = nothing is read.
        model: what reads, as the catalogue has it now.
        backend_name: whose model ids are used.
        push: tells the user's chats what was written and refused.
        clock: time.
    """

    def __init__(
        self,
        desk: MemoryDesk,
        reader: MemoryReader,
        model: Callable[[], ModelInfo],
        backend_name: Backend,
        push: Push,
        clock: Clock,
    ) -> None:
        self._desk = desk
        self._reader = reader
        self._model = model
        self._backend_name = backend_name
        self._push = push
        self._clock = clock
        self._waiting: dict[str, asyncio.Task[None]] = {}

    async def recalled(self, call: PipeCall, history: Rebuilt) -> tuple[str, ...]:
        """The artifacts of the memories that bear on a question, () where there is nothing to tell.

        What was told on this chain already, in the same words, is not told again. Another answer to the same question
        keeps what the first one was told.

        Args:
            call: who asks.
            history: the conversation.
        """
        if not _may_use(call) or history.shared or not history.question or history.overlay is not None:
            return ()
        text = said_in(history.question)[:_QUESTION_CHARS]
        if not text.strip():
            return ()
        try:
            async with asyncio.timeout(_RECALL_LIMIT_S):
                found = await self._desk.recall(call.user_id, text, MOST_RECALLED)
        except (EchoError, TimeoutError) as error:
            log.warning("nothing is recalled for message %s: %s", call.message_id, type(error).__name__)
            return ()
        artifacts = [memory_artifact(one.memory) for one in found]
        return tuple(xml for xml in artifacts if not any(dumps(xml) in overlay for overlay in history.overlays))

    def turn_is_over(self, call: PipeCall, *, shared: bool, backend: Callable[[], Awaitable[ModelBackend]]) -> None:
        """Let what was asked be read for memory once the user is silent; never waits, never raises.

        Args:
            call: what was answered.
            shared: whether others take part in the chat.
            backend: gives the endpoint with the user's key, when it is time.
        """
        if not _may_use(call) or shared or call.shared.memory.reading == "off":
            return
        former = self._waiting.get(call.user_id)
        task = asyncio.create_task(self._later(call, backend, former))
        self._waiting[call.user_id] = task
        task.add_done_callback(lambda done: self._drop(call.user_id, done))

    async def settled(self) -> None:
        """Wait for what is being read."""
        while self._waiting:
            await asyncio.wait(list(self._waiting.values()))

    async def aclose(self) -> None:
        """Stop; what was not read waits in its file."""
        for task in self._waiting.values():
            task.cancel()
        await self.settled()

    def _drop(self, user_id: str, done: "asyncio.Task[None]") -> None:
        if self._waiting.get(user_id) is done:
            del self._waiting[user_id]

    async def _later(
        self,
        call: PipeCall,
        backend: Callable[[], Awaitable[ModelBackend]],
        former: "asyncio.Task[None] | None",
    ) -> None:
        user_id, use = call.user_id, call.shared.memory
        try:
            turn = UnreadTurn(chat_id=call.chat_id, message_id=call.user_message_id, at_s=int(self._clock.now_s()))
            await self._reader.note(user_id, turn)
            if former is not None:
                former.cancel()  # this turn's silence counts from now on
            await self._clock.sleep(IDLE_S)
            asks = use.reading == "model"
            interviewer = Interviewer(self._model(), self._backend_name, _READING_LIMIT_S) if asks else None
            read = await self._reader.read(user_id, interviewer, await backend() if asks else None, call.prompts)
            await self._tell(call, read)
        except EchoError as error:
            log.warning("what was said is read for memory later: %s", error)

    async def _tell(self, call: PipeCall, read: Reading) -> None:
        user_id = call.user_id
        for kept in read.kept:
            if kept.outcome != "same":
                happening = Happening(name="memory_written", fields={"memory": kept.memory.text})
                await self._push(happening, f"memory_written:{kept.memory.id}", user_id)
        if read.refused:
            why = sorted({error.message.render(call.locale) for error in read.refused})
            happening = Happening(name="memory_refused", fields={"why": " ".join(why)})
            await self._push(happening, f"memory_refused:{int(self._clock.now_s())}", user_id)


def settle_use(call: PipeCall) -> None:
    """Switch memory off for a turn where the filter is off, or where what is kept has to be encrypted.

    Vectors and the texts beside them lie on the disk as they are. Tools find what the user wrote in the shared context,
    since callers of the API send no message of their own beside the request.
    """
    asked = [message.get("content") for message in call.body.get("messages") or [] if message.get("role") == "user"]
    call.shared.asked = asked[-1] if asked and isinstance(asked[-1], str) else ""
    if not is_on(call) or bool(getattr(call.valves, "ENCRYPT_RECORDS", False)):
        call.shared.memory = replace(call.shared.memory, on=False, reading="off")


def _may_use(call: PipeCall) -> bool:
    """Whether this user's memory may be used in this chat, by whom and where he is."""
    return call.is_saved and not call.is_api and call.shared.tells_own and call.shared.memory.on
