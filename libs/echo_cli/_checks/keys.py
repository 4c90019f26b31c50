"""The Gemini API key: is there one, does Google take it."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final

from echo_cli._checks.base import Diagnosis, Finding, Need, Surroundings
from echo_cli._owui_api import NotOpenWebuiError, OwuiAnswerError
from echo_constants import Bilingual
from echo_runtime.backends import is_simulator
from echo_runtime.key_probe import GeminiKeyProbe
from echo_runtime.keys import ApiKey

#: Source: https://ai.google.dev/api (the service endpoint).
_BASE_URL: Final = "https://generativelanguage.googleapis.com"

_WHERE: Final = Bilingual(
    en="Enter one on ECHO's key page (/echo/hud/keys), in the pipe's valve GEMINI_API_KEY, or in the environment. Keys "
    "are free at aistudio.google.com.",
    fr="Saisissez-en une sur la page des clés d'ECHO (/echo/hud/keys), dans la vanne GEMINI_API_KEY du pipe, ou dans "
    "l'environnement. Les clés sont gratuites sur aistudio.google.com.",
)

KEY_MISSING: Final = Diagnosis(
    code="key_missing",
    severity="warning",
    what=Bilingual(
        en="There is no Gemini API key for everybody: only users with a key of their own get answers.",
        fr="Il n'y a pas de clé API Gemini commune : seuls les utilisateurs ayant leur propre clé reçoivent des "
        "réponses.",
    ),
    remedy=_WHERE,
)
KEY_REFUSED: Final = Diagnosis(
    code="key_refused",
    severity="problem",
    what=Bilingual(en="Gemini refuses the key of {source}.", fr="Gemini refuse la clé de {source}."),
    remedy=_WHERE,
)
KEY_LIMITED: Final = Diagnosis(
    code="key_limited",
    severity="warning",
    what=Bilingual(
        en="The key of {source} is valid, but its quota is used up at the moment.",
        fr="La clé de {source} est valable, mais son quota est épuisé pour le moment.",
    ),
    remedy=Bilingual(
        en="Wait, or raise the limits of its Google project.",
        fr="Attendez, ou relevez les limites de son projet Google.",
    ),
)
KEY_DAMAGED: Final = Diagnosis(
    code="key_damaged",
    severity="problem",
    what=Bilingual(en="The stored key cannot be decrypted.", fr="La clé enregistrée ne peut être déchiffrée."),
    remedy=Bilingual(
        en="Delete it on ECHO's key page and enter it again.",
        fr="Supprimez-la sur la page des clés d'ECHO et saisissez-la de nouveau.",
    ),
)
BACKEND_UNREACHABLE: Final = Diagnosis(
    code="backend_unreachable",
    severity="problem",
    what=Bilingual(en="{url} does not answer, seen from {where}.", fr="{url} ne répond pas, vu depuis {where}."),
    remedy=Bilingual(
        en="Check the network, proxy and firewall there, and GEMINI_BASE_URL if you have set it.",
        fr="Vérifiez-y le réseau, le proxy et le pare-feu, et GEMINI_BASE_URL si vous l'avez définie.",
    ),
)
SIMULATOR_ANSWERS: Final = Diagnosis(
    code="simulator_answers",
    severity="warning",
    what=Bilingual(
        en="Demo: the simulator answers instead of Google, so no key was checked.",
        fr="Démo : le simulateur répond à la place de Google, aucune clé n'a donc été vérifiée.",
    ),
    remedy=Bilingual(
        en="Nothing, if that is meant. To talk to Google, stop ECHO and start it again: GEMINI_API_KEY=... make run",
        fr="Rien, si c'est voulu. Pour parler à Google, arrêtez ECHO et relancez-le : GEMINI_API_KEY=... make run",
    ),
)

_STORED: Final = "echo/identity.db"
_ENVIRONMENT: Final = "GEMINI_API_KEY"


class KeysCheck:
    """Asks ECHO inside Open WebUI about its stored key; tests the environment's key from here."""

    name = "keys"
    title = Bilingual(en="Gemini API key", fr="Clé API Gemini")
    need: Need = "environment_or_admin"
    diagnoses = (KEY_MISSING, KEY_REFUSED, KEY_LIMITED, KEY_DAMAGED, BACKEND_UNREACHABLE, SIMULATOR_ANSWERS)

    def run(self, here: Surroundings) -> Iterator[Finding]:
        """As `Check`. Raises as `OwuiApi.get`."""
        in_environment = here.environ.get(_ENVIRONMENT, "").strip()
        told = _told(here)
        stored = next(iter(told.get("keys", ())), None)
        if told.get("simulated", is_simulator(_url(here.environ), here.environ)):
            yield SIMULATOR_ANSWERS.found()
        elif stored is not None:
            yield from _judge_stored(here, stored)
        elif in_environment:
            yield from _judge_environment(here.environ, in_environment)
        else:
            yield KEY_MISSING.found()


def _told(here: Surroundings) -> Mapping[str, Any]:
    """What ECHO tells of the key in its own store and of who answers; empty = nobody can tell."""
    if here.api is None or not here.is_admin:
        return {}
    try:
        told: dict[str, Any] = here.api.get("/echo/api/admin/key")
    except (NotOpenWebuiError, OwuiAnswerError):
        return {}  # ECHO's pages do not answer: the check of Open WebUI says so
    return told


def _judge_stored(here: Surroundings, key: Mapping[str, Any]) -> Iterator[Finding]:
    if key.get("damaged"):
        yield KEY_DAMAGED.found()
    elif here.api is not None:
        verdict = here.api.request("POST", "/echo/api/admin/key/test")["verdict"]
        yield from _judge(verdict, _STORED, here.environ, where="Open WebUI")


def _judge_environment(environ: Mapping[str, str], key: str) -> Iterator[Finding]:
    async def base_url() -> str:
        return _url(environ)

    verdict = asyncio.run(_probe(GeminiKeyProbe(base_url), ApiKey(key, "environment")))
    yield from _judge(verdict, _ENVIRONMENT, environ, where="echoctl")


async def _probe(probe: GeminiKeyProbe, key: ApiKey) -> str:
    return await probe(key)


def _judge(verdict: str, source: str, environ: Mapping[str, str], *, where: str) -> Iterator[Finding]:
    if verdict == "refused":
        yield KEY_REFUSED.found(source=source)
    elif verdict == "limited":
        yield KEY_LIMITED.found(source=source)
    elif verdict == "unreachable":
        yield BACKEND_UNREACHABLE.found(url=_url(environ), where=where)


def _url(environ: Mapping[str, str]) -> str:
    return (environ.get("GEMINI_BASE_URL", "").strip() or _BASE_URL).rstrip("/")
