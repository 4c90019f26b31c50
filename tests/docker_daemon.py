"""A container daemon for tests: the machine's own where one runs, else Docker's, started by hand in its own folder.

The hand-made one runs twice over the same folder: first on the machine's network, because building needs the package
index; then in a network namespace of its own, where Compose's networks and ports work and nothing is left behind on the
machine.
"""

import contextlib
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

BASE_IMAGE = "python:3.11-slim"
START_LIMIT_S = 60.0
STOP_LIMIT_S = 60.0

#: What the official base image has that a bare Debian lacks: Python under /usr/local, an own trust store in use.
_BASE_SETTINGS = (
    "ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin "
    "PIP_CERT=/etc/ssl/certs/ca-certificates.crt SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"
)
_PACKAGES = "python3,python3-venv,python3-pip,ca-certificates,passwd"


class Daemon:
    """A running daemon.

    Args:
        folder: where a hand-made one keeps everything; None = the machine's own daemon is used.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.env = dict(os.environ)
        # The classic builder: BuildKit wants a plug-in that Debian's packages do not bring.
        self.env["DOCKER_BUILDKIT"] = "0"
        if folder is not None:
            self.env["DOCKER_HOST"] = f"unix://{folder}/docker.sock"
            self.env["DOCKER_CONFIG"] = str(folder / "config")

    def start(self, *, isolated: bool) -> None:
        """Start the hand-made one; nothing to do for the machine's own.

        Args:
            isolated: in a network namespace of its own.
        """
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        options = ["--data-root", str(self.folder / "data"), "--exec-root", str(self.folder / "exec")]
        options += ["--pidfile", str(self.folder / "pid"), "-H", self.env["DOCKER_HOST"]]
        if isolated:
            script = 'ip link set lo up && exec dockerd "$@"'
            command = ["unshare", "--net", "sh", "-c", script, "dockerd", *options]
        else:
            without = ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"]
            command = ["dockerd", *options, *without]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait(lambda: self.run("info", check=False).returncode == 0, "the daemon", START_LIMIT_S)

    def stop(self) -> None:
        """End the hand-made one and what it started; its images stay for the next start."""
        process, self._process = self._process, None
        if process is None:
            return
        children = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        try:
            process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for child in psutil.wait_procs(children, timeout=5)[1]:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()

    def remove(self, *, keep_images: bool = False) -> None:
        """Stop, unmount and delete everything of the hand-made one, or everything but its images."""
        self.stop()
        if self.folder is None:
            return
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for mount in sorted((path for path in mounts if path.startswith(f"{self.folder}/")), reverse=True):
            subprocess.run(["umount", mount], check=False)
        for group in Path("/sys/fs/cgroup").glob("*/docker"):
            with contextlib.suppress(OSError):
                group.rmdir()
        shutil.rmtree(self.folder / "exec" if keep_images else self.folder, ignore_errors=True)

    def run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """`docker ARGUMENTS…`."""
        done = subprocess.run(
            ["docker", *arguments], env=self.env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
        assert not check or done.returncode == 0, f"docker {' '.join(arguments)}\n{done.stdout}\n{done.stderr}"
        return done

    def on_its_network(self, *command: str) -> list[str]:
        """A command as it must be run to reach published ports."""
        if self._process is None:
            return list(command)
        return ["nsenter", f"--net=/proc/{self._process.pid}/ns/net", *command]


def wait(done: Callable[[], bool], what: str, limit_s: float) -> None:
    """Look again and again until it is so; fails the test after `limit_s`."""
    give_up_at_s = time.monotonic() + limit_s
    pause = threading.Event()
    while not done():
        assert time.monotonic() < give_up_at_s, f"waited {limit_s:.0f} s in vain for {what}"
        pause.wait(0.25)


def machines_daemon_answers() -> bool:
    """Whether somebody already runs a daemon here that we may use."""
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0


def require_daemon_parts() -> None:
    """Skip where no daemon can be started by hand."""
    missing = [name for name in ("docker", "dockerd", "unshare", "nsenter", "ip") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"no container daemon runs and none can be started here (missing: {missing or 'root'})")


def ensure_base_image(daemon: Daemon, scratch: Path) -> None:
    """Have `BASE_IMAGE`: as it is, from the registry, or made from Debian's packages."""
    if daemon.run("image", "inspect", BASE_IMAGE, check=False).returncode == 0:
        return
    if daemon.run("pull", BASE_IMAGE, check=False).returncode == 0:
        return
    if shutil.which("mmdebstrap") is None:
        pytest.skip(f"{BASE_IMAGE} cannot be pulled, and mmdebstrap is not there to make a stand-in")
    root = scratch / "rootfs"
    subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={_PACKAGES}", "bookworm", str(root)], check=True
    )
    for name in ("python", "python3"):
        (root / "usr/local/bin" / name).symlink_to("/usr/bin/python3")
    for mark in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
        mark.unlink()
    # A package index behind an authority of the machine's own must be reachable from inside as well.
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", root / "etc/ssl/certs/ca-certificates.crt")
    with subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE) as tar:
        arguments = ["import", "-c", _BASE_SETTINGS, "-c", 'CMD ["python3"]', "-", BASE_IMAGE]
        subprocess.run(["docker", *arguments], env=daemon.env, stdin=tar.stdout, check=True, capture_output=True)
    shutil.rmtree(root)
