"""A stream of GenerateContentResponse objects becomes events while it runs and one result at its end."""

from echo_protocol.errors import UnreadableChunk
from echo_protocol.joining import PartJoiner
from echo_protocol.outcomes import outcome_of
from echo_protocol.partial_calls import PartialCall, is_partial
from echo_protocol.parts import FunctionCallPart, Part, Wire, part_from_wire
from echo_protocol.soundness import sound
from echo_protocol.stream_facts import StreamFacts
from echo_protocol.stream_types import (
    CallReceived,
    MediaReceived,
    ServerToolUsed,
    StreamEvent,
    StreamResult,
    TextDelta,
    ThoughtDelta,
)


class StreamProcessor:
    """Decodes one hop. Only candidate 0 counts; each chunk costs the same however long the stream is.

    The last finish reason and the last token counts win; content after a finish reason still counts, because some
    streams open with an empty candidate that says STOP. Source: recorded answers.
    """

    def __init__(self) -> None:
        self._joiner = PartJoiner()
        self._facts = StreamFacts()
        self._call: PartialCall | None = None

    def process(self, chunk: Wire) -> list[StreamEvent]:
        """Take the next chunk, already decoded and without the Code Assist envelope.

        Raises:
            UnreadableChunk: the chunk does not have the shape of a GenerateContentResponse.
            UnreadablePart: one of its parts is not a JSON object.
        """
        if not isinstance(chunk, dict):
            raise UnreadableChunk(f"a chunk is a {type(chunk).__name__}")
        self._facts.take_chunk(chunk)
        candidate = _candidate_zero(chunk)
        if candidate is None:
            return []
        events: list[StreamEvent] = []
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        if parts is not None:
            if not isinstance(parts, list):
                raise UnreadableChunk("content.parts is not a list")
            for wire in parts:
                event = self._take_part(wire)
                if event is not None:
                    events.append(event)
        citations = self._facts.take_candidate(candidate)
        if citations is not None:
            events.append(citations)
        return events

    def finish(self) -> StreamResult:
        """What has come, as a result. Also valid for a stream that was cut; may be called again.

        A call whose arguments were still arriving is left out: it can neither run nor be answered.
        """
        parts = self._joiner.parts()
        facts = self._facts
        return StreamResult(
            parts=parts,
            outcome=outcome_of(parts, facts.finish_reason, facts.block_reason),
            finish_reason=facts.finish_reason,
            finish_message=facts.finish_message,
            block_reason=facts.block_reason,
            usage=facts.usage,
            model_version=facts.model_version,
            response_id=facts.response_id,
            continuation_token=facts.continuation_token,
            grounding=facts.grounding,
            citations=tuple(facts.citations),
            url_context=facts.url_context,
        )

    def _take_part(self, wire: object) -> StreamEvent | None:
        if isinstance(wire, dict):
            text = wire.get("text")
            # most parts are plain deltas: joined without becoming a Part of their own
            if isinstance(text, str) and (len(wire) == 1 or (len(wire) == 2 and wire.get("thought") is True)):
                thought = len(wire) == 2
                self._joiner.add_text(wire, text, thought=thought)
                if not text:
                    return None
                return ThoughtDelta(text) if thought else TextDelta(text)
        part = part_from_wire(wire)
        if isinstance(part, FunctionCallPart) and (self._call is not None or is_partial(part)):
            whole = self._assemble(part)
            if whole is None:
                return None
            part = whole
        kept = sound(part)
        if kept is None:  # told to whoever listens, but never sent back
            return _event_of(part)
        self._joiner.add(kept)
        return _event_of(kept)

    def _assemble(self, part: FunctionCallPart) -> FunctionCallPart | None:
        """Put a piece of a call to the rest; the whole call, or None while it is not whole."""
        if self._call is None or part.name:
            self._call = PartialCall(part)
        if not self._call.add(part):
            return None
        whole = self._call.close()
        self._call = None
        return whole


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
