"""What the reading process may not do, whatever a document makes its libraries try."""

import os
import resource
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from echo_ingestion._child.fail import Refused, damaged

_REFUSED: Final = (
    "socket.connect", "socket.bind", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn",
    "os.fork", "os.spawn", "webbrowser.open",
)  # fmt: skip
_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_LARGE_BYTES: Final = 100_000_000


def bound(limits: Mapping[str, Any]) -> None:
    """Take the bounds on; they hold until the process ends."""
    resource.setrlimit(resource.RLIMIT_AS, (limits["memory_bytes"], limits["memory_bytes"]))
    seconds = int(limits["time_s"]) * 2 + 5
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits["unpacked_bytes"], limits["unpacked_bytes"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(5)


def seal(writable: Path) -> None:
    """From now on no network, no other program, and files are written below one folder only."""
    allowed = os.path.realpath(writable) + os.sep

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event in _REFUSED:
            raise PermissionError(event)
        if event == "open" and isinstance(args[0], str | bytes) and int(args[2] or 0) & _WRITES:
            target = os.path.realpath(os.fsdecode(args[0]))
            if not target.startswith(allowed) and target != os.devnull:
                raise PermissionError("open for writing")

    sys.addaudithook(watch)


def check_packed(path: Path, limits: Mapping[str, Any]) -> list[zipfile.ZipInfo]:
    """The members of a packed file, unless they are what a bomb is made of.

    Raises:
        Refused: too many, too large, or too well packed to be honest.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            members = packed.infolist()
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise damaged("ZIP") from error
    total = sum(member.file_size for member in members)
    packed_bytes = max(1, path.stat().st_size)
    greedy = total > limits["unpacked_bytes"] or len(members) > limits["members"]
    if greedy or (total > _LARGE_BYTES and total / packed_bytes > limits["ratio"]):
        raise Refused("document_bomb")
    if sum(member.compress_size for member in members) > packed_bytes * 1.2:  # members that overlap
        raise Refused("document_bomb")
    return members
