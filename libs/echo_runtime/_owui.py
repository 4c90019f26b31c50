"""The one door to Open WebUI's own tables and helpers. Its database is reached through its sessions only.

Facts about Open WebUI named here were read in release 0.12.4; the seam test checks each symbol against the
installed release.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any, Final

from echo_core.heads import MODEL_MARK, OTHER_MARK, USER_MARK, ChatRows
from echo_runtime.model_record import ECHO_MODEL_ID

#: Stands between two fields of a row, and between two rows. ASCII's own sign for that.
_FIELD_END: Final = "\x1f"
_ROW_FIELDS: Final = 4


@dataclass(frozen=True, slots=True)
class RowText:
    """What a message row shows.

    Args:
        content: plain text, or a list of OpenAI content blocks.
        output: Responses output items, [] for messages without.
        files: attachment entries.
        done: False while Open WebUI has not stored the whole answer (it runs, or the save failed).
    """

    content: Any
    output: list[Any]
    files: list[Any]
    done: bool = True


@dataclass(frozen=True, slots=True)
class FunctionSwitch:
    """How an installed filter is set.

    Args:
        active: whether it runs for every model; one that an administrator took from the list of global filters or
            switched off does not.
        valves: its stored Valves by name.
    """

    active: bool
    valves: Mapping[str, Any]


async def function_switches(function_ids: Sequence[str]) -> dict[str, FunctionSwitch]:
    """How some filters are set; ids that are not installed are left out."""
    from open_webui.models.functions import Functions

    rows = await Functions.get_functions_by_ids(list(function_ids))
    valves = await Functions.get_function_valves_by_ids(list(function_ids))
    return {row.id: FunctionSwitch(bool(row.is_active and row.is_global), valves.get(row.id) or {}) for row in rows}


async def pipe_valves(request: Any) -> Any:
    """The administrator's Valves of ECHO's pipe as they are stored now, with the defaults of the rest."""
    from open_webui.models.functions import Functions
    from open_webui.utils.plugin import get_function_module_from_cache

    module, *_ = await get_function_module_from_cache(request, ECHO_MODEL_ID)
    return module.Valves(**(await Functions.get_function_valves_by_id(ECHO_MODEL_ID) or {}))


async def load_rows(chat_id: str) -> ChatRows:
    """All rows of a chat, without their text.

    The database joins them to one string: that many row objects cost ten times as much of the event loop
    (tests/bench/bench_pipe.py).
    """
    from open_webui.internal.db import get_async_db_context

    one_by_one, joined = _row_queries()
    asked = {"chat_id": chat_id, "start": len(chat_id) + 2}
    async with get_async_db_context() as db:
        count, text = (await db.execute(joined, asked)).one()
        fields = text.split(_FIELD_END) if text else []
        if len(fields) != count * _ROW_FIELDS:  # somebody made up an id that holds the sign between two fields
            fields = [field for row in (await db.execute(one_by_one, asked)).all() for field in row]
    return ChatRows(*(fields[start::_ROW_FIELDS] for start in range(_ROW_FIELDS)))


@cache
def _row_queries() -> tuple[Any, Any]:
    """The fields of `ChatRows` for each row of a chat, and all of them as one string behind their number."""
    from open_webui.models.chat_messages import ChatMessage
    from sqlalchemy import Integer, Text, bindparam, case, cast, func, select

    roles = case(
        (ChatMessage.role == "user", USER_MARK), (ChatMessage.role == "assistant", MODEL_MARK), else_=OTHER_MARK
    )
    fields = (
        func.substr(ChatMessage.id, bindparam("start", type_=Integer)),
        func.coalesce(ChatMessage.parent_id, ""),
        roles + cast(func.coalesce(ChatMessage.updated_at, 0), Text),
        func.coalesce(ChatMessage.user_id, ""),
    )
    row = reduce(lambda text, field: text + _FIELD_END + field, fields)
    here = ChatMessage.chat_id == bindparam("chat_id")
    return select(*fields).where(here), select(func.count(), func.aggregate_strings(row, _FIELD_END)).where(here)


async def load_texts(chat_id: str, message_ids: Sequence[str]) -> dict[str, RowText]:
    """Text, output items and attachments of some rows, by message id."""
    from open_webui.internal.db import get_async_db_context
    from open_webui.models.chat_messages import ChatMessage
    from sqlalchemy import select

    texts: dict[str, RowText] = {}
    async with get_async_db_context() as db:
        for batch in _batches([f"{chat_id}-{message_id}" for message_id in message_ids], 500):
            query = select(
                ChatMessage.id, ChatMessage.content, ChatMessage.output, ChatMessage.files, ChatMessage.done
            ).where(ChatMessage.id.in_(batch))
            for row in (await db.execute(query)).all():
                message_id = row.id.removeprefix(f"{chat_id}-")
                texts[message_id] = RowText(
                    row.content or "", list(row.output or []), list(row.files or []), row.done is not False
                )
    return texts


async def written_at(chat_id: str, message_ids: Sequence[str]) -> dict[str, int]:
    """When some messages were written, epoch seconds, by message id; those that are gone are left out."""
    from open_webui.internal.db import get_async_db_context
    from open_webui.models.chat_messages import ChatMessage
    from sqlalchemy import select

    found: dict[str, int] = {}
    prefix = f"{chat_id}-"
    async with get_async_db_context() as db:
        for batch in _batches([prefix + message_id for message_id in message_ids], 500):
            query = select(ChatMessage.id, ChatMessage.created_at).where(ChatMessage.id.in_(batch))
            rows = (await db.execute(query)).all()
            found |= {str(row.id).removeprefix(prefix): int(row.created_at or 0) for row in rows}
    return found


async def chat_owner(chat_id: str) -> str | None:
    """The user whose chat it is, None when there is no such chat."""
    from open_webui.internal.db import get_async_db_context
    from open_webui.models.chats import Chat
    from sqlalchemy import select

    async with get_async_db_context() as db:
        owner = (await db.execute(select(Chat.user_id).where(Chat.id == chat_id))).scalar_one_or_none()
    return None if owner is None else str(owner)


async def chat_origins(chat_id: str) -> list[str]:
    """Ids of chats that this one may be a copy of (clone, fork, import), most likely first."""
    from open_webui.internal.db import get_async_db_context
    from open_webui.models.chats import Chat
    from sqlalchemy import select

    async with get_async_db_context() as db:
        row = (await db.execute(select(Chat.chat, Chat.meta).where(Chat.id == chat_id))).one_or_none()
    if row is None:
        return []
    told, meta = row.chat or {}, row.meta or {}
    forked_from = meta.get("forked_from") or {}
    candidates = [
        told.get("originalChatId"),
        forked_from.get("chat_id") if isinstance(forked_from, dict) else forked_from,
        told.get("id"),
    ]
    return list(dict.fromkeys(str(candidate) for candidate in candidates if candidate and candidate != chat_id))


async def sister_chats(chat_id: str, message_id: str) -> list[str]:
    """Ids of other chats of the same owner that have a message of this id, the latest first.

    Message ids survive clone, fork and import; the row's own id is made of chat and message, so this is one look-up by
    key for each chat of the owner.
    """
    from open_webui.internal.db import get_async_db_context
    from open_webui.models.chat_messages import ChatMessage
    from open_webui.models.chats import Chat
    from sqlalchemy import select

    owner = select(Chat.user_id).where(Chat.id == chat_id).scalar_subquery()
    query = (
        select(Chat.id)
        .join(ChatMessage, ChatMessage.id == Chat.id + "-" + message_id)
        .where(Chat.user_id == owner, Chat.id != chat_id)
        .order_by(Chat.updated_at.desc())
    )
    async with get_async_db_context() as db:
        return [str(found) for found in (await db.execute(query)).scalars()]


async def user_names(user_ids: Sequence[str]) -> dict[str, str]:
    """Display names by user id; users that are gone are left out."""
    from open_webui.internal.db import get_async_db_context
    from open_webui.models.users import User
    from sqlalchemy import select

    async with get_async_db_context() as db:
        rows = (await db.execute(select(User.id, User.name).where(User.id.in_(list(user_ids))))).all()
    return {str(row.id): str(row.name) for row in rows}


async def fill_row(chat_id: str, message_id: str, text: str, output: list[Any] | None) -> None:
    """Show a broken-off answer in its row, and mark the row as done.

    Args:
        chat_id: of the row.
        message_id: of the row.
        text: the whole visible text.
        output: items that show it; None leaves what the row shows alone.
    """
    from open_webui.models.chats import Chats

    shown = {"done": True} if output is None else {"content": text, "output": output, "done": True}
    await Chats.upsert_message_to_chat_by_id_and_message_id(chat_id, message_id, shown)


async def connected(socket_ids: Sequence[str]) -> set[str]:
    """Which of these browser sockets are still there; asked in a thread, because the pool may lie in Redis."""
    import asyncio

    from open_webui.socket.main import SESSION_POOL

    return await asyncio.to_thread(lambda: {socket_id for socket_id in socket_ids if socket_id in SESSION_POOL})


async def unfinished_answers() -> list[tuple[str, str]]:
    """(chat id, message id) of all assistant rows that are not marked as done."""
    from open_webui.internal.db import get_async_db_context
    from open_webui.models.chat_messages import ChatMessage
    from sqlalchemy import select

    query = select(ChatMessage.chat_id, ChatMessage.id).where(
        ChatMessage.role == "assistant", ChatMessage.done.is_(False)
    )
    async with get_async_db_context() as db:
        rows = (await db.execute(query)).all()
    return [(str(row.chat_id), str(row.id).removeprefix(f"{row.chat_id}-")) for row in rows]


async def image_data_uri(url: str, user: Mapping[str, Any]) -> str | None:
    """An attached image as a data URI, read with the user's own rights; None when it cannot be had.

    Chats from older releases hold the picture itself, which Open WebUI's own reader takes for the id of a file.
    """
    if url.startswith("data:image/"):
        return url
    from open_webui.utils.files import get_image_base64_from_url

    data = await get_image_base64_from_url(url, await _user_model(user))
    return None if data is None else str(data)


async def keep_image(request: Any, metadata: Mapping[str, Any], user: Mapping[str, Any], data_uri: str) -> str:
    """Store an image as the user's Open WebUI file and return its address, "" when Open WebUI cannot read it."""
    from open_webui.utils.files import get_image_url_from_base64

    ids = {key: metadata.get(key) for key in ("chat_id", "message_id", "session_id")}
    return str(await get_image_url_from_base64(request, data_uri, ids, await _user_model(user)) or "")


