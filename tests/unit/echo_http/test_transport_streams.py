"""Streams that are stopped, silent, many, or slow to be read."""

import asyncio
from collections.abc import Callable

import httpx
import pytest

from echo_http import (
    LIMITS_EXTENSION,
    ConnectionLost,
    EchoTransport,
    FirstByteTimeout,
    IdleTimeout,
    ProxySettings,
    StreamLimits,
    StreamResetByPeer,
    TransportSettings,
)
from http_servers import FakeClock, H2Server, ServerStream, eventually

EVENT = b'data: {"text": "' + b"x" * 1000 + b'"}\r\n\r\n'
CANCEL = 8


def post(
    server: H2Server, path: str = "/", *, body: bytes = b"{}", limits: StreamLimits | None = None
) -> httpx.Request:
    extensions = {LIMITS_EXTENSION: limits or StreamLimits()}
    return httpx.Request("POST", server.url + path, content=body, extensions=extensions)


async def read_all(response: httpx.Response) -> bytes:
    return b"".join([piece async for piece in response.aiter_raw()])


async def three_megabytes(stream: ServerStream) -> None:
    await stream.complete.wait()
    stream.head()
    if stream.headers[":path"] == "/small":
        await stream.data(b"data: {}\r\n\r\n")
    else:
        await stream.data(EVENT * 3000)
    stream.end()


async def test_stopping_50_big_streams_resets_each_and_leaves_the_window_free(transport: EchoTransport) -> None:
    async with H2Server(three_megabytes) as server:
        for _ in range(50):
            response = await transport.handle_async_request(post(server))
            await anext(aiter(response.stream))
            await response.aclose()
        answer = await asyncio.wait_for(transport.handle_async_request(post(server, "/small")), 5)
        assert await read_all(answer) == b"data: {}\r\n\r\n"
        await eventually(lambda: len(server.resets) == 50)
        assert {code for _, code in server.resets} == {CANCEL}
        assert len({stream_id for stream_id, _ in server.resets}) == 50
        assert len(server.connections) == 1


async def test_a_stream_larger_than_all_windows_arrives_whole_after_stopped_ones(transport: EchoTransport) -> None:
    async def twenty_megabytes(stream: ServerStream) -> None:
        stream.head()
        await stream.data(b"y" * 20_000_000)
        stream.end()

    async with H2Server(twenty_megabytes) as server:
        for _ in range(4):
            response = await transport.handle_async_request(post(server))
            await anext(aiter(response.stream))
            await response.aclose()
        whole = await transport.handle_async_request(post(server))
        assert len(await read_all(whole)) == 20_000_000


