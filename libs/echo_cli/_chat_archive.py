"""The file that `echoctl export` makes: chats' records, encrypted, in pieces that cannot be cut, swapped or added to.

    magic, format byte, length of the header (4 bytes, big endian), header (JSON), pieces

A piece is its length (4 bytes, big endian) and AES-256-GCM over at most 1 MiB of a Zstandard stream of a tar, under
nonce prefix, counter and a last byte that says whether it is the last one. The header is bound into every piece.
Source: the STREAM construction, https://eprint.iacr.org/2015/189 section 7.
"""

import base64
import os
import struct
from hashlib import sha256
from typing import IO, ClassVar, Final, Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from echo_constants import Bilingual, StateError

MAGIC: Final = b"ECHOCHAT"
#: Raised when the layout changes; a reader refuses anything higher than its own.
FORMAT: Final = 1

_PIECE_BYTES: Final = 1 << 20
_TAG_BYTES: Final = 16
_MAX_HEADER_BYTES: Final = 1 << 16
_PREFIX_BYTES: Final = 7
_SALT_BYTES: Final = 32
_KEY_BYTES: Final = 32
_CHECK_BYTES: Final = 16
_INFO: Final = b"echo chat export v1"
#: Source: RFC 7914 section 2; N = 2^15, r = 8 takes 32 MiB and about 0.1 s.
_SCRYPT_N: Final = 1 << 15


class ExportDamagedError(StateError):
    """The file is not what was written: cut off or changed."""

    code: ClassVar[str] = "export_damaged"
    message: ClassVar[Bilingual] = Bilingual(
        en="The file {path} is damaged. Nothing was imported.", fr="Le fichier {path} est abîmé. Rien n'a été importé."
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Copy it again from where it was made, or export again.",
        fr="Recopiez-le depuis son lieu d'origine, ou exportez de nouveau.",
    )


class ExportForeignError(StateError):
    """The file was not made by `echoctl export`."""

    code: ClassVar[str] = "export_foreign"
    message: ClassVar[Bilingual] = Bilingual(
        en="{path} was not made by `echoctl export`. Nothing was imported.",
        fr="{path} ne vient pas de `echoctl export`. Rien n'a été importé.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="A chat's JSON is imported in Open WebUI itself; a backup goes back with `echoctl restore`.",
        fr="Le JSON d'une conversation s'importe dans Open WebUI ; une sauvegarde revient par `echoctl restore`.",
    )


class ExportNewerError(StateError):
    """A newer ECHO made the file."""

    code: ClassVar[str] = "export_newer"
    message: ClassVar[Bilingual] = Bilingual(
        en="{path} was made by ECHO {theirs}, which is newer than this one ({ours}). Nothing was imported.",
        fr="{path} vient d'ECHO {theirs}, plus récent que celui-ci ({ours}). Rien n'a été importé.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Update ECHO to {theirs} or later, then import.",
        fr="Mettez ECHO à jour vers {theirs} ou plus récent, puis importez.",
    )


class ExportLockedError(StateError):
    """The file was encrypted under another secret or passphrase."""

    code: ClassVar[str] = "export_locked"
    audience = "admin"
    message: ClassVar[Bilingual] = Bilingual(
        en="{path} does not open with this {kind}. Nothing was imported.",
        fr="{path} ne s'ouvre pas avec cette clé ({kind}). Rien n'a été importé.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="A file made without a passphrase opens with the ECHO_SECRET_KEY or WEBUI_SECRET_KEY of the machine it "
        "comes from; for another machine export with --passphrase-file.",
        fr="Un fichier fait sans phrase secrète s'ouvre avec la clé ECHO_SECRET_KEY ou WEBUI_SECRET_KEY de sa machine "
        "d'origine ; pour une autre machine, exportez avec --passphrase-file.",
    )


class Key(BaseModel):
    """How the file's key is made.

    Args:
        kind: from the instance's secret by HKDF, or from a passphrase by scrypt.
        salt: base64.
        check: base64; tells a wrong key from a damaged file.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    kind: Literal["secret", "passphrase"]
    salt: str
    check: str
    prefix: str
    n: int = Field(default=_SCRYPT_N, ge=1 << 10, le=1 << 20)


class Header(BaseModel):
    """What a file says of itself without its key; nothing of what is inside."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    echo_version: str
    created_at: str
    key: Key


def new_key(kind: Literal["secret", "passphrase"], words: str) -> tuple[Key, bytes]:
    """A key for one new file: what its header says, and the key itself."""
    salt = os.urandom(_SALT_BYTES)
    key, check = _derive(kind, words, salt, _SCRYPT_N)
    made = Key(kind=kind, salt=_text(salt), check=_text(check), prefix=_text(os.urandom(_PREFIX_BYTES)))
    return made, key


def key_of(header: Header, words: str, path: str) -> bytes:
    """The key of a file.

    Raises:
        ExportLockedError: the words are others.
        ExportDamagedError: the header does not say how the key is made.
    """
    try:
        salt, check = base64.b64decode(header.key.salt), base64.b64decode(header.key.check)
        key, expected = _derive(header.key.kind, words, salt, header.key.n)
    except ValueError as error:
        raise ExportDamagedError(str(error), path=path) from error
    if check != expected:
        raise ExportLockedError(path=path, kind=header.key.kind)
    return key


