"""Encryption of single secrets: AES-256-GCM under a key that HKDF derives from the instance's secret."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from echo_constants import Bilingual, ConfigError, StateError

#: Length of the random salt of one identity.db. Source: RFC 5869 section 3.1 (as long as the hash).
SALT_BYTES: Final = 32
#: Source: NIST SP 800-38D section 8.2, 96-bit nonces; random ones are safe up to 2^32 messages a key.
_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32
_FORMAT: Final = b"\x01"
_INFO: Final = b"echo identity.db secrets v1"
_VARIABLES: Final = ("ECHO_SECRET_KEY", "WEBUI_SECRET_KEY")


class SecretKeyMissingError(ConfigError):
    """Neither variable that protects stored keys is set."""

    code = "secret_key_missing"
    message = Bilingual(
        en="ECHO has no secret to encrypt keys with.",
        fr="ECHO n'a pas de secret pour chiffrer les clés.",
    )
    remedy = Bilingual(
        en="Set ECHO_SECRET_KEY (or WEBUI_SECRET_KEY) to a long random text and restart Open WebUI.",
        fr="Donnez à ECHO_SECRET_KEY (ou à WEBUI_SECRET_KEY) un long texte aléatoire et redémarrez Open WebUI.",
    )


class SecretKeyMismatchError(StateError):
    """identity.db was encrypted under another secret."""

    code = "secret_key_mismatch"
    audience = "admin"
    message = Bilingual(
        en="The stored keys were encrypted with another secret and cannot be read. Nothing was changed.",
        fr="Les clés enregistrées ont été chiffrées avec un autre secret et sont illisibles. Rien n'a été modifié.",
    )
    remedy = Bilingual(
        en="Set ECHO_SECRET_KEY to the secret used before (the former ECHO_SECRET_KEY, or else the former "
        "WEBUI_SECRET_KEY) and restart Open WebUI. If it is lost, move identity.db away and enter the keys again.",
        fr="Donnez à ECHO_SECRET_KEY le secret utilisé auparavant (l'ancien ECHO_SECRET_KEY, sinon l'ancien "
        "WEBUI_SECRET_KEY) et redémarrez Open WebUI. S'il est perdu, écartez identity.db et saisissez les clés "
        "de nouveau.",
    )


class SecretDamagedError(StateError):
    """One stored secret fails its authenticity check although the instance's secret is right."""

    code = "secret_damaged"
    audience = "user"
    message = Bilingual(en="A stored key is damaged.", fr="Une clé enregistrée est endommagée.")
    remedy = Bilingual(
        en="Delete it on ECHO's key page and enter it again.",
        fr="Supprimez-la sur la page des clés d'ECHO et saisissez-la de nouveau.",
    )


@dataclass(frozen=True, slots=True)
class MasterSecret:
    """The instance's secret and the environment variable that it came from."""

    variable: str
    value: str = field(repr=False)


def master_secret(env: Mapping[str, str]) -> MasterSecret:
    """The secret that protects stored keys: ECHO_SECRET_KEY, else WEBUI_SECRET_KEY.

    Raises:
        SecretKeyMissingError: both are unset or empty.
    """
    for variable in _VARIABLES:
        if value := env.get(variable, ""):
            return MasterSecret(variable, value)
    raise SecretKeyMissingError("ECHO_SECRET_KEY and WEBUI_SECRET_KEY are unset")


class SecretBox:
    """Seals texts to an owner and a name, so that a row copied to another place does not open.

    Args:
        secret: the instance's secret.
        salt: `SALT_BYTES` random bytes of this database.
    """

    __slots__ = ("_cipher",)

    def __init__(self, secret: MasterSecret, salt: bytes) -> None:
        derived = HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=salt, info=_INFO).derive(secret.value.encode())
        self._cipher = AESGCM(derived)

    def seal(self, owner_id: str, name: str, value: str) -> bytes:
        """Encrypt: format byte, 12-byte nonce, ciphertext with its 16-byte tag."""
        nonce = os.urandom(_NONCE_BYTES)
        return _FORMAT + nonce + self._cipher.encrypt(nonce, value.encode(), _bound_to(owner_id, name))

    def open(self, owner_id: str, name: str, sealed: bytes) -> str:
        """Decrypt what `seal` made for the same owner and name.

        Raises:
            SecretDamagedError: other owner, name or secret, or changed bytes.
        """
        nonce, ciphertext = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        if sealed[:1] != _FORMAT or len(nonce) != _NONCE_BYTES:
            raise SecretDamagedError(f"unknown format of secret {name}")
        try:
            return self._cipher.decrypt(nonce, ciphertext, _bound_to(owner_id, name)).decode()
        except InvalidTag:
            raise SecretDamagedError(f"secret {name} does not authenticate") from None


def _bound_to(owner_id: str, name: str) -> bytes:
    return json.dumps([owner_id, name]).encode()
