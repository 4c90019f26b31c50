"""Images that the model makes become Open WebUI files, so that no chat JSON ever holds their bytes."""

from echo_runtime import _owui
from echo_runtime.call import PipeCall


class OwuiMediaStore:
    """The MediaStore of one call."""

    def __init__(self, call: PipeCall) -> None:
        self._call = call

    async def keep(self, mime_type: str, data_base64: str) -> str:
        """Store one image as the user's file and return its address on this server."""
        data_uri = f"data:{mime_type};base64,{data_base64}"
        return await _owui.keep_image(self._call.request, self._call.metadata, self._call.user, data_uri)
