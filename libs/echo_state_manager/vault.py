"""A user's own files: large attachments by content, and where copies of them lie at Google for the moment.

    users/{uid}/files/{sha256[:2]}/{sha256}         the bytes
    users/{uid}/files/{sha256[:2]}/{sha256}.json    what they are, and their uploads

Nobody but the owner's chats name these files, and a file is never changed, so writers need no lock: what is written
last about uploads wins, and costs at most one upload more.
"""

import hashlib
import json
import logging
import os
import re
import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import uuid4

from anyio import open_file, to_thread

from echo_paths import EchoPaths
from echo_state_manager._errors import StoreUnavailableError

log = logging.getLogger(__name__)

_T = TypeVar("_T")

_PIECE_BYTES: Final = 1024 * 1024
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A copy at Google.

    Args:
        uri: what a fileData names.
        expires_s: epoch seconds after which it is gone.
    """

    uri: str
    expires_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultFile:
    """One file of the vault.

    Args:
        sha256: hex digest of its bytes; its name.
        mime_type: as it was sniffed.
        name: how the user called it.
        uploads: copies by scope (endpoint and key class).
    """

    sha256: str
    mime_type: str
    size_bytes: int
    name: str = ""
    uploads: dict[str, Upload] = field(default_factory=dict)


class Vault:
    """The files of one user. Every method may raise StoreUnavailableError.

    Args:
        paths: the data folder.
        user_id: whose files.
    """

    def __init__(self, paths: EchoPaths, user_id: str) -> None:
        self._paths = paths
        self._user_id = user_id

    async def put(self, source: Path | bytes, *, mime_type: str, name: str) -> VaultFile:
        """Keep a file; the same bytes are kept once."""
        return await _on_disk(self._put, source, mime_type, name)

    async def find(self, sha256: str) -> VaultFile | None:
        """A file by its digest; None when it is not (or no longer) here."""
        return await _on_disk(self._find, sha256)

    async def remember(self, sha256: str, scope: str, upload: Upload | None) -> None:
        """Note where a copy lies, or with None that it is gone."""
        await _on_disk(self._remember, sha256, scope, upload)

    async def read(self, sha256: str) -> AsyncIterator[bytes]:
        """The bytes of a file, piece by piece."""
        try:
            async with await open_file(self._path(sha256), "rb") as file:
                while piece := await file.read(_PIECE_BYTES):
                    yield piece
        except OSError as error:
            raise StoreUnavailableError(f"vault: {type(error).__name__} {error.errno}") from error

    def _path(self, sha256: str) -> Path:
        if not _SHA256.fullmatch(sha256):
            raise FileNotFoundError("not a digest")
        return self._paths.files_dir(self._user_id) / sha256[:2] / sha256

    def _put(self, source: Path | bytes, mime_type: str, name: str) -> VaultFile:
        folder = self._paths.files_dir(self._user_id)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        coming = folder / f".coming-{uuid4().hex}"
        try:
            sha256, size_bytes = _copy(source, coming)
            path = self._path(sha256)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            os.replace(coming, path)
        finally:
            coming.unlink(missing_ok=True)
        known = self._find(sha256)
        if known is not None:
            return known
        kept = VaultFile(sha256=sha256, mime_type=mime_type, size_bytes=size_bytes, name=name)
        self._write(kept)
        return kept

    def _find(self, sha256: str) -> VaultFile | None:
        try:
            path = self._path(sha256)
            size_bytes = path.stat().st_size
            return _vault_file(sha256, size_bytes, json.loads(path.with_suffix(".json").read_bytes()))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError):
            log.warning("the facts of a kept file are damaged; it counts as gone")
            return None

    def _remember(self, sha256: str, scope: str, upload: Upload | None) -> None:
        known = self._find(sha256)
        if known is None:
            return
        uploads = {key: value for key, value in known.uploads.items() if key != scope}
        self._write(replace(known, uploads=uploads | ({} if upload is None else {scope: upload})))

    def _write(self, file: VaultFile) -> None:
        facts = {key: value for key, value in asdict(file).items() if key not in ("sha256", "size_bytes")}
        path = self._path(file.sha256).with_suffix(".json")
        coming = path.with_name(f".coming-{uuid4().hex}")
        _private(coming, lambda out: out.write(json.dumps(facts, sort_keys=True).encode()))
        os.replace(coming, path)


async def _on_disk(work: Callable[..., _T], *args: Any) -> _T:
    try:
        return await to_thread.run_sync(work, *args)
    except OSError as error:
        raise StoreUnavailableError(f"vault: {type(error).__name__} {error.errno}") from error


def _copy(source: Path | bytes, target: Path) -> tuple[str, int]:
    digest = hashlib.sha256()
    if isinstance(source, bytes):
        digest.update(source)
        _private(target, lambda out: out.write(source))
    else:
        with source.open("rb") as given:
            _private(target, lambda out: shutil.copyfileobj(given, out, _PIECE_BYTES))
        with target.open("rb") as copied:
            while piece := copied.read(_PIECE_BYTES):
                digest.update(piece)
    return digest.hexdigest(), target.stat().st_size


def _private(path: Path, fill: Callable[[Any], object]) -> None:
    """Write a file that nobody else reads, and let it reach the disk before it gets its name."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        fill(out)
        out.flush()
        os.fsync(out.fileno())


def _vault_file(sha256: str, size_bytes: int, facts: Any) -> VaultFile:
    """Raises KeyError, TypeError or AttributeError for facts of another shape."""
    uploads = {
        scope: Upload(uri=str(row["uri"]), expires_s=float(row["expires_s"])) for scope, row in facts["uploads"].items()
    }
    return VaultFile(
        sha256=sha256,
        size_bytes=size_bytes,
        mime_type=str(facts["mime_type"]),
        name=str(facts["name"]),
        uploads=uploads,
    )
