"""A user's own files: large attachments by content, and where copies of them lie at Google for the moment.

    users/{uid}/files/{sha256[:2]}/{sha256}          the bytes; `.sealed` behind the name where they are encrypted
    users/{uid}/files/{sha256[:2]}/{sha256}.json     what they are, and their uploads; likewise
    users/{uid}/files/{sha256[:2]}/{sha256}.chats/   an empty file for each chat that names them

Nobody but the owner's chats name these files, and what a file holds never changes. The first copy, the last use and
what is noted between them go under one lock a user, held for moments only.
"""

import fcntl
import hashlib
import io
import json
import logging
import os
import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Final, TypeVar
from uuid import uuid4

from anyio import to_thread

from echo_paths import EchoPaths
from echo_state_manager._errors import StoreUnavailableError
from echo_state_manager._sealed_files import PIECE_BYTES, SealedFileError, opened, seal
from echo_state_manager.crypto import MasterSecret

log = logging.getLogger(__name__)

_T = TypeVar("_T")

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_SEALED: Final = ".sealed"
_LOCK: Final = ".lock"


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
        file_ids: of Open WebUI's uploads that it was, oldest first.
    """

    sha256: str
    mime_type: str
    size_bytes: int
    name: str = ""
    uploads: dict[str, Upload] = field(default_factory=dict)
    file_ids: tuple[str, ...] = ()


class Vault:
    """The files of one user. Every method may raise StoreUnavailableError.

    Args:
        paths: the data folder.
        user_id: whose files.
        chat_id: the chat that keeps or sends files; "" where none is to be noted.
        secret: the instance's; without it encrypted files count as gone.
        encrypts: whether what is kept from now on is encrypted; needs a secret.
    """

    def __init__(
        self,
        paths: EchoPaths,
        user_id: str,
        chat_id: str = "",
        *,
        secret: MasterSecret | None = None,
        encrypts: bool = False,
    ) -> None:
        self._paths = paths
        self._user_id = user_id
        self._chat_id = chat_id
        self._secret = secret
        self._encrypts = encrypts and secret is not None

    async def put(self, source: Path | bytes, *, mime_type: str, name: str, file_id: str = "") -> VaultFile:
        """Keep a file for the chat; the same bytes are kept once.

        Args:
            source: where its bytes are.
            mime_type: as it was sniffed.
            name: how the user calls it.
            file_id: of Open WebUI's upload, "" for none.
        """
        return await _on_disk(self._put, source, mime_type, name, file_id)

    async def find(self, sha256: str) -> VaultFile | None:
        """A file by its digest; None when it is not (or no longer) here, or cannot be opened."""
        return await _on_disk(self._find, sha256)

    async def used(self, sha256: str) -> None:
        """Note that the chat names a file, which is encrypted if it is not yet; nothing happens for one not here."""
        await _on_disk(self._used, sha256)

    async def remember(self, sha256: str, scope: str, upload: Upload | None) -> None:
        """Note where a copy lies, or with None that it is gone."""
        await _on_disk(self._remember, sha256, scope, upload)

    async def read(self, sha256: str) -> AsyncIterator[bytes]:
        """The bytes of a file, piece by piece."""
        pieces = await _on_disk(self._pieces, sha256)
        while piece := await _on_disk(next, pieces, b""):
            yield piece

    async def forget_chat(self, chat_id: str) -> int:
        """Remove what no chat names any more once this one is gone; returns how many files went."""
        return await _on_disk(self._forget, chat_id)

    async def forget_upload(self, file_id: str) -> list[str]:
        """Remove what only this upload of Open WebUI was; returns the digests of the files that went."""
        return await _on_disk(self._forget_upload, file_id)

    async def upload_ids(self) -> set[str]:
        """The uploads of Open WebUI that files were."""
        return await _on_disk(lambda: {one for file in self._files() for one in file.file_ids})

    def _path(self, sha256: str) -> Path:
        if not _SHA256.fullmatch(sha256):
            raise FileNotFoundError("not a digest")
        return self._folder / sha256[:2] / sha256

    @property
    def _folder(self) -> Path:
        return self._paths.files_dir(self._user_id)

    def _put(self, source: Path | bytes, mime_type: str, name: str, file_id: str = "") -> VaultFile:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        coming = self._folder / f".coming-{uuid4().hex}"
        secret = self._secret if self._encrypts else None
        try:
            sha256, size_bytes = _copy(source, coming, secret)
            path = self._path(sha256)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with self._locked():
                known = self._find(sha256)
                os.replace(coming, _bytes_path(path, sealed=secret is not None))
                kept = known or VaultFile(sha256=sha256, mime_type=mime_type, size_bytes=size_bytes, name=name)
                if file_id:
                    kept = replace(kept, file_ids=(*(one for one in kept.file_ids if one != file_id), file_id))
                self._write(kept, sealed=secret is not None)
                _remove_copy(path, sealed=secret is None)
                self._note(path)
        finally:
            coming.unlink(missing_ok=True)
        return kept

    def _find(self, sha256: str) -> VaultFile | None:
        try:
            path = self._path(sha256)
            sealed = _is_sealed(path)
            size_bytes = _bytes_path(path, sealed=sealed).stat().st_size
            facts = _facts_path(path, sealed=sealed).read_bytes()
            return _vault_file(sha256, size_bytes, json.loads(self._plain(facts) if sealed else facts))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            log.warning("the facts of a kept file are damaged or locked (%s); it counts as gone", type(error).__name__)
            return None

    def _plain(self, sealed: bytes) -> bytes:
        if self._secret is None:
            raise SealedFileError("no secret is set")
        return b"".join(opened(io.BytesIO(sealed), self._secret))

    def _pieces(self, sha256: str) -> Iterator[bytes]:
        path = self._path(sha256)
        sealed = _is_sealed(path)
        file = _bytes_path(path, sealed=sealed).open("rb")
        return _read_all(file, self._secret if sealed else None)

    def _used(self, sha256: str) -> None:
        with suppress(FileNotFoundError):
            path = self._path(sha256)
            if self._encrypts and path.exists() and (known := self._find(sha256)) is not None:
                self._put(path, known.mime_type, known.name)  # kept before encryption was wanted, or known to be
                return
            marker = self._marker(path)
            if marker is None or marker.exists():
                return
            with self._locked():
                if self._find(sha256) is not None:
                    self._note(path)

    def _note(self, path: Path) -> None:
        marker = self._marker(path)
        if marker is not None:
            marker.parent.mkdir(mode=0o700, exist_ok=True)
            marker.touch(mode=0o600)

    def _marker(self, path: Path) -> Path | None:
        if not self._chat_id:
            return None
        return _chats_path(path) / self._paths.chat_dir(self._user_id, self._chat_id).name

    def _forget(self, chat_id: str) -> int:
        if not self._folder.is_dir():
            return 0
        gone = 0
        name = self._paths.chat_dir(self._user_id, chat_id).name
        with self._locked():
            for marker in list(self._folder.glob(f"??/*.chats/{name}")):
                marker.unlink(missing_ok=True)
                path = marker.parent.with_suffix("")
                if any(marker.parent.iterdir()):
                    continue
                _remove(path)
                gone += 1
        return gone

    def _files(self) -> Iterator[VaultFile]:
        names = {path.name.partition(".")[0] for path in self._folder.glob("??/*.json*")}
        return (found for name in sorted(names) if (found := self._find(name)) is not None)

    def _forget_upload(self, file_id: str) -> list[str]:
        gone: list[str] = []
        if not self._folder.is_dir():
            return gone
        with self._locked():
            for known in self._files():
                if file_id not in known.file_ids:
                    continue
                path = self._path(known.sha256)
                left = tuple(one for one in known.file_ids if one != file_id)
                if left:
                    self._write(replace(known, file_ids=left), sealed=_is_sealed(path))
                else:
                    _remove(path)
                    gone.append(known.sha256)
        return gone

    def _remember(self, sha256: str, scope: str, upload: Upload | None) -> None:
        with self._locked():
            known = self._find(sha256)
            if known is None:
                return
            uploads = {key: value for key, value in known.uploads.items() if key != scope}
            changed = replace(known, uploads=uploads | ({} if upload is None else {scope: upload}))
            self._write(changed, sealed=_is_sealed(self._path(sha256)))

    def _write(self, file: VaultFile, *, sealed: bool) -> None:
        facts = {key: value for key, value in asdict(file).items() if key != "sha256"}
        data = io.BytesIO(json.dumps(facts, sort_keys=True).encode())
        path = _facts_path(self._path(file.sha256), sealed=sealed)
        coming = path.with_name(f".coming-{uuid4().hex}")
        _private(coming, data, self._secret if sealed else None)
        os.replace(coming, path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the vault against other threads and processes; one that is killed lets go."""
        try:
            descriptor = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except FileNotFoundError:  # nothing was ever kept
            yield
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


