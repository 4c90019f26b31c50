"""The client against a server that misbehaves frame by frame."""

import asyncio
import gzip
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from echo_constants import EchoError
from echo_core.ports import GenerateRequest
from echo_gemini_client import (
    AiStudioApi,
    ClientSettings,
    CodeAssistApi,
    EchoGeminiClient,
    KeyMissing,
    KeyRejected,
    ModelNotFound,
    ModelOverloaded,
    NetworkUnreachable,
    QuotaPerDay,
    QuotaPerMinute,
    ServerFailed,
    StreamBroken,
    TimedOut,
    TlsFailed,
)
from echo_http import BreakerSettings, CircuitBreaker, RetryPolicy, StreamLimits
from gemini_scripts import KEY, LAST, OVERLOADED, Script, Waits, chunk, event, google_error
from http_servers import Certificates, H2Server, ServerStream, eventually

Make = Callable[..., EchoGeminiClient]
BODY = b'{"contents": [{"role":"user","parts":[{"text":"\xc3\xa9"}]}] }'
REQUEST = GenerateRequest(model="gemini-x", body_json=BODY)


async def collect(client: EchoGeminiClient, **options: Any) -> list[dict[str, Any]]:
    async with client.stream_generate(REQUEST, **options) as chunks:
        return [one async for one in chunks]


async def test_a_stream_sends_the_bytes_as_they_are_and_yields_decoded_chunks(make_client: Make) -> None:
    async with H2Server(Script((200, event(chunk("a")), event(LAST)))) as server:
        assert await collect(make_client(server.url)) == [chunk("a"), LAST]
        seen = server.requests[0]
        assert seen.body == BODY
        assert seen.headers[":path"] == "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
        assert seen.headers["x-goog-api-key"] == KEY
        assert seen.headers["content-type"] == "application/json"


async def test_leaving_the_context_stops_the_generation(make_client: Make) -> None:
    async def endless(stream: ServerStream) -> None:
        stream.head()
        while stream.reset_code is None:
            await stream.data(event(chunk("more")))
            await asyncio.sleep(0)

    async with H2Server(Script(endless)) as server:
        async with make_client(server.url).stream_generate(REQUEST) as chunks:
            assert await anext(chunks) == chunk("more")
        await eventually(lambda: len(server.resets) == 1)


