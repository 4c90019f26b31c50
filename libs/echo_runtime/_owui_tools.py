"""Installs ECHO's toolkits from inside Open WebUI's own process (imports `open_webui`)."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

logger = logging.getLogger(__name__)

ToolAction = Literal["created", "updated", "unchanged", "foreign"]

#: Everybody may use ECHO's toolkits; an administrator can narrow it, and updates leave that alone.
_EVERYBODY: Final = ({"principal_type": "user", "principal_id": "*", "permission": "read"},)


async def put_tool(form: Mapping[str, Any], mark: str, owner_id: str) -> ToolAction:
    """Create or update one toolkit.

    Args:
        form: what Open WebUI's `/tools/create` takes; `meta[mark]["sha256"]` names the source.
        mark: key of ECHO's mark in a toolkit's `meta`.
        owner_id: whom a new toolkit belongs to; "" = nobody.

    Raises:
        Exception: whatever loading the toolkit raises; nothing is stored then.
    """
    from open_webui.models.tools import ToolForm, Tools
    from open_webui.utils.plugin import load_tool_module_by_id
    from open_webui.utils.tools import get_tool_specs

    present = await Tools.get_tool_by_id(str(form["id"]))
    if present is not None:
        kept = present.meta.model_dump()
        manifest = kept.get("manifest") or {}
        if not kept.get(mark) and str(manifest.get("id", "")).lower() != form["id"]:
            logger.error("The id %s is taken by a toolkit that is not ECHO's; it was left alone", form["id"])
            return "foreign"
        if present.content == form["content"] and kept.get(mark) == form["meta"][mark]:
            return "unchanged"
    loaded = await load_tool_module_by_id(form["id"], content=form["content"])
    meta = {**form["meta"], "manifest": loaded[1]}
    specs = get_tool_specs(loaded[0])
    if present is None:
        stored = ToolForm(**{**form, "meta": meta, "access_grants": list(_EVERYBODY)})
        await Tools.insert_new_tool(owner_id, stored, specs)
        return "created"
    await Tools.update_tool_by_id(
        form["id"], {"name": form["name"], "content": form["content"], "meta": meta, "specs": specs}
    )
    return "updated"


async def retire_tools(kept: set[str], mark: str) -> None:
    """Remove toolkits with ECHO's mark that this version does not have.

    Args:
        kept: ids of this version's toolkits.
        mark: key of ECHO's mark in a toolkit's `meta`.
    """
    from open_webui.models.tools import Tools

    for tool in await Tools.get_tools():
        if tool.id not in kept and tool.meta.model_dump().get(mark):
            await Tools.delete_tool_by_id(tool.id)
            logger.info("%s is no longer part of ECHO and was removed", tool.id)


async def toolkit_entries(
    request: Any, ids: Sequence[str], user: Mapping[str, Any], metadata: Mapping[str, Any]
) -> dict[str, Any]:
    """The tools of some toolkits as Open WebUI itself gives them to a pipe, as far as the user may use them.

    Args:
        request: of the call.
        ids: of the toolkits; those that are not there are left out.
        user: Open WebUI's user, with its `id`.
        metadata: Open WebUI's request metadata.
    """
    from open_webui.models.users import Users
    from open_webui.utils.tools import get_tools

    known = await Users.get_user_by_id(str(user["id"]))
    if known is None:
        return {}
    given = {"__user__": dict(user), "__metadata__": metadata, "__request__": request}
    found: dict[str, Any] = await get_tools(request, list(ids), known, given)
    return found
