"""What the state store keeps and gives back. Values only; identity is the store's concern."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ShadowState = Literal["streaming", "complete", "stopped", "failed"]
Role = Literal["user", "model"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionLock:
    """What Open WebUI's row looked like when ECHO last agreed with it.

    Args:
        updated_at_s: the row's `updated_at`, epoch seconds (Open WebUI's resolution is 1 s).
        fingerprint: hash of the row's normalised visible text.
        provisional: taken less than 2 s after `updated_at_s`; the next turn compares once more.
    """

    updated_at_s: int
    fingerprint: str
    provisional: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadow:
    """The sealed record of one Open WebUI message.

    Args:
        contents_json: UTF-8 JSON array of Gemini `Content` objects, exactly the bytes that are replayed. A user
            message has one entry (role user); a model message has one entry a hop, tool answers (role user) between.
        overlay_json: UTF-8 JSON array of overlay entries (model messages only), `b"[]"` when nothing varied.
        invariant_hash: tagged SHA-256 of {role, content, tool_io}.
        cumulative_hash: tagged SHA-256(invariant, parent cumulative); "" while streaming.
        visible_text: what the page shows for this message, for the fingerprint and for filling the row.
        backend: who signed: the backend and the class of the key, `ai_studio:0123456789ab`; "" for a user message.
        client_hash: chain over (role, visible text) that finds the sessions of API callers; "" in Open WebUI's chats.
    """

    message_id: str
    chat_id: str
    role: Role
    contents_json: bytes
    overlay_json: bytes = b"[]"
    invariant_hash: str = ""
    parent_hash: str = ""
    cumulative_hash: str = ""
    visible_text: str = ""
    state: ShadowState = "complete"
    lock: VersionLock | None = None
    backend: str = ""
    model_id: str = ""
    client_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One entry of a chat's register of resources.

    Args:
        kind: such as `plan`; see docs/design.md section 4.
        anchor_message_id: the message that it came from, "" when there is none.
    """

    id: str
    name: str
    kind: str
    payload: str
    status: str = "active"
    item_type: Literal["file", "directory"] = "file"
    anchor_message_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureRow:
    """One thought signature and the part it belongs to (hop and part count from 0)."""

    message_id: str
    content_index: int
    part_index: int
    thought_signature: str
    model_id: str
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """Everything that one sealing writes in one transaction."""

    shadow: Shadow
    signatures: tuple[SignatureRow, ...] = ()
    tool_io_json: bytes | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
