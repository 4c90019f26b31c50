"""Whatever Open WebUI's parameters are, no model refuses the settings that come out of them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from echo_core.ports import GenerateRequest
from echo_gemini_client import EchoGeminiClient
from echo_protocol import Catalogue, generation_settings

CATALOGUE = Catalogue.load()
MODELS = [model for model in CATALOGUE.models.values() if "ai_studio" in model.backends]
SCHEMA = {
    "type": "object",
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node", "title": "recursion"}}}},
    "properties": {"a": {"type": ["string", "null"], "format": "email"}, "b": {"$ref": "#/$defs/node"}},
    "required": ["a", "nothing"],
    "additionalProperties": False,
}
VALUES: dict[str, list[Any]] = {
    "temperature": [0, 0.7, 2, 99, -3, "1.5", "hot", None],
    "top_p": [0, 1, 7, -1, "0.5"],
    "top_k": [0, 1, 64, 10**9, -5, "40", 3.9],
    "max_tokens": [1, 5000, 10**15, 0, -1, "200"],
    "stop": ["x", [], ["a", "a", ""], list("abcdefghij"), 7],
    "seed": [0, -1, 2**31, 2**70, "12", 1e300],
    "presence_penalty": [0.5, -9],
    "frequency_penalty": [0.5, 9],
    "reasoning_effort": ["none", "minimal", "low", "medium", "high", "max", "banana", "", 3],
    "thinking_budget": [0, -1, 5, 10**9, "512"],
    "thinking_level": ["LOW", "xhigh", "banana"],
    "media_resolution": ["low", "HIGH", "4k"],
    "aspect_ratio": ["16:9", "wide"],
    "image_size": ["1K", "9K"],
    "response_format": [
        {"type": "json_object"},
        {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}},
        {"type": "json_schema"},
        {"type": "text"},
        "json",
    ],
}


@pytest.mark.parametrize("model", MODELS, ids=[model.id for model in MODELS])
async def test_no_value_of_any_parameter_is_refused(model: Any, make_client: Callable[..., EchoGeminiClient]) -> None:
    client = make_client()
    tools = {"tools": [{"functionDeclarations": [{"name": "f", "description": ""}]}]}
    rounds = max(len(values) for values in VALUES.values())
    for index in range(rounds):
        params = {name: values[index % len(values)] for name, values in VALUES.items()}
        with_tools = model.capabilities.tools and bool(index % 2)
        settings = generation_settings(model, params, with_tools=with_tools)
        body = {
            "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
            **(tools if with_tools else {}),
            "generationConfig": settings.config,
        }
        request = GenerateRequest(model=model.backend_id("ai_studio"), body_json=json.dumps(body).encode())
        async with client.stream_generate(request) as chunks:
            assert [chunk async for chunk in chunks], params
