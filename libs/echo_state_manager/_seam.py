"""Hashes of sealed bytes."""

import hashlib


def sealed_hash(*, contents_json: bytes, overlay_json: bytes) -> str:
    """Tagged SHA-256 over everything that was sealed."""
    digest = hashlib.sha256(len(contents_json).to_bytes(8, "big"))
    digest.update(contents_json)
    digest.update(overlay_json)
    return f"sha256:{digest.hexdigest()}"
