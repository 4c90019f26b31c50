"""The queue of scripted answers: what `POST /__sim__/script` takes and which request each entry meets."""

import base64
import re
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

End = Literal["close", "reset", "hang"]

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_TEXT: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, value: Any) -> Any:
        return {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value


class Match(_Strict):
    """Which request an entry answers; an absent field matches everything.

    Attributes:
        method: RPC name, such as `streamGenerateContent`, `countTokens`, `listModels` or `token`, or an HTTP verb.
        model: model id, with or without `models/`.
        body_regex: searched in the body's text; `.` matches line ends too.
    """

    method: str | None = None
    model: str | None = None
    body_regex: str | None = None

    @field_validator("body_regex")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        try:
            re.compile(value or "", re.DOTALL)
        except re.error as error:
            raise ValueError(f"no regular expression: {error}") from error
        return value


class Chunk(_Strict):
    """One write to the wire: `text` (UTF-8) or `b64`, after `delay_ms` milliseconds."""

    text: str | None = None
    b64: str | None = None
    delay_ms: float = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _one_kind(self) -> "Chunk":
        if (self.text is None) == (self.b64 is None):
            raise ValueError("a chunk has either text or b64")
        if self.b64 is not None:
            base64.b64decode(self.b64, validate=True)
        return self

    def data(self) -> bytes:
        """The bytes to write."""
        return (
            base64.b64decode(self.b64) if self.b64 is not None else (self.text or "").encode("utf-8", "surrogatepass")
        )


class Script(_Strict):
    """One scripted answer.

    Attributes:
        times: how many requests it answers; -1 = every one.
        headers: replace the defaults (event stream for a 200 of streamGenerateContent, JSON otherwise).
        end: `close` ends the body, `reset` resets the stream, `hang` sends nothing more and keeps it open.
    """

    match: Match = Match()
    status: int = Field(default=200, ge=200, le=599)
    headers: dict[str, str] = Field(default_factory=dict)
    chunks: list[Chunk] = Field(default_factory=list)
    end: End = "close"
    times: int = Field(default=1, ge=-1)

    @field_validator("headers")
    @classmethod
    def _sendable(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if not _HEADER_NAME.fullmatch(name) or not _HEADER_TEXT.fullmatch(text):
                raise ValueError(f"no HTTP header: {name!r}: {text!r}")
        return value

    def fits(self, verb: str, method: str, model: str, body: str) -> bool:
        """Whether this entry answers such a request."""
        match = self.match
        return (
            match.method in (None, method, verb)
            and (match.model is None or match.model.removeprefix("models/") == model)
            and (match.body_regex is None or re.search(match.body_regex, body, re.DOTALL) is not None)
        )


@dataclass(slots=True)
class ScriptQueue:
    """Entries in the order they were queued; the first that fits answers."""

    _entries: list[tuple[Script, int]] = field(default_factory=list)

    def add(self, scripts: list[Script]) -> int:
        """Queue entries; returns how many are waiting."""
        self._entries += [(script, script.times) for script in scripts if script.times]
        return len(self._entries)

    def take(self, verb: str, method: str, model: str, body: str) -> Script | None:
        """The entry for a request, None when the demo model answers.

        Args:
            verb: HTTP method.
            method: RPC name.
            model: model id without `models/`.
            body: the request's text.
        """
        for index, (script, left) in enumerate(self._entries):
            if script.fits(verb, method, model, body):
                if left == 1:
                    del self._entries[index]
                elif left > 1:
                    self._entries[index] = (script, left - 1)
                return script
        return None

    def clear(self) -> None:
        """Drop every entry."""
        self._entries.clear()
