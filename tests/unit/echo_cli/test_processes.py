"""Children, ports and the run folder, with real processes and files."""

import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from echo_cli._ports import PortBusyError, free_port, require_free_port
from echo_cli._process import Child, end_all, end_stranger, identity_of
from echo_cli._run_folder import AlreadyRunningError, RunFolder, RunFolderError, private_account
from echo_cli._server_process import is_ours_alone, server_process
from live.client import poll

SLEEP = "import time; print('started', flush=True); time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"
LIBS = Path(__file__).resolve().parents[3] / "libs"


def start(tmp_path: Path, code: str, name: str = "child") -> Child:
    argv = [sys.executable, "-c", code]
    child = Child(name, argv, env=dict(os.environ), log=tmp_path / f"{name}.log", cwd=tmp_path)
    poll(lambda: child.tail() or child.exit_status, "the child's first line", 20)
    return child


def test_a_child_writes_its_log_and_ends_by_sigterm(tmp_path: Path) -> None:
    child = start(tmp_path, SLEEP)
    assert child.tail() == "started" and child.exit_status is None
    end_all([child])
    assert child.exit_status == -signal.SIGTERM


def test_a_child_that_ignores_sigterm_is_killed_after_the_limit(tmp_path: Path) -> None:
    child = start(tmp_path, STUBBORN)
    child.end(limit_s=0.2)
    assert child.exit_status == -signal.SIGKILL


def test_the_log_of_the_run_before_is_kept(tmp_path: Path) -> None:
    start(tmp_path, "print('first')").end()
    start(tmp_path, "print('second')").end()
    assert (tmp_path / "child.log").read_text() == "second\n"
    assert (tmp_path / "child.log.1").read_text() == "first\n"


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is Linux's")
def test_a_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, sys, time; from pathlib import Path; from echo_cli._process import Child\n"
        f"c = Child('c', [sys.executable, '-c', {SLEEP!r}], env=dict(os.environ), log=Path('c.log'), cwd=Path('.'))\n"
        "print(c.pid, flush=True); time.sleep(600)"
    )
    env = {**os.environ, "PYTHONPATH": str(LIBS)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=tmp_path, env=env) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        poll(lambda: (tmp_path / "c.log").read_text() or None, "the grandchild's first line", 20)
        parent.kill()
    # An orphan may stay a zombie where nobody reaps: then it has ended all the same.
    poll(
        lambda: True if not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie" else None, "its end", 20
    )


def test_a_stranger_is_ended_only_if_it_is_the_same_process(tmp_path: Path) -> None:
    child = start(tmp_path, SLEEP)
    started = identity_of(child.pid)
    assert started is not None
    assert not end_stranger(child.pid, started - 1)
    assert child.exit_status is None
    assert end_stranger(child.pid, started)
    assert identity_of(child.pid) is None
    child.end()


def test_a_busy_port_is_told_with_a_free_one() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(PortBusyError) as told:
            require_free_port("127.0.0.1", port, "--port")
    message = told.value.user_message("en")
    assert str(port) in message and "--port" in message
    require_free_port("127.0.0.1", port, "--port")
    require_free_port("127.0.0.1", free_port(), "--port")


def test_two_cannot_work_on_one_data_folder(tmp_path: Path) -> None:
    first, second = RunFolder(tmp_path), RunFolder(tmp_path)
    first.lock()
    with pytest.raises(AlreadyRunningError):
        second.lock()
    first.unlock()
    second.lock()
    second.unlock()


def test_secrets_are_for_the_owner_only_and_stay_the_same(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    key, account = folder.secret_key(), folder.account(None, None)
    assert len(key) >= 32 and account.email == "admin@localhost" and len(account.password) >= 16
    for name in ("secret_key", "admin.json"):
        assert stat.S_IMODE((tmp_path / "run" / name).stat().st_mode) == 0o600
    again = RunFolder(tmp_path)
    assert (again.secret_key(), again.account(None, None)) == (key, account)


def test_a_new_data_folder_is_closed_to_others_and_one_in_use_keeps_its_rights(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir(0o755)
    for new in (tmp_path / "deep" / "absent", tmp_path / "empty"):
        RunFolder(new)
        assert stat.S_IMODE(new.stat().st_mode) == 0o700
        new.chmod(0o750)
        RunFolder(new)
        assert stat.S_IMODE(new.stat().st_mode) == 0o750


def test_an_account_is_only_read_from_a_file_that_is_closed_to_others(tmp_path: Path) -> None:
    assert private_account(tmp_path) is None
    account = RunFolder(tmp_path).account(None, None)
    assert private_account(tmp_path) == account
    path = tmp_path / "run" / "admin.json"
    path.chmod(0o640)
    assert private_account(tmp_path) is None
    path.chmod(0o600)
    path.rename(tmp_path / "elsewhere.json")
    path.symlink_to(tmp_path / "elsewhere.json")
    assert private_account(tmp_path) is None
    path.unlink()
    path.touch(0o600)
    assert private_account(tmp_path) is None


def test_what_listens_here_is_seen_as_ours() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        found = server_process(url)
        assert found is not None and found.pid == os.getpid()
        assert is_ours_alone(url)
        assert not is_ours_alone(url.replace("127.0.0.1", "192.0.2.1"))
    assert not is_ours_alone(url)


def test_an_account_that_was_not_accepted_yet_replaces_nothing(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    known = folder.account("ada@localhost", "first")
    other = folder.account(None, "second")
    assert (other.email, other.password) == ("ada@localhost", "second")
    assert folder.account(None, None) == known
    folder.keep_account(other)
    assert folder.account(None, None) == other


def test_a_secret_key_of_the_environment_is_taken_over_at_the_first_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEBUI_SECRET_KEY", "given by the shell")
    assert RunFolder(tmp_path).secret_key() == "given by the shell"
    monkeypatch.setenv("WEBUI_SECRET_KEY", "another")
    assert RunFolder(tmp_path).secret_key() == "given by the shell"


def test_what_a_killed_run_left_behind_is_ended(tmp_path: Path) -> None:
    child = start(tmp_path, SLEEP)
    RunFolder(tmp_path).note_running([child])
    assert RunFolder(tmp_path).end_leftovers() == 1
    assert identity_of(child.pid) is None
    child.end()
    assert RunFolder(tmp_path).end_leftovers() == 0


def test_a_data_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError) as told:
        RunFolder(tmp_path / "file" / "data")
    assert str(tmp_path) in told.value.user_message("en")


def test_a_damaged_account_file_is_told_and_not_overwritten(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    (tmp_path / "run" / "admin.json").write_text("{")
    with pytest.raises(RunFolderError):
        folder.account(None, None)
    assert (tmp_path / "run" / "admin.json").read_text() == "{"
