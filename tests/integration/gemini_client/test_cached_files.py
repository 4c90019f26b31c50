"""Explicit caching against a server that counts, expires and refuses caches as Google does."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from echo_core.ports import GenerateRequest
from echo_core.usage import RoundUsage, usage_shown
from echo_gemini_client import EchoGeminiClient, GeminiCaches
from echo_paths import EchoPaths
from echo_protocol import Catalogue, content_json, request_json, text_part
from echo_protocol.attached import vault_part
from echo_runtime.cached_files import CachingBackend
from echo_runtime.file_backend import FileBackend
from echo_state_manager import MemoryShadowStore
from echo_state_manager.vault import Vault
from echo_workers.gemini_sim.core import faults
from scripted import FakeClock
from sim_fixture import RunningSim

FLASH, ARGON = "gemini-3.8-flash", "gemini-4-argon"
TTL_S = 600.0
CATALOGUE = Catalogue.load()
TOOLS = b'[{"functionDeclarations":[{"name":"look","description":"Looks."}]}]'
SYSTEM = content_json("user", [text_part("Be brief.")])


class Desk:
    """One chat that goes on about one large file."""

    def __init__(self, client: EchoGeminiClient, sim: RunningSim, folder: Path) -> None:
        self.sim = sim
        self.clock = FakeClock(sim.advance(0))
        self.vault = Vault(EchoPaths(folder), "u", "c")
        self.store = MemoryShadowStore()
        self.scope = "key one"
        self.billed: list[RoundUsage] = []
        self.talk: list[bytes] = []
        self._client = client

    @property
    def backend(self) -> CachingBackend:
        async def tell(_: Any) -> None:
            """The page is not tested here."""

        files = FileBackend(self._client, self.vault, self.scope, self.clock, tell, "en", {})
        return CachingBackend(
            files,
            GeminiCaches(self._client),
            self.store,
            scope=self.scope,
            ttl_s=TTL_S,
            clock=self.clock,
            model_of=CATALOGUE.model,
            on_cost=self.billed.append,
        )

    async def attach(self, data: bytes = b"RIFF" + b"sound" * 600_000) -> None:
        kept = await self.vault.put(data, mime_type="audio/wav", name="talk.wav")
        self.talk.append(content_json("user", [text_part("What is said?"), vault_part("audio/wav", kept.sha256)]))

    async def ask(self, model: str = FLASH, **more: Any) -> dict[str, Any]:
        """Send the conversation as it stands, and let it grow by an answer and a question."""
        body = request_json(contents=self.talk, system_instruction=SYSTEM, tools=TOOLS, **more)
        async with self.backend.stream_generate(GenerateRequest(model=model, body_json=body)) as chunks:
            answer = [chunk async for chunk in chunks]
        self.talk += [content_json("model", [text_part("!")]), content_json("user", [text_part("And then?")])]
        return answer[-1]["usageMetadata"]

    def later(self, seconds: float) -> None:
        self.sim.advance(seconds)
        self.clock.at_s += seconds

    def rows(self, word: str, method: str = "POST") -> list[dict[str, Any]]:
        return [row for row in self.sim.requests() if word in row["path"] and row["method"] == method]

    def sent(self) -> list[dict[str, Any]]:
        return [json.loads(row["body"]) for row in self.rows("streamGenerateContent")]


@pytest.fixture
async def desk(make_client: Callable[..., EchoGeminiClient], sim: RunningSim, tmp_path: Path) -> Desk:
    desk = Desk(make_client(), sim, tmp_path)
    await desk.attach()
    return desk


async def test_the_second_request_about_a_file_makes_a_cache_that_the_next_ones_use(desk: Desk) -> None:
    for _ in range(4):
        await desk.ask()
    assert len(desk.rows("/cachedContents")) == 1
    made = json.loads(desk.rows("/cachedContents")[0]["body"])
    assert made["model"] == f"models/{FLASH}" and made["ttl"] == "600s"
    assert len(made["contents"]) == 1 and made["systemInstruction"] and made["tools"]
    assert "/files/" in made["contents"][0]["parts"][1]["fileData"]["fileUri"]
    first, *others = desk.sent()
    assert "cachedContent" not in first and len(first["contents"]) == 1
    assert len({body["cachedContent"] for body in others}) == 1
    assert [len(body["contents"]) for body in others] == [2, 4, 6]
    assert not [body for body in others if {"tools", "systemInstruction", "toolConfig"} & body.keys()]
    assert {row["status"] for row in desk.sim.requests()} == {200}


async def test_what_a_cache_costs_is_counted_beside_the_answers(desk: Desk) -> None:
    await desk.ask()
    usage = await desk.ask()
    [bill] = desk.billed
    assert bill.usage.prompt_tokens == usage["cachedContentTokenCount"] > 4096
    assert bill.stored_token_hours == bill.usage.prompt_tokens / 6
    price = CATALOGUE.model(FLASH).prices[0]
    assert price.storage_usd == 0.5
    priced = RoundUsage(model_id=FLASH, usage=bill.usage, price=price, stored_token_hours=bill.stored_token_hours)
    expected = bill.usage.prompt_tokens * (0.75 + 0.5 / 6) / 1e6
    assert usage_shown([priced])["cost"] == pytest.approx(expected, abs=1e-8)


async def test_a_cache_in_use_is_extended_and_an_expired_one_is_made_again(desk: Desk) -> None:
    for pause_s in (0, 0, 400, 400):
        desk.later(pause_s)
        await desk.ask()
    assert (len(desk.rows("/cachedContents")), len(desk.rows("/cachedContents", "PATCH"))) == (1, 2)
    desk.later(700)
    await desk.ask()
    assert len(desk.rows("/cachedContents")) == 2
    assert {row["status"] for row in desk.sim.requests()} == {200}
    assert len(desk.billed) == 4


async def test_a_cache_that_google_lost_costs_one_try_and_the_request_goes_whole(desk: Desk) -> None:
    await desk.ask()
    await desk.ask()
    desk.sim.advance(10_000)  # our own clock says that it is still there
    await desk.ask()
    assert [row["status"] for row in desk.rows("streamGenerateContent")] == [200, 200, 403, 200]
    assert "cachedContent" not in desk.sent()[-1] and desk.sent()[-1]["tools"]
    await desk.ask()
    assert len(desk.rows("/cachedContents")) == 2


@pytest.mark.parametrize("what", ["too small", "out of quota", "forbidden"])
async def test_where_google_makes_no_cache_requests_go_whole_and_it_is_not_asked_each_time(
    desk: Desk, what: str
) -> None:
    error = {
        "too small": (400, "INVALID_ARGUMENT", "Cached content is too small. total_token_count=9"),
        "out of quota": (429, "RESOURCE_EXHAUSTED", "TotalCachedContentStorageTokensPerModelFreeTier limit exceeded"),
        "forbidden": (403, "PERMISSION_DENIED", "Caching is not enabled."),
    }[what]
    refused = {"status": error[0], "chunks": [{"text": faults.error_text(*error)}], "end": "close", "times": -1}
    desk.sim.script({"match": {"method": "createCachedContent"}, **refused})
    for _ in range(4):
        await desk.ask()
    assert {row["status"] for row in desk.rows("streamGenerateContent")} == {200}
    assert not [body for body in desk.sent() if "cachedContent" in body]
    asked = len(desk.rows("/cachedContents"))
    await desk.ask()
    assert len(desk.rows("/cachedContents")) == asked
    assert desk.billed == []


async def test_another_key_or_model_never_uses_a_cache(desk: Desk) -> None:
    await desk.ask()
    await desk.ask()
    desk.scope = "key two"
    await desk.ask()
    await desk.ask("gemini-3.5-flash-lite")
    await desk.ask(ARGON)
    names = [body.get("cachedContent") for body in desk.sent()]
    assert names[0] is None and names[4] is None, "Gemini 4 has no explicit caches"
    assert len(set(names[1:4])) == 3 and None not in names[1:4]
    assert len(desk.rows("/cachedContents", "DELETE")) == 1, "what the former key kept is let go"


async def test_a_new_file_moves_the_beginning_on_and_lets_the_old_one_go(desk: Desk) -> None:
    await desk.ask()
    await desk.ask()
    desk.talk.pop()
    await desk.attach(b"RIFF" + b"other" * 600_000)
    await desk.ask()
    await desk.ask()
    assert [len(json.loads(row["body"])["contents"]) for row in desk.rows("/cachedContents")] == [1, 5]
    assert len(desk.rows("/cachedContents", "DELETE")) == 1
    assert {row["status"] for row in desk.sim.requests()} == {200}


async def test_a_forced_call_and_a_chat_without_files_need_no_cache(desk: Desk) -> None:
    await desk.ask()
    await desk.ask(tool_config={"functionCallingConfig": {"mode": "NONE"}})
    desk.talk = [content_json("user", [text_part("Hello")])]
    await desk.ask()
    await desk.ask()
    assert desk.rows("/cachedContents") == []
    assert {row["status"] for row in desk.sim.requests()} == {200}
