"""A long silent tool behind a proxy that cuts idle connections: the answer arrives whole, or the test can tell why."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from echo_cli._model_record import EVERYBODY_READS
from live.client import Client
from live.idle_proxy import idle_proxy
from live.socket import Socket
from live.stack import Live

FILTER = "/api/v1/functions/id/tcp_keepalive_filter"
SOURCE = '''"""
title: Patience
"""
import asyncio


class Tools:
    async def wait(self, seconds: float) -> str:
        """
        Take long, in silence.

        :param seconds: how long
        """
        await asyncio.sleep(seconds)
        return "waited"
'''


@pytest.fixture(scope="module")
def patience(live: Live) -> str:
    form = {"id": "patience", "name": "Patience", "content": SOURCE, "meta": {"description": ""}}
    live.admin.post("/api/v1/tools/create", {**form, "access_grants": [EVERYBODY_READS]})
    return "patience"


@contextmanager
def heartbeat(live: Live, interval_s: int) -> Iterator[None]:
    live.admin.post(f"{FILTER}/valves/update", {"HEARTBEAT_S": interval_s})
    try:
        yield
    finally:
        live.admin.post(f"{FILTER}/valves/update", {})


@contextmanager
def through(url: str, client: Client) -> Iterator[Client]:
    """The same account by another address."""
    other = Client(url, name=client.name, language=client.language)
    other.token = client.token
    try:
        yield other
    finally:
        other.close()


def asked(silence_s: float) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f'Call wait {{"seconds": {silence_s}}}.'}]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("silence_s", "limit_s", "heartbeat_s"),
    [
        pytest.param(9, 6, 1, id="short"),
        pytest.param(60, 10, 5, id="a-minute"),
    ],
)
def test_a_silent_tool_behind_an_impatient_proxy(
    live: Live, ada: Client, patience: str, silence_s: float, limit_s: float, heartbeat_s: int
) -> None:
    with heartbeat(live, heartbeat_s), idle_proxy(live.url, limit_s) as url, through(url, ada) as client:
        socket = Socket(url, ada.token)
        chat = client.start_turn(asked(silence_s)[0]["content"], tool_ids=[patience], session_id=socket.id)
        streamed = list(client.stream(asked(silence_s), tool_ids=[patience]))
        assert "waited" in "".join(c["choices"][0]["delta"].get("content") or "" for c in streamed if c.get("choices"))
        items = socket.wait_answer(chat[2])
        assert "waited" in str([item for item in items if item["type"] == "function_call_output"])
        assert items[-1]["type"] == "message"
        socket.close()
    assert ada.wait_turn(*chat).message["done"]


def test_a_user_who_switches_it_off_is_cut_off(live: Live, patience: str) -> None:
    user = live.new_user("Impatient")
    user.post(f"{FILTER}/valves/user/update", {"ENABLED": False})
    with (
        heartbeat(live, 1),
        idle_proxy(live.url, 2) as url,
        through(url, user) as client,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        list(client.stream(asked(5), tool_ids=[patience]))