async def test_cancelling_while_waiting_for_the_first_chunk_stops_it_too(make_client: Make) -> None:
    async def think(stream: ServerStream) -> None:
        stream.head()

    async with H2Server(Script(think)) as server:
        task = asyncio.create_task(collect(make_client(server.url)))
        await eventually(lambda: len(server.requests) == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await eventually(lambda: len(server.resets) == 1)


@pytest.mark.parametrize(
    "tail",
    [json.dumps(OVERLOADED, indent=2).encode() + b"\n", event(OVERLOADED), event([OVERLOADED])],
    ids=["raw json", "event", "array element"],
)
async def test_an_error_in_the_middle_comes_after_the_chunks_before_it(make_client: Make, tail: bytes) -> None:
    received = []
    async with H2Server(Script((200, event(chunk("a")), event(chunk("b")), tail))) as server:
        with pytest.raises(ModelOverloaded, match="overloaded"):
            async with make_client(server.url).stream_generate(REQUEST) as chunks:
                async for one in chunks:
                    received.append(one)
        assert received == [chunk("a"), chunk("b")]
        assert len(server.requests) == 1, "not retried after something was shown"


async def test_an_array_instead_of_events_is_read(make_client: Make) -> None:
    async with H2Server(Script((200, json.dumps([chunk("a"), LAST], indent=1).encode()))) as server:
        assert await collect(make_client(server.url)) == [chunk("a"), LAST]


async def test_failures_before_the_first_chunk_are_waited_out_and_told(make_client: Make, waits: Waits) -> None:
    minute = google_error(429, "Please retry in 7s.", "RESOURCE_EXHAUSTED")
    steps = (503, OVERLOADED), (429, minute), (200, event(OVERLOADED)), (200, event(LAST))
    async with H2Server(Script(*steps)) as server:
        assert await collect(make_client(server.url), on_wait=waits) == [LAST]
        assert waits == [
            (1.0, "gemini_model_overloaded"),
            (7.0, "gemini_quota_per_minute"),
            (4.0, "gemini_model_overloaded"),
        ]


async def test_a_wait_longer_than_the_budget_is_told_at_once(make_client: Make, waits: Waits) -> None:
    minute = google_error(429, "Please retry in 56.2s.", "RESOURCE_EXHAUSTED")
    settings = ClientSettings(retries=RetryPolicy(max_total_wait_s=30))
    async with H2Server(Script((429, minute))) as server:
        with pytest.raises(QuotaPerMinute) as caught:
            await collect(make_client(server.url, settings=settings), on_wait=waits)
        assert caught.value.retry_after_s == 56.2
        assert waits == []


@pytest.mark.parametrize(
    ("status", "answer", "error"),
    [
        (404, google_error(404, "models/gemini-x is not found for API version v1beta", "NOT_FOUND"), ModelNotFound),
        (400, google_error(400, "API key not valid. Please pass a valid API key."), KeyRejected),
        (
            429,
            google_error(
                429,
                "x",
                "RESOURCE_EXHAUSTED",
                details=[{"@type": "a.QuotaFailure", "violations": [{"quotaId": "RequestsPerDayPerModel"}]}],
            ),
            QuotaPerDay,
        ),
    ],
)
async def test_terminal_answers_are_not_retried(
    make_client: Make, status: int, answer: dict[str, Any], error: type[EchoError]
) -> None:
    async with H2Server(Script((status, answer))) as server:
        with pytest.raises(error):
            await collect(make_client(server.url))
        assert len(server.requests) == 1


async def test_a_connection_lost_before_the_answer_is_not_sent_again(make_client: Make) -> None:
    async def drop(stream: ServerStream) -> None:
        stream.drop_connection()

    async with H2Server(Script(drop, drop, (200, {"totalTokens": 5}))) as server:
        client = make_client(server.url)
        with pytest.raises(StreamBroken) as caught:
            await collect(client)
        assert not caught.value.received
        assert len(server.requests) == 1
        assert await client.count_tokens(REQUEST) == 5, "counting twice does no harm"
        assert len(server.requests) == 3


async def test_a_stream_that_breaks_after_a_chunk_says_so(make_client: Make) -> None:
    async def break_off(stream: ServerStream) -> None:
        stream.head()
        await stream.data(event(chunk("a")))
        stream.reset(2)

    async with H2Server(Script(break_off)) as server:
        with pytest.raises(StreamBroken) as caught:
            await collect(make_client(server.url))
        assert caught.value.received


@pytest.mark.parametrize("body", [b"", event(chunk("a")), event(chunk("a")) + b'data: {"cand'])
async def test_an_end_without_a_finish_reason_is_no_end(make_client: Make, body: bytes) -> None:
    async with H2Server(Script((200, body))) as server:
        with pytest.raises(StreamBroken) as caught:
            await collect(make_client(server.url))
        assert caught.value.received == bool(body)


EMPTY_FORMS = [
    {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS", "index": 0}]},
    {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}},
    {"candidates": [{"content": {}, "finishReason": "SAFETY"}]},
    {"candidates": [{"content": {}, "finishReason": "SOMETHING_NEW", "finishMessage": "x"}]},
    {"candidates": [{"finishReason": "STOP"}]},
    {"candidates": [{"content": {"parts": []}, "finishReason": "CONTINUATION", "continuationToken": "QQ=="}]},
]


@pytest.mark.parametrize("form", EMPTY_FORMS)
async def test_all_finish_reasons_and_empty_forms_pass_through(make_client: Make, form: dict[str, Any]) -> None:
    async with H2Server(Script((200, event(form)))) as server:
        assert await collect(make_client(server.url)) == [form]


async def test_silence_before_and_inside_an_answer_times_out(make_client: Make) -> None:
    async def silent(stream: ServerStream) -> None:
        stream.head()

    async def falls_silent(stream: ServerStream) -> None:
        stream.head()
        await stream.data(event(chunk("a")))

    settings = ClientSettings(limits=StreamLimits(first_byte_s=0.05, idle_s=0.05))
    async with H2Server(Script(silent, falls_silent)) as server:
        for received in (False, True):
            with pytest.raises(TimedOut) as caught:
                await collect(make_client(server.url, settings=settings))
            assert caught.value.fields["received"] is received


async def test_an_unreachable_server_is_named_after_the_retries(make_client: Make, waits: Waits) -> None:
    with pytest.raises(NetworkUnreachable):
        await collect(make_client("http://127.0.0.1:1"), on_wait=waits)
    assert [wait_s for wait_s, _ in waits] == [1, 2, 4]


@pytest.mark.parametrize(
    ("key", "error"), [(None, KeyMissing), ("  ", KeyMissing), ("a\nb", KeyRejected), ("clé", KeyRejected)]
)
async def test_a_missing_or_impossible_key_is_told_without_a_request(
    make_client: Make, key: str | None, error: type[EchoError]
) -> None:
    async with H2Server(Script()) as server:
        with pytest.raises(error):
            await collect(make_client(server.url, key=key))
        assert server.requests == []


async def test_the_key_is_asked_for_each_request_and_trimmed(make_client: Make) -> None:
    keys = iter([" first-key \n", "second-key"])

    async def source() -> str:
        return next(keys)

    async with H2Server(Script((503, OVERLOADED), (200, event(LAST)))) as server:
        await collect(make_client(server.url, key_source=source))
        assert [seen.headers["x-goog-api-key"] for seen in server.requests] == ["first-key", "second-key"]


async def test_the_key_is_never_in_logs_or_errors(make_client: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    leak = google_error(403, f"Consumer 'api_key:{KEY}' has been suspended.", "PERMISSION_DENIED")
    async with H2Server(Script((403, leak), (200, event(LAST)))) as server:
        client = make_client(server.url)
        with pytest.raises(EchoError) as caught:
            await collect(client)
        await collect(client)
    error: BaseException | None = caught.value
    while error is not None:
        assert KEY not in f"{error!r} {error} {vars(error)}"
        error = error.__cause__ or error.__context__
    assert KEY not in caplog.text
    assert "***" in str(caught.value)


async def test_the_circuit_opens_for_one_model_and_waits_are_told(make_client: Make, waits: Waits) -> None:
    breaker = CircuitBreaker(BreakerSettings(failures_to_open=2, open_s=9))
    settings = ClientSettings(retries=RetryPolicy(max_attempts=2))
    async with H2Server(Script((503, OVERLOADED), (503, OVERLOADED), (200, event(LAST)))) as server:
        client = make_client(server.url, breaker=breaker, settings=settings)
        with pytest.raises(ModelOverloaded):
            await collect(client)
        assert await collect(client, on_wait=waits) == [LAST]
        assert waits == [(9.0, "gemini_model_paused")]
        assert len(server.requests) == 3


async def test_one_request_that_crashes_the_server_does_not_close_the_model(make_client: Make) -> None:
    breaker = CircuitBreaker(BreakerSettings(failures_to_open=2))
    crash = (500, google_error(500, "An internal error has occurred.", "INTERNAL"))
    async with H2Server(Script(*[crash] * 4, (200, event(LAST)))) as server:
        client = make_client(server.url, breaker=breaker)
        with pytest.raises(ServerFailed):
            await collect(client)
        assert await collect(client) == [LAST]


async def test_a_compressed_answer_is_understood(make_client: Make) -> None:
    async def compressed(stream: ServerStream) -> None:
        stream.head(headers={"content-encoding": "gzip"})
        await stream.data(gzip.compress(event(chunk("a")) + event(LAST)))
        stream.end()

    async with H2Server(Script(compressed)) as server:
        assert await collect(make_client(server.url)) == [chunk("a"), LAST]


async def test_a_whole_answer_and_a_broken_one(make_client: Make) -> None:
    async with H2Server(Script((200, LAST), (200, b"<html>"), (200, OVERLOADED), (200, [LAST]))) as server:
        client = make_client(server.url)
        assert await client.generate(REQUEST) == LAST
        with pytest.raises(StreamBroken):
            await client.generate(REQUEST)
        assert await client.generate(REQUEST) == LAST, "an error with status 200 is waited out as well"


async def test_counting_covers_the_whole_request(make_client: Make) -> None:
    async with H2Server(Script((200, {"totalTokens": 12}), (200, {"totalTokens": 1}))) as server:
        client = make_client(server.url)
        assert await client.count_tokens(REQUEST) == 12
        assert await client.count_tokens(GenerateRequest(model="m", body_json=b"{}")) == 1
        inner = {"model": "models/gemini-x", **json.loads(BODY)}
        assert json.loads(server.requests[0].body) == {"generateContentRequest": inner}
        assert json.loads(server.requests[1].body) == {"generateContentRequest": {"model": "models/m"}}


async def test_all_pages_of_the_model_list_are_read(make_client: Make) -> None:
    pages = {"models": [{"name": "models/a"}], "nextPageToken": "t&1"}, {"models": [{"name": "models/b"}]}
    async with H2Server(Script((200, pages[0]), (200, pages[1]))) as server:
        assert await make_client(server.url).list_models() == [{"name": "models/a"}, {"name": "models/b"}]
        assert server.requests[1].headers[":path"].endswith("pageToken=t%261")


@pytest.mark.parametrize(
    ("base", "root"),
    [
        ("https://h", "https://h/v1beta"),
        ("https://h/", "https://h/v1beta"),
        ("https://h/v1", "https://h/v1"),
        ("http://h:1/gw/v1beta/", "http://h:1/gw/v1beta"),
    ],
)
def test_a_base_url_may_name_the_version(base: str, root: str) -> None:
    assert AiStudioApi(base).root == root


async def test_code_assist_wraps_the_same_bytes_and_unwraps_answers(make_client: Make) -> None:
    events = [{"response": LAST, "traceId": "t1"}, {"traceId": "t1"}]
    async with H2Server(
        Script((200, *map(event, events)), (200, {"totalTokens": 3}), (200, {"models": {"m1": {"x": 1}}}))
    ) as server:
        api = CodeAssistApi(
            base_url=server.url, project="p1", envelope={"user_prompt_id": "u1"}, headers={"x-client": "echo"}
        )
        client = make_client("", api=api, key="token-0123456789")
        assert await collect(client) == [{**LAST, "responseId": "t1"}, {"responseId": "t1"}]
        first = server.requests[0]
        assert first.headers[":path"] == "/v1internal:streamGenerateContent?alt=sse"
        assert (first.headers["authorization"], first.headers["x-client"]) == ("Bearer token-0123456789", "echo")
        assert first.body.endswith(b',"request":' + BODY + b"}")
        assert {**json.loads(first.body), "request": None} == {
            "model": "gemini-x",
            "project": "p1",
            "user_prompt_id": "u1",
            "request": None,
        }
        assert await client.count_tokens(REQUEST) == 3
        assert await client.list_models() == [{"name": "models/m1", "x": 1}]


async def test_an_untrusted_certificate_is_told_as_such(make_client: Make, certificates: Certificates) -> None:
    async with H2Server(Script(), tls=certificates.server_context("h2")) as server:
        with pytest.raises(TlsFailed, match="CERTIFICATE_VERIFY_FAILED"):
            await collect(make_client(server.url))


@pytest.mark.parametrize("url", ["nonsense", "ftp://example.com", "http://", "http://[::1"])
async def test_a_base_url_that_is_none_is_told(make_client: Make, url: str) -> None:
    with pytest.raises(NetworkUnreachable):
        await collect(make_client(url))


async def test_a_client_may_be_told_of_all_its_waits(make_client: Make, waits: Waits) -> None:
    async with H2Server(Script((503, OVERLOADED), (200, {"totalTokens": 1}))) as server:
        await make_client(server.url, on_wait=waits).count_tokens(REQUEST)
        assert waits == [(1.0, "gemini_model_overloaded")]
