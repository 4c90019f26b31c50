"""A stream of GenerateContentResponse objects becomes events while it runs and one result at its end."""

from typing import Any, Final

from echo_protocol.errors import UnreadableChunk
from echo_protocol.joining import PartJoiner
from echo_protocol.outcomes import outcome_of
from echo_protocol.partial_calls import PartialCall, is_partial
from echo_protocol.parts import FunctionCallPart, Part, Wire, part_from_wire, read
from echo_protocol.stream_types import (
    CallReceived,
    CitationsReceived,
    MediaReceived,
    ServerToolUsed,
    StreamEvent,
    StreamResult,
    TextDelta,
    ThoughtDelta,
)
from echo_protocol.usage import Usage, usage_from_wire

#: proto3 default of the enum: the reason is not known yet.
_UNSPECIFIED: Final = "FINISH_REASON_UNSPECIFIED"
#: The same for a refused prompt whose reason was left out.
_BLOCK_UNSPECIFIED: Final = "BLOCK_REASON_UNSPECIFIED"


class StreamProcessor:
    """Decodes one hop. Only candidate 0 counts; each chunk costs the same however long the stream is.

    The last finish reason and the last token counts win; content after a finish reason still counts, because some
    streams open with an empty candidate that says STOP. Source: recorded answers.
    """

    def __init__(self) -> None:
        self._joiner = PartJoiner()
        self._call: PartialCall | None = None
        self._usage = Usage()
        self._facts: dict[str, Any] = {}

    def process(self, chunk: Wire) -> list[StreamEvent]:
        """Take the next chunk, already decoded and without the Code Assist envelope.

        Raises:
            UnreadableChunk: the chunk does not have the shape of a GenerateContentResponse.
            UnreadablePart: one of its parts is not a JSON object.
        """
        if not isinstance(chunk, dict):
            raise UnreadableChunk(f"a chunk is a {type(chunk).__name__}")
        self._take_header(chunk)
        candidate = _candidate_zero(chunk)
        if candidate is None:
            return []
        events: list[StreamEvent] = []
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        if parts is not None and not isinstance(parts, list):
            raise UnreadableChunk("content.parts is not a list")
        for wire in parts or ():
            event = self._take_part(part_from_wire(wire))
            if event is not None:
                events.append(event)
        self._take_candidate(candidate, events)
        return events

    def finish(self) -> StreamResult:
        """What has come, as a result. Also valid for a stream that was cut; may be called again.

        A call whose arguments were still arriving is left out: it can neither run nor be answered.
        """
        parts = self._joiner.parts()
        facts = self._facts
        return StreamResult(
            parts=parts,
            outcome=outcome_of(parts, facts.get("finish_reason"), facts.get("block_reason")),
            usage=self._usage,
            **facts,
        )

    def _take_part(self, part: Part) -> StreamEvent | None:
        if isinstance(part, FunctionCallPart) and (self._call is not None or is_partial(part)):
            whole = self._assemble(part)
            if whole is None:
                return None
            part = whole
        self._joiner.add(part)
        return _event_of(part)

    def _assemble(self, part: FunctionCallPart) -> FunctionCallPart | None:
        """Put a piece of a call to the rest; the whole call, or None while it is not whole."""
        if self._call is None or part.name:
            self._call = PartialCall(part)
        if not self._call.add(part):
            return None
        whole = self._call.close()
        self._call = None
        return whole

    def _take_header(self, chunk: Wire) -> None:
        usage = read(chunk, "usageMetadata", "usage_metadata")
        if isinstance(usage, dict):
            self._usage = usage_from_wire(usage) or self._usage
        for name, camel, snake in (("model_version", "modelVersion", "model_version"),
                                   ("response_id", "responseId", "response_id")):  # fmt: skip
            value = read(chunk, camel, snake)
            if value is not None:
                self._facts[name] = str(value)
        feedback = read(chunk, "promptFeedback", "prompt_feedback")
        if isinstance(feedback, dict):
            reason = read(feedback, "blockReason", "block_reason")
            message = read(feedback, "blockReasonMessage", "block_reason_message")
            if reason or message:
                self._facts["block_reason"] = str(reason or _BLOCK_UNSPECIFIED)
            if message:
                self._facts["finish_message"] = str(message)

    def _take_candidate(self, candidate: Wire, events: list[StreamEvent]) -> None:
        reason = read(candidate, "finishReason", "finish_reason")
        if reason and reason != _UNSPECIFIED:
            self._facts["finish_reason"] = str(reason)
        if message := read(candidate, "finishMessage", "finish_message"):
            self._facts["finish_message"] = str(message)
        if token := read(candidate, "continuationToken", "continuation_token"):
            self._facts["continuation_token"] = str(token)
        citations = _citations_of(candidate)
        if citations is None:
            return
        if citations.grounding:
            self._facts["grounding"] = citations.grounding
        if citations.citations:
            self._facts["citations"] = (*self._facts.get("citations", ()), *citations.citations)
        if citations.url_context:
            self._facts["url_context"] = citations.url_context
        events.append(citations)


def _candidate_zero(chunk: Wire) -> Wire | None:
    candidates = chunk.get("candidates")
    if candidates is None:
        return None
    if not isinstance(candidates, list):
        raise UnreadableChunk("candidates is not a list")
    for candidate in candidates:
        # proto3 leaves out a zero, so candidate 0 may have no index
        if isinstance(candidate, dict) and not candidate.get("index"):
            return candidate
    return None


def _event_of(part: Part) -> StreamEvent | None:
    match part.kind:
        case "text":
            return TextDelta(part.text) if part.text else None
        case "thought":
            return ThoughtDelta(part.text) if part.text else None
        case "function_call":
            return CallReceived(part)
        case "inline_data" | "file_data":
            return MediaReceived(part)
        case "executable_code" | "code_execution_result" | "tool_call" | "tool_response":
            return ServerToolUsed(part)
        case "function_response" | "opaque":
            return None


def _citations_of(candidate: Wire) -> CitationsReceived | None:
    grounding = read(candidate, "groundingMetadata", "grounding_metadata")
    sources = _list_in(read(candidate, "citationMetadata", "citation_metadata"), "citationSources", "citations")
    urls = _list_in(read(candidate, "urlContextMetadata", "url_context_metadata"), "urlMetadata", "url_metadata")
    found = CitationsReceived(grounding if isinstance(grounding, dict) else {}, sources, urls)
    return found if found.grounding or found.citations or found.url_context else None


def _list_in(holder: object, first: str, second: str) -> tuple[dict[str, Any], ...]:
    items = read(holder, first, second) if isinstance(holder, dict) else None
    return tuple(item for item in items if isinstance(item, dict)) if isinstance(items, list) else ()
