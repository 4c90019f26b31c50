"""`echoctl doctor`: what is wrong with this installation, and what to do about it."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from echo_cli._account import DEFAULT_URL, EmailOption, PasswordOption, TokenOption, UrlOption
from echo_cli._app import command
from echo_cli._checks.base import Check, Diagnosis, Finding, Need, Surroundings, finding_of
from echo_cli._data_dir import DataOption
from echo_cli._exit_codes import ExitCode
from echo_cli._locale import say, tr
from echo_cli._output import JsonFlag
from echo_cli._owui_api import OwuiApi, OwuiUnreachableError
from echo_cli._surroundings import connect, look_around
from echo_constants import Bilingual, EchoError

logger = logging.getLogger(__name__)

Verdict = Literal["ok", "warning", "problem", "skipped"]

CHECK_BROKE: Final = Diagnosis(
    code="check_broke",
    severity="problem",
    what=Bilingual(en="This check itself failed: {error}.", fr="Cette vérification a elle-même échoué : {error}."),
    remedy=Bilingual(
        en="Report it with the output of `echoctl --debug doctor`.",
        fr="Signalez-le avec la sortie de `echoctl --debug doctor`.",
    ),
)

_NEEDS: Final = {
    "environment": Bilingual(
        en="Open WebUI's environment is not visible from here",
        fr="l'environnement d'Open WebUI n'est pas visible d'ici",
    ),
    "data": Bilingual(en="the data folder is not known (--data)", fr="le dossier de données n'est pas connu (--data)"),
    "environment_or_admin": Bilingual(
        en="neither Open WebUI's environment nor an administrator's account is at hand",
        fr="ni l'environnement d'Open WebUI ni un compte d'administrateur n'est disponible",
    ),
    "server": Bilingual(en="Open WebUI is not reached (--url)", fr="Open WebUI n'est pas joint (--url)"),
    "admin": Bilingual(
        en="not signed in as an administrator (--token, or --email and --password)",
        fr="pas connecté en administrateur (--token, ou --email et --password)",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one check came to; `skipped` names the need that was not met, else ""."""

    check: Check
    findings: tuple[Finding, ...] = ()
    skipped: str = ""

    @property
    def verdict(self) -> Verdict:
        """The worst of the findings."""
        if self.skipped:
            return "skipped"
        severities = {finding.diagnosis.severity for finding in self.findings}
        return "problem" if "problem" in severities else "warning" if severities else "ok"


class ReachCheck:
    """Whether Open WebUI answers and takes the account; its findings come from connecting."""

    name = "connection"
    title = Bilingual(en="Connection to Open WebUI", fr="Connexion à Open WebUI")
    diagnoses: tuple[Diagnosis, ...] = ()

    def __init__(self, errors: Iterable[EchoError]) -> None:
        self._errors = tuple(errors)

    @property
    def need(self) -> Need:
        """Without an error there is something to say only when it was reached."""
        return "nothing" if self._errors else "server"

    def run(self, here: Surroundings) -> Iterator[Finding]:
        """As `Check`."""
        yield from (finding_of(error) for error in self._errors)


def examine(checks: Iterable[Check], here: Surroundings) -> list[Outcome]:
    """Run checks; one that cannot run or breaks does not keep the others from running."""
    outcomes = []
    for check in checks:
        if not here.offers(check.need):
            outcomes.append(Outcome(check=check, skipped=check.need))
            continue
        findings: list[Finding] = []
        try:
            findings.extend(check.run(here))
        except EchoError as error:
            findings.append(finding_of(error))
        except Exception as error:
            logger.exception("The check %s broke", check.name)
            findings.append(CHECK_BROKE.found(error=f"{type(error).__name__}: {error}"))
        outcomes.append(Outcome(check=check, findings=tuple(findings)))
    return outcomes


def doctor(
    url: UrlOption = DEFAULT_URL,
    token: TokenOption = "",
    email: EmailOption = "",
    password: PasswordOption = "",
    data: DataOption = None,
    json_mode: JsonFlag = False,
) -> None:
    """Check everything; exit code 10 when there is a problem, 0 with warnings only."""
    # What the checks need takes a second to import, which the other commands should not pay.
    from echo_cli._checks.registry import CHECKS

    with command(json_mode) as output:
        errors: list[EchoError] = []
        api: OwuiApi | None = None
        for found in connect(url, token=token, email=email, password=password):
            if isinstance(found, OwuiApi):
                api = found
            else:
                errors.append(found)
        asked_for = url != DEFAULT_URL or token or email
        if not asked_for:
            # Nobody spoke of a server: that there is none is no error then, and its checks say that they were skipped.
            errors = [error for error in errors if not isinstance(error, OwuiUnreachableError)]
        outcomes = examine([ReachCheck(errors), *CHECKS], look_around(url, api, data))
        if api is not None:
            api.close()
        output.result(report_facts(outcomes), report_text(outcomes))
        if any(outcome.verdict == "problem" for outcome in outcomes):
            raise typer.Exit(ExitCode.CHECK_FAILED)


def report_facts(outcomes: list[Outcome]) -> dict[str, Any]:
    """The outcomes as JSON values."""
    checks = [
        {
            "name": outcome.check.name,
            "title": tr(outcome.check.title),
            "verdict": outcome.verdict,
            "skipped": tr(_NEEDS[outcome.skipped]) if outcome.skipped else None,
            "findings": [_finding_facts(finding) for finding in outcome.findings],
        }
        for outcome in outcomes
    ]
    return {"healthy": not any(outcome.verdict == "problem" for outcome in outcomes), "checks": checks}


def _finding_facts(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.diagnosis.code,
        "severity": finding.diagnosis.severity,
        "message": tr(finding.diagnosis.what, **finding.fields),
        "remedy": tr(finding.diagnosis.remedy, **finding.fields),
        "detail": finding.detail,
    }


_SIGNS: Final[dict[Verdict, tuple[str, str]]] = {
    "ok": ("✓", "green"),
    "warning": ("!", "yellow"),
    "problem": ("✗", "red"),
    "skipped": ("–", "dim"),
}


def report_text(outcomes: list[Outcome]) -> RenderableType:
    """The outcomes for people."""
    lines: list[RenderableType] = []
    for outcome in outcomes:
        sign, style = _SIGNS[outcome.verdict]
        note = say("  skipped: ", "  ignoré : ") + tr(_NEEDS[outcome.skipped]) if outcome.skipped else ""
        lines.append(Text(f"{sign} {tr(outcome.check.title)}{note}", style=style))
        for finding in outcome.findings:
            lines.append(Padding(Text(tr(finding.diagnosis.what, **finding.fields)), (0, 0, 0, 4)))
            lines.append(Padding(Text("→ " + tr(finding.diagnosis.remedy, **finding.fields)), (0, 0, 0, 4)))
            if finding.detail:
                lines.append(Padding(Text(finding.detail, style="dim"), (0, 0, 0, 4)))
    return Group(*lines)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "doctor",
        help=say(
            "Say what is wrong with this installation, and what to do.",
            "Dire ce qui ne va pas dans cette installation, et que faire.",
        ),
    )(doctor)
