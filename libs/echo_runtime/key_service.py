"""What the key page can do with one owner's key; no value ever comes back."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from echo_constants import AuthError, Bilingual
from echo_runtime.key_probe import Verdict
from echo_runtime.keys import GEMINI_KEY_NAME, ApiKey, KeyRing, KeySource, clean_key, mask
from echo_state_manager.crypto import SecretDamagedError
from echo_state_manager.identity import INSTANCE_OWNER, IdentityStore


class KeyAbsentError(AuthError):
    """A key was to be tested that is not there."""

    code = "key_absent"
    message = Bilingual(en="There is no key to test.", fr="Il n'y a pas de clé à tester.")
    remedy = Bilingual(en="Enter a key first.", fr="Saisissez d'abord une clé.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKey:
    """What is shown of a stored key.

    Args:
        tail: mask and last characters; only the mask when the record is damaged.
        updated_at_s: epoch seconds of the last change.
    """

    name: str
    tail: str
    updated_at_s: int
    damaged: bool


class KeyService:
    """The key page's operations.

    Args:
        identity: where keys are kept.
        ring: tells who else's key answers for a user without one.
        probe: asks Gemini about a key.
        on_instance_change: told after the instance's key was set (True) or deleted (False).
        simulated: whether the simulator answers in Gemini's place, so that no key says anything.
    """

    def __init__(
        self,
        identity: IdentityStore,
        ring: KeyRing,
        probe: Callable[[ApiKey], Awaitable[Verdict]],
        on_instance_change: Callable[[bool], Awaitable[None]],
        simulated: Callable[[], Awaitable[bool]],
    ) -> None:
        self._identity = identity
        self._ring = ring
        self._probe = probe
        self._on_instance_change = on_instance_change
        self.simulated = simulated

    async def stored(self, owner_id: str) -> StoredKey | None:
        """The owner's key without its value. Raises StateError when identity.db cannot be opened."""
        stamp = (await self._identity.secret_names(owner_id)).get(GEMINI_KEY_NAME)
        if stamp is None:
            return None
        try:
            value = await self._identity.get_secret(owner_id, GEMINI_KEY_NAME) or ""
        except SecretDamagedError:
            return StoredKey(name=GEMINI_KEY_NAME, tail=mask(""), updated_at_s=stamp, damaged=True)
        return StoredKey(name=GEMINI_KEY_NAME, tail=mask(value), updated_at_s=stamp, damaged=False)

    async def fallback(self) -> KeySource | None:
        """Whose key answers for somebody without one. Raises StateError as `KeyRing.resolve`.

        The pretend key that the simulator is started with is nobody's.
        """
        key = await self._ring.resolve("")
        if key is None or (key.source == "environment" and await self.simulated()):
            return None
        return key.source

    async def put(self, owner_id: str, text: str) -> None:
        """Store or replace the owner's key.

        Raises:
            KeyMalformedError: the text cannot be a key.
            StateError: identity.db cannot be opened.
        """
        await self._identity.put_secret(owner_id, GEMINI_KEY_NAME, clean_key(text))
        if owner_id == INSTANCE_OWNER:
            await self._on_instance_change(True)

    async def delete(self, owner_id: str) -> None:
        """Remove the owner's key; without one nothing happens. Raises StateError as `put`."""
        await self._identity.delete_secret(owner_id, GEMINI_KEY_NAME)
        if owner_id == INSTANCE_OWNER:
            await self._on_instance_change(False)

    async def test(self, owner_id: str, candidate: str | None = None) -> Verdict:
        """Ask Gemini about the owner's stored key, or about one that is not stored yet.

        Raises:
            KeyAbsentError: there is none.
            KeyMalformedError: the candidate cannot be a key.
            StateError: the stored key is damaged, or identity.db cannot be opened.
        """
        if candidate is not None:
            value: str | None = clean_key(candidate)
        else:
            value = await self._identity.get_secret(owner_id, GEMINI_KEY_NAME)
        if value is None:
            raise KeyAbsentError
        if await self.simulated():
            return "simulated"
        return await self._probe(ApiKey(value, "instance" if owner_id == INSTANCE_OWNER else "user"))
