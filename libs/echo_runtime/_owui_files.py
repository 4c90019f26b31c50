"""Open WebUI's uploaded files, read with the asking user's own rights.

Facts about Open WebUI named here were read in release 0.12.4; the seam test checks each symbol against the
installed release.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadedFile:
    """One upload.

    Args:
        path: on this machine's disk.
        declared_type: what the browser said it is, "" when it said nothing.
        text: what Open WebUI itself has read out of it, "" when it did not.
    """

    name: str
    path: Path
    size_bytes: int
    declared_type: str
    text: str


async def uploaded_file(file_id: str, user: Mapping[str, Any]) -> UploadedFile | None:
    """A file that this user may read; None when there is none, or when it is not this user's to read.

    The rule is Open WebUI's own: the owner, administrators, and whoever has been granted it.
    """
    from open_webui.models.files import Files
    from open_webui.models.users import Users
    from open_webui.storage.provider import Storage
    from open_webui.utils.access_control.files import has_access_to_file

    reader = await Users.get_user_by_id(str(user["id"]))
    file = await Files.get_file_by_id(file_id)
    if reader is None or file is None or not file.path:
        return None
    if file.user_id != reader.id and reader.role != "admin" and not await has_access_to_file(file.id, "read", reader):
        return None
    path = Path(await asyncio.to_thread(Storage.get_file, file.path))
    try:
        size_bytes = (await asyncio.to_thread(path.stat)).st_size
    except FileNotFoundError:
        return None
    meta, data = file.meta or {}, file.data or {}
    return UploadedFile(
        name=str(meta.get("name") or file.filename or ""),
        path=path,
        size_bytes=size_bytes,
        declared_type=str(meta.get("content_type") or ""),
        text=str(data.get("content") or ""),
    )
