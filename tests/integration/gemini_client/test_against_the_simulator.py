"""The client with a simulator that answers as Google does."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from echo_constants import EchoError
from echo_core.ports import GenerateRequest
from echo_gemini_client import (
    EchoGeminiClient,
    GeminiFiles,
    ModelNotFound,
    ModelOverloaded,
    PermissionRefused,
    QuotaNotInTier,
    QuotaPerDay,
    QuotaPerMinute,
    RequestRefused,
    ServerFailed,
    StreamBroken,
    TimedOut,
    embed_texts,
)
from echo_http import StreamLimits
from echo_workers.gemini_sim.core import faults
from sim_fixture import RunningSim

MODEL = "gemini-3-flash-preview"
Make = Callable[..., EchoGeminiClient]


def ask(text: str = "Hello", model: str = MODEL) -> GenerateRequest:
    body = {"contents": [{"role": "user", "parts": [{"text": text}]}]}
    return GenerateRequest(model=model, body_json=json.dumps(body, ensure_ascii=False).encode())


async def collect(client: EchoGeminiClient, request: GenerateRequest, **options: Any) -> list[dict[str, Any]]:
    async with client.stream_generate(request, **options) as chunks:
        return [chunk async for chunk in chunks]


def text_of(chunks: list[dict[str, Any]]) -> str:
    return "".join(
        part.get("text", "")
        for chunk in chunks
        for candidate in chunk.get("candidates", [])
        for part in candidate["content"].get("parts", [])
        if not part.get("thought")
    )


async def test_a_plain_question_is_answered_over_http2(client: EchoGeminiClient, sim: RunningSim) -> None:
    chunks = await collect(client, ask("Bonjour l'été\u2028!"))
    assert text_of(chunks)
    assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"
    (row,) = sim.requests()
    assert (row["http_version"], row["status"], row["ended"]) == ("2", 200, "complete")
    assert row["body"].encode() == ask("Bonjour l'été\u2028!").body_json


async def test_a_body_that_was_damaged_on_its_way_is_a_broken_answer(client: EchoGeminiClient, sim: RunningSim) -> None:
    damaged = {"status": 200, "headers": {"content-encoding": "gzip"}, "chunks": [{"text": "not gzip"}], "times": -1}
    sim.script(damaged)
    with pytest.raises(StreamBroken):
        await collect(client, ask())
    with pytest.raises(StreamBroken):
        await client.generate(ask())


async def test_stopping_50_streams_is_seen_as_50_resets_and_the_next_answers_at_once(
    client: EchoGeminiClient, sim: RunningSim
) -> None:
    sim.script(faults.stream(*["x" * 100_000] * 30, times=50))
    for _ in range(50):
        async with client.stream_generate(ask()) as chunks:
            await anext(chunks)
    assert text_of(await asyncio.wait_for(collect(client, ask()), 10))
    rows = await asyncio.to_thread(
        sim.wait_for, lambda rows: sum(row["ended"] == "reset_by_client" for row in rows) == 50, 10
    )
    assert len(rows) == 51


async def test_150_parallel_streams_all_start(client: EchoGeminiClient, sim: RunningSim) -> None:
    started = 0
    everybody = asyncio.Event()

    async def one() -> str:
        nonlocal started
        async with client.stream_generate(ask()) as chunks:
            first = await anext(chunks)
            started += 1
            if started == 150:
                everybody.set()
            await everybody.wait()
            return text_of([first, *[chunk async for chunk in chunks]])

    sim.script(faults.stream("a", "b", "c", times=150))
    texts = await asyncio.wait_for(asyncio.gather(*(one() for _ in range(150))), 30)
    assert texts == ["abc"] * 150


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (faults.overloaded(times=9), ModelOverloaded),
        (faults.internal_error(times=9), ServerFailed),
        (faults.deadline(times=9), ServerFailed),
        (faults.bare_429(times=9), QuotaPerMinute),
        (faults.quota_exhausted(retry_s=70), QuotaPerMinute),
        (faults.quota_exhausted(quota_id="GenerateRequestsPerDayPerProjectPerModel-FreeTier"), QuotaPerDay),
        (faults.quota_exhausted(limit=0), QuotaNotInTier),
    ],
)
async def test_faults_become_typed_errors(
    client: EchoGeminiClient, sim: RunningSim, fault: dict[str, Any], error: type[EchoError]
) -> None:
    sim.script(fault)
    with pytest.raises(error):
        await collect(client, ask())


async def test_a_quota_wait_is_told_and_kept(client: EchoGeminiClient, sim: RunningSim) -> None:
    waits: list[tuple[float, str]] = []

    async def on_wait(wait_s: float, error: EchoError) -> None:
        waits.append((wait_s, error.user_message("fr")))

    sim.script(faults.quota_exhausted(retry_s=8))
    assert text_of(await collect(client, ask(), on_wait=on_wait))
    assert [wait_s for wait_s, _ in waits] == [8]
    assert "limite par minute" in waits[0][1]


@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_mid_stream_error_keeps_what_came_before(
    client: EchoGeminiClient, sim: RunningSim, wrapped: bool
) -> None:
    sim.script(faults.mid_stream_error("first ", "second", wrapped=wrapped))
    received = []
    with pytest.raises(ModelOverloaded):
        async with client.stream_generate(ask()) as chunks:
            async for chunk in chunks:
                received.append(chunk)
    assert text_of(received) == "first second"


@pytest.mark.parametrize("fault", [faults.early_eof("a", "b"), faults.reset("a", "b")])
async def test_a_stream_that_breaks_off_is_told(
    client: EchoGeminiClient, sim: RunningSim, fault: dict[str, Any]
) -> None:
    sim.script(fault)
    with pytest.raises(StreamBroken) as caught:
        await collect(client, ask())
    assert caught.value.received


async def test_a_hanging_stream_times_out_alone(make_client: Make, sim: RunningSim) -> None:
    sim.script(faults.hang("a"), faults.stream("s", "l", "o", "w", delay_ms=60))
    hanging = asyncio.ensure_future(collect(make_client(limits=StreamLimits(idle_s=0.2)), ask()))
    await asyncio.to_thread(sim.wait_for, lambda rows: len(rows) == 1)
    assert text_of(await collect(make_client(), ask())) == "slow"
    with pytest.raises(TimedOut):
        await hanging


async def test_a_slow_drip_that_cuts_events_gives_the_same_answer(client: EchoGeminiClient, sim: RunningSim) -> None:
    sim.script(faults.slow_drip("déjà vu \u2028 et fin", delay_ms=1, size=7))
    assert text_of(await collect(client, ask())) == "déjà vu \u2028 et fin"


async def test_an_unknown_model_is_named(client: EchoGeminiClient) -> None:
    with pytest.raises(ModelNotFound) as caught:
        await collect(client, ask(model="gemini-99"))
    assert "gemini-99" in caught.value.user_message("en")


async def test_whole_answers_counts_and_models(client: EchoGeminiClient) -> None:
    answer = await client.generate(ask())
    assert text_of([answer])
    assert await client.count_tokens(ask("one two three")) > 0
    names = {model["name"] for model in await client.list_models()}
    assert f"models/{MODEL}" in names


async def test_code_assist_answers_through_its_envelope(make_client: Make, sim: RunningSim) -> None:
    client = make_client(code_assist=True)
    assert text_of(await collect(client, ask()))
    assert await client.count_tokens(ask()) > 0
    assert await client.list_models()
    assert {re.sub(r"\?.*", "", row["path"]) for row in sim.requests()} == {
        "/v1internal:streamGenerateContent",
        "/v1internal:countTokens",
        "/v1internal:fetchAvailableModels",
    }


async def test_nothing_blocks_the_event_loop(client: EchoGeminiClient, no_blocking: object) -> None:
    assert text_of(await collect(client, ask()))


async def test_files_are_uploaded_in_parts_read_and_deleted(client: EchoGeminiClient, sim: RunningSim) -> None:
    async def content() -> AsyncIterator[bytes]:
        for _ in range(9):
            yield b"x" * 2**20

    files = GeminiFiles(client)
    file = await files.upload(content(), size_bytes=9 * 2**20, mime_type="text/plain", display_name="grand.txt")
    assert (file["sizeBytes"], file["displayName"]) == (str(9 * 2**20), "grand.txt")
    uploads = [row for row in sim.requests() if "upload_id=" in row["path"]]
    assert [row["body_bytes"] for row in uploads] == [8 * 2**20, 2**20]
    assert all("x-goog-api-key" not in row["headers"] for row in uploads)
    assert (await files.get(file["name"]))["uri"] == file["uri"]
    await files.delete(file["name"])
    with pytest.raises(PermissionRefused):
        await files.get(file["name"])


async def test_a_file_of_another_size_than_announced_is_not_finished(client: EchoGeminiClient) -> None:
    async def content() -> AsyncIterator[bytes]:
        yield b"abc"

    with pytest.raises(RequestRefused, match="3 bytes, 4"):
        await GeminiFiles(client).upload(content(), size_bytes=4, mime_type="text/plain")


async def test_texts_are_embedded_in_one_call(client: EchoGeminiClient, sim: RunningSim) -> None:
    vectors = await embed_texts(client, "gemini-embedding-001", ["un", "deux"], dimension=768)
    assert [len(vector) for vector in vectors] == [768, 768]
    assert vectors[0] != vectors[1]
    assert len(sim.requests()) == 1
