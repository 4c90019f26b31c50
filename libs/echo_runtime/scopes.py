"""Whose signatures a model reads: the catalogue's signature scope and the backend that signed (the Anchor)."""

from dataclasses import replace

from echo_core.records import Shadow
from echo_protocol import Backend, Catalogue, ModelInfo, apply_scope, content_json, join_contents, parse_contents


class Scopes:
    """Compares scopes.

    Args:
        catalogue: knows each model's signature scope.
        backend: where the current request goes.
    """

    def __init__(self, catalogue: Catalogue, backend: Backend) -> None:
        self._catalogue = catalogue
        self._backend = backend

    def name_of(self, shadow: Shadow) -> str:
        """The scope in which a shadow's signatures were made, "" when it has none."""
        if not shadow.model_id:
            return ""
        return f"{self._catalogue.model(shadow.model_id).signature_scope}:{shadow.backend}"

    def readable(self, shadow: Shadow, model: ModelInfo) -> Shadow:
        """The shadow as this model may see it: without signatures when they were made in another scope."""
        foreign = self.name_of(shadow) not in ("", f"{model.signature_scope}:{self._backend}")
        if not foreign or not _signed(shadow.contents_json):
            return shadow
        contents = apply_scope(parse_contents(shadow.contents_json), in_scope=False, validates=False)
        fragments = [content_json(content.role, content.parts) for content in contents]
        return replace(shadow, contents_json=join_contents(fragments))


def _signed(contents_json: bytes) -> bool:
    return b'"thoughtSignature"' in contents_json or b'"thought_signature"' in contents_json
