"""Reads ECHO's own records of a chat beside the running Open WebUI."""

import asyncio
import sqlite3
from contextlib import closing
from typing import Any

from echo_http import SystemClock
from echo_paths import EchoPaths
from echo_state_manager import SessionStore, SessionStores, VerifyReport, verify
from live.stack import Live


def verified(live: Live, owner_id: str, chat_id: str) -> VerifyReport:
    """What the check of a chat's records finds."""

    async def check() -> VerifyReport:
        stores = SessionStores(EchoPaths(live.data / "echo"), SystemClock())
        async with stores.open(owner_id, chat_id) as store:
            assert isinstance(store, SessionStore)
            report = await verify(store)
        await stores.close()
        return report

    return asyncio.run(check())


def turn_log(live: Live, chat_id: str) -> str:
    """Everything in the log of the chat's running turn."""
    rows = session_rows(live, chat_id, "SELECT data FROM turn_log ORDER BY seq")
    return b"".join(bytes(data) for (data,) in rows).decode()


def session_rows(live: Live, chat_id: str, query: str) -> list[tuple[Any, ...]]:
    """What a query finds in the records of a chat."""
    [path] = live.data.rglob(f"{chat_id}/session.db")
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as db:
        return db.execute(query).fetchall()
