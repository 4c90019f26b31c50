"""SHA-256 with its name in front, so that a later algorithm can stand beside it."""

import hashlib
from typing import Final

HASH_TAG: Final = "sha256:"


def sha256_tagged(*chunks: bytes) -> str:
    """Hash the concatenation of the chunks; `sha256:` and 64 lower-case hex digits."""
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return HASH_TAG + digest.hexdigest()


def untagged(value: str) -> str:
    """The digest without its tag; a value that carries no tag comes back as it is."""
    return value.removeprefix(HASH_TAG)
