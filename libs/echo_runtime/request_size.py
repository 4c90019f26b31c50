"""Keeps requests within what Google takes: when a chat has gathered too many media, the oldest move or go.

Request bytes are budgeted like tokens. Source: docs/design.md section 8.
"""

import base64
import hashlib
import json
import logging
from dataclasses import replace
from typing import Any, Final

from anyio import to_thread

from echo_core.ports import GenerateRequest
from echo_protocol.attached import vault_part
from echo_protocol.inline_budget import MAX_REQUEST_BYTES, InlineMedia, surplus_media
from echo_state_manager.vault import Vault
from echo_utils import dumps

log = logging.getLogger(__name__)

_MAX_KNOWN: Final = 4_096


class MovedMedia:
    """Which media are known to be in which vault, so that they are not written with every request."""

    def __init__(self) -> None:
        self._digests: dict[bytes, str] = {}

    async def digest(self, medium: InlineMedia, vault: Vault) -> str:
        """The digest under which a vault has a medium from now on.

        Raises:
            ValueError: the medium is not base64.
        """
        key = await to_thread.run_sync(lambda: hashlib.sha256(medium.data.encode()).digest())
        sha256 = self._digests.get(key)
        if sha256 is not None and await vault.find(sha256) is not None:
            return sha256
        data = await to_thread.run_sync(lambda: base64.b64decode(medium.data, validate=True))
        kept = await vault.put(data, mime_type=medium.mime_type, name="")
        while len(self._digests) >= _MAX_KNOWN:
            self._digests.pop(next(iter(self._digests)))
        self._digests[key] = kept.sha256
        return kept.sha256


async def within_limit(
    request: GenerateRequest, vault: Vault | None, moved: MovedMedia
) -> tuple[GenerateRequest, bool]:
    """The same request while it is small enough; else one whose oldest media are named by digest, or left out.

    Args:
        request: as it is sealed.
        vault: where the user's own media may be kept; None leaves them out.
        moved: what was moved before.

    Returns:
        (request, whether the model will not see something any more).
    """
    size_bytes = len(request.body_json)
    if size_bytes <= MAX_REQUEST_BYTES:
        return request, False
    wire: dict[str, Any] = await to_thread.run_sync(json.loads, request.body_json)
    leaving = surplus_media(wire, size_bytes)
    left_out = False
    for medium in leaving:
        if vault is None or medium.where != "user":
            medium.leave_out()
            left_out = True
            continue
        try:
            sha256 = await moved.digest(medium, vault)
        except ValueError as error:
            log.warning("a medium of a request is not base64: %s", error)
            medium.leave_out()
            left_out = True
        else:
            medium.replace_by(vault_part(medium.mime_type, sha256).wire)
    body = await to_thread.run_sync(dumps, wire)
    log.info("a request of %d bytes had %d media too many, now %d bytes", size_bytes, len(leaving), len(body))
    return replace(request, body_json=body), left_out
