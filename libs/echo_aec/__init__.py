"""Artifacts: the notes in which ECHO tells the model about itself and its surroundings."""

from echo_aec.artifact import Artifact, Item, parse_artifact
from echo_aec.directives import (
    DOCUMENT_PREFIX,
    Asking,
    DirectiveStore,
    EchoAEC,
    OverlayBuilder,
    Transient,
    TransientType,
    drain_key,
)
from echo_aec.errors import InvalidArtifact, UnreadableArtifact
from echo_aec.escape import from_xml_text, to_xml_text
from echo_aec.happened import told, waiting
from echo_aec.schema import ARTIFACT_IDS, SCHEMA, ArtifactId, Kind

__all__ = [
    "ARTIFACT_IDS",
    "DOCUMENT_PREFIX",
    "SCHEMA",
    "Artifact",
    "ArtifactId",
    "Asking",
    "DirectiveStore",
    "EchoAEC",
    "InvalidArtifact",
    "Item",
    "Kind",
    "OverlayBuilder",
    "Transient",
    "TransientType",
    "UnreadableArtifact",
    "drain_key",
    "from_xml_text",
    "parse_artifact",
    "to_xml_text",
    "told",
    "waiting",
]
