"""Encryption of what chats say, inside the SQL statements that store and read it.

Each file has a salt of its own from the start, so that every process that knows the instance's secret has the file's
key. Whether a value is encrypted stands in its row: switching encryption on or off leaves what is there readable.
Ids, times, models and hashes stay plain; so does the length of values.
"""

import os
import sqlite3
from collections.abc import Mapping
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from echo_state_manager._errors import LockedFileError
from echo_state_manager.crypto import MasterSecret

#: Source: NIST SP 800-38D section 8.2: random 96-bit nonces are safe up to 2^32 values a key, which is one file's.
_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32
_INFO: Final = b"echo session.db values v1"
_CHECK: Final = "echo"

#: First byte of what is encrypted: which of SQLite's two kinds of value it was.
_TEXT, _BLOB = b"t", b"b"


class FileCipher:
    """Seals and opens the values of one file: AES-256-GCM under a key that HKDF derives from secret and salt."""

    __slots__ = ("_aead",)

    def __init__(self, secret: MasterSecret, salt: bytes) -> None:
        key = HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=salt, info=_INFO).derive(secret.value.encode())
        self._aead = AESGCM(key)

    def seal(self, value: str | bytes) -> bytes:
        """Encrypt: 12-byte nonce, ciphertext with its 16-byte tag."""
        nonce = os.urandom(_NONCE_BYTES)
        plain = _TEXT + value.encode() if isinstance(value, str) else _BLOB + value
        return nonce + self._aead.encrypt(nonce, plain, None)

    def open(self, sealed: bytes) -> str | bytes | None:
        """Decrypt what `seal` made; None for anything else."""
        try:
            plain = self._aead.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None)
        except (InvalidTag, ValueError):
            return None
        return plain[1:].decode() if plain[:1] == _TEXT else plain[1:]


class FileCrypt:
    """What the SQL functions of one connection work with; touched on the connection's thread only.

    Args:
        secret: the instance's secret; None when it is not known, so that encrypted values stay closed.
    """

    def __init__(self, secret: MasterSecret | None) -> None:
        self._secret = secret
        self._cipher: FileCipher | None = None
        #: Whether values that are written from now on are encrypted; at first as the file was written last.
        self.encrypts = False

    def attach(self, connection: sqlite3.Connection) -> None:
        """Give a connection the SQL functions, over the key of its file as far as it has one yet.

        Raises:
            LockedFileError: the file has encrypted values, and this is not the secret that they were encrypted under.
        """
        connection.create_function("echo_seal", 1, self._seal)
        connection.create_function("echo_open", 1, self._open)
        connection.create_function("echo_encrypts", 0, self._is_encrypting)
        meta = _meta(connection)
        check = meta.get("check")
        if self._secret is not None and "salt" in meta:
            self._cipher = FileCipher(self._secret, meta["salt"])
        self.encrypts = check is not None
        if check is not None and self._open(check) != _CHECK:
            named = "no secret is set" if self._secret is None else f"it does not open with {self._secret.variable}"
            raise LockedFileError(named)

    def switch(self, encrypts: bool, connection: sqlite3.Connection) -> None:
        """Encrypt what is written from now on, or no longer."""
        if encrypts and self._cipher is not None and "check" not in _meta(connection):
            # From now on the file says by which secret it is read.
            connection.execute("INSERT OR IGNORE INTO vault_meta VALUES ('check', ?)", (self._cipher.seal(_CHECK),))
        self.encrypts = encrypts

    def _seal(self, value: str | bytes | None) -> str | bytes | None:
        """`echo_seal(value)`: the value as it is stored."""
        return self._cipher.seal(value) if self.encrypts and self._cipher and value is not None else value

    def _open(self, sealed: bytes | None) -> str | bytes | None:
        """`echo_open(value)`: a value of a row that says it is encrypted; NULL when it cannot be read."""
        return self._cipher.open(sealed) if self._cipher and isinstance(sealed, bytes) else None

    def _is_encrypting(self) -> int:
        """`echo_encrypts()`: what the row says of its values."""
        return int(self.encrypts and self._cipher is not None)


def _meta(connection: sqlite3.Connection) -> Mapping[str, bytes]:
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'vault_meta'").fetchone():
        return {}
    return {str(key): bytes(value) for key, value in connection.execute("SELECT key, value FROM vault_meta")}
