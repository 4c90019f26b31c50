"""The data folder: writable, private, on a local disk with room."""

import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from echo_cli._checks.base import Diagnosis, Finding, Need, Surroundings
from echo_constants import Bilingual
from echo_paths import NetworkFileSystemError, network_file_system

_MB: Final = 1_000_000

#: Our limits: a long chat takes some MB, a day of a small team some hundred.
LOW_BYTES: Final = 1_000 * _MB
FULL_BYTES: Final = 100 * _MB

DATA_ABSENT: Final = Diagnosis(
    code="data_absent",
    severity="warning",
    what=Bilingual(
        en="{path} does not exist yet: ECHO has stored nothing there.",
        fr="{path} n'existe pas encore : ECHO n'y a rien enregistré.",
    ),
    remedy=Bilingual(
        en="Nothing, if ECHO is new here. Else name the right folder with --data or ECHO_DATA_DIR.",
        fr="Rien, si ECHO est nouveau ici. Sinon indiquez le bon dossier avec --data ou ECHO_DATA_DIR.",
    ),
)
DATA_READ_ONLY: Final = Diagnosis(
    code="data_not_writable",
    severity="problem",
    what=Bilingual(en="Nothing can be written to {path}.", fr="Rien ne peut être écrit dans {path}."),
    remedy=Bilingual(
        en="Give the account that runs Open WebUI the right to write there: chown -R <account> {path}",
        fr="Donnez au compte qui fait tourner Open WebUI le droit d'y écrire : chown -R <compte> {path}",
    ),
)
DATA_OPEN: Final = Diagnosis(
    code="data_open_to_others",
    severity="warning",
    what=Bilingual(
        en="Other accounts of this machine can read {path} (mode {mode}).",
        fr="Les autres comptes de cette machine peuvent lire {path} (mode {mode}).",
    ),
    remedy=Bilingual(en="chmod 700 {path}", fr="chmod 700 {path}"),
)
DATA_NETWORK: Final = Diagnosis(
    code="network_file_system",
    severity="problem",
    what=NetworkFileSystemError.message,
    remedy=NetworkFileSystemError.remedy,
)
DISK_LOW: Final = Diagnosis(
    code="disk_low",
    severity="warning",
    what=Bilingual(
        en="Only {free_mb} MB are free where {path} is.", fr="Il ne reste que {free_mb} Mo là où se trouve {path}."
    ),
    remedy=Bilingual(en="Make room soon.", fr="Faites de la place bientôt."),
)
DISK_FULL: Final = Diagnosis(
    code="disk_full",
    severity="problem",
    what=Bilingual(
        en="Only {free_mb} MB are free where {path} is; answers can no longer be kept.",
        fr="Il ne reste que {free_mb} Mo là où se trouve {path} ; les réponses ne peuvent plus être conservées.",
    ),
    remedy=Bilingual(
        en="Make room now; `echoctl backup` to another disk first if you must delete data.",
        fr="Faites de la place maintenant ; d'abord `echoctl backup` vers un autre disque s'il faut effacer.",
    ),
)


class FolderCheck:
    """Rights, kind of file system, free space.

    Args:
        low_bytes: free space below which a warning is due.
        full_bytes: free space below which it is a problem.
        mounts: the mount table to read, in the format of /proc/mounts.
    """

    name = "data_folder"
    title = Bilingual(en="Data folder", fr="Dossier de données")
    need: Need = "data"
    diagnoses = (DATA_ABSENT, DATA_READ_ONLY, DATA_OPEN, DATA_NETWORK, DISK_LOW, DISK_FULL)

    def __init__(
        self, *, low_bytes: int = LOW_BYTES, full_bytes: int = FULL_BYTES, mounts: Path = Path("/proc/mounts")
    ) -> None:
        self._low_bytes = low_bytes
        self._full_bytes = full_bytes
        self._mounts = mounts

    def run(self, here: Surroundings) -> Iterator[Finding]:
        """As `Check`."""
        root = here.data_root
        if root is None:
            return
        fs_type = network_file_system(root, self._mounts)
        if fs_type is not None:
            yield DATA_NETWORK.found(fs_type=fs_type)
        present = root
        while not present.exists():
            present = present.parent
        yield from self._space(root, present)
        if present != root:
            yield DATA_ABSENT.found(path=root)
            return
        try:
            with tempfile.TemporaryFile(dir=root):
                pass
        except OSError as error:
            yield DATA_READ_ONLY.found(str(error), path=root)
        mode = stat.S_IMODE(root.stat().st_mode)
        if mode & 0o044:
            yield DATA_OPEN.found(path=root, mode=f"{mode:o}")

    def _space(self, root: Path, present: Path) -> Iterator[Finding]:
        free_bytes = shutil.disk_usage(present).free
        facts = {"path": root, "free_mb": free_bytes // _MB}
        if free_bytes < self._full_bytes:
            yield DISK_FULL.found(**facts)
        elif free_bytes < self._low_bytes:
            yield DISK_LOW.found(**facts)
