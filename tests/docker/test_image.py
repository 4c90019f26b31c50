"""The image really built, started by Compose, used, and restarted. Run by `make test-docker`."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docker_daemon import Daemon, wait
from docker_tools import ROOT, fetched
from echo_constants import ECHO_VERSION

pytestmark = [pytest.mark.docker, pytest.mark.timeout(2400)]

HEALTHY_LIMIT_S = 300.0
CONTAINER = "open-webui"


class Project:
    """The compose project of this checkout."""

    def __init__(self, daemon: Daemon, env_file: Path) -> None:
        self.daemon = daemon
        self._command = [fetched("docker-compose"), "--project-directory", str(ROOT), "--env-file", str(env_file)]

    def compose(self, *arguments: str) -> None:
        done = subprocess.run(
            [*self._command, *arguments], env=self.daemon.env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    def up(self) -> float:
        """Start, and seconds until the engine calls it healthy."""
        started_s = time.monotonic()
        self.compose("up", "-d", "--no-build", CONTAINER)
        wait(lambda: self.state()["Health"]["Status"] == "healthy", "a healthy container", HEALTHY_LIMIT_S)
        return time.monotonic() - started_s

    def inspect(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.daemon.run("inspect", CONTAINER).stdout)[0]
        return found

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.inspect()["State"]
        assert state["Running"], self.daemon.run("logs", "--tail", "50", CONTAINER, check=False).stdout
        return state

    def inside(self, *command: str) -> subprocess.CompletedProcess[str]:
        return self.daemon.run("exec", CONTAINER, *command, check=False)

    def sign_in(self) -> str:
        """A token of the administrator."""
        account = {"email": "admin@localhost", "password": "a-password-of-this-test"}
        return str(self.http("/api/v1/auths/signin", account)["token"])

    def http(self, path: str, body: dict[str, Any] | None = None, token: str = "", method: str = "POST") -> Any:
        """One request to the published port, as from the machine that runs the daemon."""
        command = ["curl", "-sS", "-m", "60", f"http://127.0.0.1:3000{path}", "-H", f"Authorization: Bearer {token}"]
        if body is not None:
            command += ["-X", method, "-H", "Content-Type: application/json", "-d", json.dumps(body)]
        done = subprocess.run(self.daemon.on_its_network(*command), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def project(daemon: Daemon, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    env_file = tmp_path_factory.mktemp("env") / "test.env"
    env_file.write_text(
        f"WEBUI_SECRET_KEY=a-secret-of-this-test-run-only\nECHO_IMAGE={image}\n"
        "WEBUI_ADMIN_EMAIL=admin@localhost\nWEBUI_ADMIN_PASSWORD=a-password-of-this-test\n"
        "QDRANT_URL=\nEMBEDDING_URL=\n"
    )
    made = Project(daemon, env_file)
    try:
        yield made
    finally:
        made.compose("down", "--volumes", "--timeout", "30")


def test_the_stack_comes_up_healthy_with_echo_installed(project: Project) -> None:
    healthy_s = project.up()
    print(f"\ncontainer: healthy after {healthy_s:.0f} s")
    assert project.http("/echo/api/health") == {"status": "ok", "version": ECHO_VERSION}
    offered = {model["id"] for model in project.http("/api/models", token=project.sign_in())["data"]}
    assert "echo_orchestrator" in offered


def test_it_has_the_agreed_address_and_no_rights_that_it_does_not_need(project: Project) -> None:
    facts = project.inspect()
    assert facts["NetworkSettings"]["Networks"]["echo-network"]["IPAddress"] == "172.30.0.100"
    assert facts["HostConfig"]["CapDrop"] == ["ALL"]
    assert project.inside("id", "-u").stdout.strip() == "10001"
    assert project.inside("sh", "-c", "touch /opt/echo/x").returncode != 0
    assert project.inside("python", "-c", "import torch").returncode != 0


def test_doctor_finds_nothing_wrong_inside(project: Project) -> None:
    done = project.inside(
        "echoctl", "doctor", "--json", "--url", "http://127.0.0.1:8080",
        "--email", "admin@localhost", "--password", "a-password-of-this-test",
    )  # fmt: skip
    report = json.loads(done.stdout)
    problems = [finding for check in report["checks"] for finding in check["findings"]]
    assert [finding["code"] for finding in problems] == ["key_missing"], problems
    assert not [check["name"] for check in report["checks"] if check["verdict"] == "skipped"]


def test_data_survives_a_new_container_and_a_backup_can_be_taken_while_it_runs(project: Project) -> None:
    assert project.inside("echoctl", "backup", "--out", "/data/backup.tar.zst").returncode == 0
    token = project.sign_in()
    stored = project.http("/echo/api/admin/key", {"key": "a-key-of-this-test-run"}, token=token, method="PUT")
    assert stored["keys"][0]["tail"].endswith("-run")
    project.compose("up", "-d", "--no-build", "--force-recreate", CONTAINER)
    wait(lambda: project.state()["Health"]["Status"] == "healthy", "a healthy container", HEALTHY_LIMIT_S)
    assert project.http("/echo/api/admin/key", token=token) == stored
    assert project.inside("test", "-s", "/data/backup.tar.zst").returncode == 0
    assert project.http("/echo/api/health")["status"] == "ok"


def test_it_stops_in_order_when_asked(project: Project) -> None:
    project.compose("stop", "--timeout", "30")
    state = project.inspect()["State"]
    assert (state["ExitCode"], state["OOMKilled"]) == (0, False)


def test_without_a_secret_key_the_image_says_what_is_missing(daemon: Daemon, image: str) -> None:
    done = daemon.run("run", "--rm", "--network", "none", image, check=False)
    assert done.returncode == 3
    assert "WEBUI_SECRET_KEY" in done.stderr
