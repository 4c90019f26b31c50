"""Turns in which the page's image switch is on: another model, with a small window, draws or changes a picture."""

import re
from collections.abc import Sequence
from typing import Final

from echo_constants import Bilingual
from echo_runtime import _owui_rights
from echo_runtime.call import PipeCall

NOT_ALLOWED: Final = Bilingual(
    en="Images cannot be generated for you here; ask your administrator. This answer has none.",
    fr="La génération d'images n'est pas possible pour vous ici ; demandez à votre administrateur. Cette réponse n'en "
    "a pas.",
)

#: The part of the window that history may take; the rest is for the answer and for what the estimate misses.
_SHARE: Final = 0.6
#: Source: Gemini API docs, Tokens (about four characters a token; other scripts have fewer).
_BYTES_PER_TOKEN: Final = 3
#: Source: Gemini API docs, Image understanding (1,120 tokens on Gemini 3); signatures are not counted as text.
_PICTURE_TOKENS: Final = 1_120
_LONG_DATA: Final = re.compile(rb'"(data|thoughtSignature)":"[^"]{1000,}"')


async def may_draw(call: PipeCall) -> bool:
    """Whether this turn draws: the switch is on and the user has the right to it."""
    return call.draws and await _owui_rights.may_use_feature(call.request, call.user, "image_generation")


def recent(contents: Sequence[bytes], window_tokens: int) -> tuple[bytes, ...]:
    """The end of a conversation that fits into a window, beginning with a question; the last message always stays.

    Args:
        contents: serialised fragments, oldest first.
        window_tokens: of the model that draws.
    """
    room = int(window_tokens * _SHARE)
    kept = len(contents)
    for index in range(len(contents) - 1, -1, -1):
        room -= _estimated_tokens(contents[index])
        if room < 0 and index < len(contents) - 1:
            break
        if _asks(contents[index]):
            kept = index
    return tuple(contents[min(kept, len(contents) - 1) :])


def _asks(fragment: bytes) -> bool:
    return b'"role":"user"' in fragment[:16]


def _estimated_tokens(fragment: bytes) -> int:
    pictures = 0
    size_bytes = len(fragment)
    for found in _LONG_DATA.finditer(fragment):
        size_bytes -= found.end() - found.start()
        pictures += found[1] == b"data"
    return size_bytes // _BYTES_PER_TOKEN + pictures * _PICTURE_TOKENS
