"""The prompt templates that Open WebUI keeps, and their variables. Facts were read in release 0.12.4."""

from collections.abc import Mapping
from typing import Any


async def model_prompt(model_id: str) -> str:
    """The prompt that an administrator gave to a model, "" without one.

    What a pipe is told about its model leaves prompts out (`public_model_params`).
    """
    from open_webui.internal.db import get_async_db_context
    from open_webui.models.models import Model
    from sqlalchemy import select

    async with get_async_db_context() as db:
        params = (await db.execute(select(Model.params).where(Model.id == model_id))).scalar_one_or_none()
    return str(params.get("system") or "") if isinstance(params, Mapping) else ""


async def chat_prompt(chat_id: str) -> str:
    """The prompt that was set for one chat, "" when there is none."""
    from open_webui.internal.db import get_async_db_context
    from open_webui.models.chats import Chat
    from sqlalchemy import select

    query = select(Chat.chat["params"]["system"].as_string()).where(Chat.id == chat_id)
    async with get_async_db_context() as db:
        return str((await db.execute(query)).scalar_one_or_none() or "")


async def folder_prompt(chat_id: str, folder_id: str, user: Mapping[str, Any]) -> str:
    """The prompt of the folder that a user's chat lies in, "" when there is none or the user may not read it.

    Args:
        chat_id: a saved chat; "" for one that is in no database.
        folder_id: for the latter, the folder that the page named.
        user: who asks.
    """
    from open_webui.internal.db import get_async_db_context
    from open_webui.models.chats import Chat
    from open_webui.models.folders import Folder
    from sqlalchemy import select

    user_id = str(user.get("id") or "")
    query = select(Folder.id, Folder.user_id, Folder.data)
    if chat_id:
        query = query.join(Chat, Chat.folder_id == Folder.id).where(Chat.id == chat_id, Chat.user_id == user_id)
    elif folder_id:
        query = query.where(Folder.id == folder_id)
    else:
        return ""
    async with get_async_db_context() as db:
        row = (await db.execute(query)).one_or_none()
    prompt = (row.data or {}).get("system_prompt") if row is not None else None
    if row is None or not isinstance(prompt, str) or not prompt:
        return ""
    allowed = row.user_id == user_id or user.get("role") == "admin" or await _may_read(str(row.id), user_id)
    return prompt if allowed else ""


async def _may_read(folder_id: str, user_id: str) -> bool:
    """Whether a folder of somebody else's is shared with the user; releases before 0.12 share none."""
    try:
        from open_webui.models.folders import Folders
        from open_webui.utils.access_control.folders import has_folder_access
    except ImportError:
        return False
    folder = await Folders.get_folder_by_id(folder_id)
    return folder is not None and bool(await has_folder_access(user_id, folder, "read", None))


def with_own_variables(text: str, metadata: Mapping[str, Any], user: Mapping[str, Any]) -> str:
    """A template with the chat's and the user's own variables (`{{chat.variables.…}}`, `{{user.variables.…}}`)."""
    try:
        from open_webui.utils.chat_variables import render_chat_variables, render_user_variables
    except ImportError:  # releases before 0.12 have none
        return text
    text = render_chat_variables(text, metadata.get("chat_variables") or {}, required=False) or ""
    return render_user_variables(text, user.get("variables") or {}) or ""


async def group_names(user_id: str) -> str:
    """The names of the user's groups, as `{{USER_GROUPS}}` shows them."""
    from open_webui.models.groups import Groups

    return ", ".join(str(group.name) for group in await Groups.get_groups_by_member_id(user_id))


async def memories(user_id: str) -> list[str]:
    """What the user has let Open WebUI remember, oldest first."""
    from open_webui.internal.db import get_async_db_context
    from open_webui.models.memories import Memory
    from sqlalchemy import select

    query = select(Memory.content).where(Memory.user_id == user_id).order_by(Memory.created_at, Memory.id)
    async with get_async_db_context() as db:
        return [str(content) for content in (await db.execute(query)).scalars() if content]
