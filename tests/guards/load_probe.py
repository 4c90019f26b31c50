"""Run in a fresh interpreter: load one function file as Open WebUI does, and print what happened as JSON.

    python load_probe.py FILE FOLDER [--without-libs]

Open WebUI's own modules are already in memory when it loads a function, so here they are empty stand-ins: what the
probe then finds in `sys.modules` was loaded by the function file. With `--without-libs` every `echo_*` import fails.
"""

import asyncio
import builtins
import contextlib
import copy
import importlib.abc
import importlib.machinery
import inspect
import json
import logging
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fixtures_blocking import BlockingError, blocking_refused
from guards.loader import loader_namespace, open_webui_root

HEAVY = (
    "aiosqlite", "cryptography", "fastapi", "google.genai", "h2", "httpx", "lxml", "markitdown", "numpy", "playwright",
    "qdrant_client", "sqlalchemy", "starlette",
)  # fmt: skip


class _StandIn(types.ModuleType):
    """A module of Open WebUI: any public name in it is a class that does nothing."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, *, libs: bool) -> None:
        self.libs = libs

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> Any:
        root = name.split(".")[0]
        if root == "open_webui":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        if root.startswith("echo_") and not self.libs:
            raise ModuleNotFoundError(f"No module named {root!r}", name=root)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to execute."""


class _Imports:
    """Stands before `__import__` and remembers which of our own imports failed; a guarded import hides it."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self._import = builtins.__import__

    def __call__(self, name: str, *rest: Any, **options: Any) -> Any:
        try:
            return self._import(name, *rest, **options)
        except ImportError as error:
            if name.startswith("echo_"):
                self.failed.append(f"{name}: {error}")
            raise


async def load(path: Path, folder: str) -> tuple[dict[str, Any], Any]:
    """Load the file twice on the running loop, the second time with blocking calls refused.

    The first pass warms the standard library, which reads files when it is imported; it is in memory already when
    Open WebUI loads a function. Our own packages are forgotten between the passes, so that their code runs again.
    """
    namespace = loader_namespace()
    await execute(namespace, path, folder)
    for name in [name for name in sys.modules if name.startswith("echo_")]:
        del sys.modules[name]
    blocked = ""

    def guarded_exec(source: str, module_globals: dict[str, Any]) -> None:
        nonlocal blocked
        try:
            with blocking_refused():
                exec(source, module_globals)
        except BlockingError as error:
            blocked = str(error)
            raise

    namespace["exec"] = guarded_exec
    instance, kind = None, ""
    with contextlib.suppress(BlockingError):
        instance, kind = await execute(namespace, path, folder)
    report = {
        "kind": kind,
        "blocked": blocked,
        "heavy": sorted(name for name in HEAVY if name in sys.modules),
        "tasks": len(asyncio.all_tasks()) - 1,
    }
    return report, instance


async def execute(namespace: dict[str, Any], path: Path, folder: str) -> tuple[Any, str]:
    """Run the real loader over the file's text; gives the instance and what the loader takes it for."""
    text = path.read_text(encoding="utf-8")
    if folder == "tools":
        return (await namespace["load_tool_module_by_id"](path.stem, text))[0], "tool"
    instance, kind, _, _ = await namespace["load_function_module_by_id"](path.stem, text)
    return instance, kind


class _Told(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def sample_arguments(emitted: list[str]) -> dict[str, Any]:
    """One value for each name that Open WebUI can inject. Source: research on functions.py and filter.py, 0.12.4."""

    async def emitter(event: dict[str, Any]) -> None:
        emitted.append(json.dumps(event, default=str))

    body = {"model": "another_model", "messages": [{"role": "user", "content": "Hello"}], "stream": True}
    return {
        "body": body,
        "event": {"choices": [{"delta": {"content": "Hello"}}]},
        "__event_emitter__": emitter,
        "__event_call__": emitter,
        "__user__": {"id": "u1", "email": "u1@example.org", "name": "U", "role": "user", "language": "fr-FR"},
        "__metadata__": {"chat_id": "c1", "message_id": "m1", "session_id": "s1", "user_id": "u1"},
        "__model__": {"id": "another_model"},
        "__chat_id__": "c1",
        "__message_id__": "m1",
        "__session_id__": "s1",
        "__event_name__": "system.startup.started",
        "__event__": {"event": "system.startup.started"},
    }


async def call(method: Any, emitted: list[str]) -> dict[str, Any]:
    """Call one method the way Open WebUI would, and report what came out."""
    arguments = sample_arguments(emitted)
    given = {}
    for name, parameter in inspect.signature(method).parameters.items():
        if parameter.kind in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL}:
            continue
        if name in arguments:
            given[name] = arguments[name]
        elif parameter.default is parameter.empty:
            given[name] = None if name.startswith("__") else "x"
    before = copy.deepcopy({name: given[name] for name in ("body", "event") if isinstance(given.get(name), dict)})
    try:
        out = method(**given)
        out = [piece async for piece in out] if inspect.isasyncgen(out) else await out
        if inspect.isasyncgen(out):
            out = [piece async for piece in out]
    except Exception as error:
        return {"raised": type(error).__name__, "text": str(error), "unchanged": False}
    subject = before.get("body", before.get("event"))
    return {"raised": "", "text": json.dumps(out, default=str, ensure_ascii=False), "unchanged": out == subject}


async def main() -> None:
    """Load, and without the libs also call every public method."""
    path, folder = Path(sys.argv[1]), sys.argv[2]
    libs = "--without-libs" not in sys.argv
    open_webui_root()  # found before the stand-ins hide it
    sys.meta_path.insert(0, _Finder(libs=libs))
    imports = builtins.__import__ = _Imports()
    told = _Told()
    logging.getLogger().addHandler(told)
    report, instance = await load(path, folder)
    calls: dict[str, Any] = {}
    emitted: list[str] = []
    if not libs:
        for name, method in inspect.getmembers(instance, inspect.isroutine):
            if not name.startswith("_"):
                calls[name] = await call(method, emitted)
    print(json.dumps({**report, "failed": imports.failed, "calls": calls, "emitted": emitted, "logged": told.texts}))


if __name__ == "__main__":
    asyncio.run(main())
