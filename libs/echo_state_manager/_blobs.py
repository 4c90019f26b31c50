"""Large strings leave the rows they are in: a row keeps its text with holes, `blobs` keeps what was in them.

The holes are counted in bytes beside the text, never marked inside it, so no value that a user or a model writes can be
taken for one. A JSON document with holes is still JSON: each hole is an empty string.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from echo_constants.limits import BLOB_THRESHOLD_BYTES

# Possessive repeats keep this linear, also in strings made of escapes only.
_JSON_STRING: Final = re.compile(rb'"((?:[^"\\]++|\\.)*+)"', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Cut:
    """What was in one hole.

    Args:
        field: which of the row's values has the hole.
        offset_bytes: where in the remaining bytes it is.
        sha256: hex digest of `data`; the key in `blobs`.
        data: the bytes; of a JSON string without its quotes, escapes as they were.
    """

    field: str
    offset_bytes: int
    sha256: str
    data: bytes


def cut_json(field: str, document: bytes) -> tuple[bytes, list[Cut]]:
    """Take the large strings out of a JSON document; the bytes are not parsed, so what goes back is identical."""
    if len(document) <= BLOB_THRESHOLD_BYTES:
        return document, []
    kept: list[bytes] = []
    cuts: list[Cut] = []
    position = offset = 0
    for found in _JSON_STRING.finditer(document):
        start, end = found.span(1)
        if end - start <= BLOB_THRESHOLD_BYTES:
            continue
        kept.append(document[position:start])
        offset += start - position
        cuts.append(_cut(field, offset, document[start:end]))
        position = end
    kept.append(document[position:])
    return b"".join(kept), cuts


def cut_whole(field: str, data: bytes) -> tuple[bytes, list[Cut]]:
    """Take a value out as a whole when it is large."""
    return (data, []) if len(data) <= BLOB_THRESHOLD_BYTES else (b"", [_cut(field, 0, data)])


def _cut(field: str, offset_bytes: int, data: bytes) -> Cut:
    return Cut(field, offset_bytes, hashlib.sha256(data).hexdigest(), data)


def refs_json(cuts: Iterable[Cut]) -> str:
    """The row's `blob_refs` column: a JSON array of [field, offset_bytes, sha256], "" without cuts."""
    refs = [[cut.field, cut.offset_bytes, cut.sha256] for cut in cuts]
    return json.dumps(refs, separators=(",", ":")) if refs else ""


def refs_of(column: str) -> list[tuple[str, int, str]]:
    """Read a `blob_refs` column."""
    return [(str(field), int(offset), str(sha256)) for field, offset, sha256 in json.loads(column)] if column else []


def fill(field: str, remaining: bytes, column: str, data_of: Callable[[str], bytes]) -> bytes:
    """Put the cuts of one value back.

    Args:
        field: which value `remaining` is.
        remaining: the bytes with holes.
        column: the row's `blob_refs`.
        data_of: bytes by sha256; may raise KeyError.
    """
    pieces: list[bytes] = []
    position = 0
    for name, offset, sha256 in refs_of(column):
        if name == field:
            pieces += (remaining[position:offset], data_of(sha256))
            position = offset
    pieces.append(remaining[position:])
    return b"".join(pieces)


def wanted(columns: Iterable[str]) -> list[str]:
    """The sha256 of everything that some `blob_refs` columns name, each once, in order."""
    return list(dict.fromkeys(sha256 for column in columns for _, _, sha256 in refs_of(column)))


def missing(columns: Iterable[str], blobs: Mapping[str, bytes]) -> list[str]:
    """What the columns name and `blobs` lacks."""
    return [sha256 for sha256 in wanted(columns) if sha256 not in blobs]
