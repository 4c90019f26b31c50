"""Makes the JSON that the admin panel's "Import JSON" takes, with everything inside that ECHO consists of."""

import ast
import base64
import json
import lzma
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from echo_cli import _bundle_boot
from echo_cli._bundle_needs import imported_modules, pinned_requirements
from echo_cli._bundle_wheel import LIBS, Wheel, build_wheel
from echo_cli._functions import FunctionFile, discover_functions
from echo_cli._installer import function_form
from echo_constants import ECHO_VERSION, Bilingual, ConfigError
from echo_runtime.bundle_setup import FIRST_STEP
from echo_runtime.model_record import FRENCH

#: The function that carries the wheel: Open WebUI loads it first, also after a restart.
CARRIER_ID: Final = "echo_lifecycle"

#: Characters in a line of the wheel's text; the admin panel's editor shows the function.
_LINE_CHARS: Final = 116

#: What Open WebUI's loader would rewrite anywhere in a function. Source: utils/plugin.py `replace_imports`, 0.12.4.
_REWRITTEN: Final = ("from utils", "from apps", "from main", "from config")

#: Modules that only toolkits need.
_FOR_TOOLKITS: Final = frozenset({"dulwich"})

_TAIL: Final = '''
# Added by `echoctl bundle`: what Open WebUI's importer leaves undone is finished when this function is switched on.
ECHO_BUNDLE = {bundle}
ECHO_BUNDLE_TOOLS = """
{tools}
"""
_EchoBareEvent = Event


class Event(_EchoBareEvent):
    async def event(self, **given):
        import base64
        import inspect
        import json
        import logging
        import lzma

        if not ECHO_BOOT_PROBLEM:
            from echo_runtime._owui_setup import on_bundle_event

            tools = ()
            if given["__event_name__"] in ("system.startup.started", "function.enable_started"):
                tools = json.loads(lzma.decompress(base64.b64decode(ECHO_BUNDLE_TOOLS)))
            await on_bundle_event(given["__event_name__"], given["event"], given["__id__"], ECHO_BUNDLE, tools)
        elif given["__event_name__"] in ("system.startup.started", "function.enable_started"):
            logging.getLogger("echo.bundle").error("%s", ECHO_BOOT_PROBLEM)
        wanted = inspect.signature(super().event).parameters
        await super().event(**{{name: value for name, value in given.items() if name in wanted}})
'''


