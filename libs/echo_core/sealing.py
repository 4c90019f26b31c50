"""Makes shadows: hashes, visible text and signature rows, all derived from the sealed contents and nothing else.

`echoctl verify` derives them again, so whatever enters a hash must be readable in `contents_json`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from echo_core.records import Role, Shadow, SignatureRow
from echo_protocol import (
    Content,
    FileDataPart,
    FunctionCallPart,
    FunctionResponsePart,
    InlineDataPart,
    TextPart,
    close_dangling_calls,
    content_json,
    cumulative_hash,
    invariant_hash,
    join_contents,
    parse_contents,
)
from echo_utils import sha256_tagged


def invariant_content(role: Role, contents: tuple[Content, ...]) -> tuple[Any, Any]:
    """What the invariant hash covers: `content` and `tool_io`.

    Returns:
        For a user message `{"text", "attachments": [hash of the bytes, or the file's address]}` and None; for a model
        message its answer text without thoughts, and its calls and responses in order (None without any).
    """
    if role == "user":
        parts = [part for content in contents for part in content.parts]
        attachments = [
            sha256_tagged(part.data.encode()) if isinstance(part, InlineDataPart) else part.uri
            for part in parts
            if isinstance(part, InlineDataPart | FileDataPart)
        ]
        return {"text": _text(contents), "attachments": attachments}, None
    tool_io = [
        _tool_fact(part)
        for content in contents
        for part in content.parts
        if isinstance(part, FunctionCallPart | FunctionResponsePart)
    ]
    return _text(contents), tool_io or None


def seal_shadow(shadow: Shadow, parent_hash: str) -> Shadow:
    """The shadow with its hashes, as the child of `parent_hash`.

    Raises:
        UnreadablePart: `contents_json` is not an array of Contents.
    """
    content, tool_io = invariant_content(shadow.role, parse_contents(shadow.contents_json))
    invariant = invariant_hash(shadow.role, content, tool_io)
    return replace(
        shadow,
        invariant_hash=invariant,
        parent_hash=parent_hash,
        cumulative_hash=cumulative_hash(invariant, parent_hash),
    )


def relink(shadow: Shadow, parent_hash: str) -> Shadow:
    """The same message under another parent (an edit or a deletion above it)."""
    return replace(shadow, parent_hash=parent_hash, cumulative_hash=cumulative_hash(shadow.invariant_hash, parent_hash))


def signature_rows(shadow: Shadow, scope: str) -> tuple[SignatureRow, ...]:
    """One row a signed part, in order."""
    return tuple(
        SignatureRow(
            message_id=shadow.message_id,
            content_index=content_index,
            part_index=part_index,
            thought_signature=part.signature,
            model_id=shadow.model_id,
            scope=scope,
        )
        for content_index, content in enumerate(parse_contents(shadow.contents_json))
        for part_index, part in enumerate(content.parts)
        if part.signature is not None
    )


def visible_text_of(contents: tuple[Content, ...]) -> str:
    """The answer or question as the page shows it: text parts without thoughts, joined."""
    return _text(contents)


def _text(contents: tuple[Content, ...]) -> str:
    return "".join(part.text for content in contents for part in content.parts if isinstance(part, TextPart))


def _tool_fact(part: FunctionCallPart | FunctionResponsePart) -> dict[str, Any]:
    if isinstance(part, FunctionCallPart):
        return {"call": part.name, "args": dict(part.args)}
    return {"response_of": part.name, "response": dict(part.response)}


def answer_contents(hops: Sequence[bytes], *, complete: bool) -> bytes:
    """The sealed contents of an answer.

    Args:
        hops: serialised Contents and arrays of them.
        complete: False for an answer that was cut off: calls without a response get one that says so.
    """
    contents_json = join_contents(hops)
    if complete:
        return contents_json
    closed = close_dangling_calls(parse_contents(contents_json))
    return join_contents([content_json(content.role, content.parts) for content in closed])
