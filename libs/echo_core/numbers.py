"""Numbers as people read them, in both languages."""

from typing import Final

from echo_constants import Locale
from echo_core.quota import UNKNOWN

#: French groups digits with a narrow no-break space and puts one before a unit. Source: Unicode CLDR, locale fr.
_NARROW: Final = "\u202f"
_NO_BREAK: Final = "\u00a0"

#: Costs below this are told as "less than"; the cheapest cached token costs a hundred-millionth of a dollar.
_SMALLEST_USD: Final = 0.0001


def grouped(number: int, locale: Locale) -> str:
    """A whole number in groups of three digits."""
    return f"{number:,}".replace(",", _NARROW) if locale == "fr" else f"{number:,}"


def short(number: int, locale: Locale) -> str:
    """A number of tokens in at most four characters and a letter: `987`, `12.3k`, `1.05M`."""
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= unit:
            scaled = number / unit
            text = f"{scaled:.2f}" if scaled < 10 else f"{scaled:.1f}" if scaled < 100 else f"{scaled:.0f}"
            text = text.rstrip("0").rstrip(".") if "." in text else text
            return _decimal(text, locale) + (_NO_BREAK if locale == "fr" else "") + letter
    return str(number)


def percent(fraction: float, locale: Locale) -> str:
    """A share as a percentage; what is not nothing is never shown as 0."""
    value = fraction * 100
    text = f"{value:.0f}" if value >= 10 or value == 0 else f"{max(value, 0.1):.1f}".removesuffix(".0")
    return _decimal(text, locale) + (_NO_BREAK + "%" if locale == "fr" else "%")


def money(usd: float | None, locale: Locale) -> str:
    """US dollars; `–` when the price is not known."""
    if usd is None:
        return UNKNOWN
    less = "< " if 0 < usd < _SMALLEST_USD else ""
    shown = max(usd, _SMALLEST_USD) if usd > 0 else 0.0
    text = _decimal(f"{shown:.2f}" if shown >= 1 or shown == 0 else f"{shown:.4f}", locale)
    return f"{less}{text}{_NO_BREAK}$" if locale == "fr" else f"{less}${text}"


def _decimal(text: str, locale: Locale) -> str:
    return text.replace(".", ",") if locale == "fr" else text
