"""Ports: is one free, and give me a free one."""

import socket
from typing import ClassVar

from echo_cli._exit_codes import ExitCode
from echo_constants import Bilingual, ConfigError


class PortBusyError(ConfigError):
    """Another program listens where we were told to."""

    code: ClassVar[str] = "port_busy"
    exit_code: ClassVar[ExitCode] = ExitCode.PORT_BUSY
    message: ClassVar[Bilingual] = Bilingual(
        en="Port {port} on {host} is used by another program.",
        fr="Le port {port} sur {host} est pris par un autre programme.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Stop that program, or choose another port with {option} (for example {option} {free}).",
        fr="Arrêtez ce programme, ou choisissez un autre port avec {option} (par exemple {option} {free}).",
    )


def free_port(host: str = "127.0.0.1") -> int:
    """A TCP port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def require_free_port(host: str, port: int, option: str) -> None:
    """Check that `host`:`port` can be listened on.

    Raises:
        PortBusyError: it cannot; `option` is the command-line option that the remedy names.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        # Servers set it too; without it a port whose last connections are in TIME_WAIT would look busy.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            raise PortBusyError(str(error), host=host, port=port, option=option, free=free_port()) from error
