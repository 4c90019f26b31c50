"""What this lib refuses.

ProtocolError
├── UnreadableArtifact   text that is not an artifact as ECHO writes it
└── InvalidArtifact      an artifact that its kind does not allow
"""

from echo_constants import Bilingual, ProtocolError


class UnreadableArtifact(ProtocolError):
    """Text that is no artifact: not well formed, or of a shape that ECHO never writes."""

    code = "protocol.artifact"
    message = Bilingual(
        en="ECHO cannot read a note that it wrote for the model.",
        fr="ECHO ne sait pas relire une note qu'il avait écrite pour le modèle.",
    )


class InvalidArtifact(ProtocolError):
    """An artifact with an id, attribute or item that its kind does not have."""

    code = "protocol.artifact_kind"
    message = Bilingual(
        en="ECHO was about to write a note for the model that has no meaning.",
        fr="ECHO allait écrire pour le modèle une note qui n'a pas de sens.",
    )
