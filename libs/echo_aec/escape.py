"""Text that XML cannot hold, made such that it can and that it comes back exactly."""

import re
from typing import Final

#: Announces a character by its hexadecimal number and `;`; stands twice for itself. Seldom typed and easy to read.
MARK: Final = "\N{SYMBOL FOR ESCAPE}"

#: Everything that is no XML character. Source: https://www.w3.org/TR/xml/#charsets
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|" + MARK)
_MARKED: Final = re.compile(f"{MARK}(?:{MARK}|(?P<number>[0-9a-f]{{1,6}});)")


def to_xml_text(text: str) -> str:
    """Any string as one that XML can hold: control characters and lone surrogates become `␛` + hex number + `;`."""
    return _NOT_XML.sub(lambda found: MARK + (MARK if found[0] == MARK else f"{ord(found[0]):x};"), text)


def from_xml_text(text: str) -> str:
    """Undo `to_xml_text`; a mark that it never writes stays as it is."""
    return _MARKED.sub(_original, text)


def _original(found: re.Match[str]) -> str:
    number = int(found["number"] or hex(ord(MARK)), 16)
    return chr(number) if number <= 0x10FFFF else found[0]
