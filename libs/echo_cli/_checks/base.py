"""What a check of `echoctl doctor` is. Standard library only: it must work where packages are broken."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from echo_constants import Bilingual, EchoError

if TYPE_CHECKING:
    from echo_cli._owui_api import OwuiApi

Severity = Literal["problem", "warning"]

#: What must be there before a check can run: nothing, the environment that Open WebUI runs with, ECHO's data folder, a
#: reachable Open WebUI, an administrator's account on it, or one of that environment and such an account.
Need = Literal["nothing", "environment", "data", "server", "admin", "environment_or_admin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Something that can be wrong, and what to do about it.

    Args:
        code: stable name for programs; docs/echoctl.md lists them all.
    """

    code: str
    severity: Severity
    what: Bilingual
    remedy: Bilingual

    def found(self, detail: str = "", /, **fields: object) -> "Finding":
        """This is the case here; `fields` fill both texts, `detail` is for the curious."""
        return Finding(diagnosis=self, fields=fields, detail=detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A diagnosis with the facts of this machine."""

    diagnosis: Diagnosis
    fields: Mapping[str, object] = field(default_factory=dict)
    detail: str = ""


def finding_of(error: EchoError) -> Finding:
    """An error that a check ran into, as a problem."""
    diagnosis = Diagnosis(code=error.code, severity="problem", what=error.message, remedy=error.remedy)
    return diagnosis.found(error.detail, **error.fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the checks look at.

    Args:
        environ: the environment that Open WebUI runs with: that of its process where it can be seen, else our own.
        environ_is_known: True = read from Open WebUI's process, or our own names a data folder, so it is meant for it.
        data_root: ECHO's data folder, None when it is not known.
        api: a reachable Open WebUI, None without one.
        is_admin: the client is signed in as an administrator.
        version: Open WebUI's version, "" without one.
    """

    environ: Mapping[str, str]
    environ_is_known: bool = False
    data_root: Path | None = None
    api: "OwuiApi | None" = None
    is_admin: bool = False
    version: str = ""

    def offers(self, need: Need) -> bool:
        """Whether a check with this need can run."""
        return {
            "nothing": True,
            "environment": self.environ_is_known,
            "data": self.data_root is not None,
            "server": self.api is not None,
            "admin": self.is_admin,
            "environment_or_admin": self.environ_is_known or self.is_admin,
        }[need]


class Check(Protocol):
    """One area that doctor looks at.

    Attributes:
        name: stable name for programs.
        title: for people.
        need: what it cannot do without.
        diagnoses: everything that it can find, so that it can be documented and tested as a whole.
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> Bilingual: ...
    @property
    def need(self) -> Need: ...
    @property
    def diagnoses(self) -> tuple[Diagnosis, ...]: ...

    def run(self, here: Surroundings) -> Iterator[Finding]:
        """Look, and give what is not in order.

        Raises:
            EchoError: it could not look; doctor shows that as a problem of this check.
        """
        ...
