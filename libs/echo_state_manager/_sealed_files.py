"""Encryption of whole files: AES-256-GCM, piece by piece, so that a film never has to be in memory.

    magic, salt (32), then pieces: ciphertext and tag (16) of 1 MiB each, the last one shorter or empty

Each file has a key of its own (HKDF over the instance's secret and the salt), so piece numbers serve as nonces. A piece
authenticates its number and whether it is the last: pieces that are cut off, repeated or moved do not open.
"""

import os
from collections.abc import Iterator
from typing import IO, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from echo_state_manager.crypto import MasterSecret

PIECE_BYTES: Final = 1024 * 1024
_MAGIC: Final = b"ECHOFILE"
_SALT_BYTES: Final = 32
_KEY_BYTES: Final = 32
_TAG_BYTES: Final = 16
_INFO: Final = b"echo vault files v1"


class SealedFileError(ValueError):
    """The bytes are not whole, or the secret is another one."""


class SecretSeal:
    """`seal` and `opened` under one secret.

    Args:
        secret: the instance's.
    """

    def __init__(self, secret: MasterSecret) -> None:
        self._secret = secret

    def seal(self, source: IO[bytes], target: IO[bytes]) -> None:
        """Write what `source` holds, encrypted."""
        seal(source, target, self._secret)

    def opened(self, source: IO[bytes]) -> Iterator[bytes]:
        """The bytes that were sealed, piece by piece. Raises SealedFileError."""
        return opened(source, self._secret)


def seal(source: IO[bytes], target: IO[bytes], secret: MasterSecret) -> None:
    """Write what `source` holds, encrypted."""
    salt = os.urandom(_SALT_BYTES)
    cipher = _cipher(secret, salt)
    target.write(_MAGIC + salt)
    number, piece = 0, source.read(PIECE_BYTES)
    while True:
        following = source.read(PIECE_BYTES)
        target.write(cipher.encrypt(_nonce(number), piece, _bound(number, last=not following)))
        if not following:
            return
        number, piece = number + 1, following


def opened(source: IO[bytes], secret: MasterSecret) -> Iterator[bytes]:
    """The bytes that were sealed, piece by piece.

    Raises:
        SealedFileError: what `source` holds is not what `seal` wrote under this secret.
    """
    head = source.read(len(_MAGIC) + _SALT_BYTES)
    if len(head) != len(_MAGIC) + _SALT_BYTES or not head.startswith(_MAGIC):
        raise SealedFileError("no sealed file")
    cipher = _cipher(secret, head[len(_MAGIC) :])
    number, piece = 0, source.read(PIECE_BYTES + _TAG_BYTES)
    while True:
        following = source.read(PIECE_BYTES + _TAG_BYTES)
        try:
            yield cipher.decrypt(_nonce(number), piece, _bound(number, last=not following))
        except (InvalidTag, ValueError) as error:
            raise SealedFileError(f"piece {number} does not open") from error
        if not following:
            return
        number, piece = number + 1, following


def _cipher(secret: MasterSecret, salt: bytes) -> AESGCM:
    return AESGCM(HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=salt, info=_INFO).derive(secret.value.encode()))


def _nonce(number: int) -> bytes:
    return number.to_bytes(12, "big")


def _bound(number: int, *, last: bool) -> bytes:
    return b"%d %d" % (number, last)
