"""How much a request weighs before a server has counted it.

The estimate is made piece by piece and kept with the piece, so that a turn looks only at what is new. What the server
counted last is taken as it is; only what came after is estimated, by the ratio that held for this chat and model.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

#: UTF-8 bytes of text and JSON in one token. Source: "a token is about four characters", Gemini API docs, Tokens.
_BYTES_A_TOKEN: Final = 4
#: Tokens of a picture on Gemini 3. Source: Gemini API docs, Media resolution (about 1,120 at the default).
_PICTURE_TOKENS: Final = 1_120
#: Base64 characters of other media in one token. Source: our choice, a cautious mean of PDF, audio and video.
_MEDIA_CHARS_A_TOKEN: Final = 650
#: Tokens of a file that is named by its address. Source: our choice; a short PDF or a minute of audio.
_FILE_TOKENS: Final = 2_000
#: Base64 characters of a signature for one token of the thoughts it stands for, and the most one may weigh: the
#: signatures of pictures have megabytes that are no thoughts. Source: recorded signatures and thought counts.
_SIGNATURE_CHARS_A_TOKEN: Final = 6
_MAX_SIGNATURE_TOKENS: Final = 8_192

#: Less text than this tells nothing about the ratio. Source: our choice.
_LEAST_ESTIMATE: Final = 2_000

_SIGNATURE: Final = re.compile(rb'"thought_?[sS]ignature":"([^"]*)"')
_DATA: Final = re.compile(rb'"mime_?[tT]ype":"([^"]{1,100})","data":"([^"]*)"|"data":"([^"]{200,})"')
_FILE: Final = re.compile(rb'"file_?[uU]ri":"')
#: How many pieces are remembered, each by hash and length; some 10 MB.
_REMEMBERED: Final = 65_536

_weights: "OrderedDict[tuple[int, int], int]" = OrderedDict()


@dataclass(frozen=True, slots=True)
class Load:
    """How heavy a request is.

    Args:
        tokens: of everything that the model reads.
        size_bytes: of the serialised body.
    """

    tokens: int
    size_bytes: int


def estimated_tokens(piece: bytes) -> int:
    """Tokens of serialised Contents, before any server has counted them."""
    key = (hash(piece), len(piece))
    found = _weights.get(key)
    if found is None:
        found = _weights[key] = _estimate(piece)
        if len(_weights) > _REMEMBERED:
            _weights.popitem(last=False)
    return found


def estimated(pieces: Iterable[bytes]) -> int:
    """Tokens of several pieces."""
    return sum(map(estimated_tokens, pieces))


def _estimate(piece: bytes) -> int:
    size, tokens = len(piece), 0
    if b"ignature" in piece:
        for found in _SIGNATURE.finditer(piece):
            length = len(found[1])
            size -= length
            tokens += min(length // _SIGNATURE_CHARS_A_TOKEN, _MAX_SIGNATURE_TOKENS)
    if b'"data":"' in piece:
        for found in _DATA.finditer(piece):
            length = len(found[2] or found[3] or b"")
            size -= length
            picture = (found[1] or b"image/").startswith(b"image/")
            tokens += _PICTURE_TOKENS if picture else length // _MEDIA_CHARS_A_TOKEN + 1
    if b"ri" in piece:
        tokens += _FILE_TOKENS * len(_FILE.findall(piece))
    return tokens + -(-size // _BYTES_A_TOKEN)


def calibrated(estimate: int, ratio: float) -> int:
    """An estimate as the server would probably count it."""
    return round(estimate * ratio)


def ratio_of(counted: int, estimate: int) -> float:
    """Counted tokens for one estimated, kept within what text and media can make of it; 1 while little was counted."""
    if counted <= 0 or estimate < _LEAST_ESTIMATE:
        return 1.0
    return min(max(counted / estimate, 0.4), 2.5)
