"""Open WebUI's background tasks (title, tags, follow-ups, …): one quick question, no history, no record."""

from collections.abc import Mapping
from typing import Any

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


async def answer_task(body: Mapping[str, Any], *, backend: ModelBackend, model: ModelInfo, model_id: str) -> str:
    """The task's text.

    Args:
        body: the task's request; its messages are the whole prompt.
        backend: where the model is.
        model: what answers, MODEL_LITE.
        model_id: its id on the backend.

    Raises:
        EchoError: as `ModelBackend.generate`, or the answer cannot be read.
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
    stream = StreamProcessor()
    stream.process(await backend.generate(request))
    return stream.finish().text
