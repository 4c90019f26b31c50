"""Open WebUI's background tasks (title, tags, follow-ups, …): one quick question, no history, no record."""

import logging
from collections.abc import Mapping
from typing import Any

from echo_constants import EchoError
from echo_core.ports import GenerateRequest, ModelBackend
from echo_protocol import (
    ModelInfo,
    StreamProcessor,
    build_ca_generation_config,
    content_json,
    openai_messages_to_contents,
    request_json,
    text_part,
)

log = logging.getLogger(__name__)


async def answer_task(
    task: str, body: Mapping[str, Any], *, backend: ModelBackend, model: ModelInfo, model_id: str
) -> str:
    """The task's text; "" when Gemini fails, upon which Open WebUI falls back to its own default.

    Args:
        task: Open WebUI's task name, for the log.
        body: the task's request; its messages are the whole prompt.
        backend: where the model is.
        model: what answers, MODEL_LITE.
        model_id: its id on the backend.
    """
    system, contents = openai_messages_to_contents(body.get("messages") or [])
    request = GenerateRequest(
        model=model_id,
        body_json=request_json(
            contents=[content_json(content.role, content.parts) for content in contents],
            system_instruction=content_json("user", [text_part(system)]) if system else None,
            generation_config=build_ca_generation_config(
                model, {"reasoning_effort": "minimal"}, include_thoughts=False
            ),
        ),
    )
    try:
        answer = await backend.generate(request)
    except EchoError as error:
        log.warning("task %s failed: %s", task, error)
        return ""
    stream = StreamProcessor()
    stream.process(answer)
    return stream.finish().text
