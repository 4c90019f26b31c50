"""UCTP, the typed protocol between engine and interface: past-tense facts of one turn, in the order they happened.

A turn ends with exactly one of `TurnFinished`, `TurnStopped`, `TurnFailed`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

NoticeLevel = Literal["info", "warning"]

#: Between two pieces of an answer that a thought or a tool call keeps apart.
PARAGRAPH: Final = "\n\n"


@dataclass(frozen=True, slots=True)
class ThoughtStreamed:
    """A piece of the model's thought summary."""

    text: str


@dataclass(frozen=True, slots=True)
class ThoughtEnded:
    """The thought block that was open is over.

    Args:
        duration_s: how long it was open, in seconds.
    """

    duration_s: float


@dataclass(frozen=True, slots=True)
class TextStreamed:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled:
    """The model asked for a tool; the card appears.

    Args:
        call_id: unique inside the turn.
        name: as Open WebUI knows the tool.
        arguments_json: a JSON object as text.
    """

    call_id: str
    name: str
    arguments_json: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """A tool answered or failed; the card shows its result.

    Args:
        files: Open WebUI file entries (`{"type": "image", "url": …}`).
        embeds: HTML documents or URLs that the page shows.
    """

    call_id: str
    text: str
    files: tuple[Mapping[str, Any], ...] = ()
    embeds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgressed:
    """A tool that takes long tells what it does; the card shows it until the result comes.

    Args:
        doing: a few words.
        steps: what it has done so far, one line each.
    """

    call_id: str
    doing: str
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HandedCall:
    """One call of a tool that an API caller declared.

    Args:
        call_id: unique among all answers; the caller sends it back with the result.
        arguments_json: a JSON object as text.
    """

    call_id: str
    name: str
    arguments_json: str


@dataclass(frozen=True, slots=True)
class CallsHandedOver:
    """The model called tools that the caller runs itself; the turn ends, and the caller goes on with the results."""

    calls: tuple[HandedCall, ...]


@dataclass(frozen=True, slots=True)
class MediaShown:
    """The model made an image; it was stored and has an address."""

    url: str


@dataclass(frozen=True, slots=True)
class SourcesFound:
    """Citations, in Open WebUI's source shape."""

    sources: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class NoticeShown:
    """A line for the user that is not part of the answer (waiting, routing, simulator in use).

    Args:
        done: False while what it tells goes on.
        hidden: it has had its time and goes.
    """

    text: str
    level: NoticeLevel = "info"
    done: bool = True
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class SignGiven:
    """The turn lives, though it has nothing to say; nobody reads it, but no connection is idle."""


@dataclass(frozen=True, slots=True)
class UsageCounted:
    """Token counts of the turn so far, in Open WebUI's usage keys."""

    usage: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The answer is complete.

    Args:
        finish_reason: OpenAI's word: `stop`, `length` or `tool_calls`.
    """

    finish_reason: Literal["stop", "length", "tool_calls"] = "stop"


@dataclass(frozen=True, slots=True)
class TurnStopped:
    """The user or the client ended the turn; what was shown stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFailed:
    """The turn broke; what was shown stays.

    Args:
        message: what happened and what to do, in the user's language.
        code: the error's code in docs/errors.md.
        reference: what the administrator finds in the log.
        api_status: what an API caller gets when there is no answer at all.
    """

    message: str
    code: str
    reference: str
    api_status: int = 500


TerminalEvent = TurnFinished | TurnStopped | TurnFailed
TurnEvent = (
    ThoughtStreamed
    | ThoughtEnded
    | TextStreamed
    | ToolCalled
    | ToolFinished
    | ToolProgressed
    | CallsHandedOver
    | MediaShown
    | SourcesFound
    | NoticeShown
    | SignGiven
    | UsageCounted
    | TerminalEvent
)


class Transcript:
    """What a reader of the events has seen so far: the text that the page shows and the thoughts beside it.

    Args:
        before: text that was there already (a continued answer).
    """

    def __init__(self, before: str = "") -> None:
        self._segments: list[list[str]] = [[before]] if before else []
        self._open = bool(before)
        self._thoughts: list[str] = []

    def add(self, event: TurnEvent) -> None:
        """Take one event in; events without text change nothing."""
        match event:
            case TextStreamed(text):
                if not self._open:
                    self._segments.append([])
                self._segments[-1].append(text)
                self._open = True
            case ThoughtStreamed(text):
                self._thoughts.append(text)
                self._open = False
            case ToolCalled() | ToolFinished():
                self._open = False
            case _:
                return

    @property
    def open_text(self) -> str:
        """The piece that is being written, "" between two pieces."""
        return "".join(self._segments[-1]) if self._open and self._segments else ""

    @property
    def text(self) -> str:
        """The answer so far; pieces between which something else happened are paragraphs of their own."""
        return PARAGRAPH.join("".join(segment) for segment in self._segments)

    @property
    def thoughts(self) -> str:
        """The thought summaries so far."""
        return "".join(self._thoughts)
