from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from echo_paths import EchoPaths
from echo_runtime.keys import GEMINI_KEY_NAME
from echo_runtime.lifecycle import PIPE_ID, Lifecycle
from echo_runtime.lifecycle_entry import STARTUP
from echo_runtime.purge import Purger
from echo_state_manager.identity import INSTANCE_OWNER, IdentityStore

OWN_ID = "echo_lifecycle"
KEY = "a-key-of-the-instance-7777"


class Host:
    """Open WebUI as the lifecycle sees it: a valve, some routes, some tables."""

    def __init__(self) -> None:
        self.valve: str | None = None
        self.routes = 0
        self.installs = 0

    def install_routes(self, owner: str) -> None:
        assert owner == OWN_ID
        self.installs += 1
        self.routes = 1

    def routes_installed(self) -> bool:
        return self.routes > 0

    def remove_routes(self) -> None:
        self.routes = 0

    async def exchange_key_valve(self, exchange: Callable[[str | None], Awaitable[str | None]]) -> None:
        answer = await exchange(self.valve)
        self.valve = self.valve if answer is None else answer

    async def living_chats(self, chat_ids: Sequence[str]) -> set[str]:
        return set()

    async def living_users(self, user_ids: Sequence[str]) -> set[str]:
        return set(user_ids)

    async def living_files(self, file_ids: Sequence[str]) -> set[str]:
        return set(file_ids)


class Recovery:
    """Counts how often it was asked to finish what a crash left open."""

    def __init__(self) -> None:
        self.runs = 0

    async def run(self) -> int:
        self.runs += 1
        return 0


class Tidier:
    """Counts how often it was asked to remove what is too old."""

    def __init__(self) -> None:
        self.runs = 0

    async def tidy(self) -> None:
        self.runs += 1


@pytest.fixture
def tidier() -> Tidier:
    return Tidier()


@pytest.fixture
def recovery() -> Recovery:
    return Recovery()


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture
def lifecycle(host: Host, identity: IdentityStore, paths: EchoPaths, recovery: Recovery, tidier: Tidier) -> Lifecycle:
    return Lifecycle(host, identity, Purger(paths, identity, host), recovery, tidier)


async def test_old_records_are_looked_for_at_every_event(lifecycle: Lifecycle, tidier: Tidier) -> None:
    for name in (STARTUP, "chat.created", "user.updated"):
        await send(lifecycle, name)
    assert tidier.runs == 3


async def send(lifecycle: Lifecycle, name: str, subject: str = "", **more: Any) -> None:
    await lifecycle.handle(name, {"subject": {"id": subject, "type": "x"}, **more}, OWN_ID)


async def key_of(identity: IdentityStore) -> str | None:
    return await identity.get_secret(INSTANCE_OWNER, GEMINI_KEY_NAME)


async def test_a_start_adds_the_routes_and_moves_a_key_left_in_the_valve(
    lifecycle: Lifecycle, host: Host, identity: IdentityStore
) -> None:
    host.valve = f" {KEY}\n"
    await send(lifecycle, "system.startup.started")
    assert (host.routes, host.valve, await key_of(identity)) == (1, "stored", KEY)


async def test_saving_the_valve_moves_the_key(lifecycle: Lifecycle, host: Host, identity: IdentityStore) -> None:
    host.valve = KEY
    await send(lifecycle, "function.valves_updated", "another_function")
    await send(lifecycle, "function.valves_updated", PIPE_ID, data={"scope": "user"})
    assert host.valve == KEY
    await send(lifecycle, "function.valves_updated", PIPE_ID)
    assert (host.valve, await key_of(identity)) == ("stored", KEY)
    await send(lifecycle, "function.valves_updated", PIPE_ID)
    assert (host.valve, await key_of(identity)) == ("stored", KEY)


@pytest.mark.parametrize("emptied", ["", "  ", None])
async def test_emptying_the_valve_deletes_the_key(
    lifecycle: Lifecycle, host: Host, identity: IdentityStore, emptied: str | None
) -> None:
    await identity.put_secret(INSTANCE_OWNER, GEMINI_KEY_NAME, KEY)
    host.valve = emptied
    await send(lifecycle, "function.valves_updated", PIPE_ID)
    assert await key_of(identity) is None


