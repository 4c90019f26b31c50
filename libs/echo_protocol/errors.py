"""What this lib refuses.

ProtocolError
├── UnreadablePart       a part is not a JSON object
├── UnreadableChunk      a stream chunk does not have the shape of a GenerateContentResponse
└── EmptyContent         a Content without parts would be sent
ConfigError
└── UnknownModelName     an abstract model name that the catalogue does not map for the backend
"""

from echo_constants import Bilingual, ConfigError, ProtocolError


class UnreadablePart(ProtocolError):
    """A part that is not a JSON object."""

    code = "protocol.part"
    message = Bilingual(
        en="Gemini sent a message part that ECHO cannot read.",
        fr="Gemini a envoyé un fragment de message qu'ECHO ne sait pas lire.",
    )


class UnreadableChunk(ProtocolError):
    """A chunk of a stream that has not the shape of a GenerateContentResponse."""

    code = "protocol.chunk"
    message = Bilingual(
        en="Gemini sent an answer that ECHO cannot read.",
        fr="Gemini a envoyé une réponse qu'ECHO ne sait pas lire.",
    )


class EmptyContent(ProtocolError):
    """A Content without parts; Gemini refuses those."""

    code = "protocol.empty_content"
    message = Bilingual(
        en="ECHO was about to send an empty message.",
        fr="ECHO allait envoyer un message vide.",
    )


class UnknownModelName(ConfigError):
    """An abstract model name that has no model behind it."""

    code = "config.model_name"
    message = Bilingual(
        en="No model stands behind the name {name} for {backend}.",
        fr="Aucun modèle ne correspond au nom {name} pour {backend}.",
    )
