"""The scripts that run before anything is installed."""

import socket
import subprocess

from guards.project import ROOT


def check_port(port: int) -> subprocess.CompletedProcess[str]:
    argv = ["make", "--no-print-directory", "check-port", f"PORT={port}"]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


def test_a_busy_port_is_told_before_the_set_up_with_a_command_that_works() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = int(listener.getsockname()[1])
        told = check_port(port)
        other = ["make", "--no-print-directory", "check-port", f"PORT={port}", "ARGS=--port 1"]
        assert subprocess.run(other, cwd=ROOT, capture_output=True, check=False, timeout=60).returncode == 0
    assert told.returncode != 0
    assert f"Port {port} is used" in told.stderr and f"Le port {port} est pris" in told.stderr
    suggested = int(told.stderr.split("make run PORT=")[1].split()[0])
    assert suggested != port
    assert check_port(port).returncode == 0
