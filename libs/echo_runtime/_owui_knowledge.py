"""Open WebUI's knowledge collections, folders and notes, read with the asking user's own rights.

Facts about Open WebUI named here were read in release 0.12.4; the seam test checks each symbol against the
installed release.
"""

from collections.abc import Mapping
from typing import Any


async def entries_of(entry: Mapping[str, Any], user: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """What a `#` reference stands for, as attachment entries; None when it is not there or not this user's to read.

    Args:
        entry: of the type `collection`, `folder` or `note`.
        user: Open WebUI's user.
    """
    from open_webui.models.users import Users

    reader = await Users.get_user_by_id(str(user["id"]))
    if reader is None:
        return None
    looks = {"collection": _collection, "folder": _folder, "note": _note}
    return await looks[str(entry["type"])](str(entry.get("id") or ""), reader)


async def _collection(collection_id: str, reader: Any) -> list[dict[str, Any]] | None:
    from open_webui.models.knowledge import Knowledges

    known = await Knowledges.get_knowledge_by_id(collection_id)
    if known is None or not await _may_read("knowledge", known, reader):
        return None
    files = await Knowledges.get_file_metadatas_by_id(collection_id)
    return [{"type": "file", "id": file.id, "name": str((file.meta or {}).get("name") or file.id)} for file in files]


async def _folder(folder_id: str, reader: Any) -> list[dict[str, Any]] | None:
    from open_webui.models.folders import Folders

    try:
        from open_webui.utils.access_control.files import get_owner_accessible_folder_files
        from open_webui.utils.access_control.folders import has_folder_access
    except ImportError:  # releases before 0.12 share no folder, nor tell which of its files may be read
        return None
    folder = await Folders.get_folder_by_id(folder_id)
    if folder is None or not (reader.role == "admin" or await has_folder_access(reader.id, folder, "read", db=None)):
        return None
    found: list[dict[str, Any]] = []
    for entry in await get_owner_accessible_folder_files(folder):
        inner = await _collection(str(entry.get("id")), reader) if entry.get("type") == "collection" else [entry]
        found += inner or []
    return found


async def _note(note_id: str, reader: Any) -> list[dict[str, Any]] | None:
    from open_webui.models.notes import Notes

    note = await Notes.get_note_by_id(note_id)
    if note is None or not await _may_read("note", note, reader):
        return None
    said = ((note.data or {}).get("content") or {}).get("md") or ""
    return [{"type": "text", "name": note.title, "file": {"data": {"content": said}}}]


async def _may_read(kind: str, resource: Any, reader: Any) -> bool:
    """The rule is Open WebUI's own: the owner, administrators, and whoever has been granted it."""
    from open_webui.models.access_grants import AccessGrants

    return bool(
        reader.role == "admin"
        or resource.user_id == reader.id
        or await AccessGrants.has_access(
            user_id=reader.id, resource_type=kind, resource_id=resource.id, permission="read"
        )
    )
