"""Placeholders in ECHO's own text, filled in at the last moment."""

from typing import Final

from echo_constants import ECHO_VERSION

#: Never in the PIS: it is sealed for the life of a chat, and the model may change with each answer.
MODEL_PLACEHOLDERS: Final = ("MODEL_ID", "MODEL_ORIGIN")


def _resolve_placeholders(text: str, *, model_id: str | None = None, model_origin: str | None = None) -> str:
    """ECHO's own text with `##ECHO_VERSION##` and, where the model is known, `##MODEL_ID##` and `##MODEL_ORIGIN##`.

    Only for what ECHO wrote: in the words of users, tools and documents these are words like any others.

    Args:
        text: the text.
        model_id: what answers; None for text that outlives an answer, which must not name it.
        model_origin: whose model it is; likewise.
    """
    values = {"ECHO_VERSION": ECHO_VERSION, "MODEL_ID": model_id, "MODEL_ORIGIN": model_origin}
    for name, value in values.items():
        if value is not None:
            text = text.replace(f"##{name}##", value)
    return text
