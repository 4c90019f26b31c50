"""The function files that ECHO consists of inside Open WebUI, read from the package.

`functions/` holds links to the top-level folders `pipes/`, `filters/`, `actions/`, `events/` and `tools/`; the
wheel gets copies of what the links lead to. So there is one source, in a checkout and in an installed package.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Literal, get_args

from echo_constants import Bilingual, ConfigError

Kind = Literal["pipe", "filter", "action", "event", "tool"]
Scope = Literal["global", "model"]

FUNCTIONS_ROOT: Final = Path(__file__).parent / "functions"

#: Open WebUI recognises a function by its class. Source: `open_webui/utils/plugin.py`, 0.12.4.
_CLASS_OF: Final[dict[Kind, str]] = {
    "pipe": "Pipe",
    "filter": "Filter",
    "action": "Action",
    "event": "Event",
    "tool": "Tools",
}

#: Where a function works unless its frontmatter says `echo_scope`: filters run for every model and return at once
#: for foreign ones (docs/design.md section 3); an action's button appears only under ECHO's own answers.
_DEFAULT_SCOPE: Final[dict[Kind, Scope]] = {
    "pipe": "model",
    "filter": "global",
    "action": "model",
    "event": "model",
    "tool": "model",
}

_FIELD: Final = re.compile(r"^\s*([a-z_]+):\s*(.*?)\s*$", re.IGNORECASE)


class FunctionFileError(ConfigError):
    """A function file cannot be installed as it is."""

    code: ClassVar[str] = "function_file"
    audience = "developer"
    message: ClassVar[Bilingual] = Bilingual(
        en="The function file {file} is not usable: {reason}.",
        fr="Le fichier de fonction {file} est inutilisable : {reason}.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Install ECHO again, or correct the file.", fr="Réinstallez ECHO, ou corrigez le fichier."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionFile:
    """One function or toolkit, as it goes into Open WebUI.

    Title and description are what the admin panel shows; French from `title_fr` and `description_fr`.
    """

    id: str
    kind: Kind
    title: Bilingual
    description: Bilingual
    version: str
    scope: Scope
    source: str

    @property
    def digest(self) -> str:
        """SHA-256 of the source, hex."""
        return hashlib.sha256(self.source.encode()).hexdigest()


def read_frontmatter(source: str) -> dict[str, str]:
    """The `key: value` lines of a function's first docstring; empty when line 1 is not three quotes."""
    lines = source.splitlines()
    if not lines or lines[0] != '"""':
        return {}
    fields: dict[str, str] = {}
    for line in lines[1:]:
        if '"""' in line:
            break
        if match := _FIELD.match(line):
            fields[match[1].lower()] = match[2]
    return fields


def read_function(path: Path, kind: Kind) -> FunctionFile:
    """Read one function file.

    Raises:
        FunctionFileError: no frontmatter with a title, no class of its kind, or an id that is not one.
    """
    source = path.read_text(encoding="utf-8")
    fields = read_frontmatter(source)
    identity = fields.get("id", path.stem).lower()
    scope = fields.get("echo_scope", _DEFAULT_SCOPE[kind])
    if not fields.get("title"):
        raise FunctionFileError(file=path.name, reason="no frontmatter with a title")
    if not re.search(rf"^class {_CLASS_OF[kind]}\b", source, re.MULTILINE):
        raise FunctionFileError(file=path.name, reason=f"no class {_CLASS_OF[kind]}")
    if not identity.isidentifier():
        raise FunctionFileError(file=path.name, reason=f"id {identity!r}")
    if scope not in get_args(Scope):
        raise FunctionFileError(file=path.name, reason=f"echo_scope {scope!r}")
    return FunctionFile(
        id=identity,
        kind=kind,
        title=_both(fields, "title"),
        description=_both(fields, "description"),
        version=fields.get("version", "0"),
        scope="global" if scope == "global" else "model",
        source=source,
    )


def _both(fields: dict[str, str], name: str) -> Bilingual:
    english = fields.get(name, "")
    return Bilingual(en=english, fr=fields.get(f"{name}_fr", english))


def discover_functions(root: Path = FUNCTIONS_ROOT) -> tuple[FunctionFile, ...]:
    """All function files below `root`, pipes first, by name; files that start with `_` are left out.

    Raises:
        FunctionFileError: a file is not usable, or two have one id.
    """
    found: dict[str, FunctionFile] = {}
    for path, kind in _candidates(root):
        function = read_function(path, kind)
        if function.id in found:
            raise FunctionFileError(file=path.name, reason=f"id {function.id!r} is used twice")
        found[function.id] = function
    return tuple(found.values())


def _candidates(root: Path) -> Iterator[tuple[Path, Kind]]:
    for kind in get_args(Kind):
        for path in sorted((root / f"{kind}s").glob("*.py")):
            if not path.name.startswith("_"):
                yield path, kind
