"""What the user is told when a conversation was condensed; light, for what Open WebUI loads on its event loop."""

from typing import Final

from echo_constants import Bilingual, Locale
from echo_core.numbers import grouped

_COMPACTED: Final = Bilingual(
    en="Conversation condensed: {before} → {after} tokens.", fr="Conversation condensée : {before} → {after} jetons."
)


def compacted_text(before_tokens: int, after_tokens: int, locale: Locale) -> str:
    """How heavy a conversation was, and how heavy it is now."""
    return _COMPACTED.render(locale, before=grouped(before_tokens, locale), after=grouped(after_tokens, locale))
