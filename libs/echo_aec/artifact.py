"""Artifacts: what ECHO tells the model about itself and its surroundings, one XML element each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from echo_aec.errors import InvalidArtifact, UnreadableArtifact
from echo_aec.escape import from_xml_text, to_xml_text
from echo_aec.schema import SCHEMA, ArtifactId

_TAG: Final = "artifact"
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One element inside an artifact.

    Args:
        tag: one of its kind's items.
        attributes: of those that its kind names.
        text: any string.
    """

    tag: str
    attributes: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One artifact; `SCHEMA` says what each id may hold.

    Args:
        id: the kind.
        attributes: of those that the kind names, besides `id`.
        text: any string; stands before the items.
        items: in order.

    Raises:
        InvalidArtifact: the kind has no such id, attribute or item.
    """

    id: ArtifactId
    attributes: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    text: str = ""
    items: tuple[Item, ...] = ()

    def __post_init__(self) -> None:
        kind = SCHEMA.get(self.id)
        if kind is None:
            raise InvalidArtifact(f"no artifact is called {self.id!r}")
        _check(self.id, self.attributes, kind.attributes)
        for item in self.items:
            if item.tag not in kind.items:
                raise InvalidArtifact(f"{self.id} has no {item.tag!r}")
            _check(f"{self.id} {item.tag}", item.attributes, kind.items[item.tag])

    def xml(self) -> str:
        """The element as text: one artifact always gives the same string, and `parse_artifact` gives it back."""
        from lxml import etree  # not at import: function files load ECHO while Open WebUI waits

        kind = SCHEMA[self.id]
        root = _element(_TAG, {"id": self.id, **_in_order(self.attributes, kind.attributes)}, self.text)
        root.extend(_element(i.tag, _in_order(i.attributes, kind.items[i.tag]), i.text) for i in self.items)
        return etree.tostring(root, encoding="unicode")


def parse_artifact(text: str) -> Artifact:
    """Read what `Artifact.xml` wrote.

    Entities, comments, processing instructions, document types and everything else that ECHO never writes are refused;
    nothing outside the text is ever read.

    Raises:
        UnreadableArtifact: it is something else.
    """
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_blank_text=False)
    try:
        root = etree.fromstring(text, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise UnreadableArtifact(type(error).__name__) from error
    attributes = _attributes(root)
    info: Any = root.getroottree().docinfo
    alien = root.tag != _TAG or info.doctype or "id" not in attributes
    if alien or any(not isinstance(child.tag, str) or len(child) or child.tail for child in root):
        raise UnreadableArtifact("not a shape that ECHO writes")
    items = tuple(Item(tag=c.tag, attributes=_attributes(c), text=from_xml_text(c.text or "")) for c in root)
    kind: Any = attributes.pop("id")
    try:
        return Artifact(id=kind, attributes=attributes, text=from_xml_text(root.text or ""), items=items)
    except InvalidArtifact as error:
        raise UnreadableArtifact(error.detail) from error


def _element(tag: str, attributes: Mapping[str, str], text: str) -> Any:
    from lxml import etree

    element = etree.Element(tag, {name: to_xml_text(value) for name, value in attributes.items()})
    element.text = to_xml_text(text) or None
    return element


def _attributes(element: Any) -> dict[str, str]:
    return {str(name): from_xml_text(str(value)) for name, value in element.attrib.items()}


def _in_order(attributes: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {name: attributes[name] for name in names if name in attributes}


def _check(what: str, attributes: Mapping[str, str], names: tuple[str, ...]) -> None:
    unknown = sorted(set(attributes) - set(names))
    if unknown:
        raise InvalidArtifact(f"{what} has no {', '.join(unknown)}")
