"""Which records a call works on, over the real stores; only Open WebUI's list of sockets is played."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from echo_core.records import Seal, Shadow
from echo_paths import EchoPaths
from echo_runtime import PipeCall, _owui
from echo_runtime.retention import API_KEPT_S
from echo_runtime.stores import ChatStores
from echo_state_manager import SessionStores
from scripted import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def stores(tmp_path: Path, clock: FakeClock) -> AsyncIterator[ChatStores]:
    sessions = SessionStores(EchoPaths(tmp_path), clock)
    yield ChatStores(sessions, clock)
    await sessions.close()


def call(chat_id: str = "", user: str = "ada") -> PipeCall:
    metadata = {"chat_id": chat_id, "message_id": "m1"} if chat_id else {}
    return PipeCall(body={}, user={"id": user}, metadata=metadata, valves=SimpleNamespace(), tools={})


def answer(message_id: str = "m1") -> Seal:
    contents = b'[{"role":"model","parts":[{"text":"Hi"}]}]'
    shadow = Shadow(
        message_id=message_id,
        chat_id="c",
        role="model",
        contents_json=contents,
        invariant_hash="sha256:1",
        cumulative_hash=f"sha256:{message_id}",
        client_hash="sha256:c",
    )
    return Seal(shadow=shadow)


async def held(stores: ChatStores, of: PipeCall) -> int:
    async with stores.open(of, keep_api=True) as store:
        assert store is not None
        return len(await store.get_message_shadows(["m1"]))


async def test_a_temporary_chat_is_forgotten_when_its_socket_is_gone(
    stores: ChatStores, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {"socket-a", "socket-b"}

    async def connected(socket_ids: Sequence[str]) -> set[str]:
        return there & set(socket_ids)

    monkeypatch.setattr(_owui, "connected", connected)
    first, second = call("temporary:socket-a"), call("temporary:socket-b")
    async with stores.open(first, keep_api=True) as store:
        assert store is not None
        await store.seal(answer())
    await held(stores, second)
    assert await held(stores, first) == 1
    there.discard("socket-a")
    await held(stores, second)
    assert await held(stores, first) == 0


async def test_an_api_caller_s_answers_are_kept_for_seven_days(stores: ChatStores, clock: FakeClock) -> None:
    async with stores.open(call(), keep_api=True) as store:
        assert store is not None
        await store.seal(answer())
    clock.at_s += API_KEPT_S - 10
    assert await held(stores, call()) == 1
    clock.at_s += 24 * 3600
    assert await held(stores, call()) == 0


async def test_one_api_caller_never_gets_another_one_s_records(stores: ChatStores) -> None:
    async with stores.open(call(), keep_api=True) as store:
        assert store is not None
        await store.seal(answer())
    assert await held(stores, call(user="bob")) == 0


async def test_nothing_is_kept_for_api_callers_when_the_administrator_said_so(stores: ChatStores) -> None:
    async with stores.open(call(), keep_api=False) as store:
        assert store is None
