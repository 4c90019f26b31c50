"""What the engine needs from outside. Adapters implement these; the engine never imports an adapter."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from echo_aec import DirectiveStore
from echo_constants import EchoError, StateError
from echo_core.passage_ports import Embedder as Embedder
from echo_core.passage_ports import UserPassages as UserPassages
from echo_core.passage_ports import VectorStore as VectorStore
from echo_core.records import Resource, Seal, Shadow, SignatureRow, VersionLock
from echo_core.settled_prefix import SettledPrefix
from echo_protocol import Part, Usage


class Clock(Protocol):
    """Time, so that tests can stop it."""

    def now_s(self) -> float:
        """Wall clock, epoch seconds."""

    def monotonic_s(self) -> float:
        """A clock that never goes back, seconds."""

    async def sleep(self, delay_s: float) -> None:
        """Wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateRequest:
    """One call of generateContent.

    Args:
        model: the backend's model id without the `models/` prefix.
        body_json: the serialised GenerateContentRequest in UTF-8; sent as it is, so that prefixes stay byte-stable.
    """

    model: str
    body_json: bytes


#: Awaited before a backend waits to try again, with the wait in seconds and the error that caused it.
OnWait = Callable[[float, EchoError], Awaitable[None]]


class ModelBackend(Protocol):
    """A Gemini endpoint: AI Studio or Code Assist."""

    name: str

    def stream_generate(
        self, request: GenerateRequest, *, on_wait: OnWait | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[dict[str, Any]]]:
        """Open a stream of decoded GenerateContentResponse objects; leaving the context stops the generation.

        Args:
            request: its bytes are sent as they are.
            on_wait: told of each wait before it begins.

        Raises:
            EchoError: AuthError, ConfigError, LimitError or UpstreamError, before or between chunks.
        """

    async def generate(self, request: GenerateRequest) -> dict[str, Any]:
        """One answer without streaming. Raises as `stream_generate`."""

    async def count_tokens(self, request: GenerateRequest) -> int:
        """Tokens of the request's contents. Raises as `stream_generate`."""

    async def list_models(self) -> list[dict[str, Any]]:
        """The live model list, all pages. Raises as `stream_generate`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutputSlice:
    """Some characters of a tool's result that was kept whole.

    Args:
        start: where in the result the text begins.
        total_chars: how long the result is.
    """

    text: str
    start: int
    total_chars: int


class ShadowStore(DirectiveStore, Protocol):
    """The records of one chat. Any method may raise StateError."""

    def take_notices(self) -> Sequence[StateError]:
        """What the reader must be told about these records (a damaged file was set aside…); each is given once."""

    async def get_message_shadow(self, message_id: str, updated_at_s: int | None = None) -> Shadow | None:
        """One shadow; with `updated_at_s` only if a final lock says the same, None otherwise."""

    async def get_message_shadows(self, message_ids: Sequence[str]) -> Mapping[str, Shadow]:
        """Shadows by message id; ids without a shadow are left out."""

    def settled_prefix(self) -> SettledPrefix | None:
        """The beginning that was kept last; None when none was, or when it had to make room."""

    def keep_settled_prefix(self, prefix: SettledPrefix) -> None:
        """Keep a beginning in memory for the next turn, as far as there is room."""

    async def get_former_shadows(self, message_id: str) -> Sequence[Shadow]:
        """What a message was before its content became another, oldest first."""

    async def find_by_client_hash(self, client_hashes: Sequence[str]) -> Mapping[str, Shadow]:
        """The newest shadow for each client hash that is known here."""

    async def get_signatures(self, message_id: str) -> Sequence[SignatureRow]:
        """The signatures of a message in the order of its parts."""

    async def get_tool_io(self, cumulative_hash: str) -> bytes | None:
        """The tool calls and answers sealed under a hash, None when there were none."""

    async def seal(self, seal: Seal) -> None:
        """Write one message's records in one transaction and empty its turn log."""

    async def seal_many(self, seals: Sequence[Seal]) -> None:
        """Write several messages' records in one transaction, in the order given."""

    async def relink_many(self, shadows: Sequence[Shadow]) -> None:
        """Hang stored messages under other parents: only `parent_hash` and `cumulative_hash` are written.

        Signatures and tool journal stay with the message.
        """

    async def unembedded(self) -> Sequence[str]:
        """Ids of the messages that are not in the session memory as they are now, newest first."""

    async def mark_embedded(self, shadows: Sequence[Shadow]) -> None:
        """Note that these messages are in the session memory; one that has become another meanwhile is not noted."""

    async def lock(self, message_id: str, lock: VersionLock) -> None:
        """Record what Open WebUI's row looks like now; nothing happens for a message without a shadow."""

    async def lock_many(self, locks: Mapping[str, VersionLock]) -> None:
        """`lock` for several messages in one transaction."""

    async def append_turn_log(self, message_id: str, data: Sequence[bytes]) -> None:
        """Append raw records of the running turn in one transaction."""

    async def read_turn_log(self, message_id: str) -> Sequence[bytes]:
        """The records that were appended since the message was last sealed, in order."""

    async def recover_streaming(self, message_id: str) -> Sequence[bytes] | None:
        """What a crash left of a turn: its logged records; None when the message is not in state `streaming`."""

    async def message_ids(self) -> Sequence[str]:
        """Ids of all messages that have a record here."""

    async def streaming_messages(self) -> Sequence[str]:
        """Ids of the messages whose turn is running or was cut off by a crash."""

    async def get_setting(self, key: str) -> str | None:
        """One value of `echo_settings`, None when absent."""

    async def get_settings(self, keys: Sequence[str]) -> Mapping[str, str]:
        """Several values of `echo_settings` by key; absent ones are left out."""

    async def reading_ahead(self, keys: Sequence[str]) -> "ShadowStore":
        """The same store, for a moment: `get_setting` of these keys answers from one reading, unless written since."""

    async def settings_beginning(self, prefix: str) -> Mapping[str, str]:
        """The values of `echo_settings` whose keys begin so, by key, oldest key first; unreadable ones are left out."""

    async def save_setting(self, key: str, value: str) -> None:
        """Write one value of `echo_settings`."""

    async def claim_settings(self, values: Mapping[str, str]) -> None:
        """Write values of `echo_settings` in one transaction, those left out that have one."""

    async def claim_setting(self, key: str, value: str) -> str:
        """Write one value of `echo_settings` unless there is one; the value that stands, whoever wrote it."""

    async def update_setting(self, key: str, change: Callable[[str | None], str]) -> str:
        """Make a value of `echo_settings` out of the one that stands, in one transaction; the new one.

        Args:
            key: which one.
            change: pure; gets None when there is none, or none that can be read.
        """

    async def keep_tool_output(self, message_id: str, call_id: str, text: str) -> None:
        """Keep a tool's whole result, of which the model was shown only the beginning.

        Args:
            message_id: the answer that called the tool.
            call_id: unique among the calls of that answer.
            text: of any length; without lone surrogates.
        """

    async def read_tool_output(
        self, message_id: str, call_id: str, start: int, end: int | None
    ) -> ToolOutputSlice | None:
        """Characters of a kept result; `start` and `end` are those of a Python slice. None when nothing was kept."""

    async def save_resource(self, resource: Resource) -> None:
        """Write one resource; one of the same id is replaced and keeps its place."""

    async def get_resources(self, kind: str) -> Sequence[Resource]:
        """The resources of a kind, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """One call that the model made.

    Args:
        card_id: unique inside the message; the page's card and its result share it.
        name: the tool's name in Open WebUI.
    """

    card_id: str
    name: str
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """What a tool gave back, for the model and for the page.

    Args:
        response: the `response` object of the functionResponse.
        media: inlineData parts that ride in the functionResponse.
        text: what the card shows.
        files: Open WebUI file entries for the card.
        embeds: HTML or URLs for the card.
        sources: what the tool found, in Open WebUI's source shape.
    """

    card_id: str
    response: Mapping[str, Any]
    text: str
    media: tuple[Part, ...] = ()
    files: tuple[Mapping[str, Any], ...] = ()
    embeds: tuple[str, ...] = ()
    sources: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress:
    """What a tool that is still running does.

    Args:
        doing: a few words for the card's title.
        steps: what it has done so far, one line each.
    """

    card_id: str
    doing: str
    steps: tuple[str, ...] = ()


class ToolRunner(Protocol):
    """Runs the calls of one step."""

    def run(self, requests: Sequence[ToolRequest]) -> AsyncIterator[ToolOutcome | ToolProgress]:
        """Outcomes as they come, exactly one a request; a tool's failure is an outcome, not an exception.

        Any progress of a call comes before its outcome.
        """


#: What becomes of a stream that another one follows: `kept`, for a continuation; `again`, because nothing came and the
#: same is asked for once more; `gone`, and what stands of it and of what it continued follows as Contents.
StreamEnd = Literal["kept", "again", "gone"]


class TurnJournal(Protocol):
    """Keeps what arrived before anybody is shown it, so that a crash loses next to nothing."""

    async def chunk(self, chunk: Mapping[str, Any]) -> None:
        """A decoded response chunk came in."""

    async def content(self, content_json: bytes) -> None:
        """A whole Content (tool responses) was added."""

    async def stream_over(self, how: StreamEnd) -> None:
        """The stream that was coming in is over, and another one follows for the same step."""

    async def flush(self) -> None:
        """Write now."""


class PlanStore(Protocol):
    """Where Transfer Plans are kept."""

    async def keep_plan(self, markdown: str) -> str:
        """Store one plan of this answer and return its id."""


class MediaStore(Protocol):
    """Where images that the model made are kept for the page."""

    async def keep(self, mime_type: str, data_base64: str) -> str | None:
        """Store one image and return the address under which the page finds it; None for what is no image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A stretch of something that was said before.

    Args:
        text: word for word.
        chat_id: where it was said.
        message_id: in which message.
        score: how well it fits, 0 to 1.
    """

    text: str
    chat_id: str
    message_id: str
    score: float


class PassageRecall(Protocol):
    """Brings back earlier passages that a compacted conversation no longer holds; memory implements it."""

    async def recall(self, *, user_id: str, chat_id: str, text: str, limit: int) -> Sequence[Passage]:
        """The passages of one's own chat that fit best, best first.

        Args:
            user_id: whose chat it is.
            chat_id: which one.
            text: what they should be about.
            limit: the most that come back.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A request that was made lighter.

    Args:
        contents: the conversation up to the question, the question with what is told beside it last.
        question: the question without that; b"" as in the plan.
        overlay: what is told beside it.
        hops: what stands for the answer's Contents so far that were looked at.
        seen: how many of the answer's Contents these are.
    """

    contents: tuple[bytes, ...]
    question: bytes
    overlay: bytes
    hops: tuple[bytes, ...]
    seen: int


class ContextGuard(Protocol):
    """Sees to it, before each request of a turn, that it stays within the context."""

    async def fit(self, hops: Sequence[bytes], last: Usage) -> Fitted | None:
        """What is sent instead from now on, None to go on as before.

        Args:
            hops: serialised Contents of the answer so far, as they are sealed.
            last: what the server counted for the turn's request before, all zero before the first.
        """
