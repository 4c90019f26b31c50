"""What a stream says beside its parts: why it ended, what it cost, where it is from."""

from typing import Any, Final

from echo_protocol.parts import Wire, read
from echo_protocol.stream_types import CitationsReceived
from echo_protocol.usage import COUNT_KEYS, Usage, usage_from_wire

#: proto3 default of the enum: the reason is not known yet.
_UNSPECIFIED: Final = "FINISH_REASON_UNSPECIFIED"
#: The same for a refused prompt whose reason was left out.
_BLOCK_UNSPECIFIED: Final = "BLOCK_REASON_UNSPECIFIED"
#: What most candidates have, and nothing to note in it.
_USUAL: Final = frozenset({"content", "index", "safetyRatings"})


class StreamFacts:
    """Collects facts; the last word wins. Usual chunks cost a few look-ups, the counts are read once, at the end."""

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self.finish_message: str | None = None
        self.block_reason: str | None = None
        self.model_version: str | None = None
        self.response_id: str | None = None
        self.continuation_token: str | None = None
        self.grounding: dict[str, Any] | None = None
        self.citations: list[dict[str, Any]] = []
        self.url_context: tuple[dict[str, Any], ...] = ()
        self._usage: Wire = {}

    @property
    def usage(self) -> Usage:
        """The last counts that came."""
        return usage_from_wire(self._usage)

    def take_chunk(self, chunk: Wire) -> None:
        """Note what a chunk says outside its candidates."""
        usage = chunk.get("usageMetadata") or chunk.get("usage_metadata")
        # Vertex sends `{"trafficType": …}` alone before the last chunk
        if isinstance(usage, dict) and not COUNT_KEYS.isdisjoint(usage):
            self._usage = usage
        self.model_version = chunk.get("modelVersion") or chunk.get("model_version") or self.model_version
        self.response_id = chunk.get("responseId") or chunk.get("response_id") or self.response_id
        feedback = chunk.get("promptFeedback") or chunk.get("prompt_feedback")
        if isinstance(feedback, dict):
            reason = read(feedback, "blockReason", "block_reason")
            message = read(feedback, "blockReasonMessage", "block_reason_message")
            if reason or message:
                self.block_reason = str(reason or _BLOCK_UNSPECIFIED)
                self.finish_message = message or self.finish_message

    def take_candidate(self, candidate: Wire) -> CitationsReceived | None:
        """Note what a candidate says beside its content; its sources, if it names any."""
        if _USUAL.issuperset(candidate):
            return None
        reason = read(candidate, "finishReason", "finish_reason")
        if reason and reason != _UNSPECIFIED:
            self.finish_reason = str(reason)
        self.finish_message = read(candidate, "finishMessage", "finish_message") or self.finish_message
        self.continuation_token = read(candidate, "continuationToken", "continuation_token") or self.continuation_token
        found = _citations_of(candidate)
        if found is not None:
            self.grounding = found.grounding or self.grounding
            self.citations.extend(found.citations)
            self.url_context = found.url_context or self.url_context
        return found


def _citations_of(candidate: Wire) -> CitationsReceived | None:
    grounding = read(candidate, "groundingMetadata", "grounding_metadata")
    sources = _list_in(read(candidate, "citationMetadata", "citation_metadata"), "citationSources", "citations")
    urls = _list_in(read(candidate, "urlContextMetadata", "url_context_metadata"), "urlMetadata", "url_metadata")
    found = CitationsReceived(grounding if isinstance(grounding, dict) else {}, sources, urls)
    return found if found.grounding or found.citations or found.url_context else None


def _list_in(holder: object, first: str, second: str) -> tuple[dict[str, Any], ...]:
    items = read(holder, first, second) if isinstance(holder, dict) else None
    return tuple(item for item in items if isinstance(item, dict)) if isinstance(items, list) else ()
