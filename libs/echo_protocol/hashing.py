"""The hashes of the Suture. All are `sha256:` and 64 hex digits. Source: docs/design.md section 4."""

from collections.abc import Sequence
from typing import Any, Final

from echo_utils import canonical_json, normalise_visible_text, sha256_tagged, untagged

#: Parent of the first message of a chain.
ROOT_PARENT: Final = "0" * 64


def invariant_hash(role: str, content: Any, tool_io: Any = None) -> str:
    """Hash what a message says, whatever produced it.

    Args:
        role: `user` or `model`.
        content: JSON value of the visible content: a user's own text and attachment hashes, or a model's answer text.
        tool_io: JSON value of the calls and their results, None when there are none.
    """
    return sha256_tagged(canonical_json({"role": role, "content": content, "tool_io": tool_io}))


def cumulative_hash(invariant: str, parent: str = ROOT_PARENT) -> str:
    """Hash a message and all before it: SHA-256 over the two hex digests, tags left off, invariant first."""
    return sha256_tagged(untagged(invariant).encode("ascii"), untagged(parent).encode("ascii"))


def sealed_hash(*, contents_json: bytes, overlay_json: bytes = b"[]") -> str:
    """Hash what the invariant hash leaves out: every sealed byte, signatures and overlay included."""
    return sha256_tagged(len(contents_json).to_bytes(8, "big"), contents_json, overlay_json)


def client_hash(role: str, text: str, parent: str = ROOT_PARENT, call_ids: Sequence[str] = ()) -> str:
    """Chain over what API callers send back: role, visible text, and the ids of the calls that were handed to them.

    `assistant` and `model` are one role.
    """
    said: dict[str, Any] = {"role": "model" if role == "assistant" else role, "text": normalise_visible_text(text)}
    if call_ids:
        said["calls"] = list(call_ids)
    return sha256_tagged(canonical_json(said), untagged(parent).encode("ascii"))


def fingerprint(visible_text: str) -> str:
    """Hash a displayed text for the Version Lock, blind to whitespace, Unicode form and Open WebUI's own blocks."""
    return sha256_tagged(normalise_visible_text(visible_text).encode("utf-8", "backslashreplace"))
