"""Files API: resumable uploads, processing, expiry after 48 hours of the simulator's clock."""

import base64
import hashlib
import re
from dataclasses import dataclass, field
from typing import Any, Final

from echo_workers.gemini_sim.core.errors import GoogleRefusal, invalid
from echo_workers.gemini_sim.core.times import timestamp

#: Source: Files API, documented.
LIFE_S: Final = 48 * 3_600
FILE_MAX_BYTES: Final = 2 * 1024**3
_URI: Final = re.compile(r"(?:^|/)files/([a-z0-9-]{1,40})$")
_NAME: Final = re.compile(r"files/[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")


def id_of(uri: str) -> str | None:
    """File id of a Files API URI or name; None for any other address."""
    found = _URI.search(uri)
    return found[1] if found else None


def no_such_file(file_id: str) -> GoogleRefusal:
    """Missing, expired or somebody else's. Source: third-party (403)."""
    return GoogleRefusal(403, f"You do not have permission to access the File {file_id} or it may not exist.")


@dataclass(slots=True, kw_only=True)
class StoredFile:
    """One finished upload; only size and hash are kept."""

    id: str
    owner: str
    display_name: str
    mime_type: str
    size_bytes: int
    sha256_hex: str
    created_s: float
    ready_s: float

    def expired(self, now_s: float) -> bool:
        """Whether its 48 hours are over."""
        return now_s >= self.created_s + LIFE_S

    def resource(self, base_url: str, now_s: float) -> dict[str, Any]:
        """The `File` object. Source: Files API, SDK and recorded shape."""
        out: dict[str, Any] = {"name": f"files/{self.id}"}
        if self.display_name:
            out["displayName"] = self.display_name
        return out | {
            "mimeType": self.mime_type,
            "sizeBytes": str(self.size_bytes),
            "createTime": timestamp(self.created_s),
            "updateTime": timestamp(self.ready_s if now_s >= self.ready_s else self.created_s),
            "expirationTime": timestamp(self.created_s + LIFE_S),
            "sha256Hash": base64.b64encode(self.sha256_hex.encode()).decode(),
            "uri": f"{base_url}/v1beta/files/{self.id}",
            "state": "ACTIVE" if now_s >= self.ready_s else "PROCESSING",
            "source": "UPLOADED",
        }


@dataclass(slots=True, kw_only=True)
class Upload:
    """A resumable upload under way."""

    id: str
    owner: str
    file: dict[str, Any]
    mime_type: str
    wanted_bytes: int | None
    received_bytes: int = 0
    digest: Any = field(default_factory=hashlib.sha256)


@dataclass(slots=True)
class FileStore:
    """Files and uploads of all keys; a key stands for its project."""

    files: dict[str, StoredFile] = field(default_factory=dict)
    uploads: dict[str, Upload] = field(default_factory=dict)
    _count: int = 0

    def _new_id(self, salt: str) -> str:
        self._count += 1
        digest = hashlib.sha256(f"{salt}{self._count}".encode()).digest()
        return base64.b32encode(digest).decode().lower()[:12]

    def start(self, owner: str, file: dict[str, Any], mime_type: str, wanted_bytes: int | None) -> Upload:
        """Begin an upload.

        Raises:
            GoogleRefusal: 400, a name that is malformed or taken, or a file that is too large.
        """
        name = file.get("name", "")
        if name and not _NAME.fullmatch(name):
            raise invalid(f"* CreateFileRequest.file.name: Invalid name: {name}\n")
        if name and name.removeprefix("files/") in self.files:
            raise GoogleRefusal(409, f"File {name.removeprefix('files/')} already exists", name="ALREADY_EXISTS")
        if wanted_bytes is not None and wanted_bytes > FILE_MAX_BYTES:
            raise invalid(f"File size {wanted_bytes} exceeds the maximum of {FILE_MAX_BYTES} bytes.")
        upload = Upload(
            id=self._new_id("upload"), owner=owner, file=file, mime_type=mime_type, wanted_bytes=wanted_bytes
        )
        self.uploads[upload.id] = upload
        return upload

    def open_upload(self, upload_id: str) -> Upload:
        """An upload under way.

        Raises:
            GoogleRefusal: 404.
        """
        upload = self.uploads.get(upload_id)
        if upload is None:
            raise GoogleRefusal(404, "Requested entity was not found.")
        return upload

    def receive(self, upload_id: str, offset: int, data: bytes) -> Upload:
        """Take a piece at `offset`.

        Raises:
            GoogleRefusal: 404 for an unknown upload, 400 for a piece out of place or beyond the announced size.
        """
        upload = self.open_upload(upload_id)
        if offset != upload.received_bytes:
            raise invalid(f"Invalid upload offset {offset}, expected {upload.received_bytes}.")
        upload.received_bytes += len(data)
        if upload.wanted_bytes is not None and upload.received_bytes > upload.wanted_bytes:
            raise invalid("More bytes were sent than announced.")
        upload.digest.update(data)
        return upload

    def finish(self, upload: Upload, now_s: float, video_processing_s: float) -> StoredFile:
        """Turn an upload into a file; videos are processed for a while.

        Raises:
            GoogleRefusal: 400, bytes are missing.
        """
        if upload.wanted_bytes is not None and upload.received_bytes < upload.wanted_bytes:
            raise invalid("Fewer bytes were sent than announced.")
        del self.uploads[upload.id]
        mime = upload.file.get("mimeType") or upload.mime_type or "application/octet-stream"
        stored = StoredFile(
            id=upload.file.get("name", "").removeprefix("files/") or self._new_id("file"),
            owner=upload.owner,
            display_name=upload.file.get("displayName", ""),
            mime_type=mime,
            size_bytes=upload.received_bytes,
            sha256_hex=upload.digest.hexdigest(),
            created_s=now_s,
            ready_s=now_s + (video_processing_s if mime.startswith("video/") else 0),
        )
        self.files[stored.id] = stored
        return stored

    def get(self, owner: str, file_id: str, now_s: float) -> StoredFile:
        """A file of this owner that has not expired.

        Raises:
            GoogleRefusal: 403.
        """
        stored = self.files.get(file_id)
        if stored is None or stored.owner != owner or stored.expired(now_s):
            raise no_such_file(file_id)
        return stored

    def usable(self, owner: str, uri: str, now_s: float) -> StoredFile | None:
        """The file behind a `fileUri`; None when the address is none of the Files API.

        Raises:
            GoogleRefusal: 403 as `get`; 400 while it is being processed (third-party wording).
        """
        file_id = id_of(uri)
        if file_id is None:
            return None
        stored = self.get(owner, file_id, now_s)
        if now_s < stored.ready_s:
            raise invalid(f"The File {file_id} is not in an ACTIVE state and usage is not allowed.")
        return stored

    def listed(self, owner: str, now_s: float) -> list[StoredFile]:
        """Files of an owner, newest first."""
        mine = [stored for stored in self.files.values() if stored.owner == owner and not stored.expired(now_s)]
        return sorted(mine, key=lambda stored: stored.created_s, reverse=True)

    def delete(self, owner: str, file_id: str, now_s: float) -> None:
        """Remove a file. Raises as `get`."""
        self.get(owner, file_id, now_s)
        del self.files[file_id]
