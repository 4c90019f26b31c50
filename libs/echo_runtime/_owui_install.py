"""Installs ECHO's functions from inside Open WebUI's own process (imports `open_webui`).

For the container, where libraries and functions come together and nobody is there to sign in: no account, no HTTP. It
runs before Open WebUI's start-up, so that its events find the functions already there. What an administrator switched
off or set stays as it is; `echoctl install` does the same over HTTP.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from open_webui.models.functions import FunctionForm, FunctionModel, Functions
from open_webui.utils.plugin import load_function_module_by_id

from echo_runtime._owui_setup import put_model_record
from echo_runtime._owui_tools import put_tool, retire_tools
from echo_runtime.bundle_setup import BundledFunction

logger = logging.getLogger(__name__)

Action = Literal["created", "updated", "unchanged", "foreign", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedFunction:
    """One function to be there.

    Args:
        listed: its id, kind and scope.
        form: what Open WebUI's `/functions/create` takes; `meta["echo"]["sha256"]` names the source.
    """

    listed: BundledFunction
    form: Mapping[str, Any]


async def install_functions(wanted: Sequence[WantedFunction], mark: str) -> dict[str, Action]:
    """Create or update the functions, the toolkits and the model record.

    A function that fails does not keep Open WebUI from starting: it is logged and left as it was.

    Args:
        wanted: all functions and toolkits of this version.
        mark: key of ECHO's mark in a function's `meta`.

    Returns:
        What happened to each, by id.
    """
    stored = {row.id: row for row in await Functions.get_functions()}
    actions: dict[str, Action] = {}
    for item in wanted:
        identity = item.listed.id
        try:
            if item.listed.kind == "tool":
                actions[identity] = await put_tool(item.form, mark, "")
            else:
                actions[identity] = await _put(item, stored.get(identity), mark)
        except Exception:
            logger.exception("ECHO's function %s could not be installed", identity)
            actions[identity] = "failed"
    for identity, row in stored.items():
        if identity not in actions and _mark_of(row, mark):
            await Functions.delete_function_by_id(identity)
            logger.info("%s is no longer part of ECHO and was removed", identity)
    await retire_tools(set(actions), mark)
    await put_model_record([item.listed for item in wanted], "", renew=True)
    return actions


async def _put(item: WantedFunction, present: FunctionModel | None, mark: str) -> Action:
    form = FunctionForm(**item.form)
    if present is not None:
        manifest = present.meta.manifest or {}
        if not _mark_of(present, mark) and str(manifest.get("id", "")).lower() != item.listed.id:
            logger.error("The id %s is taken by a function that is not ECHO's; it was left alone", item.listed.id)
            return "foreign"
        if present.content == form.content and _mark_of(present, mark) == _mark_of(form, mark):
            return "unchanged"
    # Loaded as Open WebUI itself does before it stores a function: what cannot be loaded is not stored.
    instance, kind, manifest, _ = await load_function_module_by_id(item.listed.id, content=form.content)
    form.meta.manifest = manifest
    toggle = kind == "filter" and bool(getattr(instance, "toggle", False))
    form = form.model_copy(update={"meta": form.meta.model_copy(update={"toggle": toggle})})
    if present is None:
        await Functions.insert_new_function("", kind, form)
        switches = {"is_active": True, "is_global": item.listed.scope == "global"}
        await Functions.update_function_by_id(item.listed.id, switches)
        return "created"
    updated = {**form.model_dump(exclude={"id"}), "type": kind}
    await Functions.update_function_by_id(item.listed.id, updated)
    return "updated"


def _mark_of(row: FunctionModel | FunctionForm, mark: str) -> dict[str, Any]:
    found = row.meta.model_dump().get(mark)
    return found if isinstance(found, dict) else {}