class CarrierMissingError(ConfigError):
    """The function that would carry the wheel is not among the function files."""

    code: ClassVar[str] = "bundle_carrier_missing"
    message: ClassVar[Bilingual] = Bilingual(
        en="The function {id}, which carries the libraries, is missing.",
        fr="La fonction {id}, qui porte les bibliothèques, manque.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(en="Install ECHO again.", fr="Réinstallez ECHO.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A finished bundle.

    Args:
        text: the JSON array.
        function_ids: what the importer stores.
        tool_ids: toolkits, which the importer does not take and the lifecycle function stores.
        requirements: what Open WebUI will ask pip for.
    """

    text: str
    wheel: Wheel
    function_ids: tuple[str, ...]
    tool_ids: tuple[str, ...]
    requirements: tuple[str, ...]


def build_bundle(functions: Sequence[FunctionFile] | None = None, *, libs: Path = LIBS) -> Bundle:
    """Make the bundle.

    Args:
        functions: the function files; default those of this package.
        libs: folder with ECHO's packages.

    Raises:
        CarrierMissingError: there is no lifecycle function.
        ConfigError: as `discover_functions` and `pinned_requirements`.
    """
    every = discover_functions() if functions is None else functions
    taken = [function for function in every if function.kind != "tool"]
    if not any(function.id == CARRIER_ID for function in taken):
        raise CarrierMissingError(id=CARRIER_ID)
    # The panel creates them in this order, and each is executed when it is created.
    taken.sort(key=lambda function: function.id != CARRIER_ID)
    wheel = build_wheel(libs)
    files = [path for package in wheel.packages for path in (libs / package).rglob("*.py")]
    needed = pinned_requirements(imported_modules(files))
    listed = [{"id": function.id, "kind": function.kind, "scope": function.scope} for function in every]
    tools = [_form(function, wheel, needed, ()) for function in every if function.kind == "tool"]
    forms = [_form(function, wheel, needed, listed, tools) for function in taken]
    return Bundle(
        text=json.dumps(forms, ensure_ascii=False, indent=1),
        wheel=wheel,
        function_ids=tuple(function.id for function in taken),
        tool_ids=tuple(function.id for function in every if function.kind == "tool"),
        requirements=tuple(needed.values()),
    )


def _form(
    function: FunctionFile,
    wheel: Wheel,
    needed: Mapping[str, str],
    listed: Sequence[Mapping[str, str]],
    tools: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    form = function_form(function, "installed")
    form["content"] = bundled_source(function, wheel, needed, listed, tools)
    if function.id == CARRIER_ID:
        form["meta"]["description"] = FIRST_STEP.en
        form["meta"]["i18n"] = {
            language: {"name": function.title.fr, "description": FIRST_STEP.fr} for language in FRENCH
        }
    return form


def bundled_source(
    function: FunctionFile,
    wheel: Wheel,
    needed: Mapping[str, str],
    listed: Sequence[Mapping[str, str]],
    tools: Sequence[Mapping[str, Any]] = (),
) -> str:
    """A function's text with the path bootstrap in front, and in the carrier the wheel and the set-up.

    Args:
        function: the function file.
        wheel: what the libraries are loaded from.
        needed: as `pinned_requirements` gives it.
        listed: all functions of the bundle, for the set-up.
        tools: forms of its toolkits, for the set-up.
    """
    carries = function.id == CARRIER_ID
    # A package for toolkits alone is asked for by them: where pip cannot bring it, the rest of ECHO works.
    for_tools = {module: pin for module, pin in needed.items() if module in _FOR_TOOLKITS}
    needed = {module: pin for module, pin in needed.items() if module not in _FOR_TOOLKITS}
    if function.kind == "tool":
        needed |= for_tools
    source = _with_requirements(function.source, needed) if carries or function.kind == "tool" else function.source
    head, body = _split(source)
    tail = ""
    if carries:
        packed = "\n".join(textwrap.wrap(_packed(json.dumps(list(tools)).encode()), _LINE_CHARS))
        tail = _TAIL.format(bundle=json.dumps(list(listed)), tools=packed)
    # `NOT_INSTALLED` is what a function tells its users when ECHO's libraries cannot be imported.
    override = 'if ECHO_BOOT_PROBLEM and "NOT_INSTALLED" in globals():\n    NOT_INSTALLED = ECHO_BOOT_PROBLEM\n'
    text = f"{head}\n{_boot(function, wheel, needed, carries=carries)}\n{body}\n\n{override}{tail}"
    for phrase in _REWRITTEN:
        # A wheel's text has no spaces, and function files are held to this by a test.
        if phrase in text:
            raise ValueError(f"{function.id}: Open WebUI would rewrite {phrase!r}")
    compile(text, f"{function.id}.py", "exec")
    return text


def _boot(function: FunctionFile, wheel: Wheel, needed: Mapping[str, str], *, carries: bool) -> str:
    own = Path(_bundle_boot.__file__).read_text(encoding="utf-8")
    code = own[own.index("\nimport base64") + 1 :]
    arguments = {
        "version": ECHO_VERSION,
        "wheel_sha256": wheel.sha256,
        "record_sha256": wheel.record_sha256,
        "packages": tuple(needed),
    }
    lines = ["# Added by `echoctl bundle`: where ECHO's libraries are, and what to do when they are not there."]
    lines += [f"# echo-bundle source-sha256: {function.digest}", code.rstrip(), "", ""]
    lines += ["from open_webui.env import DATA_DIR as ECHO_BOOT_DATA_DIR  # noqa: E402", ""]
    if carries:
        lines += ['ECHO_BOOT_WHEEL = """', *textwrap.wrap(_packed(wheel.content), _LINE_CHARS), '"""']
    lines += ["ECHO_BOOT_PROBLEM = echo_boot(", "    ECHO_BOOT_DATA_DIR,"]
    lines += [f"    {name}={value!r}," for name, value in arguments.items()]
    lines += ["    packed=ECHO_BOOT_WHEEL,"] * carries + [")", ""]
    return "\n".join(lines)


def _packed(content: bytes) -> str:
    return base64.b64encode(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME)).decode()


def _with_requirements(source: str, needed: Mapping[str, str]) -> str:
    if not needed:
        return source
    return source.replace('"""\n', f'"""\nrequirements: {", ".join(needed.values())}\n', 1)


def _split(source: str) -> tuple[str, str]:
    """The docstring with what must stay directly behind it, and the rest."""
    end = 0
    for node in ast.parse(source).body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and end == 0
        if not is_docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        end = node.end_lineno or end
    lines = source.splitlines()
    return "\n".join(lines[:end]), "\n".join(lines[end:]).strip("\n")
