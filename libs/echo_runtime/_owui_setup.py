"""Finishes the set-up of a bundle from inside Open WebUI (imports `open_webui`): model record, what is left to do."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from open_webui.internal.db import get_async_db_context
from open_webui.models.functions import Function, Functions
from open_webui.models.models import ModelForm, Models
from sqlalchemy import update

from echo_runtime._owui_tools import put_tool
from echo_runtime.bundle_setup import MARK, BundledFunction, StoredFunction, is_own_start, left_to_do
from echo_runtime.model_record import ECHO_MODEL_ID, FRENCH, new_record, with_requirements

logger = logging.getLogger(__name__)

#: Keys of a record that `ModelForm` takes. Source: Open WebUI 0.12.4, models/models.py.
_FORM_KEYS: Final = ("id", "base_model_id", "name", "meta", "params", "is_active")


async def on_bundle_event(
    event_name: str,
    event: Mapping[str, Any],
    own_id: str,
    bundle: Sequence[Mapping[str, str]],
    tools: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Do what Open WebUI's importer leaves undone; called by the bundled lifecycle function with every event.

    At a start the toolkits are stored, and the model record is made, or brought to what ECHO needs when the
    administrator has just switched ECHO on. After each change of a function the lifecycle function's description says
    what is left to do.

    Args:
        event_name: name of the event.
        event: its payload.
        own_id: id of the lifecycle function.
        bundle: what the bundle brought, as `BundledFunction.of` takes it.
        tools: its toolkits, each as `put_tool` takes it.
    """
    functions = [BundledFunction.of(fields) for fields in bundle]
    if is_own_start(event_name, event, own_id):
        importer = await Functions.get_function_by_id(own_id)
        owner = (importer.user_id if importer else "") or ""
        stored = await _put_tools(tools, owner)
        functions = [item for item in functions if item.kind != "tool" or item.id in stored]
        await put_model_record(functions, owner, renew=event_name != "system.startup.started")
        await _tell(functions, own_id, switched_on=own_id)
    elif event_name.startswith("function."):
        await _tell(functions, own_id)


async def _put_tools(tools: Sequence[Mapping[str, Any]], owner_id: str) -> set[str]:
    """Store a bundle's toolkits; returns the ids of those that are there then."""
    stored: set[str] = set()
    for form in tools:
        try:
            action = await put_tool(form, MARK, owner_id)
        except Exception:  # a package that cannot be installed here must not keep ECHO from starting
            logger.exception("ECHO's toolkit %s could not be installed", form["id"])
        else:
            logger.info("ECHO's toolkit %s: %s", form["id"], action)
            stored |= {str(form["id"])} if action != "foreign" else set()
    return stored


async def put_model_record(functions: Sequence[BundledFunction], owner_id: str, *, renew: bool) -> None:
    """Make ECHO's record in the list of models.

    Args:
        functions: ECHO's functions; those for one model only are named in the record.
        owner_id: user id of whoever the record shall belong to; "" = nobody.
        renew: bring a record that is there already to what ECHO needs.
    """
    ids = {
        f"{kind}_ids": [item.id for item in functions if item.kind == kind and item.scope == "model"]
        for kind in ("action", "filter", "tool")
    }
    present = await Models.get_model_by_id(ECHO_MODEL_ID)
    if present is None:
        await Models.insert_new_model(ModelForm(**new_record(**ids)), owner_id)
        logger.info("The model record %s was made", ECHO_MODEL_ID)
    elif renew:
        record = present.model_dump()
        wanted = with_requirements(record, **ids)
        if wanted != record:
            # Without access_grants in the form Open WebUI leaves them alone.
            await Models.update_model_by_id(ECHO_MODEL_ID, ModelForm(**{key: wanted[key] for key in _FORM_KEYS}))
            logger.info("The model record %s was renewed", ECHO_MODEL_ID)


async def _tell(functions: Sequence[BundledFunction], own_id: str, switched_on: str = "") -> None:
    """Write what is left to do into the lifecycle function's description, where the administrator looks.

    Args:
        functions: what the bundle brought.
        own_id: id of the lifecycle function.
        switched_on: a function that Open WebUI is about to note as active.
    """
    functions = [item for item in functions if item.kind != "tool"]  # those are stored without the administrator
    rows = {row.id: row for row in await Functions.get_functions_by_ids([item.id for item in functions])}
    stored = {
        row.id: StoredFunction(is_active=row.is_active or row.id == switched_on, is_global=row.is_global)
        for row in rows.values()
    }
    text = left_to_do(functions, stored)
    own = rows.get(own_id)
    if own is None or own.meta.description == text.en:
        return
    meta = own.meta.model_dump()
    i18n = {**(meta.get("i18n") or {})}
    for language in FRENCH:
        i18n[language] = {**(i18n.get(language) or {}), "description": text.fr}
    async with get_async_db_context() as session:
        # Past Open WebUI's function history, which would keep one more copy of the whole bundle for each of these.
        changed = {**meta, "description": text.en, "i18n": i18n}
        await session.execute(update(Function).where(Function.id == own_id).values(meta=changed))
        await session.commit()
    logger.info("%s", text.en)
