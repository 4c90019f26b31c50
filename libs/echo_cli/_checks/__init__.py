"""What `echoctl doctor` looks at: one module an area."""

from echo_cli._checks.base import Check, Diagnosis, Finding, Need, Surroundings, finding_of
from echo_cli._checks.registry import CHECKS

__all__ = ["CHECKS", "Check", "Diagnosis", "Finding", "Need", "Surroundings", "finding_of"]
