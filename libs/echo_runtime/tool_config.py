"""The `tools` and `toolConfig` of a request: functions, Google's own tools, and what the caller forces."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from echo_constants import Bilingual, Locale
from echo_core.level_tool import level_spec
from echo_core.ports import ShadowStore
from echo_protocol import Backend, ModelInfo, ToolConversion, convert_owui_tools, gemini_name
from echo_runtime.call import PipeCall
from echo_runtime.google_tools import MAPS, offered, switched_on
from echo_runtime.history_tool import READ_HISTORY, read_history_entry
from echo_runtime.toolkits import offered_toolkits
from echo_runtime.toolset import Toolset, tools_of
from echo_runtime.turn_index import TurnIndex
from echo_runtime.valley import recall_of

LEFT_OUT: Final = Bilingual(
    en="The tool {name} cannot be offered to Gemini: {why}",
    fr="L'outil {name} ne peut pas être proposé à Gemini : {why}",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tooling:
    """Everything about tools that one turn needs.

    Args:
        conversion: the declarations, with Google's own tools.
        choice: `functionCallingConfig` of the first request, None when the caller forces nothing.
        toolset: who runs what.
        notices: what the user is told, in the user's language.
    """

    conversion: ToolConversion
    choice: dict[str, Any] | None = None
    toolset: Toolset = field(default_factory=Toolset)
    notices: tuple[str, ...] = ()


async def tooling_of(
    call: PipeCall,
    store: ShadowStore | None,
    model: ModelInfo,
    backend: Backend,
    *,
    moves: bool = False,
    chain: Sequence[str] = (),
    compacted: bool = False,
    questions: Iterable[bytes] = (),
    index: TurnIndex | None = None,
) -> Tooling:
    """Gather, translate and choose the tools of one call; with the one that changes the level where the turn `moves`.

    What cannot be expressed or combined is left out with a notice, never sent to be refused.

    Args:
        call: who asks.
        store: the chat's records.
        model: what answers.
        backend: where it is.
        moves: whether the turn may change its level.
        chain: ids of the messages from the root to the question.
        compacted: whether not all of them are sent; then the model can read them.
        questions: the serialised messages of the person who asks, which may hold documents.
        index: the chats in the session memory, None where they are not.
    """
    switched = await switched_on(call)
    extra = {**await offered_toolkits(call, questions), **switched.functions}
    if compacted and store is not None:
        recall = recall_of(index, call, store, chain)
        extra[READ_HISTORY] = read_history_entry(store, chain, recall, owner=(call.user_id, call.chat_id))
    toolset = tools_of(call, store, extra, chain)
    if not model.capabilities.tools:
        toolset = Toolset(left_out=toolset.left_out)
    own = (level_spec(call.prompts),) if moves and model.capabilities.tools else ()
    functions = convert_owui_tools((*own, *toolset.specs), backend=backend)
    # Source: gemini-cli and opencode-agy-auth: on cloudcode Google's tools stand alone.
    mixes = model.capabilities.mixes_tools and backend == "ai_studio"
    stands = mixes or not functions.declarations
    google, refused = offered(switched.google, model, may_stand=stands, mixes=mixes, as_json=_wants_json(call.body))
    return Tooling(
        conversion=replace(functions, google=google),
        choice=_choice(call.body.get("tool_choice"), functions.original_names) if functions.declarations else None,
        toolset=toolset,
        notices=(
            *_left_out([*toolset.left_out, *functions.left_out], call.locale),
            *(notice.render(call.locale, model=model.name, what=what.render(call.locale)) for notice, what in refused),
        ),
    )


def tool_config(tools: bytes | None, position: Mapping[str, float] | None = None) -> dict[str, Any] | None:
    """`toolConfig` of every request with these serialised tools.

    Where the user is goes along with Google Maps only. Source: Gemini API docs, Grounding with Google Maps.
    Google's own tools beside functions need a flag. Source: the API's 400 text, "Please enable
    tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling".
    """
    kinds = [kind for tool in json.loads(tools or b"[]") for kind in tool]
    mixed = "functionDeclarations" in kinds and len(kinds) > 1
    config: dict[str, Any] = {"includeServerSideToolInvocations": True} if mixed else {}
    if position is not None and MAPS in kinds:
        config["retrievalConfig"] = {"latLng": dict(position)}
    return config or None


def _wants_json(body: Mapping[str, Any]) -> bool:
    form = body.get("response_format")
    kind = form.get("type") if isinstance(form, Mapping) else form
    return kind not in (None, "", "text")


def _left_out(tools: list[tuple[str, Bilingual]], locale: Locale) -> list[str]:
    return [LEFT_OUT.render(locale, name=name or "?", why=why.render(locale)) for name, why in dict(tools).items()]


def _choice(wanted: Any, names: Mapping[str, str]) -> dict[str, Any] | None:
    """OpenAI's `tool_choice` as `functionCallingConfig`; a function that is not declared forces nothing.

    Source: OpenAI API reference, tool_choice; Gemini API reference, FunctionCallingConfig.
    """
    if wanted == "none":
        return {"mode": "NONE"}
    if wanted == "required":
        return {"mode": "ANY"}
    function = wanted.get("function") if isinstance(wanted, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if isinstance(name, str) and name in names.values():
        return {"mode": "ANY", "allowedFunctionNames": [gemini_name(name)]}
    return None
