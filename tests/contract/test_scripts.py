"""The scripts that run before anything is installed."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

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


#: What uv 0.13 says behind a proxy that signs with its own certificate.
UV = """#!/bin/sh
echo "$UV_SYSTEM_CERTS" >> tries
[ "$UV_SYSTEM_CERTS" = "{needed}" ] && exit 0
echo "error: invalid peer certificate: UnknownIssuer" >&2
exit 2
"""


def set_up(folder: Path, uv: str) -> subprocess.CompletedProcess[str]:
    """Run the set-up in a folder whose .venv is made of scripts: `python` does nothing, `uv` is the given one."""
    (folder / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "setup.sh", folder / "scripts")
    (folder / "requirements").mkdir()
    for name in ("requirements/setup.txt", "requirements/run.txt", "pyproject.toml"):
        (folder / name).write_text("one==1\n", encoding="utf-8")
    (folder / ".venv" / "bin").mkdir(parents=True)
    # The path tells that this .venv was made here.
    for name, text in {"python": 'echo "$@" >> pythons', "pip": f": {folder}/.venv; exit 1", "uv": uv}.items():
        script = folder / ".venv" / "bin" / name
        script.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n", encoding="utf-8")
        script.chmod(0o755)
    argv = [str(folder / "scripts" / "setup.sh"), "run"]
    env = {"PATH": os.environ["PATH"], "PYTHON": sys.executable}
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=60)


def test_a_certificate_that_uv_does_not_know_is_looked_for_in_the_system(tmp_path: Path) -> None:
    done = set_up(tmp_path, UV.format(needed="true"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tries").read_text() == "\ntrue\n"
    assert "requirements/run.txt" not in (tmp_path / "pythons").read_text()
    assert "those of the system" in done.stderr and "ceux du système" in done.stderr
    for step in ("1/3", "2/3", "1 packages", "3/3", "done"):
        assert step in done.stderr


def test_pip_is_the_last_resort(tmp_path: Path) -> None:
    done = set_up(tmp_path, UV.format(needed="never"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tries").read_text() == "\ntrue\n"
    assert "install --quiet --require-hashes --no-deps -r requirements/run.txt" in (tmp_path / "pythons").read_text()


def test_another_failure_of_uv_is_not_tried_again_the_same_way(tmp_path: Path) -> None:
    done = set_up(tmp_path, "#!/bin/sh\necho try >> tries\necho 'error: no space left on device' >&2\nexit 2\n")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tries").read_text() == "try\n"
    assert "no space left on device" in done.stderr
