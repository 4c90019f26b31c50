"""The prompt templates that Open WebUI keeps, and their variables. Facts were read in release 0.12.4."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True, slots=True)
class KeptTemplates:
    """What administrators and users wrote for the model, "" where nobody did.

    Args:
        model: of the called model. What a pipe is told about its model leaves prompts out (`public_model_params`).
        chat: of the chat itself, where it was asked for.
        folder: of the folder that the user's chat lies in, as far as the user may read it.
    """

    model: str
    chat: str
    folder: str


async def of_chat(model_id: str, chat_id: str) -> KeptTemplates:
    """The templates that belong to a model and a chat, whoever asks."""
    from open_webui.internal.db import get_async_db_context

    async with get_async_db_context() as db:
        row = (await db.execute(_chat_query(), {"model_id": model_id, "chat_id": chat_id})).one()
    return KeptTemplates(model=_system(row.params), chat=str(row.prompt or ""), folder="")


async def of_user(model_id: str, chat_id: str, folder_id: str, user: Mapping[str, Any]) -> KeptTemplates:
    """The templates of a model and of the folder that the user's chat lies in.

    Args:
        model_id: the called model.
        chat_id: a saved chat; "" for one that is in no database.
        folder_id: for the latter, the folder that the page named.
        user: who asks.
    """
    from open_webui.internal.db import get_async_db_context

    user_id = str(user.get("id") or "")
    asked = {"model_id": model_id, "chat_id": chat_id, "user_id": user_id, "folder_id": "" if chat_id else folder_id}
    async with get_async_db_context() as db:
        row = (await db.execute(_user_query(), asked)).one()
    prompt = (row.data or {}).get("system_prompt")
    folder = prompt if isinstance(prompt, str) else ""
    if folder and row.user_id != user_id and user.get("role") != "admin" and not await _may_read(row.id, user_id):
        folder = ""
    return KeptTemplates(model=_system(row.params), chat="", folder=folder)


# SQLAlchemy takes longer to put these together than the database to answer them (tests/bench/bench_pipe.py): once each.


@cache
def _chat_query() -> Any:
    """`params` of a model and `prompt` of a chat. A long chat's JSON is read whole for the latter."""
    from open_webui.models.chats import Chat
    from sqlalchemy import bindparam, select

    prompt = select(Chat.chat["params"]["system"].as_string()).where(Chat.id == bindparam("chat_id"))
    return select(_model_params(), prompt.scalar_subquery().label("prompt"))


@cache
def _user_query() -> Any:
    """`params` of a model beside the folder of the user's own chat, or the folder that is named."""
    from open_webui.models.chats import Chat
    from open_webui.models.folders import Folder
    from sqlalchemy import bindparam, func, literal, select

    mine = (Chat.id == bindparam("chat_id"), Chat.user_id == bindparam("user_id"))
    lies_in = func.coalesce(select(Chat.folder_id).where(*mine).scalar_subquery(), bindparam("folder_id"))
    always = select(literal(1)).subquery()
    columns = (_model_params(), Folder.id, Folder.user_id, Folder.data)
    return select(*columns).select_from(always.outerjoin(Folder, Folder.id == lies_in))


def _model_params() -> Any:
    from open_webui.models.models import Model
    from sqlalchemy import bindparam, select

    return select(Model.params).where(Model.id == bindparam("model_id")).scalar_subquery().label("params")


def _system(params: Any) -> str:
    return str(params.get("system") or "") if isinstance(params, Mapping) else ""


async def _may_read(folder_id: str, user_id: str) -> bool:
    """Whether a folder of somebody else's is shared with the user; releases before 0.12 share none."""
    try:
        from open_webui.models.folders import Folders
        from open_webui.utils.access_control.folders import has_folder_access
    except ImportError:
        return False
    folder = await Folders.get_folder_by_id(folder_id)
    return folder is not None and bool(await has_folder_access(user_id, folder, "read", None))


def without_tool_prompts(system: str, metadata: Mapping[str, Any]) -> str:
    """A system message without what Open WebUI puts in for its own code interpreter; ECHO's tools tell for themselves.

    Args:
        system: as it came to the pipe.
        metadata: names the switches that are on; without the interpreter's nothing was put in.
    """
    features = metadata.get("features")
    if not system or not isinstance(features, Mapping) or not features.get("code_interpreter"):
        return system
    try:
        from open_webui.config import CODE_INTERPRETER_PYODIDE_PROMPT
    except ImportError:  # releases that have no such prompt
        return system
    return system.replace(CODE_INTERPRETER_PYODIDE_PROMPT, "").strip()


async def of_subagent() -> str:
    """What Open WebUI tells its own sub-agents; "" in releases that have none."""
    try:
        from open_webui.models.config import Config
        from open_webui.utils.subagents import DEFAULT_SUBAGENT_SYSTEM_PROMPT
    except ImportError:
        return ""
    return str(await Config.get("subagents.system_prompt") or "").strip() or DEFAULT_SUBAGENT_SYSTEM_PROMPT.strip()


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
