"""The process of this machine that answers at an address, and what it tells of itself."""

import contextlib
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

import psutil

from echo_cli._owui_api import is_loopback


def _listeners(port: int) -> list[int | None]:
    """Process ids behind the listening sockets of a TCP port; None = of a process that we may not see."""
    with contextlib.suppress(psutil.AccessDenied):
        return [
            connection.pid
            for connection in psutil.net_connections(kind="tcp")
            # The address is the empty tuple for sockets that are not bound.
            if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr[1] == port
        ]
    return []


def server_process(url: str) -> psutil.Process | None:
    """The process behind an address on this machine."""
    if is_loopback(url):
        with contextlib.suppress(psutil.NoSuchProcess):
            return next((psutil.Process(pid) for pid in _listeners(_port(url)) if pid), None)
    return None


def is_ours_alone(url: str) -> bool:
    """Whether everything that listens at an address of this machine runs under our account.

    `localhost` is two addresses: on the other one somebody else may listen.
    """
    pids = _listeners(_port(url)) if is_loopback(url) else []
    with contextlib.suppress(psutil.AccessDenied, psutil.NoSuchProcess):
        return bool(pids) and all(pid and psutil.Process(pid).uids().real == os.getuid() for pid in pids)
    return False


def _port(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)


def server_environment(url: str) -> Mapping[str, str] | None:
    """The environment of that process; None when there is none or it belongs to another account of this machine."""
    process = server_process(url)
    if process is not None:
        with contextlib.suppress(psutil.AccessDenied, psutil.NoSuchProcess):
            return process.environ()
    return None
