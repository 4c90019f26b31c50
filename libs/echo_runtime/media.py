"""Images that the model makes become Open WebUI files, so that no chat JSON ever holds their bytes."""

import base64
import logging
from typing import Final

from echo_protocol.sniffing import sniff
from echo_protocol.soundness import is_base64
from echo_runtime import _owui
from echo_runtime.call import PipeCall

log = logging.getLogger(__name__)

#: Base64 characters that hold enough of a file to tell what it is.
_HEAD_CHARS: Final = 512


class OwuiMediaStore:
    """The MediaStore of one call."""

    def __init__(self, call: PipeCall) -> None:
        self._call = call

    async def keep(self, mime_type: str, data_base64: str) -> str | None:
        """Store one image as the user's file and return its address on this server; None for what is no image.

        The bytes, not the model, say what it is, because a file that is served under another type could be anything.
        """
        if not is_base64(data_base64):
            return None
        plain = data_base64.replace("-", "+").replace("_", "/")
        plain += "=" * (-len(plain) % 4)
        found = sniff(base64.b64decode(plain[:_HEAD_CHARS]))
        if not found.startswith("image/"):
            log.warning("the model sent %s that is %s", mime_type, found or "unknown")
            return None
        data_uri = f"data:{found};base64,{plain}"
        try:
            return await _owui.keep_image(self._call.request, self._call.metadata, self._call.user, data_uri) or None
        except Exception:  # whatever Open WebUI's storage throws: the answer goes on without its picture
            log.exception("Open WebUI did not keep a picture of the model")
            return None