async def test_a_pipe_installed_anew_keeps_the_key_and_a_valve_emptied_meanwhile_does_not(
    lifecycle: Lifecycle, host: Host, identity: IdentityStore
) -> None:
    await identity.put_secret(INSTANCE_OWNER, GEMINI_KEY_NAME, KEY)
    for name in ("function.enabled", "system.startup.started"):
        host.valve = None
        await send(lifecycle, name, PIPE_ID)
        assert (host.valve, await key_of(identity)) == ("stored", KEY)
    host.valve = ""
    await send(lifecycle, "system.startup.started")
    assert await key_of(identity) is None


async def test_what_is_no_key_does_not_stay_in_the_valve(
    lifecycle: Lifecycle, host: Host, identity: IdentityStore, caplog: pytest.LogCaptureFixture
) -> None:
    host.valve = "a secret sentence"
    await send(lifecycle, "function.valves_updated", PIPE_ID)
    assert (host.valve, await key_of(identity)) == ("", None)
    await identity.put_secret(INSTANCE_OWNER, GEMINI_KEY_NAME, KEY)
    host.valve = "a secret sentence"
    await send(lifecycle, "function.valves_updated", PIPE_ID)
    assert (host.valve, await key_of(identity)) == ("stored", KEY)
    assert "a secret sentence" not in caplog.text


async def test_the_valve_follows_the_key_page(lifecycle: Lifecycle, host: Host) -> None:
    await lifecycle.show_instance_key(present=True)
    assert host.valve == "stored"
    await lifecycle.show_instance_key(present=False)
    assert host.valve == ""
    host.valve = None
    await lifecycle.show_instance_key(present=False)
    assert host.valve is None


async def test_an_update_replaces_the_routes_and_switching_off_removes_them(lifecycle: Lifecycle, host: Host) -> None:
    await send(lifecycle, "function.enable_started", OWN_ID)
    before = host.installs
    await send(lifecycle, "function.updated", OWN_ID)
    assert host.installs == before + 1
    await send(lifecycle, "function.updated", "another_function")
    assert host.installs == before + 1
    await send(lifecycle, "function.disable_started", "another_function")
    assert host.routes == 1
    await send(lifecycle, "function.disable_started", OWN_ID)
    assert host.routes == 0


async def test_a_worker_that_missed_the_enabling_catches_up_at_its_next_event(lifecycle: Lifecycle, host: Host) -> None:
    await send(lifecycle, "chat.updated", "c1")
    assert host.routes == 1


async def test_deleting_chats_and_users_purges(lifecycle: Lifecycle, paths: EchoPaths) -> None:
    def make(user_id: str, chat_id: str) -> None:
        paths.chat_dir(user_id, chat_id).mkdir(parents=True)

    make("ada", "c1")
    make("bob", "c2")
    await send(lifecycle, "chat.deleted", "c1", data={"owner_id": "ada"})
    assert not paths.chat_dir("ada", "c1").exists()
    for name in ("folder.deleted", "chat.deleted_all"):
        make("ada", "c3")
        await send(lifecycle, name, "f1")
        assert not paths.chat_dir("ada", "c3").exists()
    assert paths.user_dir("bob").exists()
    await send(lifecycle, "user.deleted", "bob")
    assert not paths.user_dir("bob").exists()


async def test_a_clone_knows_its_original(lifecycle: Lifecycle, identity: IdentityStore) -> None:
    await send(lifecycle, "chat.cloned", "c2", actor={"id": "ada"}, data={"original_chat_id": "c1"})
    chat = await identity.get_chat("c2")
    assert chat is not None
    assert (chat.owner_id, chat.parent_chat_id) == ("ada", "c1")


async def test_events_without_the_expected_fields_do_no_harm(
    lifecycle: Lifecycle, host: Host, identity: IdentityStore, paths: EchoPaths
) -> None:
    host.valve = KEY
    paths.chat_dir("ada", "c1").mkdir(parents=True)
    for name in ("chat.deleted", "user.deleted", "chat.cloned", "function.valves_updated"):
        await lifecycle.handle(name, {"subject": None, "data": "odd", "actor": []}, OWN_ID)
    assert host.valve == KEY
    assert paths.chat_dir("ada", "c1").is_dir()
    assert await identity.get_chat("") is None


async def test_cut_off_answers_are_finished_at_a_start_only(lifecycle: Lifecycle, recovery: Recovery) -> None:
    await send(lifecycle, "function.enable_started", OWN_ID)
    assert recovery.runs == 0, "answers of this process are in work"
    await send(lifecycle, "system.startup.started")
    assert recovery.runs == 1
