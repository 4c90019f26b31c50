"""The variables that Open WebUI runs with."""

from collections.abc import Iterator, Mapping
from typing import Final

from echo_cli._checks.base import Diagnosis, Finding, Need, Surroundings
from echo_constants import Bilingual

#: Shorter than what Open WebUI generates for itself (24 bytes, base64). Source: `open_webui/__init__.py`, 0.12.4.
_SHORTEST_SECRET_CHARS: Final = 16
#: The value that older versions of Open WebUI fell back to. Source: `open_webui/env.py`, 0.6.
_PUBLIC_SECRETS: Final = frozenset({"t0p-s3cr3t", "secret", "changeme", "change-me"})

SECRET_MISSING: Final = Diagnosis(
    code="secret_key_missing",
    severity="problem",
    what=Bilingual(
        en="WEBUI_SECRET_KEY is not set: stored API keys cannot be encrypted, and sessions end at each restart.",
        fr="WEBUI_SECRET_KEY n'est pas définie : les clés API ne peuvent être chiffrées, et les sessions tombent à "
        "chaque redémarrage.",
    ),
    remedy=Bilingual(
        en="Set it to a long random text for good, e.g. from: openssl rand -base64 32",
        fr="Donnez-lui pour de bon un long texte aléatoire, p. ex. : openssl rand -base64 32",
    ),
)
SECRET_WEAK: Final = Diagnosis(
    code="secret_key_weak",
    severity="warning",
    what=Bilingual(
        en="{variable} is short or publicly known: who guesses it can sign in as anybody.",
        fr="{variable} est courte ou connue de tous : qui la devine peut se connecter à la place de n'importe qui.",
    ),
    remedy=Bilingual(
        en="Choose a long random one; before changing it set ECHO_SECRET_KEY to the present value, so that stored keys "
        "stay readable.",
        fr="Choisissez-en une longue et aléatoire ; avant de la changer, donnez à ECHO_SECRET_KEY la valeur actuelle, "
        "pour que les clés enregistrées restent lisibles.",
    ),
)
FUNCTIONS_DISABLED: Final = Diagnosis(
    code="plugins_disabled",
    severity="problem",
    what=Bilingual(
        en="{variable}={value}: Open WebUI does not load functions, so ECHO cannot run.",
        fr="{variable}={value} : Open WebUI ne charge aucune fonction, ECHO ne peut donc pas tourner.",
    ),
    remedy=Bilingual(
        en="Remove this variable and restart Open WebUI.", fr="Retirez cette variable et redémarrez Open WebUI."
    ),
)
SAFE_MODE: Final = Diagnosis(
    code="safe_mode",
    severity="problem",
    what=Bilingual(
        en="SAFE_MODE is on: Open WebUI switches all functions off at each start.",
        fr="SAFE_MODE est actif : Open WebUI désactive toutes les fonctions à chaque démarrage.",
    ),
    remedy=Bilingual(
        en="Remove SAFE_MODE, restart, then run `echoctl install --enable`.",
        fr="Retirez SAFE_MODE, redémarrez, puis lancez `echoctl install --enable`.",
    ),
)
OUTLETS_OFF: Final = Diagnosis(
    code="api_outlet_filters_off",
    severity="problem",
    what=Bilingual(
        en="ENABLE_API_OUTLET_FILTERS is off: ECHO's last step does not run for API calls, so it cannot tell whether "
        "their answers were edited later.",
        fr="ENABLE_API_OUTLET_FILTERS est désactivé : la dernière étape d'ECHO ne tourne pas pour les appels API, il "
        "ne peut donc pas savoir si leurs réponses ont été modifiées ensuite.",
    ),
    remedy=Bilingual(
        en="Remove this variable and restart Open WebUI.", fr="Retirez cette variable et redémarrez Open WebUI."
    ),
)
WORKERS_APART: Final = Diagnosis(
    code="workers_without_redis",
    severity="problem",
    what=Bilingual(
        en="Open WebUI runs with {workers} workers but without Redis: they do not see each other's connections, so "
        "answers and the Stop button get lost.",
        fr="Open WebUI tourne avec {workers} processus mais sans Redis : ils ne voient pas les connexions des autres, "
        "des réponses et le bouton Stop se perdent.",
    ),
    remedy=Bilingual(
        en="Set WEBSOCKET_MANAGER=redis and REDIS_URL, or UVICORN_WORKERS=1.",
        fr="Définissez WEBSOCKET_MANAGER=redis et REDIS_URL, ou UVICORN_WORKERS=1.",
    ),
)


class EnvironmentCheck:
    """Secret key, switches that turn plugins off, several workers."""

    name = "environment"
    title = Bilingual(en="Environment of Open WebUI", fr="Environnement d'Open WebUI")
    need: Need = "environment"
    diagnoses = (SECRET_MISSING, SECRET_WEAK, FUNCTIONS_DISABLED, SAFE_MODE, OUTLETS_OFF, WORKERS_APART)

    def run(self, here: Surroundings) -> Iterator[Finding]:
        """As `Check`; looks at `here.environ` only."""
        yield from _secret(here.environ)
        for variable in ("ENABLE_PLUGINS", "ENABLE_FUNCTIONS"):
            if _is(here.environ, variable, "false"):
                yield FUNCTIONS_DISABLED.found(variable=variable, value=here.environ[variable])
        if _is(here.environ, "SAFE_MODE", "true"):
            yield SAFE_MODE.found()
        if _is(here.environ, "ENABLE_API_OUTLET_FILTERS", "false"):
            yield OUTLETS_OFF.found()
        workers = here.environ.get("UVICORN_WORKERS", "1")
        if workers.isdigit() and int(workers) > 1 and not _is(here.environ, "WEBSOCKET_MANAGER", "redis"):
            yield WORKERS_APART.found(workers=workers)


def _secret(environ: Mapping[str, str]) -> Iterator[Finding]:
    for variable in ("ECHO_SECRET_KEY", "WEBUI_SECRET_KEY"):
        value = environ.get(variable, "")
        if value and (len(value) < _SHORTEST_SECRET_CHARS or value.lower() in _PUBLIC_SECRETS):
            yield SECRET_WEAK.found(variable=variable)
    if not environ.get("ECHO_SECRET_KEY") and not environ.get("WEBUI_SECRET_KEY"):
        yield SECRET_MISSING.found()


def _is(environ: Mapping[str, str], variable: str, value: str) -> bool:
    return environ.get(variable, "").strip().lower() == value
