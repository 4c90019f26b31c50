"""What Open WebUI and other plugins add to a request beside the instructions: skills, notes of tool servers, terminals.

It stands in a system message that Open WebUI makes anew for each request. ECHO's own system instruction is sealed, so
what is found there travels in the current message, named and told once (`AEC_upgrade`, `host`). Facts were read in
`utils/middleware.py` and `utils/terminals.py` of release 0.12.4.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from echo_runtime._owui_prompts import without_tool_prompts

#: One text beyond this is cut: it is told again whenever it changes. Source: our choice, about 8,000 tokens.
MAX_HOST_CHARS: Final = 32_000
_CUT: Final = "\n…"

#: What is told otherwise: memories by `user_native_context_filter`, and the whole chat instead of a summary of it.
_TOLD_OTHERWISE: Final = re.compile(r"<memory_context>.*?</memory_context>|\[CONVERSATION SUMMARY\]\n.*\Z", re.DOTALL)
_BLOCK: Final = re.compile(
    r'<skill id="(?P<skill>[^"]*)".*?\n</skill>'
    r'|<skill name="(?P<terminal>[^"]*)">.*?\n</skill>'
    r"|(?P<listed><available_skills>.*?</available_skills>)"
    r'|^MCP server (?P<mcp>"(?:[^"\\]|\\.)*") instructions:\n.*?(?=\n(?:<skill |<available_skills>|MCP server ")|\Z)',
    re.DOTALL | re.MULTILINE,
)
_VARIABLE: Final = re.compile(r"\{\{[^{}]+\}\}")
_AGENTS: Final = "# AGENTS.md\n\n"


def host_texts(body: Mapping[str, Any], metadata: Mapping[str, Any], templates: Sequence[str]) -> dict[str, str]:
    """The added texts by name: `skill:ID`, `mcp:ID`, `AGENTS.md`, and `text` for the rest.

    Args:
        body: the OpenAI-shaped request.
        metadata: of the request; `terminal_id` tells whether a terminal is chosen, `features` whether the interpreter.
        templates: the instructions of model, folder, chat and user as Open WebUI shows them, their variables filled in.
    """
    messages = [m for m in body.get("messages") or [] if isinstance(m, Mapping)]
    system = "\n".join(_text(m.get("content")) for m in messages if m.get("role") in ("system", "developer"))
    rest, complete = _without(without_tool_prompts(system, metadata), templates)
    found = {name: text for name, text in _blocks(_TOLD_OTHERWISE.sub("", rest), whole=complete) if text}
    agents = next((_text(m.get("content")) for m in messages if m.get("role") == "user"), "")
    if metadata.get("terminal_id") and agents.startswith(_AGENTS):
        found["AGENTS.md"] = agents
    return {name: text if len(text) <= MAX_HOST_CHARS else text[:MAX_HOST_CHARS] + _CUT for name, text in found.items()}


def _without(system: str, templates: Sequence[str]) -> tuple[str, bool]:
    """What is left of a system message without the instructions, and whether each of them was found."""
    complete = True
    for template in sorted((t.strip() for t in templates if t.strip()), key=len, reverse=True):
        at = system.find(template)
        if at >= 0:
            system = system[:at] + system[at + len(template) :]
            continue
        # A variable that Open WebUI fills in otherwise than we do.
        pattern = ".*?".join(re.escape(piece) for piece in _VARIABLE.split(template))
        match = re.search(pattern, system, re.DOTALL) if _VARIABLE.search(template) else None
        complete = complete and match is not None
        system = system if match is None else system[: match.start()] + system[match.end() :]
    return system, complete


def _blocks(text: str, *, whole: bool) -> Iterator[tuple[str, str]]:
    """The parts whose form is known, then the rest, unless that may hold instructions that are told already."""
    rest: list[str] = []
    at = 0
    for found in _BLOCK.finditer(text):
        rest.append(text[at : found.start()])
        at = found.end()
        yield _name(found), found[0].strip()
    rest.append(text[at:])
    if whole:
        yield "text", "\n".join(piece.strip() for piece in rest if piece.strip())


def _name(found: re.Match[str]) -> str:
    if found["listed"] is not None:
        return "available_skills"
    if found["mcp"] is not None:
        return f"mcp:{json.loads(found['mcp'])}"
    return f"skill:{found['skill']}" if found["skill"] is not None else f"skill:terminal:{found['terminal']}"


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(b.get("text") or "") for b in blocks if isinstance(b, Mapping) and b.get("type") == "text")
