"""Whether ECHO's data folder can still take what a turn writes; looked at beside the turns, never within one."""

import asyncio
import logging
import os
import shutil
from pathlib import Path
from typing import Final

from echo_constants import Bilingual, EchoError, StateError
from echo_core.ports import Clock

log = logging.getLogger(__name__)

#: Less free space than this is told: a long answer with pictures writes some 10 MB, its WAL as much again.
#: Source: our choice.
LOW_SPACE_BYTES: Final = 256 * 1024 * 1024

#: How long one look counts. Source: our choice.
LOOK_EVERY_S: Final = 60.0


class DiskNearlyFull(StateError):
    """The disk of the data folder has little room left."""

    code = "disk_nearly_full"
    audience = "admin"
    message = Bilingual(
        en="Only {free_mib} MiB are free where ECHO keeps its records ({folder}).",
        fr="Il ne reste que {free_mib} Mio là où ECHO garde ses enregistrements ({folder}).",
    )
    remedy = Bilingual(
        en="Make room before chats can no longer be recorded.",
        fr="Libérez de la place avant que les conversations ne puissent plus être enregistrées.",
    )


class FolderNotWritable(StateError):
    """ECHO may not write into its data folder."""

    code = "data_folder_not_writable"
    audience = "admin"
    message = Bilingual(
        en="ECHO cannot write into its data folder ({folder}).",
        fr="ECHO ne peut pas écrire dans son dossier de données ({folder}).",
    )
    remedy = Bilingual(
        en="Give the account that runs Open WebUI the right to write there.",
        fr="Donnez le droit d'y écrire au compte qui exécute Open WebUI.",
    )


def look(folder: Path) -> EchoError | None:
    """What is wrong with the data folder, None when nothing is; blocks."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        return FolderNotWritable(folder=folder)
    free_bytes = shutil.disk_usage(there).free
    if free_bytes < LOW_SPACE_BYTES:
        return DiskNearlyFull(free_mib=free_bytes // 1024**2, folder=folder)
    return None


class Health:
    """The last look at the data folder.

    Args:
        folder: ECHO's data folder.
        clock: tells when a look is old.
    """

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._looked_s: float | None = None
        self._found: EchoError | None = None
        self.looking: asyncio.Task[None] | None = None

    def finding(self) -> EchoError | None:
        """What the last look found; a new one begins in the background when that is a minute old."""
        now_s = self._clock.monotonic_s()
        if self._looked_s is None or now_s - self._looked_s >= LOOK_EVERY_S:
            self._looked_s = now_s
            self.looking = asyncio.create_task(self._look())
        return self._found

    async def _look(self) -> None:
        try:
            found = await asyncio.to_thread(look, self._folder)
        except OSError as error:
            found = FolderNotWritable(f"{type(error).__name__}: {error}", folder=self._folder)
        if found is not None:
            log.warning("%s %s", found.user_message("en"), found)
        self._found = found
