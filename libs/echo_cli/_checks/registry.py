"""All checks, in the order in which doctor runs and shows them."""

from typing import Final

from echo_cli._checks.base import Check
from echo_cli._checks.environment import EnvironmentCheck
from echo_cli._checks.folder import FolderCheck
from echo_cli._checks.functions import FunctionsCheck
from echo_cli._checks.keys import KeysCheck
from echo_cli._checks.model import ModelCheck
from echo_cli._checks.packages import PackagesCheck
from echo_cli._checks.server import ServerCheck
from echo_cli._checks.stores import StoresCheck
from echo_cli._checks.vectors import VectorsCheck

CHECKS: Final[tuple[Check, ...]] = (
    PackagesCheck(),
    EnvironmentCheck(),
    FolderCheck(),
    StoresCheck(),
    ServerCheck(),
    FunctionsCheck(),
    ModelCheck(),
    KeysCheck(),
    VectorsCheck(),
)
