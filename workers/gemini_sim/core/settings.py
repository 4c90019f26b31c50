"""What a test or the demo can turn on the simulator; the values are the server's, not a client's."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

from echo_workers.gemini_sim.core.errors import invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class SimSettings:
    """Switches of one simulator.

    Args:
        trust_foreign_signatures: replay mode. Signatures in recorded requests were issued by Google, so their maker
            cannot be checked here; when set, every well-formed base64 blob that is not one of ours is accepted.
        trust_foreign_files: replay mode. Files API URIs that nobody uploaded here are accepted.
        serve_retired_models: replay mode. Models that Google has closed to new users answer instead of a 404.
        chunk_delay_ms: pause before each streamed chunk of the demo model, milliseconds.
        hop_stream_tokens: output tokens after which a Gemini 4 stream ends with CONTINUATION.
            Source: Gemini 4 continuation, documented (65,536 streaming).
        hop_unary_tokens: the same for plain generateContent. Source: documented (32,768).
        quota_requests: requests that a Code Assist account may make before it is answered 429 QUOTA_EXHAUSTED.
        video_processing_s: how long an uploaded video stays PROCESSING, seconds of the simulator's clock.
        signing_secret: key of the HMAC in issued signatures; the default makes runs repeatable.
    """

    trust_foreign_signatures: bool = False
    trust_foreign_files: bool = False
    serve_retired_models: bool = False
    chunk_delay_ms: int = 0
    hop_stream_tokens: int = 65_536
    hop_unary_tokens: int = 32_768
    quota_requests: int = 1_000
    video_processing_s: int = 2
    signing_secret: str = "echo simulator"  # noqa: S105 - signs simulated answers only, repeatably

    def changed(self, values: dict[str, Any]) -> Self:
        """A copy with some values replaced.

        Raises:
            GoogleRefusal: a name is unknown or a value has another type.
        """
        known = {field.name: type(getattr(self, field.name)) for field in fields(self)}
        for name, value in values.items():
            if name not in known:
                raise invalid(f"Unknown simulator setting: {name}")
            if type(value) is not known[name]:
                raise invalid(f"Simulator setting {name} needs a {known[name].__name__}")
        return replace(self, **values)
