"""Open WebUI's own loader functions, taken from the installed source without importing the application.

Importing `open_webui` takes seconds and opens a database. The functions that treat plugin text are self-contained,
so their source is cut out of the installed release and executed with only the names that they use.
"""

import ast
import asyncio
import importlib.util
import logging
import os
import re
import sys
import tempfile
import types
import uuid
from functools import cache
from pathlib import Path
from typing import Any

WANTED = ("extract_frontmatter", "replace_imports", "load_tool_module_by_id", "load_function_module_by_id")


@cache
def open_webui_root() -> Path:
    """Folder of the installed `open_webui` package, found without importing it."""
    spec = importlib.util.find_spec("open_webui")
    if spec is None or spec.origin is None:
        raise RuntimeError("the tests need Open WebUI installed: make setup")
    return Path(spec.origin).parent


def loader_namespace() -> dict[str, Any]:
    """The names of WANTED, executed from the installed utils/plugin.py."""
    path = open_webui_root() / "utils" / "plugin.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    picked = [node for node in tree.body if isinstance(node, functions) and node.name in WANTED]
    missing = set(WANTED) - {node.name for node in picked}
    if missing:
        raise RuntimeError(f"Open WebUI's loader changed: {sorted(missing)} not found in {path.name}")
    namespace: dict[str, Any] = {
        "asyncio": asyncio,
        "log": logging.getLogger("open_webui.utils.plugin"),
        "os": os,
        "re": re,
        "sys": sys,
        "tempfile": tempfile,
        "types": types,
        "uuid": uuid,
        "ENABLE_FUNCTIONS": True,
        "ENABLE_TOOLS": True,
        "install_frontmatter_requirements": _refuse_requirements,
    }
    future = ast.parse("from __future__ import annotations").body
    module = ast.Module(body=[*future, *picked], type_ignores=[])
    exec(compile(module, str(path), "exec"), namespace)
    return namespace


def _refuse_requirements(requirements: str) -> None:
    if requirements:
        raise RuntimeError(f"a function file asks pip for {requirements}")
