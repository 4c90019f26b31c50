import pytest

from echo_runtime.keys import (
    GEMINI_KEY_NAME,
    STORED_VALVE,
    ApiKey,
    KeyMalformedError,
    KeyRing,
    clean_key,
    key_class,
    mask,
)
from echo_state_manager.identity import INSTANCE_OWNER, IdentityStore

OWN, INSTANCE, ENVIRONMENT = "own-key-of-ada-0001", "key-of-the-instance-0002", "key-of-the-process-0003"


async def test_the_own_key_goes_before_the_instances_and_that_before_the_environments(identity: IdentityStore) -> None:
    ring = KeyRing(identity, {"GEMINI_API_KEY": ENVIRONMENT})

    async def answer(user_id: str) -> tuple[str, str]:
        key = await ring.resolve(user_id)
        assert key is not None
        return key.reveal(), key.source

    assert await answer("ada") == (ENVIRONMENT, "environment")
    await identity.put_secret(INSTANCE_OWNER, GEMINI_KEY_NAME, INSTANCE)
    assert await answer("ada") == (INSTANCE, "instance")
    await identity.put_secret("ada", GEMINI_KEY_NAME, OWN)
    assert await answer("ada") == (OWN, "user")
    assert await answer("bob") == (INSTANCE, "instance")
    assert await answer("") == (INSTANCE, "instance")


async def test_a_valve_that_was_not_moved_yet_counts_as_the_instances_key(identity: IdentityStore) -> None:
    ring = KeyRing(identity, {})
    assert await ring.resolve("ada", STORED_VALVE) is None
    assert await ring.resolve("ada", "") is None
    assert await ring.resolve("ada", f" {INSTANCE}\n") == ApiKey(INSTANCE, "instance")
    await identity.put_secret("ada", GEMINI_KEY_NAME, OWN)
    assert await ring.resolve("ada", INSTANCE) == ApiKey(OWN, "user")


async def test_nobodys_key_is_no_key(identity: IdentityStore) -> None:
    assert await KeyRing(identity, {"GEMINI_API_KEY": "  "}).resolve("ada") is None


@pytest.mark.parametrize("show", [repr, str, "{}".format, lambda key: f"{key!r}", lambda key: str([key])])
def test_a_key_does_not_show_itself(show) -> None:
    assert OWN not in show(ApiKey(OWN, "user"))
    assert OWN[:8] not in show(ApiKey(OWN, "user"))


def test_the_class_of_a_key_is_stable_and_tells_nothing_of_it() -> None:
    assert ApiKey(OWN, "user").key_class == ApiKey(OWN, "instance").key_class == key_class(OWN)
    assert key_class(OWN) != key_class(INSTANCE)
    assert len(key_class(OWN)) == 12


def test_only_the_tail_of_a_long_key_is_shown() -> None:
    assert mask(OWN) == "…0001"
    assert mask("short") == "…"


@pytest.mark.parametrize(
    "text", ["", "short", "two words of a key", "clé-avec-un-accent", "x" * 513, "line\nbreak-in-key"]
)
def test_what_cannot_be_a_key_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(KeyMalformedError) as caught:
        clean_key(text)
    assert not text.strip() or text not in str(caught.value)


def test_blanks_around_a_key_do_not_matter() -> None:
    assert clean_key(f"\t{OWN} \n") == OWN