async def _on_disk(work: Callable[..., _T], *args: Any) -> _T:
    try:
        return await to_thread.run_sync(work, *args)
    except (OSError, SealedFileError) as error:
        raise StoreUnavailableError(f"vault: {type(error).__name__} {getattr(error, 'errno', error)}") from error


def _bytes_path(path: Path, *, sealed: bool) -> Path:
    return path.with_name(path.name + _SEALED) if sealed else path


def _facts_path(path: Path, *, sealed: bool) -> Path:
    return path.with_name(f"{path.name}.json{_SEALED if sealed else ''}")


def _chats_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.chats")


def _is_sealed(path: Path) -> bool:
    return _bytes_path(path, sealed=True).exists()


def _remove_copy(path: Path, *, sealed: bool) -> None:
    _bytes_path(path, sealed=sealed).unlink(missing_ok=True)
    _facts_path(path, sealed=sealed).unlink(missing_ok=True)


def _remove(path: Path) -> None:
    """Remove a file, what was noted of it, and what was read out of it (see `echo_ingestion.library`)."""
    for sealed in (True, False):
        _remove_copy(path, sealed=sealed)
    for folder in (path.with_name(f"{path.name}.doc"), _chats_path(path)):
        shutil.rmtree(folder, ignore_errors=True)


