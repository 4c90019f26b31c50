"""At which model level a turn starts: what the chat is used to, how full it is, and whoever fixed it.

Source: docs/design.md section 6.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from echo_constants import EchoError
from echo_core.ports import GenerateRequest, ModelBackend, ShadowStore
from echo_core.routing import LEVELS, Level, higher, least_level, level_of
from echo_protocol import (
    Backend,
    Catalogue,
    ModelInfo,
    StreamProcessor,
    UnreadableChunk,
    UnreadablePart,
    content_json,
    generation_settings,
    request_json,
    text_part,
    user_parts,
)
from echo_runtime.call import PipeCall
from echo_runtime.metering import context_stats
from echo_runtime.settings import Settings

log = logging.getLogger(__name__)

#: Key in `echo_settings`: the level that the chat is used to.
LEVEL_KEY: Final = "cognitive_level"

#: Key in `echo_settings`, with the answer's id: the backend's id of the model that opened the turn.
TURN_LOCK_KEY: Final = "turn_origin_model:{message_id}"

#: How long the judgement may hold up a chat's first answer. Source: docs/design.md section 6.
JUDGE_LIMIT_S: Final = 0.8

#: Begin and end of a long message say enough about it. Source: our choice, about 1,000 tokens.
_JUDGED_CHARS: Final = 4_000

#: Source: Gemini API docs, Tokens (about four characters a token; a picture has 1,120 tokens on Gemini 3).
_CHARS_PER_TOKEN: Final = 4
_MEDIA_CHARS: Final = 4_480

#: FLASH first: what a server says that only knows the form and not the question.
_ANSWER_SCHEMA: Final = {
    "type": "object",
    "properties": {"level": {"type": "string", "enum": ["FLASH", "LITE", "PRO"]}},
    "required": ["level"],
}


class Levels:
    """Chooses levels and knows the models behind them.

    Args:
        catalogue: what is known of models now.
        backend_for: the endpoint that judges first messages.
        backend_name: whose model ids are used.
        judge_limit_s: seconds after which the judgement is given up.
    """

    def __init__(
        self,
        catalogue: Callable[[], Catalogue],
        backend_for: Callable[[PipeCall, Settings], Awaitable[ModelBackend]],
        backend_name: Backend,
        *,
        judge_limit_s: float = JUDGE_LIMIT_S,
    ) -> None:
        self._catalogue = catalogue
        self._backend_for = backend_for
        self._backend_name = backend_name
        self._judge_limit_s = judge_limit_s

    def artist(self) -> ModelInfo | None:
        """The model that makes images, None where there is none."""
        return self._catalogue().drawing(self._backend_name)

    def model(self, level: str) -> ModelInfo:
        """The model behind an abstract level (`LITE`, `FLASH`, `PRO`)."""
        return self._catalogue().resolve(f"MODEL_{level}", self._backend_name)

    async def start(self, call: PipeCall, settings: Settings, store: ShadowStore | None) -> Level:
        """The level on which a turn starts."""
        pinned = level_of(settings.model_selection)
        if pinned is not None:
            return await self._locked(call, store) or pinned
        if settings.model_selection == "AUTO_PRO":
            return "PRO"
        if store is None or call.is_api:  # there is nothing in which the judgement could be kept
            level: Level = "FLASH"
            filled_tokens = _estimated_tokens(call.body.get("messages"))
        else:
            level = level_of(await store.get_setting(LEVEL_KEY)) or await self._first(call, settings, store)
            filled_tokens = (await context_stats(store)).fill_tokens
        window_tokens = min(settings.max_context_tokens, self.model(level).window_tokens)
        return higher(level, least_level(filled_tokens / window_tokens))

    async def _first(self, call: PipeCall, settings: Settings, store: ShadowStore) -> Level:
        """The level of a chat that has none yet."""
        level = await self._judged(call, settings)
        await store.save_setting(LEVEL_KEY, level)
        return level

    async def _locked(self, call: PipeCall, store: ShadowStore | None) -> Level | None:
        """The level of the answer that is continued: a user's change waits for the next turn."""
        if store is None or not call.continues:
            return None
        model_id = await store.get_setting(TURN_LOCK_KEY.format(message_id=call.message_id))
        levels = (level for level in LEVELS if self.model(level).backend_id(self._backend_name) == model_id)
        return next(levels, None)

    async def _judged(self, call: PipeCall, settings: Settings) -> Level:
        """What MODEL_LITE thinks of the first message; FLASH when it does not say so in time."""
        question = _asked(call)
        if not question:
            return "FLASH"
        backend = await self._backend_for(call, settings)
        try:
            async with asyncio.timeout(self._judge_limit_s):
                answer = await backend.generate(self._judge_request(question, call.prompts.text("judge", call.locale)))
            stream = StreamProcessor()
            stream.process(answer)
            said = json.loads(stream.finish().text)
        except (EchoError, TimeoutError, ValueError, UnreadableChunk, UnreadablePart) as error:
            log.info("the first message was not judged: %s %s", type(error).__name__, error)
            return "FLASH"
        return (level_of(said.get("level")) if isinstance(said, dict) else None) or "FLASH"

    def _judge_request(self, question: str, words: str) -> GenerateRequest:
        model = self.model("LITE")
        wish: dict[str, Any] = {
            "reasoning_effort": "minimal",
            "response_format": {"type": "json_schema", "json_schema": {"schema": _ANSWER_SCHEMA}},
        }
        return GenerateRequest(
            model=model.backend_id(self._backend_name),
            body_json=request_json(
                contents=[content_json("user", [text_part(question)])],
                system_instruction=content_json("user", [text_part(words)]),
                generation_config=generation_settings(model, wish, include_thoughts=False).config,
            ),
        )


def _estimated_tokens(messages: Any) -> int:
    """What a conversation that its caller sends whole fills, roughly; media count by the piece."""
    waiting, chars = [messages], 0
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            waiting.extend(item.values())
        elif isinstance(item, list | tuple):
            waiting.extend(item)
        elif isinstance(item, str):
            chars += _MEDIA_CHARS if item.startswith("data:") else len(item)
    return chars // _CHARS_PER_TOKEN


def _asked(call: PipeCall) -> str:
    """The words of the current message, shortened."""
    asked = [m.get("content") for m in call.body.get("messages") or [] if m.get("role") == "user"]
    parts = user_parts(asked[-1]) if asked and isinstance(asked[-1], str | list) else []
    text = "\n".join(part.text for part in parts if part.kind == "text").strip()
    half = _JUDGED_CHARS // 2
    return text if len(text) <= _JUDGED_CHARS else f"{text[:half]}\n…\n{text[-half:]}"
