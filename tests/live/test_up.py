"""`echoctl up` as a program: first start, a crash, a second start on the same data, and the end by signal."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from echo_cli._exit_codes import ExitCode
from echo_cli._ports import free_port, require_free_port
from live.client import Client, poll

pytestmark = pytest.mark.owui
LIBS = Path(__file__).resolve().parents[2] / "libs"


class Up:
    """One running `echoctl up --json`."""

    def __init__(self, argv: list[str], env: dict[str, str]) -> None:
        command = [sys.executable, "-m", "echo_cli", "up", "--json", *argv]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **env}
        )
        self.facts: dict[str, Any] = {}

    def wait_ready(self) -> "Up":
        """Until the JSON document is printed."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        self.facts = json.loads(line)
        return self

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def end(self, number: signal.Signals) -> tuple[int, str]:
        """Send a signal; the exit code and what was told on standard error."""
        self.process.send_signal(number)
        _, told = self.process.communicate(timeout=120)
        return self.process.returncode, told


@contextmanager
def up(*argv: str, **env: str) -> Iterator[Up]:
    started = Up(list(argv), {"PYTHONPATH": str(LIBS), "ECHO_LANG": "en", **env})
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.end(signal.SIGTERM)
        for stream in (started.process.stdout, started.process.stderr):
            if stream is not None:
                stream.close()


def ended(process: psutil.Process) -> bool:
    """True once the process has ended; one that nobody reaps yet counts as ended."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.deep
def test_a_crash_loses_nothing_and_a_second_start_takes_over(tmp_path: Path) -> None:
    port, sim_port = free_port(), free_port()
    data = tmp_path / "data"
    data.mkdir()
    for folder in (
        tmp_path,
        data,
    ):  # Open WebUI imports `png` if it finds one; it must not look where people keep files
        (folder / "png.py").write_text("raise RuntimeError('a stray file was imported')")
    ports = ["--port", str(port), "--sim-port", str(sim_port), "--data", str(data)]
    account = ["--admin-email", "ada@localhost", "--admin-password", "correct horse"]

    url = f"http://127.0.0.1:{port}"
    with Client(url) as client, up("--demo", *ports, *account, GEMINI_API_KEY="not-used-by-demo") as first:
        facts = first.wait_ready().facts
        assert facts["ok"] and facts["backend"] == "simulator"
        assert facts["url"] == f"http://localhost:{port}"
        assert facts["simulator_url"] == f"http://127.0.0.1:{sim_port}"
        assert facts["admin"] == {"email": "ada@localhost", "password": "correct horse"}
        assert facts["install"]["changed"] is True
        client.sign_in("ada@localhost", "correct horse")
        turn = client.turn("Remember me.")
        assert turn.text and not turn.error

        with up("--demo", "--port", str(free_port()), "--data", str(data)) as rival:
            told = json.loads(rival.process.communicate(timeout=200)[0])
            assert told["error"]["code"] == "already_running" and rival.process.returncode == ExitCode.CONFIG

        children = first.children()
        assert len(children) == 2
        first.end(signal.SIGKILL)
        poll(lambda: all(map(ended, children)) or None, "the children of a killed echoctl to end", 30)

    with Client(url) as again, up("--demo", *ports) as second:
        again.token = client.token
        facts = second.wait_ready().facts
        assert facts["admin"] == {"email": "ada@localhost", "password": "correct horse"}
        assert facts["install"]["changed"] is False
        assert again.messages(turn.chat_id)[turn.assistant_id]["done"] is True
        following = again.turn("And now?", chat_id=turn.chat_id, parent=turn.assistant_id)
        assert following.text and not following.error

        children = second.children()
        code, told_at_end = second.end(signal.SIGTERM)
        assert code == ExitCode.OK and told_at_end.index("Stopping") < told_at_end.index("Stopped")
        assert all(map(ended, children))
        require_free_port("127.0.0.1", port, "--port")
        require_free_port("127.0.0.1", sim_port, "--sim-port")

    logs = {log.name for log in (data / "run" / "logs").iterdir()}
    assert {"open-webui.log", "open-webui.log.1", "simulator.log"} <= logs
    assert (data / "echo").is_dir() and (data / "webui.db").is_file()


def test_ctrl_c_while_starting_ends_everything(tmp_path: Path) -> None:
    with up("--demo", "--port", str(free_port()), "--data", str(tmp_path)) as starting:
        log = tmp_path / "run" / "logs" / "open-webui.log"
        poll(lambda: True if log.exists() and len(starting.children()) == 2 else None, "the children", 200)
        children = starting.children()
        code, _ = starting.end(signal.SIGINT)
        assert code == ExitCode.INTERRUPTED
        assert all(map(ended, children))


@pytest.mark.deep
def test_a_child_that_ends_by_itself_is_told_with_its_log(tmp_path: Path) -> None:
    with up("--demo", "--port", str(free_port()), "--data", str(tmp_path), DATABASE_URL="nonsense") as broken:
        out, _ = broken.process.communicate(timeout=300)
        told = json.loads(out)
        assert broken.process.returncode == told["exit_code"] == ExitCode.BOOT_FAILED
        assert "open-webui" in told["error"]["message"] and "open-webui.log" in told["error"]["remedy"]
        assert told["error"]["detail"]


def test_without_a_key_the_simulator_answers_and_it_is_said(tmp_path: Path) -> None:
    with up("--port", str(free_port()), "--data", str(tmp_path), GEMINI_API_KEY="") as started:
        poll(lambda: True if (tmp_path / "run" / "logs" / "simulator.log").exists() else None, "the simulator", 200)
        assert "simulator answers instead of Google" in started.end(signal.SIGTERM)[1]
