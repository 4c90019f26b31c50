"""The secret that the records of a data folder are encrypted under, for commands that read them without Open WebUI."""

import os
from collections.abc import Mapping
from pathlib import Path

from echo_cli._run_folder import private_secret
from echo_state_manager.crypto import MasterSecret, SecretKeyMissingError, master_secret


def secret_of(root: Path, environ: Mapping[str, str] = os.environ) -> MasterSecret | None:
    """What Open WebUI used: ECHO_SECRET_KEY, else the key that `echoctl up` keeps, else WEBUI_SECRET_KEY.

    Args:
        root: ECHO's data folder.
        environ: of this command.

    Returns:
        None when no secret is known; then only plain records can be read.
    """
    kept = private_secret(root.absolute().parent)
    known = {**environ, **({"WEBUI_SECRET_KEY": kept} if kept else {})}
    try:
        return master_secret(known)
    except SecretKeyMissingError:
        return None