async def readable_result(
    request: Any,
    name: str,
    result: Any,
    tool: Mapping[str, Any],
    metadata: Mapping[str, Any],
    user: Mapping[str, Any],
    *,
    off_loop: bool = False,
) -> tuple[str, list[Any], list[Any]]:
    """A tool's raw return as Open WebUI itself reads it: text, files, embeds.

    Args:
        request: of the call.
        name: the tool's.
        result: what it returned.
        tool: its entry in `__tools__`.
        metadata: Open WebUI's, for the files that it stores.
        user: whose files they become.
        off_loop: read in a thread; not for results of MCP servers, whose media Open WebUI stores in its database.
    """
    from open_webui.utils.middleware import process_tool_result

    kind = tool.get("type", "")
    reading = process_tool_result(
        request, name, result, kind, bool(tool.get("direct")), metadata, await _user_model(user)
    )
    if off_loop and kind != "mcp":
        import asyncio

        text, files, embeds = await asyncio.to_thread(asyncio.run, reading)
    else:
        text, files, embeds = await reading
    return "" if text is None else str(text), list(files or []), list(embeds or [])


async def search_web(request: Any, user: Mapping[str, Any], query: str, count: int | None) -> str:
    """Search with Open WebUI's engine; JSON of title, link and snippet."""
    from open_webui.tools.builtin import search_web as search

    plain = {key: value for key, value in user.items() if key != "valves"}
    return str(await search(query, count, __request__=request, __user__=plain))


