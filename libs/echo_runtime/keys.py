"""Which Gemini API key answers for whom, and how a key is handled without being seen."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from echo_constants import AuthError, Bilingual
from echo_state_manager.identity import INSTANCE_OWNER, IdentityStore

#: Name of the Gemini API key among an owner's secrets.
GEMINI_KEY_NAME: Final = "gemini_api_key"
#: Variable and valve that may hold the instance's key.
GEMINI_KEY_VARIABLE: Final = "GEMINI_API_KEY"
#: What the valve shows once its key lies encrypted in identity.db.
STORED_VALVE: Final = "stored"

#: Google does not document a format: what is refused is only what cannot travel in a header. Length is our limit.
_KEY_SHAPE: Final = re.compile(r"[\x21-\x7e]{8,512}")
_MASK_CHARS: Final = 4
_CLASS_CHARS: Final = 12

KeySource = Literal["user", "instance", "environment"]


class KeyMalformedError(AuthError):
    """A text that cannot be an API key was given as one."""

    code = "key_malformed"
    message = Bilingual(en="This does not look like an API key.", fr="Ceci ne ressemble pas à une clé API.")
    remedy = Bilingual(
        en="Copy the whole key from Google AI Studio, without spaces or line breaks.",
        fr="Copiez la clé entière depuis Google AI Studio, sans espace ni retour à la ligne.",
    )


@dataclass(frozen=True, slots=True, repr=False)
class ApiKey:
    """A key that does not show itself: only `reveal` gives its value.

    Args:
        source: whose key it is: the user's own, the instance's, or the environment's.
    """

    _value: str = field(repr=False)
    source: KeySource

    def reveal(self) -> str:
        """The key itself, for the request header and nothing else."""
        return self._value

    @property
    def tail(self) -> str:
        """The last characters, enough for its owner to know it again."""
        return mask(self._value)

    @property
    def key_class(self) -> str:
        """As `key_class`."""
        return key_class(self._value)

    def __repr__(self) -> str:
        return f"ApiKey(source={self.source!r})"


def mask(value: str) -> str:
    """`…` and the last four characters; of a short text nothing."""
    return "…" + (value[-_MASK_CHARS:] if len(value) >= 4 * _MASK_CHARS else "")


def key_class(value: str) -> str:
    """A short name for "signed under the same key", 12 hex characters; the key cannot be found from it."""
    return hashlib.sha256(b"echo key class v1\0" + value.encode()).hexdigest()[:_CLASS_CHARS]


def clean_key(text: str) -> str:
    """A typed key without the blanks around it.

    Raises:
        KeyMalformedError: it holds blanks or other characters that no header carries, or is far too short or long.
    """
    value = text.strip()
    if not _KEY_SHAPE.fullmatch(value):
        raise KeyMalformedError(f"{len(value)} characters")
    return value


class KeyRing:
    """Finds the key of a turn.

    Args:
        identity: where keys are kept.
        env: the process environment.
    """

    def __init__(self, identity: IdentityStore, env: Mapping[str, str]) -> None:
        self._identity = identity
        self._env = env

    async def resolve(self, user_id: str, valve: str = "") -> ApiKey | None:
        """The user's own key, else the instance's, else the environment's; None when nobody gave one.

        Args:
            user_id: who asks; "" for work that no user started.
            valve: the pipe's valve `GEMINI_API_KEY`; counts as the instance's key until it has been moved away.

        Raises:
            StateError: identity.db belongs to another secret or a key in it is damaged.
        """
        owners = (user_id, INSTANCE_OWNER) if user_id else (INSTANCE_OWNER,)
        found = await self._identity.find_secret(GEMINI_KEY_NAME, owners)
        typed = valve.strip() if valve.strip() != STORED_VALVE else ""
        if found is not None and found[0] != INSTANCE_OWNER:
            return ApiKey(found[1], "user")
        if typed:
            return ApiKey(typed, "instance")
        if found is not None:
            return ApiKey(found[1], "instance")
        value = self._env.get(GEMINI_KEY_VARIABLE, "").strip()
        return ApiKey(value, "environment") if value else None
