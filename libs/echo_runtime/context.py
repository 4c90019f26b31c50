"""Turns a call of the pipe into what is sent: model, history, system instruction, tools, settings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from echo_core.engine import TurnPlan
from echo_core.ports import Clock, ShadowStore
from echo_prompts import pis
from echo_protocol import (
    ROOT_PARENT,
    Backend,
    Catalogue,
    ModelInfo,
    build_ca_generation_config,
    content_json,
    convert_owui_tools,
    openai_messages_to_contents,
    text_part,
)
from echo_runtime.call import PipeCall
from echo_runtime.history import HistoryBuilder
from echo_runtime.settings import Settings

#: All categories that Gemini's API takes a threshold for. Source: https://ai.google.dev/api/generate-content
HARM_CATEGORIES: Final = (
    "HARM_CATEGORY_HARASSMENT",
    "HARM_CATEGORY_HATE_SPEECH",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT",
    "HARM_CATEGORY_DANGEROUS_CONTENT",
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A turn ready to run.

    Args:
        parent_hash: cumulative hash of the user message; the answer's parent in the chain.
        recovered: messages that had to be rebuilt from the page's text.
    """

    plan: TurnPlan
    model: ModelInfo
    parent_hash: str
    recovered: int


class ContextBuilder:
    """Prepares turns.

    Args:
        catalogue: what the models can do.
        clock: for version locks.
        backend_name: whose model ids are used.
    """

    def __init__(self, catalogue: Catalogue, clock: Clock, backend_name: Backend) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self.backend_name = backend_name

    def model(self, level: str) -> ModelInfo:
        """The model behind an abstract level (`LITE`, `FLASH`, `PRO`)."""
        return self._catalogue.resolve(f"MODEL_{level}", self.backend_name)

    async def prepare(self, call: PipeCall, settings: Settings, store: ShadowStore | None) -> Prepared:
        """See `Orchestrator.prepare_context`."""
        model = self.model(settings.model_level)
        system_text, contents, parent_hash, recovered = await self._conversation(call, store)
        tools = convert_owui_tools([tool["spec"] for tool in call.tools.values()], backend=self.backend_name)
        plan = TurnPlan(
            model_id=model.backend_id(self.backend_name),
            contents=contents,
            system_instruction=await self._system(call, system_text, store),
            tools=tools.tools_json(),
            generation_config=build_ca_generation_config(
                model, _params(call, settings), include_thoughts=settings.show_thoughts
            ),
            safety_settings=_safety(settings),
            tool_names=tools.original_names,
            max_rounds=settings.max_tool_rounds,
        )
        return Prepared(plan, model, parent_hash, recovered)

    async def _conversation(self, call: PipeCall, store: ShadowStore | None) -> tuple[str, Sequence[bytes], str, int]:
        system_text, contents = openai_messages_to_contents(call.body.get("messages") or [])
        if store is None or not call.is_saved:
            return system_text, [content_json(content.role, content.parts) for content in contents], ROOT_PARENT, 0
        rebuilt = await HistoryBuilder(store, self._clock, call).rebuild()
        return system_text, rebuilt.contents, rebuilt.parent_hash, rebuilt.recovered

    async def _system(self, call: PipeCall, system_text: str, store: ShadowStore | None) -> bytes:
        """PIS and Open WebUI's system prompt, sealed for the chat and the called model at the first turn."""
        key = f"system_instruction:{call.called_model}"
        sealed = await store.get_setting(key) if store is not None else None
        if sealed is not None:
            return sealed.encode()
        text = pis(call.locale) + (f"\n\n{system_text}" if system_text else "")
        system = content_json("user", [text_part(text)])
        if store is not None:
            await store.save_setting(key, system.decode())
        return system


def _params(call: PipeCall, settings: Settings) -> dict[str, Any]:
    params = {key: value for key, value in call.body.items() if key not in ("messages", "model", "stream", "tools")}
    if settings.reasoning_effort:
        params.setdefault("reasoning_effort", settings.reasoning_effort)
    return params


def _safety(settings: Settings) -> list[dict[str, Any]] | None:
    if not settings.safety_threshold:
        return None
    return [{"category": category, "threshold": settings.safety_threshold} for category in HARM_CATEGORIES]
