"""Reduces a checked prompt to what the demo model looks at."""

from dataclasses import replace
from typing import Any

from echo_workers.gemini_sim.core.demo.view import Facts, View, bare_prompt, goes_on, language_of
from echo_workers.gemini_sim.core.tools import declared
from echo_workers.gemini_sim.core.turns import current_turn_start, is_model, responses_in
from echo_workers.gemini_sim.services.prompt import Prompt


def _facts(prompt: Prompt, contents: list[dict[str, Any]], cached_tokens: int) -> Facts:
    return Facts(
        turns=sum(1 for content in contents if not is_model(content) and not responses_in(content)),
        prompt_tokens=prompt.prompt_tokens,
        cached_tokens=cached_tokens,
        cache_min_tokens=prompt.model.cache_min_tokens,
        signatures=prompt.signatures,
        signatures_valid=prompt.signatures_valid,
        attachments=sum(
            1 for content in contents for part in content["parts"] if "inlineData" in part or "fileData" in part
        ),
    )


def _schema(config: dict[str, Any]) -> dict[str, Any] | None:
    schema = config.get("responseJsonSchema", config.get("responseSchema"))
    if isinstance(schema, dict):
        return schema
    return {} if config.get("responseMimeType") == "application/json" else None


def view_of(prompt: Prompt, cached_tokens: int) -> View:
    """What the demo model looks at; `cached_tokens` is the share that the answer tells."""
    request = prompt.request
    contents = request["contents"]
    start = current_turn_start(contents)
    after = contents[start + 1 :]
    results = responses_in(contents[-1]) if not is_model(contents[-1]) else []
    calling = request.get("toolConfig", {}).get("functionCallingConfig", {})
    config = request.get("generationConfig", {})
    view = View(
        prompt=bare_prompt(contents[start]["parts"]),
        locale="en",
        facts=_facts(prompt, contents, cached_tokens),
        steps_done=sum(1 for content in after if any("functionCall" in part for part in content["parts"])),
        results=[
            (part["functionResponse"].get("name", ""), part["functionResponse"].get("response", {})) for part in results
        ],
        tools=declared(request),
        mode=calling.get("mode", "AUTO"),
        allowed=calling.get("allowedFunctionNames", ()),
        schema=_schema(config),
        image=prompt.model.image or "IMAGE" in config.get("responseModalities", ()),
    )
    said = [bare_prompt(content["parts"]) for content in contents[: start + 1] if not is_model(content)]
    # ECHO's "continue" speaks the language of the account, which need not be the one of the chat.
    own = [text for text in said if not goes_on(text)] or said
    return replace(view, locale=language_of(own[-1] if own else "", own[:-1]))
