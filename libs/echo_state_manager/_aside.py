"""Files that were set aside: when they can be read again, what they hold comes back."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anyio import to_thread

from echo_core.ports import Clock
from echo_state_manager._errors import DamagedFileError, FutureFileError, LockedFileError, StoreError
from echo_state_manager._salvage import carry_over, repaired
from echo_state_manager._session_file import SessionFile
from echo_state_manager._transfer import Image, Taken, UnsoundRecordsError, image_of, opened_image, take_over
from echo_state_manager.crypto import MasterSecret
from echo_state_manager.session import SessionStore

#: Reasons for which a file of ours was set aside; foreign ones hold nothing of ours.
_REASONS: Final = (LockedFileError.reason, FutureFileError.reason, DamagedFileError.reason)


@dataclass(frozen=True, slots=True)
class BroughtBack:
    """What came back out of one file that had been set aside.

    Args:
        path: the file; it stays as it is.
        taken: what came back; None when it still cannot be read.
        error: why not.
    """

    path: Path
    taken: Taken | None = None
    error: StoreError | UnsoundRecordsError | None = None

    @property
    def is_news(self) -> bool:
        """Whether anything came back that was not there already."""
        return self.taken is not None and bool(self.taken.added or self.taken.restored)


def set_aside_files(path: Path) -> list[Path]:
    """The files of ours that were set aside in favour of a session.db, oldest first; blocks on the disk."""
    found = [beside for reason in _REASONS for beside in path.parent.glob(f"{path.name}.{reason}-*")]
    return sorted(file for file in found if not file.name.endswith(("-wal", "-shm")))


async def bring_back(path: Path, chat_id: str, clock: Clock, secret: MasterSecret | None) -> list[BroughtBack]:
    """Carry what files that were set aside hold over into a session.db, as far as they can be read now.

    What is in the session.db stays, unless it is only the text of what comes back.

    Raises:
        StoreError: the session.db itself cannot be used.
    """
    results: list[BroughtBack] = []
    for aside in await to_thread.run_sync(set_aside_files, path):
        try:
            image = await _image(aside, chat_id, clock, secret)
        except (StoreError, UnsoundRecordsError) as error:
            results.append(BroughtBack(aside, error=error))
            continue
        async with _opened(path, clock, secret) as store, opened_image(image.data, chat_id) as source:
            results.append(BroughtBack(aside, await take_over(source, store)))
    return results


async def _image(aside: Path, chat_id: str, clock: Clock, secret: MasterSecret | None) -> Image:
    try:
        return await image_of(aside, chat_id, secret)
    except (DamagedFileError, UnsoundRecordsError):
        with tempfile.TemporaryDirectory(prefix=".salvage-", dir=aside.parent) as folder:
            copy = Path(folder) / "session.db"
            await to_thread.run_sync(carry_over, aside, copy, int(clock.now_s()))
            await repaired(copy, clock, secret)
            return await image_of(copy, chat_id, secret)


@asynccontextmanager
async def _opened(path: Path, clock: Clock, secret: MasterSecret | None) -> AsyncIterator[SessionStore]:
    file = await SessionFile.open(path, clock, secret)
    try:
        yield SessionStore(file)
    finally:
        await file.close()
