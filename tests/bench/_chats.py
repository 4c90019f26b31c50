"""Chats in Open WebUI's own tables, in the mixes that people have."""

import base64
import io
import random
from typing import Any

from PIL import Image

USER_ID = "bench-user"
#: Of what a chat consists. A picture stands in every twentieth question, because a request may carry 20 MB of them.
MIXES = ("text", "tools", "images")
PICTURE_EVERY = 20
#: Three bytes a pixel: 24 KiB.
PICTURE_SIDE = 90

_WORDS = "some words of an ordinary conversation " * 12
_BEGAN_S = 1_790_000_000


async def make_chat(mix: str, turns: int) -> tuple[str, list[dict[str, Any]]]:
    """So many questions and answers, and a last question.

    Returns:
        (chat id, messages): the messages as Open WebUI hands them to a pipe; their ids are `message_id`'s.
    """
    from open_webui.internal.db import get_async_db_context
    from open_webui.models.chat_messages import ChatMessage
    from open_webui.models.chats import Chat
    from sqlalchemy import insert

    chat_id = f"bench-{mix}-{turns}"
    rows = [_row(chat_id, mix, index) for index in range(2 * turns + 1)]
    async with get_async_db_context() as db:
        times = {"created_at": _BEGAN_S, "updated_at": _BEGAN_S}
        await db.execute(insert(Chat).values(id=chat_id, user_id=USER_ID, title="bench", chat={}, **times))
        for start in range(0, len(rows), 500):
            await db.execute(insert(ChatMessage), rows[start : start + 500])
        await db.commit()
    return chat_id, [{"role": row["role"], "content": row["content"]} for row in rows]


def message_id(chat_id: str, index: int) -> str:
    """No two chats share one: a copy of a chat would adopt the records of the other."""
    return f"{chat_id}/{index}"


def _row(chat_id: str, mix: str, index: int) -> dict[str, Any]:
    answers = index % 2 == 1
    text = f"{'answer' if answers else 'question'} {index}: {_WORDS}"
    return {
        "id": f"{chat_id}-{message_id(chat_id, index)}",
        "chat_id": chat_id,
        "user_id": USER_ID,
        "role": "assistant" if answers else "user",
        "parent_id": message_id(chat_id, index - 1) if index else None,
        "content": text,
        "output": _output(mix, index, text) if answers else None,
        "files": [picture(index)] if mix == "images" and index % (2 * PICTURE_EVERY) == 0 else None,
        "done": True,
        "created_at": _BEGAN_S + index,
        "updated_at": _BEGAN_S + index,
    }


def _output(mix: str, index: int, text: str) -> list[dict[str, Any]]:
    said = {"type": "message", "id": f"o{index}", "content": [{"type": "output_text", "text": text}]}
    if mix != "tools":
        return [said]
    arguments = '{"place": "Lyon", "days": 3}'
    call = {
        "type": "function_call",
        "id": f"f{index}",
        "call_id": f"c{index}",
        "name": "weather",
        "arguments": arguments,
    }
    result = {
        "type": "function_call_output",
        "call_id": f"c{index}",
        "output": [{"type": "input_text", "text": _WORDS}],
    }
    return [call, result, said]


def picture(index: int) -> dict[str, str]:
    """Noise, which does not compress: a PNG of about 24 KiB."""
    noise = random.Random(index).randbytes(3 * PICTURE_SIDE**2)
    file = io.BytesIO()
    Image.frombytes("RGB", (PICTURE_SIDE, PICTURE_SIDE), noise).save(file, "PNG")
    return {"type": "image", "url": f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"}
