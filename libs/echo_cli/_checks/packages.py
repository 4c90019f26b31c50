"""Python and the packages around ECHO: are they the ones that it was made for.

Other plugins install packages too, so what was right at installation need not stay so. Uses the standard library and
`packaging` only, so that it also runs where pydantic or httpx cannot be imported.
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from echo_cli._checks.base import Diagnosis, Finding, Need, Surroundings
from echo_constants import ECHO_VERSION, Bilingual

#: Name of ECHO's own distribution.
DISTRIBUTION: Final = "echo-owui"
_PYPROJECT: Final = Path(__file__).resolve().parents[3] / "pyproject.toml"

PYTHON_VERSION: Final = Diagnosis(
    code="python_version",
    severity="problem",
    what=Bilingual(
        en="Python {installed} is not supported; ECHO needs {wanted}.",
        fr="Python {installed} n'est pas pris en charge ; ECHO demande {wanted}.",
    ),
    remedy=Bilingual(
        en="Run Open WebUI with Python 3.11 or 3.12 and install ECHO there.",
        fr="Faites tourner Open WebUI avec Python 3.11 ou 3.12 et installez-y ECHO.",
    ),
)
PACKAGE_MISSING: Final = Diagnosis(
    code="package_missing",
    severity="problem",
    what=Bilingual(
        en="The package {name} is not installed; ECHO needs {wanted}.",
        fr="Le paquet {name} n'est pas installé ; ECHO a besoin de {wanted}.",
    ),
    remedy=Bilingual(
        en="In the Python that runs Open WebUI: pip install '{wanted}', then restart it.",
        fr="Dans le Python d'Open WebUI : pip install '{wanted}', puis redémarrez-le.",
    ),
)
PACKAGE_VERSION: Final = Diagnosis(
    code="package_version",
    severity="problem",
    what=Bilingual(
        en="{name} {installed} is installed; ECHO was made for {wanted} and may fail with this version.",
        fr="{name} {installed} est installé ; ECHO est fait pour {wanted} et peut échouer avec cette version.",
    ),
    remedy=Bilingual(
        en="Another plugin or package changed it. In the Python that runs Open WebUI: pip install '{wanted}', then "
        "restart it.",
        fr="Un autre plugin ou paquet l'a changé. Dans le Python d'Open WebUI : pip install '{wanted}', puis "
        "redémarrez-le.",
    ),
)
PACKAGE_DIFFERS: Final = Diagnosis(
    code="package_differs",
    severity="warning",
    what=Bilingual(
        en="{name} {installed} is installed; ECHO was tested with {wanted}. It should work.",
        fr="{name} {installed} est installé ; ECHO a été testé avec {wanted}. Cela devrait aller.",
    ),
    remedy=Bilingual(
        en="Nothing, unless something fails: then pip install '{wanted}'.",
        fr="Rien, sauf en cas d'échec : alors pip install '{wanted}'.",
    ),
)
PACKAGE_CONFLICT: Final = Diagnosis(
    code="package_conflict",
    severity="problem",
    what=Bilingual(
        en="{by} needs {wanted}, but {name} {installed} is installed; {by} fails with it.",
        fr="{by} demande {wanted}, mais {name} {installed} est installé ; {by} échoue avec cette version.",
    ),
    remedy=Bilingual(
        en="In the Python that runs Open WebUI: pip install '{wanted}', then restart it.",
        fr="Dans le Python d'Open WebUI : pip install '{wanted}', puis redémarrez-le.",
    ),
)
ECHO_MIXED: Final = Diagnosis(
    code="echo_mixed",
    severity="problem",
    what=Bilingual(
        en="Two versions of ECHO are mixed: the package says {installed}, the loaded code {loaded}.",
        fr="Deux versions d'ECHO se mélangent : le paquet dit {installed}, le code chargé {loaded}.",
    ),
    remedy=Bilingual(
        en="Remove one of them (pip uninstall echo-owui, or the PYTHONPATH entry), then restart Open WebUI.",
        fr="Retirez l'une d'elles (pip uninstall echo-owui, ou l'entrée de PYTHONPATH), puis redémarrez Open WebUI.",
    ),
)
PACKAGES_UNKNOWN: Final = Diagnosis(
    code="packages_unknown",
    severity="warning",
    what=Bilingual(
        en="ECHO is not installed as a package, so the versions around it cannot be checked.",
        fr="ECHO n'est pas installé comme paquet ; les versions autour de lui ne peuvent être vérifiées.",
    ),
    remedy=Bilingual(en="Install it with pip install echo-owui.", fr="Installez-le avec pip install echo-owui."),
)


def normalised(name: str) -> str:
    """A distribution's name as all spellings of it compare. Source: PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


