"""Short remarks for the user about what could not be sent as asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from echo_constants import Bilingual, Locale


@dataclass(frozen=True, slots=True)
class Notice:
    """A text in both languages and the values of its `{name}` fields."""

    text: Bilingual
    fields: Mapping[str, object] = field(default_factory=dict)

    def render(self, locale: Locale) -> str:
        """The text in the reader's language."""
        return self.text.render(locale, **self.fields)
