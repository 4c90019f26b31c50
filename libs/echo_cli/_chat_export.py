"""Writing and reading the file that holds chats' records: images of their databases and a manifest, all encrypted."""

import hashlib
import io
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Literal, cast

import zstandard
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from echo_cli._archive_write import named_when_complete
from echo_cli._chat_archive import (
    ExportDamagedError,
    Header,
    SealedReader,
    SealedWriter,
    key_of,
    new_key,
    read_header,
)
from echo_cli._chat_files import ChatFile
from echo_constants import ECHO_VERSION
from echo_state_manager import image_of
from echo_state_manager.crypto import MasterSecret

_MANIFEST: Final = "manifest.json"
_ZSTD_LEVEL: Final = 3

#: What reading a damaged stream raises; pieces that were changed do not come so far.
_DAMAGE: Final = (tarfile.TarError, zstandard.ZstdError, ValidationError, EOFError)


@dataclass(frozen=True, slots=True)
class Words:
    """What a file is encrypted under."""

    kind: Literal["secret", "passphrase"]
    value: str


class Chat(BaseModel):
    """One chat of a file.

    Args:
        sha256: hex digest of its image.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    chat_id: str
    messages: int = Field(ge=0)
    size_bytes: int = Field(ge=0)
    sha256: str


class Manifest(BaseModel):
    """What a file holds. It comes last: a file without it is cut off.

    Args:
        owner_id: Open WebUI's id of the user whose chats they are.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    owner_id: str
    chats: list[Chat]


@dataclass(frozen=True, slots=True)
class Contents:
    """A file that was read to its end and found whole."""

    header: Header
    manifest: Manifest


async def write_export(
    files: Sequence[ChatFile], out: Path, *, secret: MasterSecret | None, words: Words, created_at: str
) -> Manifest:
    """Write chats of one owner into one file; Open WebUI may be running.

    Args:
        files: whose records; at least one, all of one owner.
        out: the file to make; it gets its name when it is complete.
        secret: what the records are encrypted under, if they are.
        words: what the file is encrypted under.
        created_at: ISO 8601 moment.

    Raises:
        OutputExistsError: there is a file of that name.
        UnsoundRecordsError, StoreError: some chat cannot be exported; nothing was written.
    """
    made, key = new_key(words.kind, words.value)
    header = Header(echo_version=ECHO_VERSION, created_at=created_at, key=made)
    chats: list[Chat] = []
    with named_when_complete(out) as raw:
        sealed = SealedWriter(raw, header, key)
        with (
            zstandard.ZstdCompressor(level=_ZSTD_LEVEL).stream_writer(
                cast("IO[bytes]", sealed), closefd=False
            ) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
        ):
            for file in files:
                image = await image_of(file.path, file.chat_id, secret)
                _add(tar, f"chats/{len(chats)}.db", image.data)
                digest = hashlib.sha256(image.data).hexdigest()
                size_bytes = len(image.data)
                chats.append(Chat(chat_id=file.chat_id, messages=image.messages, size_bytes=size_bytes, sha256=digest))
            manifest = Manifest(owner_id=files[0].user_id, chats=chats)
            _add(tar, _MANIFEST, manifest.model_dump_json().encode())
        sealed.finish()
    return manifest


def check_export(path: Path, words: dict[str, str]) -> Contents:
    """Read a file to its end and hold everything against the manifest. Raises as `images_of`."""
    found: list[tuple[int, str]] = []
    with _opened(path, words) as (header, tar):
        manifest: Manifest | None = None
        for name, data in _members(tar):
            if manifest is not None:
                raise ExportDamagedError("there is something after the manifest", path=path.name)
            if name == _MANIFEST:
                manifest = Manifest.model_validate_json(data)
            else:
                found.append((len(data), hashlib.sha256(data).hexdigest()))
    if manifest is None or found != [(chat.size_bytes, chat.sha256) for chat in manifest.chats]:
        raise ExportDamagedError("it differs from its manifest", path=path.name)
    return Contents(header, manifest)


def images_of(path: Path, words: dict[str, str]) -> Iterator[bytes]:
    """The images of a file in the order of its manifest, one at a time in memory.

    Args:
        path: made by `write_export`.
        words: what it may be encrypted under, by kind.

    Raises:
        ExportForeignError, ExportNewerError, ExportDamagedError, ExportLockedError: the file cannot be used.
    """
    with _opened(path, words) as (_, tar):
        for name, data in _members(tar):
            if name != _MANIFEST:
                yield data


@contextmanager
def _opened(path: Path, words: dict[str, str]) -> Iterator[tuple[Header, tarfile.TarFile]]:
    with path.open("rb") as raw:
        header, head = read_header(raw, path.name, ECHO_VERSION)
        sealed = SealedReader(raw, header, head, key_of(header, words.get(header.key.kind, ""), path.name), path.name)
        try:
            with (
                zstandard.ZstdDecompressor().stream_reader(cast("IO[bytes]", sealed)) as plain,
                tarfile.open(fileobj=plain, mode="r|") as tar,
            ):
                yield header, tar
        except _DAMAGE as error:
            raise ExportDamagedError(f"{type(error).__name__}: {error}", path=path.name) from error


def _members(tar: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    for member in tar:
        content = tar.extractfile(member)
        if content is None:
            raise tarfile.ReadError(f"{member.name} is no file")
        yield member.name, content.read()


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o600
    tar.addfile(info, io.BytesIO(data))
