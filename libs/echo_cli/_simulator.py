"""How the Gemini simulator is run."""

import importlib.util
import sys
from typing import ClassVar, Final

from echo_constants import Bilingual, ConfigError

SIMULATOR_MODULE: Final = "echo_workers.gemini_sim"


class SimulatorMissingError(ConfigError):
    """This copy of ECHO came without its workers."""

    code: ClassVar[str] = "simulator_missing"
    message: ClassVar[Bilingual] = Bilingual(
        en="This copy of ECHO has no Gemini simulator.",
        fr="Cette copie d'ECHO n'a pas de simulateur Gemini.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Install the complete package, or set GEMINI_API_KEY to talk to Google.",
        fr="Installez le paquet complet, ou définissez GEMINI_API_KEY pour parler à Google.",
    )


def simulator_command(host: str, port: int, *, chunk_delay_ms: int = 0) -> list[str]:
    """The program and arguments that run the simulator on `host`:`port`.

    Args:
        host: address to bind.
        port: port to bind.
        chunk_delay_ms: pause before each chunk of a streamed demo answer; scripted answers have their own.

    Raises:
        SimulatorMissingError: the simulator is not installed.
    """
    try:
        found = importlib.util.find_spec(f"{SIMULATOR_MODULE}.__main__")
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise SimulatorMissingError(f"module {SIMULATOR_MODULE} cannot be run")
    pace = ["--chunk-delay-ms", str(chunk_delay_ms)] if chunk_delay_ms else []
    return [sys.executable, "-m", SIMULATOR_MODULE, "--host", host, "--port", str(port), *pace]
