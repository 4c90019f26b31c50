"""Which third-party packages a bundle needs that Open WebUI does not bring itself."""

import ast
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import ClassVar

from echo_cli._checks.packages import Installed, normalised
from echo_constants import Bilingual, ConfigError

#: The host, whose packages are there already.
_HOST = "open-webui"


class OpenWebuiAbsentError(ConfigError):
    """What Open WebUI brings along cannot be found out here."""

    code: ClassVar[str] = "bundle_without_host"
    message: ClassVar[Bilingual] = Bilingual(
        en="To know which packages a bundle must bring, Open WebUI has to be installed beside echoctl.",
        fr="Pour savoir quels paquets un lot doit apporter, Open WebUI doit être installé à côté d'echoctl.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Install echo-owui[openwebui], or run `make setup` in a checkout.",
        fr="Installez echo-owui[openwebui], ou lancez `make setup` dans une copie des sources.",
    )


class UnknownModuleError(ConfigError):
    """A module is imported, and no installed distribution has it."""

    code: ClassVar[str] = "bundle_unknown_module"
    message: ClassVar[Bilingual] = Bilingual(
        en="ECHO imports {module}, which is not installed here.",
        fr="ECHO importe {module}, qui n'est pas installé ici.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Run `echoctl doctor`: it names the package that is missing.",
        fr="Lancez `echoctl doctor` : il nomme le paquet qui manque.",
    )


def imported_modules(files: Iterable[Path]) -> frozenset[str]:
    """Top-level names that some Python files import from outside of the standard library and ECHO."""
    found: set[str] = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.split(".")[0])
    return frozenset(name for name in found if name not in sys.stdlib_module_names and not name.startswith("echo_"))


def pinned_requirements(
    modules: Iterable[str],
    *,
    installed: Installed | None = None,
    providers: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, str]:
    """What pip must install for some modules on top of Open WebUI: `{module: "name==version"}`.

    Exact pins, because Open WebUI cuts the line at every comma, so that `a>=1,<2` would become two requirements.

    Args:
        modules: top-level import names.
        installed: the installed distributions; default those of this Python.
        providers: which distributions have a module; default what is installed.

    Raises:
        OpenWebuiAbsentError: Open WebUI is not among the installed ones.
        UnknownModuleError: nothing installed has one of the modules.
    """
    present = installed or Installed()
    if present.version(_HOST) is None:
        raise OpenWebuiAbsentError
    by_module = metadata.packages_distributions() if providers is None else providers
    at_host = present.closure(_HOST)
    found: dict[str, str] = {}
    for module in sorted(set(modules) - {"open_webui"}):
        names = by_module.get(module)
        if not names:
            raise UnknownModuleError(module=module)
        if not any(normalised(name) in at_host for name in names):
            found[module] = f"{names[0]}=={present.version(names[0])}"
    return found
