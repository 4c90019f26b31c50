"""What a user reads exists in English and French; the user's Open WebUI language chooses."""

from dataclasses import dataclass
from typing import Final, Literal

Locale = Literal["en", "fr"]
LOCALES: Final[tuple[Locale, ...]] = ("en", "fr")


def locale_of(language: str | None) -> Locale:
    """Map an Open WebUI language tag (`fr-FR`, `fr-CA`, `en-US`, None) to a language that ECHO speaks."""
    return "fr" if (language or "").lower().replace("_", "-").split("-")[0] == "fr" else "en"


@dataclass(frozen=True, slots=True)
class Bilingual:
    """One text in both languages; `{name}` fields are filled by `render`."""

    en: str
    fr: str

    def render(self, locale: Locale, **fields: object) -> str:
        """Fill the text of one language.

        Raises:
            KeyError: a field that the text names is missing.
        """
        template = self.fr if locale == "fr" else self.en
        return template.format_map(fields) if fields or "{" in template else template
