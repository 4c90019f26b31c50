"""The container daemon, and the image built on it once."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from docker_daemon import BASE_IMAGE, Daemon, ensure_base_image, machines_daemon_answers, require_daemon_parts
from docker_tools import ROOT

IMAGE = "echo-open-webui:test"

#: Variable that names a folder in which a hand-made daemon keeps its images, so that the next run builds quickly.
KEPT_FOLDER = "ECHO_DOCKER_FOLDER"


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon that can build: on the machine's network."""
    own = machines_daemon_answers()
    if not own:
        require_daemon_parts()
    kept = os.environ.get(KEPT_FOLDER)
    made = Daemon(None if own else Path(kept) if kept else tmp_path_factory.mktemp("docker") / "d")
    try:
        made.start(isolated=False)
        ensure_base_image(made, tmp_path_factory.mktemp("base"))
        yield made
    finally:
        made.remove(keep_images=bool(kept))


@pytest.fixture(scope="session")
def image(daemon: Daemon) -> str:
    """The image, really built from this checkout; the daemon is on its own network afterwards."""
    started_s = time.monotonic()
    daemon.run(
        "build", "--network=host", "--build-arg", f"BASE_IMAGE={BASE_IMAGE}",
        "-f", str(ROOT / "docker/openwebui/Dockerfile"), "-t", IMAGE, str(ROOT),
    )  # fmt: skip
    size_mb = int(daemon.run("image", "inspect", "-f", "{{.Size}}", IMAGE).stdout) / 1e6
    print(f"\nimage: built in {time.monotonic() - started_s:.0f} s, {size_mb:.0f} MB")
    daemon.stop()
    daemon.start(isolated=True)
    return IMAGE
