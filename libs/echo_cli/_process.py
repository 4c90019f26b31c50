"""Child processes: started with a log file, watched, and ended by their own id."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import psutil

#: How long a child may take to end by itself after SIGTERM: uvicorn waits for open connections.
STOP_LIMIT_S: Final = 10.0

#: How much of a log's end is shown when a child has died.
TAIL_BYTES: Final = 4096

#: Runs in the child before the program itself, so that it gets SIGTERM when echoctl is killed and nothing is left
#: behind, and does not inherit that SIGTERM is ignored. (A preexec_fn would do the same, but is not safe in a process
#: with threads.)
#: Source: prctl(2), linux/prctl.h, PR_SET_PDEATHSIG = 1; kept across execve.
_END_WITH_PARENT: Final = (
    "import ctypes, os, signal, sys\n"
    "signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
    "if sys.platform == 'linux': ctypes.CDLL(None).prctl(1, signal.SIGTERM)\n"
    "os.execv(sys.argv[1], sys.argv[1:])"
)


class Child:
    """One child process.

    Args:
        name: for messages, e.g. `open-webui`.
        argv: absolute path of the program, and its arguments.
        log: file that gets its output; what was there is kept as `<name>.log.1`.
        cwd: folder that it works in.
    """

    def __init__(self, name: str, argv: Sequence[str], *, env: Mapping[str, str], log: Path, cwd: Path) -> None:
        self.name = name
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        if log.exists():
            log.replace(log.with_suffix(log.suffix + ".1"))
        with log.open("wb") as stream:
            # A session of its own: Ctrl-C in the terminal reaches echoctl alone, which then ends the children in order.
            self._process = subprocess.Popen(
                [sys.executable, "-ISc", _END_WITH_PARENT, *argv],
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """None while it runs; negative = ended by that signal."""
        return self._process.poll()

    def ask_to_end(self) -> None:
        """Send SIGTERM, if it still runs."""
        if self.exit_status is None:
            self._process.terminate()

    def end(self, limit_s: float = STOP_LIMIT_S) -> None:
        """Wait until it has ended; after `limit_s` it and its own children are killed."""
        self.ask_to_end()
        try:
            self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()

    def tail(self) -> str:
        """The end of its log."""
        data = self.log.read_bytes() if self.log.exists() else b""
        return data[-TAIL_BYTES:].decode(errors="replace").strip()


def end_all(children: Iterable[Child]) -> None:
    """End several children at once: first all are asked, then each is waited for."""
    listed = list(children)
    for child in listed:
        child.ask_to_end()
    for child in listed:
        child.end()


def identity_of(pid: int) -> float | None:
    """When the process with this id was started (seconds since the epoch); None when there is none.

    The pair (pid, start time) names a process for good; a pid alone is reused.
    """
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return None


def end_stranger(pid: int, started_at_s: float, limit_s: float = STOP_LIMIT_S) -> bool:
    """End a process of an earlier run if it is still the same one. True when something was ended."""
    if identity_of(pid) != started_at_s:
        return False
    process = psutil.Process(pid)
    process.terminate()
    try:
        process.wait(limit_s)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait(limit_s)
    return True
