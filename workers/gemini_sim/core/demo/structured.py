"""Small JSON values that fit a schema, and the JSON answers that Open WebUI's task prompts ask for."""

import re
from collections.abc import Mapping
from typing import Any, Final

from echo_constants import Bilingual, Locale
from echo_workers.gemini_sim.core.demo.view import language_of

_DEPTH: Final = 8
_SHAPE: Final = re.compile(r'\{\s*"(title|tags|follow_ups|queries|text|prompt)"\s*:')
_TASK: Final = re.compile(r"\bJSON\b.*<chat_history>|<chat_history>.*\bJSON\b|### Task:.*\bJSON\b", re.DOTALL)
#: Source: Open WebUI's task templates put "USER: " and "ASSISTANT: " before the messages of a history.
_USER_LINE: Final = re.compile(r"^USER:\s*(.*?)(?=^(?:USER|ASSISTANT):|\Z)", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_TAGS: Final = (Bilingual(en="Technology", fr="Technologie"), Bilingual(en="Conversation", fr="Conversation"))
_FOLLOW_UPS: Final = (
    Bilingual(en="Can you explain that in simpler words?", fr="Pouvez-vous l'expliquer plus simplement ?"),
    Bilingual(en="Can you give me an example?", fr="Pouvez-vous me donner un exemple ?"),
    Bilingual(en="What should I look at next?", fr="Que dois-je regarder ensuite ?"),
)


def instance(
    schema: Mapping[str, Any], seed: str = "value", depth: int = 0, root: Mapping[str, Any] | None = None
) -> Any:
    """A value that satisfies a schema (OpenAPI subset or JSON Schema with `$ref`).

    Below the first level only required fields are made. `seed` is the text that free strings repeat; `depth` and
    `root` belong to the recursion.
    """
    base = schema if root is None else root
    if "$ref" in schema and depth < _DEPTH:
        return instance(_resolve(base, str(schema["$ref"])), seed, depth + 1, base)
    for key in ("const", "default", "example"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        options = [option for option in schema.get(key, []) if isinstance(option, Mapping)]
        if options:
            solid = [option for option in options if str(option.get("type", "")).lower() != "null"]
            return instance((solid or options)[0], seed, depth + 1, base)
    return _of_type(schema, seed, depth, base)


def _of_type(schema: Mapping[str, Any], seed: str, depth: int, root: Mapping[str, Any]) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = next((item for item in kind if str(item).lower() != "null"), "null")
    match str(kind).lower():
        case "object":
            names = schema.get("properties", {})
            required = schema.get("required", []) if depth else [*names]
            return {
                name: instance(names[name], seed, depth + 1, root)
                for name in names
                if depth < _DEPTH and (name in required or not depth)
            }
        case "array":
            count = max(1, int(schema.get("minItems", 1)))
            items = schema.get("items", {"type": "string"})
            return [instance(items, seed, depth + 1, root) for _ in range(count)] if depth < _DEPTH else []
        case "integer":
            return int(schema.get("minimum", 1))
        case "number":
            return schema.get("minimum", 0.5)
        case "boolean":
            return True
        case "null":
            return None
        case _:
            text = seed.ljust(int(schema.get("minLength", 0)), ".")
            return text[: int(schema.get("maxLength", 200))]


def _resolve(root: Mapping[str, Any], reference: str) -> Mapping[str, Any]:
    node: Any = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        if step:
            node = node.get(step, {}) if isinstance(node, Mapping) else {}
    return node if isinstance(node, Mapping) else {}


def task_answer(prompt: str) -> dict[str, Any] | None:
    """The JSON for a task prompt of Open WebUI (title, tags, follow-ups, search queries …); None when it is none.

    Source: the task prompts of Open WebUI 0.12 show the wanted shape as `{ "title": ... }` and the like.
    """
    shape = _SHAPE.search(prompt)
    if shape is None or not _TASK.search(prompt):
        return None
    history = re.search(r"<chat_history>(.*?)(?:</chat_history>|$)", prompt, re.DOTALL)
    chat = history.group(1).strip() if history else ""
    locale, subject = _language(chat), _subject(chat)
    match shape.group(1):
        case "title":
            return {"title": f"💬 {subject}"}
        case "tags":
            return {"tags": [tag.render(locale) for tag in _TAGS]}
        case "follow_ups":
            return {"follow_ups": [line.render(locale) for line in _FOLLOW_UPS]}
        case "queries":
            return {"queries": [subject]}
        case name:
            return {name: subject}


def _language(chat: str) -> Locale:
    """The language of what the user said in a history; of the whole when it names no user."""
    said = _USER_LINE.findall(chat) or [chat]
    return language_of(said[-1], said[:-1])


def _subject(chat: str) -> str:
    line = re.sub(r"^(USER|ASSISTANT):\s*", "", (chat.splitlines() or [""])[0], flags=re.IGNORECASE)
    return " ".join(re.findall(r"[\w'’-]+", line)[:5]) or "Chat"
