"""The official SDK, sync and async, over each of its HTTP backends, takes the simulator for the Gemini API."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from google import genai
from google.genai import errors, types

from echo_workers.gemini_sim import SimSettings
from echo_workers.gemini_sim.core import faults
from sim_fixture import RunningSim

#: The SDK's own: it derives from aiohttp's session, which aiohttp discourages.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

MODEL = "gemini-3-flash-preview"
WEATHER = types.FunctionDeclaration(
    name="get_weather",
    description="Weather of a city.",
    parameters_json_schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
TOOLS = types.GenerateContentConfig(
    tools=[types.Tool(function_declarations=[WEATHER])],
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)
#: Nothing here speaks TLS; loading the certificate store for each client would take most of the time.
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TRANSPORTS = ("sync-httpx2", "sync-httpx", "async-aiohttp", "async-httpx2", "async-httpx")


@dataclass
class Sdk:
    """One scenario text for the sync and the async face of the SDK."""

    client: genai.Client
    is_async: bool

    def _method(self, path: str) -> Callable[..., Any]:
        target: Any = self.client.aio if self.is_async else self.client
        for name in path.split("."):
            target = getattr(target, name)
        return target

    async def call(self, path: str, **kwargs: Any) -> Any:
        method = self._method(path)
        return await method(**kwargs) if self.is_async else await asyncio.to_thread(partial(method, **kwargs))

    async def pages(self, path: str, **kwargs: Any) -> list[Any]:
        if self.is_async:
            return [item async for item in await self._method(path)(**kwargs)]
        return await asyncio.to_thread(lambda: list(self._method(path)(**kwargs)))

    stream = pages


def _options(transport: str, url: str) -> types.HttpOptions:
    options = types.HttpOptions(base_url=url, api_version="v1beta")
    options.client_args = {"verify": PLAIN}
    options.async_client_args = {"verify": PLAIN}
    if transport == "async-httpx2":
        options.async_client_args["transport"] = httpx2.AsyncHTTPTransport(verify=PLAIN)
    if transport == "async-httpx":
        options.async_client_args["transport"] = httpx.AsyncHTTPTransport(verify=PLAIN)
    return options


@pytest.fixture(params=TRANSPORTS)
async def sdk(request: pytest.FixtureRequest, sim: RunningSim, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Sdk]:
    transport: str = request.param
    if transport.endswith("httpx"):
        monkeypatch.setenv("GOOGLE_GENAI_HTTP_CLIENT", "httpx")
    client = genai.Client(api_key="sdk-key", http_options=_options(transport, sim.base_url))
    yield Sdk(client, transport.startswith("async"))
    await client.aio.aclose()
    client.close()


def user(*parts: Any) -> types.Content:
    return types.Content(
        role="user", parts=[types.Part(text=part) if isinstance(part, str) else part for part in parts]
    )


async def test_models_are_listed_over_pages_and_got_by_name(sdk: Sdk) -> None:
    names = [model.name for model in await sdk.pages("models.list", config={"page_size": 5})]
    assert f"models/{MODEL}" in names
    assert len(names) == len(set(names)) > 5
    one = await sdk.call("models.get", model=MODEL)
    assert (one.input_token_limit, one.output_token_limit) == (1_048_576, 65_536)


async def test_an_answer_and_its_thoughts(sdk: Sdk) -> None:
    config = types.GenerateContentConfig(
        thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_level="low")
    )
    answer = await sdk.call("models.generate_content", model=MODEL, contents="Hello, what is the time?", config=config)
    assert answer.text.startswith("**Simulated answer**")
    assert [part.thought for part in answer.parts][:2] == [True, None]
    usage = answer.usage_metadata
    assert usage.thoughts_token_count == 64
    assert usage.total_token_count == usage.prompt_token_count + usage.candidates_token_count + 64
    assert answer.candidates[0].finish_reason is types.FinishReason.STOP


async def test_a_stream_ends_with_a_signed_empty_text(sdk: Sdk) -> None:
    chunks = await sdk.stream("models.generate_content_stream", model=MODEL, contents="Bonjour, quel est le temps ?")
    assert len(chunks) > 5
    assert "".join(chunk.text or "" for chunk in chunks).startswith("**Réponse simulée**")
    last = chunks[-1]
    assert last.parts[0].text == ""
    assert last.parts[0].thought_signature
    assert [chunk.candidates[0].finish_reason for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    counts = [chunk.usage_metadata.candidates_token_count or 0 for chunk in chunks]
    assert counts == sorted(counts)


async def test_parallel_calls_go_round_with_their_signature(sdk: Sdk, sim: RunningSim) -> None:
    ask = user('call get_weather {"city": "Paris"} and call get_weather {"city": "Oslo"}')
    first = await sdk.call("models.generate_content", model=MODEL, contents=[ask], config=TOOLS)
    calls = first.function_calls
    assert [call.args for call in calls] == [{"city": "Paris"}, {"city": "Oslo"}]
    parts = first.candidates[0].content.parts
    assert parts[0].thought_signature
    assert parts[1].thought_signature is None
    results = [
        types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response={"output": call.args}))
        for call in calls
    ]
    contents = [ask, first.candidates[0].content, user(*results)]
    second = await sdk.call("models.generate_content", model=MODEL, contents=contents, config=TOOLS)
    assert "Paris" in second.text
    assert "Oslo" in second.text
    parts[0].thought_signature = None
    with pytest.raises(errors.ClientError, match="missing a thought_signature") as refused:
        await sdk.call("models.generate_content", model=MODEL, contents=contents, config=TOOLS)
    assert (refused.value.code, refused.value.status) == (400, "INVALID_ARGUMENT")
    assert [row["status"] for row in sim.requests()] == [200, 200, 400]


async def test_a_chat_with_automatic_function_calling(sdk: Sdk) -> None:
    def get_weather(city: str) -> str:
        """Weather of a city."""
        return f"sunny in {city}"

    face = sdk.client.aio if sdk.is_async else sdk.client
    chat = face.chats.create(model=MODEL, config=types.GenerateContentConfig(tools=[get_weather]))

    async def send(text: str) -> Any:
        return await chat.send_message(text) if sdk.is_async else await asyncio.to_thread(chat.send_message, text)

    answer = await send('call get_weather {"city": "Rome"}')
    assert "sunny in Rome" in answer.text
    follow_up = await send("Thanks, and now?")
    assert "| turns | 2 |" in follow_up.text


@pytest.mark.filterwarnings("ignore:Sending a large body directly with raw bytes:ResourceWarning")
async def test_a_file_of_two_chunks_is_uploaded_used_and_deleted(sdk: Sdk, sim: RunningSim, tmp_path: Path) -> None:
    big = tmp_path / "big.txt"
    big.write_bytes(b"0123456789abcdef" * (9 * 1024 * 1024 // 16))
    stored = await sdk.call("files.upload", file=str(big), config={"mime_type": "text/plain", "display_name": "big"})
    assert (stored.size_bytes, stored.display_name, stored.state) == (big.stat().st_size, "big", types.FileState.ACTIVE)
    uploads = [row for row in sim.requests() if row["path"].startswith("/upload/")]
    assert [row["body_bytes"] for row in uploads[1:]] == [8 * 1024 * 1024, 1024 * 1024]
    assert stored.name in [row.name for row in await sdk.pages("files.list")]
    small = await sdk.call("files.get", name=stored.name)
    answer = await sdk.call(
        "models.generate_content",
        model="gemini-2.5-flash-lite",
        contents=["Hello", types.Part.from_uri(file_uri=small.uri, mime_type="image/png")],
    )
    assert "| attachments | 1 |" in answer.text
    await sdk.call("files.delete", name=stored.name)
    with pytest.raises(errors.ClientError, match="You do not have permission to access the File"):
        await sdk.call("files.get", name=stored.name)


async def test_tokens_are_counted(sdk: Sdk) -> None:
    counted = await sdk.call("models.count_tokens", model=MODEL, contents="Hello, world!")
    assert counted.total_tokens == 4


async def test_embeddings_of_like_texts_lie_close(sdk: Sdk) -> None:
    answer = await sdk.call(
        "models.embed_content",
        model="gemini-embedding-001",
        contents=["a cat sat on the mat", "the cat sat on a mat", "quarterly tax report"],
        config=types.EmbedContentConfig(output_dimensionality=768, task_type="SEMANTIC_SIMILARITY"),
    )
    near, same, far = (row.values for row in answer.embeddings)
    assert len(near) == 768

    def dot(left: list[float], right: list[float]) -> float:
        return sum(a * b for a, b in zip(left, right, strict=True))

    assert dot(near, same) > dot(near, far)


async def test_an_explicit_cache_is_made_used_extended_and_deleted(sdk: Sdk) -> None:
    config = types.CreateCachedContentConfig(
        contents=[user("Paris is the capital of France. " * 200)], system_instruction="Be brief.", ttl="600s"
    )
    cache = await sdk.call("caches.create", model="gemini-2.5-flash", config=config)
    assert cache.usage_metadata.total_token_count > 1_024
    answer = await sdk.call(
        "models.generate_content",
        model="gemini-2.5-flash",
        contents="Hello",
        config=types.GenerateContentConfig(cached_content=cache.name),
    )
    assert answer.usage_metadata.cached_content_token_count >= cache.usage_metadata.total_token_count
    longer = await sdk.call("caches.update", name=cache.name, config=types.UpdateCachedContentConfig(ttl="7200s"))
    assert longer.expire_time > cache.expire_time
    await sdk.call("caches.delete", name=cache.name)
    with pytest.raises(errors.ClientError, match="CachedContent not found"):
        await sdk.call("caches.get", name=cache.name)


@pytest.mark.parametrize("streamed", [False, True])
async def test_the_sdk_follows_continuations_to_the_end(streamed: bool) -> None:
    with RunningSim(SimSettings(hop_stream_tokens=100, hop_unary_tokens=100)) as sim:
        client = genai.Client(api_key="k", http_options=_options("sync-httpx2", sim.base_url))
        ask = {"model": "gemini-4-argon", "contents": "write 200 words"}
        if streamed:
            text = "".join(chunk.text or "" for chunk in client.models.generate_content_stream(**ask))
        else:
            text = client.models.generate_content(**ask).text
        rows = sim.requests()
        client.close()
    assert len(text.split()) > 200
    assert text.startswith("## Part 1")
    assert "## Part 2" in text
    assert len(rows) > 2
    assert "continuationToken" in rows[-1]["body"]


async def test_errors_carry_code_status_and_details(sdk: Sdk, sim: RunningSim) -> None:
    with pytest.raises(errors.ClientError) as unknown:
        await sdk.call("models.generate_content", model="gemini-9-nothing", contents="Hello")
    assert (unknown.value.code, unknown.value.status) == (404, "NOT_FOUND")
    assert "is not found for API version v1beta, or is not supported for generateContent" in unknown.value.message
    sim.script(faults.quota_exhausted(), faults.overloaded())
    with pytest.raises(errors.ClientError) as quota:
        await sdk.call("models.generate_content", model=MODEL, contents="Hello")
    assert quota.value.code == 429
    kinds = [row["@type"].rsplit(".", 1)[1] for row in quota.value.details["error"]["details"]]
    assert kinds == ["QuotaFailure", "Help", "RetryInfo"]
    with pytest.raises(errors.ServerError) as busy:
        await sdk.stream("models.generate_content_stream", model=MODEL, contents="Hello")
    assert (busy.value.code, busy.value.status) == (503, "UNAVAILABLE")


async def test_an_error_in_the_middle_of_a_stream_is_raised_after_the_text(sdk: Sdk, sim: RunningSim) -> None:
    sim.script(faults.mid_stream_error("partial"))
    seen = []
    with pytest.raises(errors.ServerError) as broken:
        if sdk.is_async:
            async for chunk in await sdk.client.aio.models.generate_content_stream(model=MODEL, contents="Hello"):
                seen.append(chunk.text)
        else:
            for chunk in sdk.client.models.generate_content_stream(model=MODEL, contents="Hello"):
                seen.append(chunk.text)
    assert seen == ["partial"]
    assert broken.value.code == 503


async def test_a_bad_key_is_named(sim: RunningSim) -> None:
    client = genai.Client(api_key="bad-key", http_options=_options("sync-httpx2", sim.base_url))
    with pytest.raises(errors.ClientError, match="API key not valid"):
        client.models.generate_content(model=MODEL, contents="Hello")
    client.close()


async def test_retries_of_the_sdk_reach_the_answer(sim: RunningSim) -> None:
    sim.script(faults.bare_429(times=2))
    options = _options("sync-httpx2", sim.base_url)
    options.retry_options = types.HttpRetryOptions(initial_delay=0.01, max_delay=0.02)
    client = genai.Client(api_key="k", http_options=options)
    answer = client.models.generate_content(model=MODEL, contents="Hello")
    client.close()
    assert answer.text
    assert [row["status"] for row in sim.requests()] == [429, 429, 200]


async def test_an_image_model_gives_a_real_png_with_a_large_signature(sdk: Sdk) -> None:
    answer = await sdk.call("models.generate_content", model="gemini-3-pro-image", contents="a red cat")
    image = next(part for part in answer.parts if part.inline_data)
    assert image.inline_data.data.startswith(b"\x89PNG\r\n")
    assert len(base64.b64encode(image.thought_signature)) > 1_000_000
