"""What echoctl says when a package that it needs is missing or does not fit, so that it cannot even start."""

import sys

from echo_cli._checks.base import Surroundings
from echo_cli._checks.packages import PackagesCheck
from echo_cli._exit_codes import ExitCode
from echo_cli._locale import say, tr


def explain(error: Exception) -> ExitCode:
    """Tell on standard error which packages are wrong and how to put them right.

    Args:
        error: what importing the commands raised.

    Raises:
        Exception: the error itself, when the packages are in order and it has another reason.
    """
    findings = [
        finding for finding in PackagesCheck().run(Surroundings(environ={})) if finding.diagnosis.severity == "problem"
    ]
    if not findings:
        raise error
    print(say("echoctl cannot start.", "echoctl ne peut pas démarrer."), file=sys.stderr)
    for finding in findings:
        print(f"✗ {tr(finding.diagnosis.what, **finding.fields)}", file=sys.stderr)
        print(f"  → {tr(finding.diagnosis.remedy, **finding.fields)}", file=sys.stderr)
    print(f"  ({type(error).__name__}: {error})", file=sys.stderr)
    return ExitCode.CONFIG