async def test_a_cancelled_task_resets_its_stream(transport: EchoTransport) -> None:
    async def never_answers(stream: ServerStream) -> None:
        await asyncio.Event().wait()

    async with H2Server(never_answers) as server:
        task = asyncio.create_task(transport.handle_async_request(post(server)))
        await eventually(lambda: len(server.requests) == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await eventually(lambda: server.resets == [(1, CANCEL)])


async def test_a_forgotten_response_is_stopped(transport: EchoTransport) -> None:
    async with H2Server(three_megabytes) as server:
        response = await transport.handle_async_request(post(server))
        assert response.status_code == 200
        del response
        await eventually(lambda: server.resets == [(1, CANCEL)])


async def test_one_idle_stream_ends_alone_and_on_time(make_transport: Callable[..., EchoTransport]) -> None:
    clock, going_on = FakeClock(), asyncio.Event()

    async def talk_or_fall_silent(stream: ServerStream) -> None:
        stream.head()
        await stream.data(EVENT)
        if stream.headers[":path"] == "/talks":
            await going_on.wait()
            await stream.data(EVENT)
            stream.end()

    async with H2Server(talk_or_fall_silent) as server:
        transport = make_transport(clock=clock)
        talking = await transport.handle_async_request(post(server, "/talks", limits=StreamLimits(idle_s=100)))
        silent = await transport.handle_async_request(post(server, "/silent", limits=StreamLimits(idle_s=20)))
        pieces = aiter(silent.stream)
        assert await anext(pieces) == EVENT
        waiting = asyncio.ensure_future(anext(pieces))
        await clock.advance(19)
        assert not waiting.done()
        await clock.advance(2)
        with pytest.raises(IdleTimeout):
            await waiting
        await eventually(lambda: len(server.resets) == 1)
        going_on.set()
        assert await read_all(talking) == EVENT * 2


async def test_headers_alone_do_not_count_as_the_first_byte(make_transport: Callable[..., EchoTransport]) -> None:
    clock = FakeClock()

    async def only_headers(stream: ServerStream) -> None:
        stream.head()

    async with H2Server(only_headers) as server:
        limits = StreamLimits(first_byte_s=10, idle_s=60)
        response = await make_transport(clock=clock).handle_async_request(post(server, limits=limits))
        reading = asyncio.ensure_future(read_all(response))
        await clock.advance(11)
        with pytest.raises(FirstByteTimeout):
            await reading


async def test_a_reader_that_dawdles_is_not_a_silent_server(make_transport: Callable[..., EchoTransport]) -> None:
    clock = FakeClock()

    async def steady(stream: ServerStream) -> None:
        stream.head()
        await stream.data(b"z" * 3_000_000)
        stream.end()

    async with H2Server(steady) as server:
        transport = make_transport(clock=clock)
        response = await transport.handle_async_request(post(server, limits=StreamLimits(idle_s=10)))
        pieces = aiter(response.stream)
        first = await anext(pieces)
        for _ in range(4):  # the window is full and nothing moves for four limits, because nobody reads
            await eventually(lambda: server.requests[0].stalled)
            await clock.advance(10)
        rest = b"".join([piece async for piece in pieces])
        assert len(first) + len(rest) == 3_000_000
        assert server.resets == []


async def test_a_slow_reader_does_not_hold_up_its_siblings(transport: EchoTransport) -> None:
    async with H2Server(three_megabytes, max_streams=200) as server:
        slow = [await transport.handle_async_request(post(server)) for _ in range(30)]
        quick = await asyncio.wait_for(transport.handle_async_request(post(server, "/small")), 5)
        assert await asyncio.wait_for(read_all(quick), 5) == b"data: {}\r\n\r\n"
        for response in slow:
            await response.aclose()


async def test_150_parallel_streams_all_start(transport: EchoTransport) -> None:
    everybody = asyncio.Event()

    async def wait_for_all(stream: ServerStream) -> None:
        stream.head()
        await stream.data(b"a")
        await everybody.wait()
        await stream.data(b"b")
        stream.end()

    async with H2Server(wait_for_all, max_streams=100) as server:
        responses = await asyncio.gather(*(transport.handle_async_request(post(server)) for _ in range(150)))
        assert len(server.requests) == 150
        assert len(server.connections) == 2
        everybody.set()
        bodies = await asyncio.gather(*(read_all(response) for response in responses))
        assert bodies == [b"ab"] * 150


async def test_requests_beyond_all_connections_wait_their_turn(make_transport: Callable[..., EchoTransport]) -> None:
    gate = asyncio.Event()

    async def hold(stream: ServerStream) -> None:
        await gate.wait()
        stream.head(end=True)

    transport = make_transport(settings=TransportSettings(proxies=ProxySettings(), max_connections=1))
    async with H2Server(hold, max_streams=3) as server:
        tasks = [asyncio.create_task(transport.handle_async_request(post(server))) for _ in range(8)]
        await eventually(lambda: len(server.requests) == 3)
        with pytest.raises(httpx.PoolTimeout):
            await transport.handle_async_request(post(server, limits=StreamLimits(connect_s=0.05)))
        gate.set()
        assert [response.status_code for response in await asyncio.gather(*tasks)] == [200] * 8
        assert len(server.connections) == 1


async def test_a_reset_by_the_server_is_told_with_its_code_after_what_had_arrived(transport: EchoTransport) -> None:
    async def give_up(stream: ServerStream) -> None:
        stream.head()
        await stream.data(EVENT)
        stream.reset(2)

    async with H2Server(give_up) as server:
        response = await transport.handle_async_request(post(server))
        pieces = aiter(response.stream)
        assert await anext(pieces) == EVENT
        with pytest.raises(StreamResetByPeer) as caught:
            await anext(pieces)
        assert caught.value.code == 2


async def test_a_lost_connection_fails_its_streams_and_the_next_request_gets_a_new_one(
    transport: EchoTransport,
) -> None:
    async def drop_first(stream: ServerStream) -> None:
        stream.head()
        await stream.data(b"a")
        if len(stream.connection.server.connections) == 1:
            await stream.complete.wait()
            stream.drop_connection()
        else:
            stream.end()

    async with H2Server(drop_first) as server:
        response = await transport.handle_async_request(post(server))
        with pytest.raises(ConnectionLost):
            await read_all(response)
        assert await read_all(await transport.handle_async_request(post(server))) == b"a"
        assert len(server.requests) == 2, "the lost request must not be sent again"


async def test_a_large_request_respects_the_servers_small_window(transport: EchoTransport) -> None:
    async def count(stream: ServerStream) -> None:
        await stream.complete.wait()
        stream.head(headers={"x-length": str(len(stream.body))}, end=True)

    async with H2Server(count, window_bytes=1_000) as server:
        response = await transport.handle_async_request(post(server, body=b"q" * 300_000))
        assert response.headers["x-length"] == "300000"


async def test_a_refusal_before_the_upload_is_complete_is_heard(transport: EchoTransport) -> None:
    async def refuse(stream: ServerStream) -> None:
        stream.head(413, {"content-type": "text/plain"})
        await stream.data(b"too large")
        stream.end()

    async with H2Server(refuse) as server:
        server.reads_bodies = False
        response = await asyncio.wait_for(transport.handle_async_request(post(server, body=b"q" * 5_000_000)), 5)
        assert response.status_code == 413
        assert await read_all(response) == b"too large"
        await eventually(lambda: len(server.resets) == 1)


async def test_an_upload_that_stalls_times_out(make_transport: Callable[..., EchoTransport]) -> None:
    clock = FakeClock()

    async def read_nothing(stream: ServerStream) -> None:
        await asyncio.Event().wait()

    async with H2Server(read_nothing) as server:
        server.reads_bodies = False
        limits = StreamLimits(first_byte_s=60, idle_s=10)
        request = post(server, body=b"q" * 5_000_000, limits=limits)
        sending = asyncio.ensure_future(make_transport(clock=clock).handle_async_request(request))
        await eventually(lambda: len(server.requests) == 1 and len(server.requests[0].body) == 65_535)
        await clock.advance(11)
        with pytest.raises(IdleTimeout, match="sending"):
            await sending
        await eventually(lambda: len(server.resets) == 1)


@pytest.mark.parametrize("status", [None, "abc", ""])
@pytest.mark.parametrize("ends", [True, False])
async def test_an_answer_without_a_status_is_refused_at_once(
    transport: EchoTransport, status: str | None, ends: bool
) -> None:
    async def headless(stream: ServerStream) -> None:
        await stream.complete.wait()
        config = stream.connection.h2.config
        config.validate_outbound_headers = config.normalize_outbound_headers = False
        fields = [("x", "y")] if status is None else [(":status", status), ("x", "y")]
        stream.connection.h2.send_headers(stream.id, fields, end_stream=ends)
        stream.connection.flush()

    async with H2Server(headless) as server:
        with pytest.raises(httpx.TransportError):
            await asyncio.wait_for(transport.handle_async_request(post(server)), 5)
