"""One lock a workspace, for threads and processes alike."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from echo_codex_git.errors import WorkspaceBusyError

_PAUSE_S: Final = 0.01


@contextmanager
def locked(path: Path, *, exclusive: bool, wait_s: float) -> Iterator[None]:
    """Hold the lock of a file; blocks, so it runs in a worker thread.

    Each caller opens the file anew, and `flock` belongs to the open file: two threads exclude each other as two
    processes do, and a process that is killed lets go. The file stays, because removing it would split the lock.

    Args:
        path: the lock file; its folder exists.
        exclusive: False for readers, who share it.
        wait_s: how long to wait for others.

    Raises:
        WorkspaceBusyError: others held it all that time.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _take(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH, wait_s)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, kind: int, wait_s: float) -> None:
    until_s = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= until_s:
                raise WorkspaceBusyError from error
            time.sleep(_PAUSE_S)
        else:
            return
