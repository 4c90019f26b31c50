"""ECHO's record in Open WebUI's list of models: what it can do, and who may use it.

A pipe is visible to plain users only through such a record with a read grant (research: Open WebUI 0.12.4,
`routers/models.py`, seen at run time). The record is an override: its id is the pipe's id, its base is none.
"""

import base64
import copy
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Final

from echo_constants import ECHO_VERSION, Bilingual

#: Id of the pipe, and therefore of the model.
ECHO_MODEL_ID: Final = "echo_orchestrator"

_ICON: Final = Path(__file__).parent / "assets" / "echo.png"

#: What ECHO cannot work without: Open WebUI must not rewrite the messages, run its own tools, or scan our text for
#: think tags. Source: docs/design.md section 3.
REQUIRED_CAPABILITIES: Final[dict[str, bool]] = {"builtin_tools": False, "file_context": False, "usage": True}
REQUIRED_PARAMS: Final[dict[str, Any]] = {"function_calling": "native", "reasoning_tags": False}

#: What a new record starts with and an administrator may change.
_INITIAL_CAPABILITIES: Final[dict[str, bool]] = {
    "citations": True,
    "code_interpreter": True,
    "file_upload": True,
    "image_generation": True,
    "status_updates": True,
    "vision": True,
    "web_search": True,
}

_DESCRIPTION: Final = Bilingual(
    en="Google Gemini with an exact history, thoughts apart from the answer and visible tools.",
    fr="Google Gemini avec un historique exact, des pensées à part de la réponse et des outils visibles.",
)

#: Open WebUI's names for French; texts of a record are translated by `meta.i18n[name]` (its page, 0.12.4).
FRENCH: Final = ("fr-FR", "fr-CA")

EVERYBODY_READS: Final[dict[str, str]] = {"principal_type": "user", "principal_id": "*", "permission": "read"}


def icon_data_uri() -> str:
    """ECHO's icon. Open WebUI refuses SVG for a model's picture (`utils/validate.py`, 0.12.4), so it is a PNG."""
    return "data:image/png;base64," + base64.b64encode(_ICON.read_bytes()).decode()


def new_record(*, action_ids: Iterable[str], filter_ids: Iterable[str], tool_ids: Iterable[str]) -> dict[str, Any]:
    """The record as it is created, in the form that Open WebUI's `/models/create` takes."""
    record = {
        "id": ECHO_MODEL_ID,
        "base_model_id": None,
        "name": "ECHO",
        "meta": {
            "profile_image_url": icon_data_uri(),
            "description": _DESCRIPTION.en,
            "i18n": {language: {"description": _DESCRIPTION.fr} for language in FRENCH},
            "capabilities": dict(_INITIAL_CAPABILITIES),
        },
        "params": {},
        "access_grants": [dict(EVERYBODY_READS)],
        "is_active": True,
    }
    return with_requirements(record, action_ids=action_ids, filter_ids=filter_ids, tool_ids=tool_ids)


def with_requirements(
    record: dict[str, Any],
    *,
    action_ids: Iterable[str],
    filter_ids: Iterable[str],
    tool_ids: Iterable[str],
    gone: Collection[str] = (),
) -> dict[str, Any]:
    """A record with everything that ECHO needs; all else (name, picture, grants, prompt) stays the administrator's.

    Args:
        record: a record as Open WebUI gives it.
        action_ids: buttons under the model's answers.
        filter_ids: filters that run for this model only.
        tool_ids: toolkits that the browser preselects.
        gone: ids of functions that no longer exist.

    Returns:
        A new record; equal to the given one when nothing was missing.
    """
    wanted = copy.deepcopy(record)
    meta = wanted.setdefault("meta", {})
    meta["capabilities"] = {**(meta.get("capabilities") or {}), **REQUIRED_CAPABILITIES}
    wanted["params"] = {**(wanted.get("params") or {}), **REQUIRED_PARAMS}
    for key, ids in (("actionIds", action_ids), ("filterIds", filter_ids), ("toolIds", tool_ids)):
        before: list[str] = list(meta.get(key) or [])
        kept = [identity for identity in before if identity not in gone]
        after = kept + [identity for identity in ids if identity not in kept]
        if after != before:
            meta[key] = after
    meta["echo"] = {"version": ECHO_VERSION}
    return wanted
