"""Many requests, cancelled at random, through a server that leaves, refuses and breaks off at random."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable

import httpx
import pytest

from echo_http import EchoTransport, RequestNotProcessed
from http_servers import H2Server, ServerStream

REQUESTS = 150


class Unreliable:
    """Serves each request whole, unless the dice say otherwise; counts how often it really served one."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self.served: Counter[bytes] = Counter()
        self._highest: Counter[int] = Counter()  # last stream that ran, by connection
        self._last: dict[int, int] = {}  # what GOAWAY promised, by connection

    async def __call__(self, stream: ServerStream) -> None:
        await stream.complete.wait()
        where, fate = id(stream.connection), self._dice.random()
        if stream.id > self._last.get(where, stream.id):
            return  # GOAWAY said that this one is ignored
        if fate < 0.05 and where not in self._last and stream.id > self._highest[where]:
            self._last[where] = self._highest[where]
            stream.goaway(self._highest[where])
            return
        if fate < 0.15:
            stream.reset(7)
            return
        self._highest[where] = max(stream.id, self._highest[where])
        self.served[bytes(stream.body)] += 1
        stream.head()
        await stream.data(b"half ")
        if fate < 0.20:
            stream.reset(2)
            return
        await asyncio.sleep(0)
        await stream.data(b"whole " + bytes(stream.body))
        stream.end()


@pytest.mark.parametrize("seed", range(3))
async def test_no_request_is_lost_that_could_be_retried_and_none_runs_twice(
    make_transport: Callable[..., EchoTransport], seed: int
) -> None:
    dice, handler = random.Random(-seed), Unreliable(seed)
    transport = make_transport()
    outcomes: Counter[str] = Counter()

    async def one(number: int) -> None:
        body = b"request %d" % number
        try:
            response = await transport.handle_async_request(httpx.Request("POST", server.url, content=body))
            text = b"".join([piece async for piece in response.aiter_raw()])
            assert text == b"half whole " + body
            outcomes["answered"] += 1
        except RequestNotProcessed:
            assert handler.served[body] == 0
            outcomes["never ran"] += 1
        except httpx.TransportError:
            assert handler.served[body] == 1
            outcomes["broke off"] += 1

    async with H2Server(handler, max_streams=20) as server:
        tasks = []
        for number in range(REQUESTS):
            tasks.append(asyncio.create_task(one(number)))
            if dice.random() < 0.3:
                await asyncio.sleep(0)
            if dice.random() < 0.1:
                dice.choice(tasks).cancel()
        results = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30)
    errors = [result for result in results if isinstance(result, Exception)]
    assert errors == []
    assert max(handler.served.values()) == 1
    cancelled = sum(isinstance(result, asyncio.CancelledError) for result in results)
    assert outcomes.total() + cancelled == REQUESTS
    assert outcomes["answered"] > REQUESTS // 2