class Installed:
    """The distributions on a search path.

    Args:
        path: folders to look into; None = `sys.path`. The first one found wins, as when importing.
    """

    def __init__(self, path: list[str] | None = None) -> None:
        found = metadata.distributions() if path is None else metadata.distributions(path=path)
        self._found: dict[str, metadata.Distribution] = {}
        for distribution in found:
            name = distribution.metadata["Name"]
            if name:
                self._found.setdefault(normalised(name), distribution)

    def version(self, name: str) -> Version | None:
        """The installed version, None when it is not installed."""
        distribution = self._found.get(normalised(name))
        return Version(distribution.version) if distribution else None

    def requires(self, name: str, extras: frozenset[str] = frozenset()) -> list[Requirement] | None:
        """What a distribution asks for on this machine; None when it is not installed."""
        distribution = self._found.get(normalised(name))
        return None if distribution is None else _applicable(distribution.requires or [], extras)

    def pythons(self, name: str) -> str:
        """The Pythons that an installed distribution supports, as it says it; "" = it does not say."""
        distribution = self._found.get(normalised(name))
        return distribution.metadata["Requires-Python"] or "" if distribution else ""

    def closure(self, name: str) -> frozenset[str]:
        """Normalised names of everything installed that a distribution leads to, itself included."""
        reached: set[str] = set()
        waiting = [(normalised(name), frozenset[str]())]
        visited: set[tuple[str, frozenset[str]]] = set()
        while waiting:
            current = waiting.pop()
            if current in visited:
                continue
            visited.add(current)
            requirements = self.requires(*current)
            if requirements is None:
                continue
            reached.add(current[0])
            waiting.extend((normalised(item.name), frozenset(item.extras)) for item in requirements)
        return frozenset(reached)


def _applicable(lines: list[str], extras: frozenset[str]) -> list[Requirement]:
    found = []
    for line in lines:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue  # somebody else's broken metadata; pip ignores such lines too
        environments: list[Mapping[str, str]] = [{"extra": extra} for extra in ("", *extras)]
        if requirement.marker is None or any(requirement.marker.evaluate(dict(one)) for one in environments):
            found.append(requirement)
    return found


def echo_requirements(installed: Installed, pyproject: Path = _PYPROJECT) -> tuple[list[Requirement], str] | None:
    """What ECHO needs, and the Pythons it supports; None when neither the package nor the checkout is there."""
    requirements = installed.requires(DISTRIBUTION)
    if requirements is not None:
        return requirements, installed.pythons(DISTRIBUTION)
    if not pyproject.is_file():
        return None
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    return _applicable(project["dependencies"], frozenset()), str(project["requires-python"])


class PackagesCheck:
    """Python, ECHO's own requirements, and what those ask of each other.

    Args:
        installed: what is installed; None = look when run.
        python: the running version.
        pyproject: the checkout's project file, for running from source.
    """

    name = "packages"
    title = Bilingual(en="Python and packages", fr="Python et paquets")
    need: Need = "nothing"
    diagnoses = (
        PYTHON_VERSION,
        PACKAGE_MISSING,
        PACKAGE_VERSION,
        PACKAGE_DIFFERS,
        PACKAGE_CONFLICT,
        ECHO_MIXED,
        PACKAGES_UNKNOWN,
    )

    def __init__(
        self, installed: Installed | None = None, *, python: str | None = None, pyproject: Path = _PYPROJECT
    ) -> None:
        self._installed = installed
        self._python = python or ".".join(str(part) for part in sys.version_info[:3])
        self._pyproject = pyproject

    def run(self, here: Surroundings) -> Iterator[Finding]:
        """As `Check`; nothing of `here` is needed."""
        installed = self._installed or Installed()
        needed = echo_requirements(installed, self._pyproject)
        if needed is None:
            yield PACKAGES_UNKNOWN.found()
            return
        requirements, pythons = needed
        if self._python not in SpecifierSet(pythons):
            yield PYTHON_VERSION.found(installed=self._python, wanted=pythons)
        own = installed.version(DISTRIBUTION)
        if own is not None and own != Version(ECHO_VERSION):
            yield ECHO_MIXED.found(installed=own, loaded=ECHO_VERSION)
        for requirement in requirements:
            yield from _own_requirement(requirement, installed)
        yield from _conflicts(requirements, installed)


def _own_requirement(requirement: Requirement, installed: Installed) -> Iterator[Finding]:
    version = installed.version(requirement.name)
    facts = {"name": requirement.name, "wanted": str(requirement), "installed": version}
    if version is None:
        yield PACKAGE_MISSING.found(**facts)
    elif not requirement.specifier.contains(version, prereleases=True):
        yield (PACKAGE_DIFFERS if _compatible(version, requirement) else PACKAGE_VERSION).found(**facts)


def _compatible(version: Version, requirement: Requirement) -> bool:
    """Newer than the tested version, but of the same major (below 1.0: minor) line.

    Source: https://semver.org, items 4 and 8.
    """
    tested = [Version(item.version) for item in requirement.specifier if item.operator == "=="]
    if len(tested) != 1 or version < tested[0]:
        return False
    fixed = 1 if tested[0].major else 2
    return version.release[:fixed] == tested[0].release[:fixed]


def _conflicts(requirements: list[Requirement], installed: Installed) -> Iterator[Finding]:
    """What the packages that ECHO uses ask of others, one level down (pydantic of pydantic-core, httpx of httpcore)."""
    own = {normalised(requirement.name) for requirement in requirements}
    for requirement in requirements:
        for wanted in installed.requires(requirement.name, frozenset(requirement.extras)) or []:
            version = installed.version(wanted.name)
            if version is None:
                if normalised(wanted.name) not in own:
                    yield PACKAGE_MISSING.found(name=wanted.name, wanted=str(wanted))
            elif not wanted.specifier.contains(version, prereleases=True):
                yield PACKAGE_CONFLICT.found(
                    by=requirement.name, name=wanted.name, wanted=_bare(wanted), installed=version
                )


def _bare(requirement: Requirement) -> str:
    return f"{requirement.name}{requirement.specifier}"
