"""Gemini's own tools, switched on by the chat bar: Google Search with pages read from it, and code that Google runs."""

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
_SEARCH: Final = Bilingual(en="Google Search", fr="la recherche Google")
_CODE: Final = Bilingual(en="code execution", fr="l'exécution de code")


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
    if "code_interpreter" in on and "execute_code" not in native:
        google += ["codeExecution"] if await _may_use(call, "code_interpreter") else []
    return Switched(google=tuple(google), functions=functions)


async def _may_use(call: PipeCall, feature: str) -> bool:
    return await _owui_rights.may_use_feature(call.request, call.user, feature)


def offered(
    wanted: tuple[str, ...], model: ModelInfo, *, may_stand: bool
) -> tuple[tuple[str, ...], list[tuple[Bilingual, Bilingual]]]:
    """What the model takes of Gemini's tools.

    Args:
        wanted: wire names.
        model: which has tools of Google's or not.
        may_stand: False where they cannot be used beside the functions of this request.

    Returns:
        (wire names, [(notice, what it is about)] for what is left out).
    """
    kept: list[str] = []
    notices: list[tuple[Bilingual, Bilingual]] = []
    for name in wanted:
        what = _CODE if name == "codeExecution" else _SEARCH
        if name in model.capabilities.google_tools and may_stand:
            kept.append(name)
            continue
        notice = (NOT_WITH_TOOLS if name in model.capabilities.google_tools else NOT_KNOWN, what)
        if notice not in notices:
            notices.append(notice)
    return tuple(kept), notices
