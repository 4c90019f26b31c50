"""The endpoint of a call: whose key it uses, and the name under which its answers are signed."""

from types import SimpleNamespace

from echo_runtime import PipeCall
from echo_runtime.backends import Backends
from echo_runtime.keys import GEMINI_KEY_NAME, KeyRing, key_class
from echo_state_manager.identity import INSTANCE_OWNER, IdentityStore
from store_kit import ManualClock

OWN, INSTANCE = "own-key-of-ada-0001", "key-of-the-instance-0002"


async def test_c39_whose_key_it_is_tells_whose_signatures_it_reads(identity: IdentityStore, clock: ManualClock) -> None:
    backends = Backends(KeyRing(identity, {}), clock, {})

    async def signer(user_id: str) -> str:
        valves = SimpleNamespace(GEMINI_API_KEY="")
        call = PipeCall(body={}, user={"id": user_id}, metadata={}, valves=valves, tools={})
        settings = SimpleNamespace(base_url="http://gemini.test")
        return (await backends.for_call(call, settings)).signer  # type: ignore[arg-type]

    assert await signer("ada") == "ai_studio:"
    await identity.put_secret(INSTANCE_OWNER, GEMINI_KEY_NAME, INSTANCE)
    assert await signer("ada") == await signer("bob") == f"ai_studio:{key_class(INSTANCE)}"
    await identity.put_secret("ada", GEMINI_KEY_NAME, OWN)
    assert await signer("ada") == f"ai_studio:{key_class(OWN)}"
    assert await signer("bob") == f"ai_studio:{key_class(INSTANCE)}"
