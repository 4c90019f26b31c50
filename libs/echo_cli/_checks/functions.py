"""ECHO's functions inside Open WebUI: there, ours, switched on, up to date."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from echo_cli._checks.base import Diagnosis, Finding, Need, Surroundings
from echo_cli._functions import FunctionFile, discover_functions, read_frontmatter
from echo_constants import Bilingual
from echo_runtime.bundle_setup import MARK

#: A function that came with `echoctl bundle` names the source that it was made from in a line of its own.
BUNDLED: Final = re.compile(r"^# echo-bundle source-sha256: ([0-9a-f]{64})$", re.MULTILINE)

_INSTALL: Final = Bilingual(en="Run `echoctl install`.", fr="Lancez `echoctl install`.")

FUNCTION_MISSING: Final = Diagnosis(
    code="function_missing",
    severity="problem",
    what=Bilingual(en="The {kind} {id} is not in Open WebUI.", fr="L'élément {id} ({kind}) n'est pas dans Open WebUI."),
    remedy=_INSTALL,
)
FUNCTION_FOREIGN: Final = Diagnosis(
    code="function_foreign",
    severity="problem",
    what=Bilingual(
        en="Something that is not ECHO's has the id {id}.", fr="Un élément étranger à ECHO porte l'identifiant {id}."
    ),
    remedy=Bilingual(
        en="Rename or delete it in the admin panel, then run `echoctl install`.",
        fr="Renommez-le ou supprimez-le dans le panneau d'administration, puis lancez `echoctl install`.",
    ),
)
FUNCTION_UNFINISHED: Final = Diagnosis(
    code="function_unfinished",
    severity="problem",
    what=Bilingual(en="An installation was cut off at {id}.", fr="Une installation s'est interrompue à {id}."),
    remedy=Bilingual(
        en="Run `echoctl install` again; it goes on from there.", fr="Relancez `echoctl install` ; il continue là."
    ),
)
FUNCTION_OUTDATED: Final = Diagnosis(
    code="function_outdated",
    severity="problem",
    what=Bilingual(
        en="{id} in Open WebUI ({installed}) differs from the one of this package ({wanted}).",
        fr="{id} dans Open WebUI ({installed}) diffère de celui de ce paquet ({wanted}).",
    ),
    remedy=Bilingual(
        en="Run `echoctl install`, or import a new bundle.", fr="Lancez `echoctl install`, ou importez un nouveau lot."
    ),
)
PIPE_OFF: Final = Diagnosis(
    code="pipe_off",
    severity="problem",
    what=Bilingual(
        en="The pipe {id} is switched off: the model ECHO does not exist. A person did it, or Open WebUI could not "
        "load it.",
        fr="Le pipe {id} est désactivé : le modèle ECHO n'existe pas. Quelqu'un l'a fait, ou Open WebUI n'a pas pu le "
        "charger.",
    ),
    remedy=Bilingual(
        en="Switch it on in the admin panel or with `echoctl install --enable`; if it goes off again, Open WebUI's log "
        "says why.",
        fr="Activez-le dans le panneau ou par `echoctl install --enable` ; s'il se désactive de nouveau, le journal "
        "d'Open WebUI dit pourquoi.",
    ),
)
FUNCTION_OFF: Final = Diagnosis(
    code="function_off",
    severity="warning",
    what=Bilingual(
        en="{id} is switched off; ECHO works without what it does.",
        fr="{id} est désactivé ; ECHO fonctionne sans ce qu'il apporte.",
    ),
    remedy=Bilingual(
        en="If that is not meant: `echoctl install --enable`.", fr="Si ce n'est pas voulu : `echoctl install --enable`."
    ),
)
FUNCTION_NOT_GLOBAL: Final = Diagnosis(
    code="function_not_global",
    severity="problem",
    what=Bilingual(
        en="The filter {id} is not global: it does not run for your own models that build on ECHO.",
        fr="Le filtre {id} n'est pas global : il ne tourne pas pour vos propres modèles fondés sur ECHO.",
    ),
    remedy=Bilingual(
        en="Admin panel, Functions, menu of {id}: Global. Other models stay untouched.",
        fr="Panneau d'administration, Fonctions, menu de {id} : Global. Les autres modèles restent intacts.",
    ),
)
FUNCTION_LEFT_OVER: Final = Diagnosis(
    code="function_left_over",
    severity="warning",
    what=Bilingual(
        en="{id} came from another version of ECHO and is not part of this one.",
        fr="{id} vient d'une autre version d'ECHO et ne fait pas partie de celle-ci.",
    ),
    remedy=_INSTALL,
)


class FunctionsCheck:
    """Compares the function files with what Open WebUI has stored.

    Args:
        functions: the files; None = those of this package.
    """

    name = "functions"
    title = Bilingual(en="Functions", fr="Fonctions")
    need: Need = "admin"
    diagnoses = (
        FUNCTION_MISSING,
        FUNCTION_FOREIGN,
        FUNCTION_UNFINISHED,
        FUNCTION_OUTDATED,
        PIPE_OFF,
        FUNCTION_OFF,
        FUNCTION_NOT_GLOBAL,
        FUNCTION_LEFT_OVER,
    )

    def __init__(self, functions: Sequence[FunctionFile] | None = None) -> None:
        self._functions = functions

    def run(self, here: Surroundings) -> Iterator[Finding]:
        """As `Check`. Raises as `OwuiApi.get` and `discover_functions`."""
        if here.api is None:
            return
        functions = discover_functions() if self._functions is None else self._functions
        stored = {str(item["id"]): item for item in here.api.get("/api/v1/functions/export")}
        tools = {str(item["id"]): item for item in here.api.get("/api/v1/tools/export")}
        for function in functions:
            present = (tools if function.kind == "tool" else stored).get(function.id)
            yield from judge_function(function, present)
        known = {function.id for function in functions}
        for identity, present in {**stored, **tools}.items():
            if identity not in known and _mark(present):
                yield FUNCTION_LEFT_OVER.found(id=identity)


def judge_function(function: FunctionFile, present: Mapping[str, Any] | None) -> Iterator[Finding]:
    """What is to be said about one function file and the row of that id, None = there is no row."""
    if present is None:
        yield FUNCTION_MISSING.found(kind=function.kind, id=function.id)
        return
    fields = read_frontmatter(present["content"])
    if not _mark(present) and fields.get("id", "").lower() != function.id:
        yield FUNCTION_FOREIGN.found(id=function.id)
        return
    if _mark(present).get("state") == "installing":
        yield FUNCTION_UNFINISHED.found(id=function.id)
        return
    bundled = BUNDLED.search(present["content"])
    same = bundled[1] == function.digest if bundled else present["content"] == function.source
    if not same:
        yield FUNCTION_OUTDATED.found(id=function.id, installed=fields.get("version", "?"), wanted=function.version)
    if function.kind == "tool":
        return
    if not present["is_active"]:
        yield (PIPE_OFF if function.kind == "pipe" else FUNCTION_OFF).found(id=function.id)
    elif function.scope == "global" and not present["is_global"]:
        yield FUNCTION_NOT_GLOBAL.found(id=function.id)


def _mark(present: Mapping[str, Any]) -> Mapping[str, Any]:
    mark = (present.get("meta") or {}).get(MARK)
    return mark if isinstance(mark, dict) else {}
