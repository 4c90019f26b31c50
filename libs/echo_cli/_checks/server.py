"""Open WebUI itself: its version, its settings, and ECHO's pages inside it."""

from collections.abc import Iterator
from typing import Any, Final

from packaging.version import Version

from echo_cli._checks.base import Diagnosis, Finding, Need, Surroundings
from echo_cli._owui_api import NotOpenWebuiError, OwuiAnswerError
from echo_constants import ECHO_VERSION, Bilingual

#: 0.12 is the reference; 0.10 and 0.11 have the hooks that ECHO cannot do without. Source: docs/design.md, first lines.
OLDEST: Final = Version("0.10")
REFERENCE: Final = (Version("0.12"), Version("0.13"))

OWUI_OLD: Final = Diagnosis(
    code="open_webui_too_old",
    severity="problem",
    what=Bilingual(
        en="Open WebUI {version} lacks what ECHO needs (0.10 at least).",
        fr="Open WebUI {version} n'a pas ce dont ECHO a besoin (0.10 au moins).",
    ),
    remedy=Bilingual(en="Update Open WebUI to 0.12.", fr="Mettez Open WebUI à jour vers 0.12."),
)
OWUI_UNTESTED: Final = Diagnosis(
    code="open_webui_untested",
    severity="warning",
    what=Bilingual(
        en="Open WebUI {version} is not the version that ECHO is tested with (0.12).",
        fr="Open WebUI {version} n'est pas la version avec laquelle ECHO est testé (0.12).",
    ),
    remedy=Bilingual(
        en="Prefer 0.12; with a newer one look for a newer ECHO.",
        fr="Préférez 0.12 ; avec une version plus récente, cherchez un ECHO plus récent.",
    ),
)
COMPACTION_ON: Final = Diagnosis(
    code="native_compaction_on",
    severity="problem",
    what=Bilingual(
        en="Open WebUI's own context compaction is on: it shortens conversations before ECHO sees them and calls the "
        "model once more for it.",
        fr="La compaction de contexte d'Open WebUI est active : elle raccourcit les conversations avant qu'ECHO les "
        "voie et appelle le modèle une fois de plus.",
    ),
    remedy=Bilingual(
        en="Admin panel, Settings, Interface: switch Context Compaction off (or ENABLE_CONTEXT_COMPACTION=false before "
        "the first start). ECHO has its own.",
        fr="Panneau d'administration, Réglages, Interface : désactivez Context Compaction (ou "
        "ENABLE_CONTEXT_COMPACTION=false avant le premier démarrage). ECHO a la sienne.",
    ),
)
LIFECYCLE_SILENT: Final = Diagnosis(
    code="lifecycle_not_running",
    severity="problem",
    what=Bilingual(
        en="ECHO's pages (/echo/…) do not answer: its lifecycle function is not running.",
        fr="Les pages d'ECHO (/echo/…) ne répondent pas : sa fonction de cycle de vie ne tourne pas.",
    ),
    remedy=Bilingual(
        en="Run `echoctl install`, which brings the function if it is gone. If it is there: switch echo_lifecycle on "
        "in the admin panel, then restart Open WebUI; its log says what fails.",
        fr="Lancez `echoctl install`, qui apporte la fonction si elle manque. Si elle est là : activez echo_lifecycle "
        "dans le panneau d'administration, puis redémarrez Open WebUI ; son journal dit ce qui échoue.",
    ),
)
LIBRARIES_DIFFER: Final = Diagnosis(
    code="restart_needed",
    severity="problem",
    what=Bilingual(
        en="Open WebUI still runs ECHO {running}; installed here is {installed}.",
        fr="Open WebUI fait encore tourner ECHO {running} ; ici est installé {installed}.",
    ),
    remedy=Bilingual(
        en="Restart Open WebUI; libraries are loaded once.",
        fr="Redémarrez Open WebUI ; les bibliothèques ne sont chargées qu'une fois.",
    ),
)
ECHO_DEGRADED: Final = Diagnosis(
    code="echo_degraded",
    severity="problem",
    what=Bilingual(
        en="ECHO runs, but cannot open its store ({code}).",
        fr="ECHO tourne, mais ne peut ouvrir son stockage ({code}).",
    ),
    remedy=Bilingual(en="docs/errors.md explains the code {code}.", fr="docs/errors.md explique le code {code}."),
)


class ServerCheck:
    """Version, context compaction, and whether ECHO's own routes answer."""

    name = "open_webui"
    title = Bilingual(en="Open WebUI", fr="Open WebUI")
    need: Need = "server"
    diagnoses = (OWUI_OLD, OWUI_UNTESTED, COMPACTION_ON, LIFECYCLE_SILENT, LIBRARIES_DIFFER, ECHO_DEGRADED)

    def run(self, here: Surroundings) -> Iterator[Finding]:
        """As `Check`. Raises as `OwuiApi.get`."""
        if here.api is None:
            return
        yield from judge_version(here.version)
        features = here.api.get("/api/config").get("features") or {}
        # Only signed-in accounts are told this one.
        if features.get("enable_context_compaction"):
            yield COMPACTION_ON.found()
        try:
            health: dict[str, Any] = here.api.get("/echo/api/health")
        except (NotOpenWebuiError, OwuiAnswerError) as error:
            yield LIFECYCLE_SILENT.found(str(error))
            return
        if health.get("version") != ECHO_VERSION:
            yield LIBRARIES_DIFFER.found(running=health.get("version"), installed=ECHO_VERSION)
        if health.get("status") != "ok":
            yield ECHO_DEGRADED.found(code=health.get("code", "?"))


def judge_version(version: str) -> Iterator[Finding]:
    """What is to be said about a version of Open WebUI."""
    number = Version(version)
    if number < OLDEST:
        yield OWUI_OLD.found(version=version)
    elif not REFERENCE[0] <= number < REFERENCE[1]:
        yield OWUI_UNTESTED.found(version=version)
