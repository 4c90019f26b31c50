"""Tool declarations that the server refuses."""

import re
from typing import Any, Final

from echo_workers.gemini_sim.core.errors import invalid
from echo_workers.gemini_sim.core.models import ServerModel

#: Source: function calling, documented (name up to 128 characters).
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_DECLARATIONS_MAX: Final = 512


def declared(request: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Declared functions: name -> parameter schema (either form, `{}` when it takes none)."""
    found: dict[str, dict[str, Any]] = {}
    for tool in request.get("tools", []):
        for row in tool.get("functionDeclarations", []):
            schema = row.get("parametersJsonSchema", row.get("parameters", {}))
            found[row.get("name", "")] = schema if isinstance(schema, dict) else {}
    return found


def check_tools(request: dict[str, Any], model: ServerModel) -> None:
    """Names, one schema form a function, and the flag that mixes built-in tools with functions.

    Raises:
        GoogleRefusal: 400. Source: names documented; the mixing text third-party.
    """
    builtin = False
    where = "tools[{}].function_declarations[{}]"
    rows: list[tuple[str, dict[str, Any]]] = []
    for index, tool in enumerate(request.get("tools", [])):
        builtin = builtin or any(name not in ("functionDeclarations", "mcpServers") for name in tool)
        rows += [(where.format(index, at), row) for at, row in enumerate(tool.get("functionDeclarations", []))]
    if len(rows) > _DECLARATIONS_MAX:
        raise invalid(f"The number of function declarations exceeds the maximum of {_DECLARATIONS_MAX}.")
    for path, row in rows:
        if not _NAME.fullmatch(row.get("name", "")):
            raise invalid(
                f"* GenerateContentRequest.{path}.name: Invalid function name. Must start with a letter or an "
                "underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes "
                "(-), with a maximum length of 128.\n"
            )
        if "parameters" in row and "parametersJsonSchema" in row:
            raise invalid(
                f"* GenerateContentRequest.{path}: only one of parameters and parameters_json_schema may be set.\n"
            )
    names = [row["name"] for _, row in rows]
    doubled = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if doubled:
        raise invalid(f"Duplicate function declaration found: {doubled}")
    config = request.get("toolConfig", {})
    if builtin and rows and model.generation >= 3 and not config.get("includeServerSideToolInvocations"):
        raise invalid(
            "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function "
            "calling."
        )
    allowed = config.get("functionCallingConfig", {}).get("allowedFunctionNames", [])
    unknown = [name for name in allowed if name not in names]
    if unknown:
        raise invalid(f"Function name {unknown[0]} in allowed_function_names is not in function_declarations.")
