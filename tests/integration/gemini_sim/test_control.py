"""The stable interface that outside harnesses use: scripts, requests, reset."""

import asyncio
import base64
import json

import httpx
import pytest

from echo_workers.gemini_sim.core import faults
from sim_fixture import RunningSim

STREAM = "/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse"
HELLO = {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}
KEY = {"x-goog-api-key": "a-test-key"}


def client(sim: RunningSim, *, h2: bool = False) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=sim.base_url, headers=KEY, http1=not h2, http2=h2, timeout=10)


@pytest.mark.parametrize("h2", [False, True])
async def test_scripted_bytes_arrive_exactly(sim: RunningSim, h2: bool) -> None:
    data = b'data: {"a": "\xe2\x80\xa8\xc3\xa9"}\r\n\r\n\x00\xff'
    sim.script({"chunks": [{"text": "x\r\n"}, {"b64": base64.b64encode(data).decode(), "delay_ms": 5}]})
    async with client(sim, h2=h2) as http:
        answer = await http.post(STREAM, json=HELLO)
    assert answer.content == b"x\r\n" + data
    assert answer.headers["content-type"] == "text/event-stream"
    row = sim.requests()[0]
    assert row["http_version"] == ("2" if h2 else "1.1")
    assert row["ended"] == "complete"
    assert json.loads(row["body"]) == HELLO
    assert row["prompt_tokens"] > 0


@pytest.mark.parametrize("h2", [False, True])
async def test_reset_breaks_the_stream_after_its_chunks(sim: RunningSim, h2: bool) -> None:
    sim.script(faults.reset("one", "two"))
    received = b""
    async with client(sim, h2=h2) as http:
        with pytest.raises(httpx.HTTPError):
            async with http.stream("POST", STREAM, json=HELLO) as answer:
                async for chunk in answer.aiter_raw():
                    received += chunk
        assert received.count(b"data: ") == 2
        follow_up = await http.post(STREAM, json=HELLO)
    assert follow_up.status_code == 200
    assert [row["ended"] for row in sim.requests()] == ["reset_by_server", "complete"]


@pytest.mark.parametrize("h2", [False, True])
async def test_a_client_that_leaves_is_noticed(sim: RunningSim, h2: bool) -> None:
    sim.script(faults.hang("one"))
    async with client(sim, h2=h2) as http, http.stream("POST", STREAM, json=HELLO) as answer:
        async for _ in answer.aiter_raw():
            break
    rows = await asyncio.to_thread(sim.wait_for, lambda rows: rows[0]["ended"] != "open")
    assert rows[0]["ended"] == "reset_by_client"
