"""Token counts of an answer."""

from dataclasses import dataclass, fields
from typing import Any, Final

from echo_protocol.parts import Wire, read

_NAMES: Final = {
    "prompt_tokens": ("promptTokenCount", "prompt_token_count"),
    "cached_tokens": ("cachedContentTokenCount", "cached_content_token_count"),
    "candidates_tokens": ("candidatesTokenCount", "candidates_token_count"),
    "thoughts_tokens": ("thoughtsTokenCount", "thoughts_token_count"),
    "tool_prompt_tokens": ("toolUsePromptTokenCount", "tool_use_prompt_token_count"),
    "total_tokens": ("totalTokenCount", "total_token_count"),
}
#: Every key that holds a count.
COUNT_KEYS: Final = frozenset(key for keys in _NAMES.values() for key in keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one hop, or of several added up.

    `prompt_tokens` includes `cached_tokens`, `candidates_tokens` includes `image_tokens` (pictures);
    `total = prompt + candidates + thoughts + tool_prompt`.
    Source: Gemini API reference, UsageMetadata; recorded answers.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    candidates_tokens: int = 0
    thoughts_tokens: int = 0
    tool_prompt_tokens: int = 0
    total_tokens: int = 0
    image_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        """Sum over the hops of one turn."""
        return Usage(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})

    @property
    def output_tokens(self) -> int:
        """What is paid as output: answer and thoughts."""
        return self.candidates_tokens + self.thoughts_tokens


def usage_from_wire(wire: Wire) -> Usage:
    """Read a `usageMetadata`; a count that is absent is 0, a total that is absent is summed up."""
    counts = {name: _count(read(wire, *keys)) for name, keys in _NAMES.items()}
    known = {name: count for name, count in counts.items() if count is not None}
    if known and "total_tokens" not in known:
        known["total_tokens"] = sum(count for name, count in known.items() if name != "cached_tokens")
    details = read(wire, "candidatesTokensDetails", "candidates_tokens_details")
    rows = [row for row in details if isinstance(row, dict)] if isinstance(details, list) else []
    images = [_count(read(row, "tokenCount", "token_count")) or 0 for row in rows if row.get("modality") == "IMAGE"]
    return Usage(**known, image_tokens=sum(images))


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        return max(int(value), 0)
    except ValueError:
        return None