def _derive(kind: str, words: str, salt: bytes, n: int) -> tuple[bytes, bytes]:
    start = words.encode()
    if kind == "passphrase":
        start = Scrypt(salt=salt, length=_KEY_BYTES, n=n, r=8, p=1).derive(start)
    both = HKDF(algorithm=SHA256(), length=_KEY_BYTES + _CHECK_BYTES, salt=salt, info=_INFO).derive(start)
    return both[:_KEY_BYTES], both[_KEY_BYTES:]


class SealedWriter:
    """A file object that encrypts what is written to it. `finish` must come last.

    Args:
        raw: where the file goes.
        header: its header.
        key: its key.
    """

    def __init__(self, raw: IO[bytes], header: Header, key: bytes) -> None:
        text = header.model_dump_json().encode()
        head = MAGIC + bytes([FORMAT]) + struct.pack(">I", len(text)) + text
        raw.write(head)
        self._raw = raw
        self._pieces = _Pieces(key, header, head)
        self._waiting = bytearray()

    def write(self, data: bytes) -> int:
        """As a file's."""
        self._waiting += data
        while len(self._waiting) > _PIECE_BYTES:
            self._put(bytes(self._waiting[:_PIECE_BYTES]), last=False)
            del self._waiting[:_PIECE_BYTES]
        return len(data)

    def flush(self) -> None:
        """Nothing is written before a piece is full."""

    def finish(self) -> None:
        """Write the last piece."""
        self._put(bytes(self._waiting), last=True)

    def _put(self, plain: bytes, *, last: bool) -> None:
        sealed = self._pieces.seal(plain, last=last)
        self._raw.write(struct.pack(">I", len(sealed)) + sealed)


class SealedReader:
    """A file object that decrypts what it reads; everything that it gives is authentic and in its place.

    Args:
        raw: a file that `SealedWriter` made, behind its header.
        header, head, key: as `read_header` and `key_of` gave them.
        path: for what is said about it.
    """

    def __init__(self, raw: IO[bytes], header: Header, head: bytes, key: bytes, path: str) -> None:
        self._raw = raw
        self._path = path
        self._pieces = _Pieces(key, header, head)
        self._waiting = bytearray()
        self._ended = False

    def read(self, size: int = -1) -> bytes:
        """As a file's.

        Raises:
            ExportDamagedError: a piece is missing, changed, or in another place.
        """
        while not self._ended and (size < 0 or len(self._waiting) < size):
            self._waiting += self._next()
        taken = bytes(self._waiting if size < 0 else self._waiting[:size])
        del self._waiting[: len(taken)]
        return taken

    def _next(self) -> bytes:
        length = self._raw.read(4)
        size = struct.unpack(">I", length)[0] if len(length) == 4 else 0
        sealed = self._raw.read(size) if size <= _PIECE_BYTES + _TAG_BYTES else b""
        if len(sealed) != size or size < _TAG_BYTES:
            raise ExportDamagedError("a piece is cut off", path=self._path)
        # A whole file ends with its last piece.
        after = self._raw.read(1)
        self._ended = not after
        if after:
            self._raw.seek(-1, os.SEEK_CUR)
        try:
            return self._pieces.open(sealed, last=self._ended)
        except InvalidTag:
            raise ExportDamagedError("a piece is not what was written", path=self._path) from None


class _Pieces:
    def __init__(self, key: bytes, header: Header, head: bytes) -> None:
        self._aead = AESGCM(key)
        self._prefix = base64.b64decode(header.key.prefix)
        self._bound_to = sha256(head).digest()
        self._count = 0

    def seal(self, plain: bytes, *, last: bool) -> bytes:
        return self._aead.encrypt(self._nonce(last), plain, self._bound_to)

    def open(self, sealed: bytes, *, last: bool) -> bytes:
        return self._aead.decrypt(self._nonce(last), sealed, self._bound_to)

    def _nonce(self, last: bool) -> bytes:
        nonce = self._prefix + struct.pack(">I", self._count) + bytes([last])
        self._count += 1
        return nonce


def read_header(raw: IO[bytes], path: str, ours: str) -> tuple[Header, bytes]:
    """The header of a file, and its bytes.

    Args:
        raw: the file, at its beginning.
        path: for what is said about it.
        ours: this ECHO's version.

    Raises:
        ExportForeignError, ExportNewerError, ExportDamagedError: it cannot be read.
    """
    start = raw.read(len(MAGIC) + 5)
    if not start.startswith(MAGIC):
        raise ExportForeignError(path=path)
    if len(start) < len(MAGIC) + 5:
        raise ExportDamagedError("no header", path=path)
    size = struct.unpack(">I", start[-4:])[0]
    text = raw.read(min(size, _MAX_HEADER_BYTES))
    try:
        header = Header.model_validate_json(text)
        prefix = base64.b64decode(header.key.prefix, validate=True)
    except (ValidationError, ValueError) as error:
        if start[len(MAGIC)] > FORMAT:
            raise ExportNewerError(path=path, theirs="?", ours=ours) from error
        raise ExportDamagedError("the header cannot be read", path=path) from error
    if start[len(MAGIC)] > FORMAT:
        raise ExportNewerError(path=path, theirs=header.echo_version, ours=ours)
    if len(prefix) != _PREFIX_BYTES:
        raise ExportDamagedError("the header cannot be read", path=path)
    return header, start + text


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
