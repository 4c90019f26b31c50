"""At which level a turn starts."""

import asyncio
import json
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from echo_constants import UpstreamError
from echo_core.ports import GenerateRequest, ShadowStore
from echo_core.routing import Level
from echo_core.usage import CONTEXT_STATS_KEY, ContextStats
from echo_protocol import Catalogue
from echo_runtime import PipeCall
from echo_runtime.levels import LEVEL_KEY, TURN_LOCK_KEY, Levels
from echo_runtime.settings import Settings, settings_of
from echo_state_manager import MemoryShadowStore
from scripted import ScriptedBackend, chunk

CATALOGUE = Catalogue.load()


def a_call(selection: str, content: Any = "Prove it.", **metadata: Any) -> tuple[PipeCall, Settings]:
    valves = SimpleNamespace(
        GEMINI_BASE_URL="",
        MODEL_SELECTION=selection,
        ECHO_MAX_CONTEXT_SIZE=100_000,
        MAX_TOOL_ROUNDS=5,
        TOOL_TIMEOUT_S=5,
        SAFETY_THRESHOLD="default",
        KEEP_API_HISTORY=True,
        ENCRYPT_RECORDS=False,
        REMINDER_TURNS=20,
        REMINDER_FILL=30,
    )
    call = PipeCall(
        body={"messages": [{"role": "user", "content": content}]},
        user={"id": "u"},
        metadata={"chat_id": "c", "message_id": "a", "user_message_id": "q", **metadata},
        valves=valves,
        tools={},
    )
    return call, settings_of(call, "")


def says(level: object) -> ScriptedBackend:
    return ScriptedBackend([chunk({"text": json.dumps({"level": level})}, finish="STOP")])


async def start(backend: Any, selection: str, store: ShadowStore | None, **more: Any) -> Level:
    async def backend_for(*_: object) -> Any:
        return backend

    levels = Levels(lambda: CATALOGUE, backend_for, "ai_studio", judge_limit_s=0.05)
    call, settings = a_call(selection, **more)
    return await levels.start(call, settings, store)


@pytest.fixture
async def store() -> AsyncIterator[ShadowStore]:
    yield MemoryShadowStore()


@pytest.mark.parametrize("level", ["LITE", "FLASH", "PRO"])
async def test_the_first_message_is_judged_once_by_the_lightest_model(store: ShadowStore, level: str) -> None:
    backend = says(level)
    assert await start(backend, "AUTO", store) == level
    assert await start(backend, "AUTO", store) == level
    [asked] = backend.requests
    assert asked["contents"] == [{"role": "user", "parts": [{"text": "Prove it."}]}]
    assert "tools" not in asked


class Silent:
    async def generate(self, request: GenerateRequest) -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.parametrize(
    "backend",
    [Silent(), ScriptedBackend([UpstreamError("503")]), says("ULTRA"), ScriptedBackend([chunk({"text": "PRO!"})])],
)
async def test_without_a_judgement_in_time_it_is_flash_and_stays_so(store: ShadowStore, backend: Any) -> None:
    assert await start(backend, "AUTO", store) == "FLASH"
    assert await store.get_setting(LEVEL_KEY) == "FLASH"


async def test_a_message_without_words_and_callers_without_a_chat_are_not_judged(store: ShadowStore) -> None:
    picture = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aW1n"}}]
    nobody = ScriptedBackend()
    assert await start(nobody, "AUTO", store, content=picture) == "FLASH"
    assert await start(nobody, "AUTO", None) == "FLASH"
    assert await start(nobody, "AUTO", MemoryShadowStore(), chat_id="") == "FLASH"


@pytest.mark.parametrize(
    ("tokens", "used_to", "level"),
    [
        (20_000, "LITE", "LITE"),
        (20_001, "LITE", "FLASH"),
        (35_001, "LITE", "PRO"),
        (35_001, "PRO", "PRO"),
        (10, "PRO", "PRO"),
    ],
)
async def test_a_full_chat_starts_higher(store: ShadowStore, tokens: int, used_to: str, level: str) -> None:
    await store.save_setting(LEVEL_KEY, used_to)
    await store.save_setting(CONTEXT_STATS_KEY, ContextStats(prompt_tokens=tokens - 5, answer_tokens=5).to_json())
    assert await start(ScriptedBackend(), "AUTO", store) == level


async def test_a_caller_without_a_chat_that_sends_a_long_conversation_starts_higher() -> None:
    picture = [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 2_000_000}}]
    assert await start(ScriptedBackend(), "AUTO", None, content=picture) == "FLASH"
    assert await start(ScriptedBackend(), "AUTO", None, content="word " * 29_000) == "PRO"


async def test_auto_pro_and_pinned_levels_do_not_look_at_the_chat(store: ShadowStore) -> None:
    await store.save_setting(CONTEXT_STATS_KEY, ContextStats(prompt_tokens=99_000).to_json())
    assert await start(ScriptedBackend(), "AUTO_PRO", store) == "PRO"
    assert await start(ScriptedBackend(), "LITE", store) == "LITE"


async def test_a_continued_answer_stays_with_the_model_that_began_it(store: ShadowStore) -> None:
    pro = CATALOGUE.resolve("PRO", "ai_studio").backend_id("ai_studio")
    await store.save_setting(TURN_LOCK_KEY.format(message_id="a"), pro)
    assert await start(ScriptedBackend(), "LITE", store, assistant_message_id="a") == "PRO"
    assert await start(ScriptedBackend(), "LITE", store) == "LITE"


async def test_a_long_message_is_judged_by_its_ends(store: ShadowStore) -> None:
    backend = says("PRO")
    await start(backend, "AUTO", store, content="begin " + "x" * 100_000 + " end")
    text = backend.requests[0]["contents"][0]["parts"][0]["text"]
    assert text.startswith("begin ") and text.endswith(" end") and len(text) < 5_000
