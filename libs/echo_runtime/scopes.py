"""Whose signatures a model reads: the catalogue's signature scope, the backend and the key that signed (the Anchor)."""

from dataclasses import dataclass, replace
from typing import Final

from echo_core.records import Shadow
from echo_protocol import Catalogue, ModelInfo, apply_scope, content_json, join_contents, parse_contents
from echo_protocol.attached import within_media

#: A model that takes all of these takes every attachment that there can be.
_ALL_MEDIA: Final = frozenset({"image", "audio", "video", "pdf"})


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads a conversation.

    Args:
        model: whose scope counts.
        signer: the backend and the class of the key, as in a shadow's `backend`: `ai_studio:0123456789ab`.
    """

    model: ModelInfo
    signer: str

    @property
    def scope(self) -> str:
        """The scope of the signatures that it accepts."""
        return f"{self.model.signature_scope}:{self.signer}"


class Scopes:
    """Compares scopes.

    Args:
        catalogue: knows each model's signature scope.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def name_of(self, shadow: Shadow) -> str:
        """The scope in which a shadow's signatures were made, "" when it has none."""
        if not shadow.model_id:
            return ""
        return f"{self._catalogue.model(shadow.model_id).signature_scope}:{shadow.backend}"

    def readable(self, shadow: Shadow, reader: Reader) -> Shadow:
        """The shadow as this reader may see it: without signatures of another scope and media that it cannot take."""
        if not reader.model.capabilities.input_media >= _ALL_MEDIA and _with_media(shadow.contents_json):
            seen = within_media(parse_contents(shadow.contents_json), reader.model)
            shadow = replace(shadow, contents_json=join_contents(content_json(c.role, c.parts) for c in seen))
        foreign = self.name_of(shadow) not in ("", reader.scope)
        if not foreign or not _signed(shadow.contents_json):
            return shadow
        contents = apply_scope(parse_contents(shadow.contents_json), in_scope=False, validates=False)
        fragments = [content_json(content.role, content.parts) for content in contents]
        return replace(shadow, contents_json=join_contents(fragments))


def _with_media(contents_json: bytes) -> bool:
    return b'"inlineData"' in contents_json or b'"fileData"' in contents_json


def _signed(contents_json: bytes) -> bool:
    return b'"thoughtSignature"' in contents_json or b'"thought_signature"' in contents_json
