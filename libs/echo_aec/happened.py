"""Happenings as directives' neighbours: they wait as data, and become an artifact when they are told."""

from datetime import UTC, datetime

from echo_aec.artifact import Artifact
from echo_aec.directives import Transient
from echo_constants import Locale
from echo_events import Happening


def waiting(happening: Happening, *, event_id: str, at_s: float, message_id: str = "") -> Transient:
    """A happening as it waits to be told.

    Args:
        happening: what is told.
        event_id: unique in the chat: pushed twice it is told once.
        at_s: epoch seconds at which it happened.
        message_id: the message that it belongs to: told only on chains that hold it. "" belongs to the chat.
    """
    return Transient(
        id=event_id,
        type="aec_event",
        name=happening.name,
        payload=happening.to_json(),
        created_at_s=int(at_s),
        anchor_message_id=message_id,
    )


def told(transient: Transient, locale: Locale) -> str:
    """What the model reads of something that waited.

    Args:
        transient: its payload is a happening, or text that is told as it is.
        locale: the language in which ECHO speaks to the model in this chat.
    """
    if transient.type != "aec_event" or not transient.payload.startswith("{"):
        return transient.payload
    try:
        happening = Happening.from_json(transient.payload)
    except ValueError:  # of another version of ECHO
        return transient.payload
    at = datetime.fromtimestamp(transient.created_at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Artifact(id="AEC_event", attributes={"name": happening.name, "at": at}, text=happening.words(locale)).xml()