#: Open WebUI's own tools whose results are sources. Source: its `utils/middleware.py`, 0.12.4; older releases name the
#: same ones, or fewer, where they use them.
_CITED_TOOLS: Final = ("fetch_url", "view_file", "view_knowledge_file", "query_knowledge_files", "query_chat_files")


def tool_sources(name: str, args: Mapping[str, Any], text: str, tool: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What one of Open WebUI's own tools found, as sources; [] for other tools."""
    if name not in _CITED_TOOLS or not text:
        return []
    from open_webui.utils.middleware import get_citation_source_from_tool_result

    sources = get_citation_source_from_tool_result(
        tool_name=name, tool_params=dict(args), tool_result=text, tool_id=str(tool.get("tool_id") or "")
    )
    return [dict(source) for source in sources]


async def approval_mode(chat_id: str) -> str | None:
    """The tool permissions that a chat has now (`ask` or `full`), None when it has none of its own."""
    from open_webui.internal.db import get_async_db_context
    from open_webui.models.chats import Chat
    from sqlalchemy import select

    query = select(Chat.chat["params"]["tool_approval_mode"].as_string()).where(Chat.id == chat_id)
    async with get_async_db_context() as db:
        mode = (await db.execute(query)).scalar_one_or_none()
    return None if mode is None else str(mode)


async def _user_model(user: Mapping[str, Any]) -> Any:
    from open_webui.models.users import Users

    return await Users.get_user_by_id(str(user["id"]))


def _batches(items: Sequence[str], size: int) -> list[Sequence[str]]:
    return [items[start : start + size] for start in range(0, len(items), size)]
