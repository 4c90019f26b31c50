"""Asking a model for JSON outside of any conversation."""

import asyncio
from typing import Any, Final

from echo_core.ports import GenerateRequest, ModelBackend
from echo_protocol import (
    Backend,
    ModelInfo,
    StreamProcessor,
    content_json,
    generation_settings,
    request_json,
    text_part,
)

#: Source: our choice.
_EFFORT: Final = "low"


class Interviewer:
    """Asks one model.

    Args:
        model: what is asked.
        backend_name: whose model ids are used.
        limit_s: seconds that one answer may take.
    """

    def __init__(self, model: ModelInfo, backend_name: Backend, limit_s: float) -> None:
        self.model = model
        self.model_id = model.backend_id(backend_name)
        self._limit_s = limit_s

    async def ask(self, backend: ModelBackend, system: str, text: str, schema: Any) -> str | None:
        """The answer's text, None when it did not come to its end.

        Args:
            backend: where the model is.
            system: how it is to answer.
            text: what it is asked.
            schema: JSON schema of the answer.

        Raises:
            EchoError: it cannot be asked.
            TimeoutError: it took too long.
            UnreadableChunk: it answered what is no answer; UnreadablePart likewise.
        """
        wish = {
            "reasoning_effort": _EFFORT,
            "response_format": {"type": "json_schema", "json_schema": {"schema": schema}},
        }
        request = GenerateRequest(
            model=self.model_id,
            body_json=request_json(
                contents=[content_json("user", [text_part(text)])],
                system_instruction=content_json("user", [text_part(system)]),
                generation_config=generation_settings(self.model, wish, include_thoughts=False).config,
            ),
        )
        async with asyncio.timeout(self._limit_s):
            answer = await backend.generate(request)
        stream = StreamProcessor()
        stream.process(answer)
        result = stream.finish()
        return result.text if result.outcome == "complete" else None
