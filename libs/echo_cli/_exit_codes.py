"""What echoctl's exit codes mean. docs/echoctl.md shows this table and is tested against it."""

from enum import IntEnum
from typing import Final

from echo_constants import (
    AuthError,
    Bilingual,
    ConfigError,
    EchoError,
    LimitError,
    ProtocolError,
    StateError,
    UpstreamError,
)


class ExitCode(IntEnum):
    """How a command ended. Numbers are part of the interface and are never reused."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    CONFIG = 3
    AUTH = 4
    UPSTREAM = 5
    STATE = 6
    LIMIT = 7
    PORT_BUSY = 8
    BOOT_FAILED = 9
    CHECK_FAILED = 10
    DECLINED = 11
    INTERRUPTED = 130


#: Source for 2: click's usage errors; for 130: the shells' 128 + SIGINT.
MEANINGS: Final[dict[ExitCode, Bilingual]] = {
    ExitCode.OK: Bilingual(en="Done.", fr="C'est fait."),
    ExitCode.INTERNAL: Bilingual(
        en="A defect in ECHO; run again with --debug and report it.",
        fr="Un défaut d'ECHO ; relancez avec --debug et signalez-le.",
    ),
    ExitCode.USAGE: Bilingual(
        en="The command line is wrong; --help shows what is allowed.",
        fr="La ligne de commande est fausse ; --help montre ce qui est permis.",
    ),
    ExitCode.CONFIG: Bilingual(
        en="A setting or a file is missing or wrong.",
        fr="Un réglage ou un fichier manque ou est faux.",
    ),
    ExitCode.AUTH: Bilingual(
        en="Open WebUI or Gemini did not accept the account or the key.",
        fr="Open WebUI ou Gemini n'a pas accepté le compte ou la clé.",
    ),
    ExitCode.UPSTREAM: Bilingual(
        en="Open WebUI or Gemini could not be reached or answered with an error.",
        fr="Open WebUI ou Gemini est injoignable ou a répondu par une erreur.",
    ),
    ExitCode.STATE: Bilingual(
        en="Records on disk are damaged, foreign, or from a newer version.",
        fr="Les données sur disque sont abîmées, étrangères ou d'une version plus récente.",
    ),
    ExitCode.LIMIT: Bilingual(
        en="A quota, size or time limit is reached.", fr="Une limite (quota, taille, temps) est atteinte."
    ),
    ExitCode.PORT_BUSY: Bilingual(
        en="A port is used by another program.", fr="Un port est pris par un autre programme."
    ),
    ExitCode.BOOT_FAILED: Bilingual(
        en="Open WebUI or the simulator did not come up, or stopped by itself.",
        fr="Open WebUI ou le simulateur n'a pas démarré, ou s'est arrêté seul.",
    ),
    ExitCode.CHECK_FAILED: Bilingual(
        en="The command worked, and found something that is not in order.",
        fr="La commande a fonctionné et a trouvé quelque chose qui ne va pas.",
    ),
    ExitCode.DECLINED: Bilingual(
        en="A question was answered with no, or nobody was there to answer it (--yes).",
        fr="La réponse à une question était non, ou personne n'était là pour répondre (--yes).",
    ),
    ExitCode.INTERRUPTED: Bilingual(en="Stopped by Ctrl-C.", fr="Arrêté par Ctrl-C."),
}

#: Branch of the error tree → exit code; an error class may name its own in `exit_code`.
_BRANCHES: Final[tuple[tuple[type[EchoError], ExitCode], ...]] = (
    (ConfigError, ExitCode.CONFIG),
    (AuthError, ExitCode.AUTH),
    (LimitError, ExitCode.LIMIT),
    (UpstreamError, ExitCode.UPSTREAM),
    (ProtocolError, ExitCode.UPSTREAM),
    (StateError, ExitCode.STATE),
)


def exit_code_of(error: EchoError) -> ExitCode:
    """The exit code for an error: its own `exit_code` if the class has one, else that of its branch."""
    own = getattr(error, "exit_code", None)
    if isinstance(own, ExitCode):
        return own
    return next((code for branch, code in _BRANCHES if isinstance(error, branch)), ExitCode.INTERNAL)