def _read_all(file: IO[bytes], secret: MasterSecret | None) -> Iterator[bytes]:
    with file:
        if secret is not None:
            yield from opened(file, secret)
            return
        while piece := file.read(PIECE_BYTES):
            yield piece


class _Counted(io.RawIOBase):
    """Reads through, and knows length and digest of what went by."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self.digest = hashlib.sha256()
        self.size_bytes = 0

    def read(self, size: int = -1, /) -> bytes:
        piece = self._source.read(size)
        self.digest.update(piece)
        self.size_bytes += len(piece)
        return piece


def _copy(source: Path | bytes, target: Path, secret: MasterSecret | None) -> tuple[str, int]:
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as given:
        counted = _Counted(given)
        _private(target, counted, secret)
    return counted.digest.hexdigest(), counted.size_bytes


def _private(path: Path, source: Any, secret: MasterSecret | None) -> None:
    """Write a file that nobody else reads, and let it reach the disk before it gets its name."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        if secret is None:
            shutil.copyfileobj(source, out, PIECE_BYTES)
        else:
            seal(source, out, secret)
        out.flush()
        os.fsync(out.fileno())


def _vault_file(sha256: str, size_bytes: int, facts: Any) -> VaultFile:
    """Raises KeyError, TypeError or AttributeError for facts of another shape."""
    uploads = {
        scope: Upload(uri=str(row["uri"]), expires_s=float(row["expires_s"])) for scope, row in facts["uploads"].items()
    }
    return VaultFile(
        sha256=sha256,
        size_bytes=int(facts.get("size_bytes", size_bytes)),
        mime_type=str(facts["mime_type"]),
        name=str(facts["name"]),
        uploads=uploads,
        file_ids=tuple(map(str, facts.get("file_ids", ()))),
    )
