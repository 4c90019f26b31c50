"""Gemini's own tools, switched on by the chat bar: Google Search with pages read from it, maps, and code run there."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from echo_constants import Bilingual
from echo_protocol import ModelInfo
from echo_runtime import _owui_rights
from echo_runtime.call import PipeCall
from echo_runtime.own_tools import search_web_entry

#: Open WebUI's engine that is used in the place of Google when it is configured.
_OWN_ENGINE: Final = "searxng"

NOT_WITH_TOOLS: Final = Bilingual(
    en="{model} cannot use {what} together with other tools; it is left out of this answer.",
    fr="{model} ne peut pas utiliser {what} avec d'autres outils ; cette réponse s'en passe.",
)
NOT_KNOWN: Final = Bilingual(
    en="{model} does not offer {what}; it is left out of this answer.",
    fr="{model} ne propose pas {what} ; cette réponse s'en passe.",
)
NOT_IN_JSON: Final = Bilingual(
    en="{model} cannot use {what} in an answer that has to be JSON; it is left out.",
    fr="{model} ne peut pas utiliser {what} dans une réponse en JSON ; cette réponse s'en passe.",
)
_SEARCH: Final = Bilingual(en="Google Search", fr="la recherche Google")
_CODE: Final = Bilingual(en="code execution", fr="l'exécution de code")
_MAPS: Final = Bilingual(en="Google Maps", fr="Google Maps")

MAPS: Final = "googleMaps"
_NAMES: Final = {"codeExecution": _CODE, MAPS: _MAPS}

#: Where the page says that the user is. Source: Open WebUI 0.12.4, `getUserPosition` of its page.
_POSITION: Final = re.compile(r"(-?\d{1,2}(?:\.\d+)?), (-?\d{1,3}(?:\.\d+)?) \(lat, long\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Switched:
    """What the chat bar asks for.

    Args:
        google: wire names of Gemini's tools, in one order.
        functions: function tools that serve in their place, by name.
    """

    google: tuple[str, ...] = ()
    functions: Mapping[str, Mapping[str, Any]]


async def switched_on(call: PipeCall) -> Switched:
    """The tools behind the toggles that are on and that the user may use.

    Where Open WebUI brings its own tool for a toggle (an administrator enabled built-in tools), that one serves.
    """
    features = call.metadata.get("features")
    on = {name for name, value in features.items() if value} if isinstance(features, Mapping) else set()
    native = call.tools if isinstance(call.tools, Mapping) else {}
    google: list[str] = []
    functions: dict[str, Mapping[str, Any]] = {}
    if "web_search" in on and "search_web" not in native and await _may_use(call, "web_search"):
        if await _owui_rights.search_engine(call.request) == _OWN_ENGINE:
            functions["search_web"] = search_web_entry(call.request, call.user)
        else:
            google += ["googleSearch", "urlContext"]
            google += [MAPS] if getattr(call.user_valves, "GOOGLE_MAPS", False) else []
    if "code_interpreter" in on and "execute_code" not in native:
        google += ["codeExecution"] if await _may_use(call, "code_interpreter") else []
    return Switched(google=tuple(google), functions=functions)


def position_of(call: PipeCall) -> dict[str, float] | None:
    """`latLng` of a user who lets the model know where they are, None for everybody else."""
    found = _POSITION.fullmatch(call.shared.anchors.places.get("USER_LOCATION", ""))
    if found is None:
        return None
    latitude, longitude = map(float, found.groups())
    within = abs(latitude) <= 90 and abs(longitude) <= 180
    return {"latitude": latitude, "longitude": longitude} if within else None


async def _may_use(call: PipeCall, feature: str) -> bool:
    return await _owui_rights.may_use_feature(call.request, call.user, feature)


def offered(
    wanted: tuple[str, ...], model: ModelInfo, *, may_stand: bool, mixes: bool = True, as_json: bool = False
) -> tuple[tuple[str, ...], list[tuple[Bilingual, Bilingual]]]:
    """What the model takes of Gemini's tools.

    Args:
        wanted: wire names.
        model: which has tools of Google's or not.
        may_stand: False where they cannot be used beside the functions of this request.
        mixes: whether maps may stand beside the others. Source: Gemini API docs, Tool combination, from Gemini 3 on.
        as_json: the answer has to be JSON. Source: the API's 400 text, "Google Maps tool with a response mime type:
            'application/json' is unsupported".

    Returns:
        (wire names, [(notice, what it is about)] for what is left out).
    """
    kept: list[str] = []
    notices: list[tuple[Bilingual, Bilingual]] = []
    for name in wanted:
        what = _NAMES.get(name, _SEARCH)
        if name not in model.capabilities.google_tools:
            why = NOT_KNOWN
        elif not may_stand or (name == MAPS and kept and not mixes):
            why = NOT_WITH_TOOLS
        elif name == MAPS and as_json:
            why = NOT_IN_JSON
        else:
            kept.append(name)
            continue
        if (why, what) not in notices:
            notices.append((why, what))
    return tuple(kept), notices
