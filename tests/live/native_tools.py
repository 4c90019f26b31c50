"""Open WebUI's own tools for an agent, switched on as an administrator would for a model built on ECHO."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from echo_cli._model_record import ECHO_MODEL_ID, EVERYBODY_READS
from live.stack import Live

NATIVE = "live-native"
#: Groups of built-in tools. Source: `get_builtin_tools` in open_webui/utils/tools.py, 0.12.4.
_GROUPS = (
    *("time", "user_input", "files", "knowledge", "chats", "subagents", "memory", "web_search", "image_generation"),
    *("code_interpreter", "notes", "channels", "skills", "tasks", "automations", "calendar", "notifications"),
)


@contextmanager
def native_model(live: Live, *groups: str) -> Iterator[str]:
    """A model on ECHO with some groups of built-in tools, and sub-agents switched on in the settings."""
    meta: dict[str, Any] = {
        "capabilities": {"builtin_tools": True, "file_context": False, "usage": True},
        "builtinTools": {group: group in groups for group in _GROUPS},
    }
    form = {"id": NATIVE, "base_model_id": ECHO_MODEL_ID, "name": "Native", "meta": meta, "params": {}}
    live.admin.post("/api/v1/models/create", {**form, "access_grants": [EVERYBODY_READS], "is_active": True})
    live.admin.get("/api/models", refresh="true")
    before = live.admin.get("/api/v1/configs/subagents")
    live.admin.post("/api/v1/configs/subagents", before | {"ENABLE_SUBAGENTS": True})
    try:
        yield NATIVE
    finally:
        live.admin.post("/api/v1/configs/subagents", before)
        live.admin.post("/api/v1/models/model/delete", {"id": NATIVE})
