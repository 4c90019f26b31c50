"""Every check of doctor that needs no server, against a thing that is really broken."""

import asyncio
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from echo_cli._checks.base import Check, Finding, Surroundings
from echo_cli._checks.environment import EnvironmentCheck
from echo_cli._checks.folder import FolderCheck
from echo_cli._checks.functions import FunctionsCheck, judge_function
from echo_cli._checks.keys import KeysCheck
from echo_cli._checks.model import ModelCheck, judge_record, judge_settings
from echo_cli._checks.packages import DISTRIBUTION, Installed, PackagesCheck, echo_requirements, normalised
from echo_cli._checks.registry import CHECKS
from echo_cli._checks.server import ServerCheck, judge_version
from echo_cli._checks.stores import StoresCheck
from echo_cli._checks.vectors import VectorsCheck
from echo_cli._data_dir import below
from echo_cli._exit_codes import ExitCode
from echo_cli._functions import FunctionFile
from echo_cli._model_record import new_record
from echo_cli.doctor import Outcome, examine
from echo_cli.doctor import report_facts as facts_of
from echo_constants import ECHO_VERSION, LOCALES, Bilingual, ConfigError
from echo_http.clock import SystemClock
from echo_state_manager.crypto import MasterSecret
from echo_state_manager.identity import IdentityStore
from echo_state_manager.schema import IDENTITY_SCHEMA_VERSION, SESSION_SCHEMA_VERSION

SECRET = "a-long-and-random-secret-for-tests"


def codes(findings: Iterator[Finding]) -> list[str]:
    return [finding.diagnosis.code for finding in findings]


def rendered(finding: Finding) -> list[str]:
    """All texts of a finding; raises when a field is missing."""
    texts = (finding.diagnosis.what, finding.diagnosis.remedy)
    return [text.render(locale, **finding.fields) for text in texts for locale in LOCALES]


# --- packages -------------------------------------------------------------------------------------------------------


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the metadata of the packages that are really installed here, to be broken."""
    folder = tmp_path / "site"
    folder.mkdir()
    installed = Installed()
    needed = echo_requirements(installed)
    assert needed is not None
    names = {requirement.name for requirement in needed[0]}
    asked = [(requirement.name, frozenset(requirement.extras)) for requirement in needed[0]]
    names |= {wanted.name for name, extras in asked for wanted in installed.requires(name, extras) or []}
    for name in {normalised(name) for name in names | {"h2", "hpack"}}:
        if installed.version(name) is None:
            continue
        text = metadata.distribution(name).read_text("METADATA")
        assert text is not None
        info = folder / f"{name.replace('-', '_')}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(text)
    return folder


def edit_version(site: Path, name: str, version: str) -> None:
    path = site / f"{name}.dist-info/METADATA"
    lines = path.read_text().split("\n")
    lines = [f"Version: {version}" if line.startswith("Version: ") else line for line in lines]
    path.write_text("\n".join(lines))


def packages(site: Path, **options: Any) -> list[Finding]:
    return list(PackagesCheck(Installed([str(site)]), **options).run(Surroundings(environ={})))


def test_the_packages_of_this_machine_are_in_order(site: Path) -> None:
    assert packages(site) == []
    assert codes(PackagesCheck().run(Surroundings(environ={}))) == []


@pytest.mark.parametrize(
    ("name", "version", "code"),
    [
        ("h2", "3.0.0", "package_version"),
        ("httpx", "0.27.2", "package_version"),
        ("httpx", "0.29.0", "package_version"),
        ("httpx", "1.0.0", "package_version"),
        ("pydantic", "3.0.0", "package_version"),
        ("h2", "4.9.0", "package_differs"),
        ("pydantic_core", "2.0.0", "package_conflict"),
        ("httpcore", "0.18.0", "package_conflict"),
    ],
)
def test_a_package_that_another_plugin_changed_is_named(site: Path, name: str, version: str, code: str) -> None:
    edit_version(site, name, version)
    found = [finding for finding in packages(site) if finding.diagnosis.code == code]
    assert found, packages(site)
    assert all(version in rendered(finding)[0] for finding in found)
    assert name.replace("_", "-") in rendered(found[0])[0]
    assert "pip install" in rendered(found[0])[2]


def test_a_package_that_is_gone_is_named_with_the_command_that_brings_it_back(site: Path) -> None:
    shutil.rmtree(site / "h2.dist-info")
    (finding,) = (finding for finding in packages(site) if finding.diagnosis.code == "package_missing")
    assert "pip install 'h2==" in rendered(finding)[2]


def test_another_python_is_named(site: Path) -> None:
    assert "python_version" in codes(iter(packages(site, python="3.10.4")))
    assert "python_version" in codes(iter(packages(site, python="3.13.0")))
    assert "python_version" not in codes(iter(packages(site, python="3.12.8")))


def test_two_echoes_are_noticed(site: Path) -> None:
    info = site / "echo_owui.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echo-owui\nVersion: 9.9\nRequires-Python: >=3.11\n")
    (finding,) = packages(site)
    assert finding.diagnosis.code == "echo_mixed"
    assert ECHO_VERSION in rendered(finding)[0]


def test_without_package_or_checkout_doctor_says_that_it_cannot_tell(site: Path, tmp_path: Path) -> None:
    assert codes(iter(packages(site, pyproject=tmp_path / "none"))) == ["packages_unknown"]


def test_the_closure_follows_extras_and_markers(site: Path) -> None:
    info = site / "host.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: Host.App\nVersion: 1\nProvides-Extra: x\n"
        'Requires-Dist: httpx[http2]\nRequires-Dist: pydantic; extra == "x"\n'
        'Requires-Dist: rich; python_version < "3"\nRequires-Dist: not a requirement !!\n'
    )
    installed = Installed([str(site)])
    assert {"host-app", "httpx", "h2", "hpack", "anyio"} <= installed.closure("host_app")
    assert not {"pydantic", "rich"} & installed.closure("host-app")
    assert installed.closure("nobody") == frozenset()


# --- environment ----------------------------------------------------------------------------------------------------

SOUND = {"WEBUI_SECRET_KEY": SECRET}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"WEBUI_SECRET_KEY": ""}, "secret_key_missing"),
        ({"WEBUI_SECRET_KEY": "t0p-s3cr3t"}, "secret_key_weak"),
        ({"ECHO_SECRET_KEY": "short"}, "secret_key_weak"),
        ({"ENABLE_PLUGINS": "False"}, "plugins_disabled"),
        ({"ENABLE_FUNCTIONS": "false"}, "plugins_disabled"),
        ({"SAFE_MODE": "true"}, "safe_mode"),
        ({"ENABLE_API_OUTLET_FILTERS": "False"}, "api_outlet_filters_off"),
        ({"UVICORN_WORKERS": "4"}, "workers_without_redis"),
    ],
)
def test_a_variable_that_breaks_echo_is_found(change: dict[str, str], code: str) -> None:
    (finding,) = EnvironmentCheck().run(Surroundings(environ={**SOUND, **change}))
    assert finding.diagnosis.code == code
    assert SECRET not in "".join(rendered(finding))


def test_a_sound_environment_is_not_complained_about() -> None:
    sound = {**SOUND, "ENABLE_API_OUTLET_FILTERS": "true", "UVICORN_WORKERS": "4", "WEBSOCKET_MANAGER": "redis"}
    assert codes(EnvironmentCheck().run(Surroundings(environ=sound))) == []


# --- data folder ----------------------------------------------------------------------------------------------------


def folder_codes(root: Path, **options: Any) -> list[str]:
    return codes(FolderCheck(**options).run(Surroundings(environ={}, data_root=root)))


def test_a_private_local_folder_is_in_order(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert folder_codes(tmp_path, low_bytes=1, full_bytes=0) == []


def test_a_folder_that_does_not_exist_is_told(tmp_path: Path) -> None:
    assert folder_codes(tmp_path / "none/yet", low_bytes=1, full_bytes=0) == ["data_absent"]


def test_a_folder_that_takes_no_files_is_told() -> None:
    # Nobody, not even root, can make a file there.
    assert "data_not_writable" in folder_codes(Path("/proc/self/task"), low_bytes=0, full_bytes=0)


def test_a_folder_that_others_can_read_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert folder_codes(tmp_path, low_bytes=1, full_bytes=0) == ["data_open_to_others"]


@pytest.mark.parametrize(("low", "full", "code"), [(10**18, 0, "disk_low"), (10**18, 10**17, "disk_full")])
def test_a_disk_with_less_than_the_limit_is_told(tmp_path: Path, low: int, full: int, code: str) -> None:
    assert folder_codes(tmp_path, low_bytes=low, full_bytes=full) == [code]


def test_a_network_file_system_is_told(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"server:/export {tmp_path} nfs4 rw 0 0\n")
    tmp_path.chmod(0o700)
    assert folder_codes(tmp_path, low_bytes=1, full_bytes=0, mounts=mounts) == ["network_file_system"]


def test_the_folder_of_open_webui_has_echos_inside(tmp_path: Path) -> None:
    assert below(tmp_path) == tmp_path
    (tmp_path / "webui.db").touch()
    assert below(tmp_path) == tmp_path / "echo"


# --- stores ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with a real identity.db and a session.db of our schema."""
    root = tmp_path / "echo"
    root.mkdir()

    async def fill() -> None:
        store = IdentityStore(root / "identity.db", MasterSecret("WEBUI_SECRET_KEY", SECRET), SystemClock())
        await store.put_secret("", "gemini_api_key", "some key")
        await store.close()

    asyncio.run(fill())
    session = root / "users/u1/chats/c1/session.db"
    session.parent.mkdir(parents=True)
    with closing(sqlite3.connect(session)) as database, database:
        database.execute("CREATE TABLE t (x BLOB)")
        database.executemany("INSERT INTO t VALUES (randomblob(2000))", [()] * 20)
        database.execute(f"PRAGMA user_version = {SESSION_SCHEMA_VERSION}")
    return root


def store_codes(root: Path, **environ: str) -> list[str]:
    return codes(StoresCheck().run(Surroundings(environ={**SOUND, **environ}, data_root=root)))


def set_version(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"PRAGMA user_version = {version}")


def test_sound_databases_are_in_order_and_stay_untouched(data: Path) -> None:
    before = {path: path.read_bytes() for path in data.rglob("*.db")}
    assert store_codes(data) == []
    assert {path: path.read_bytes() for path in data.rglob("*.db")} == before


@pytest.mark.parametrize("name", ["identity.db", "users/u1/chats/c1/session.db"])
def test_a_database_with_overwritten_pages_is_found(data: Path, name: str) -> None:
    path = data / name
    content = bytearray(path.read_bytes())
    content[4096 : 4096 + 300] = os.urandom(300)
    path.write_bytes(content)
    for sidecar in data.rglob("*.db-*"):
        sidecar.unlink()
    assert store_codes(data) == ["store_damaged"]


def test_a_file_that_is_no_database_is_found(data: Path) -> None:
    (data / "users/u1/chats/c1/session.db").write_bytes(b"not a database at all" * 50)
    assert store_codes(data) == ["store_damaged"]


@pytest.mark.parametrize(
    ("name", "known"),
    [("identity.db", IDENTITY_SCHEMA_VERSION), ("users/u1/chats/c1/session.db", SESSION_SCHEMA_VERSION)],
)
def test_a_database_of_a_newer_version_is_found(data: Path, name: str, known: int) -> None:
    set_version(data / name, known + 1)
    assert store_codes(data) == ["store_newer"]


def test_another_secret_than_the_keys_were_stored_with_is_found(data: Path) -> None:
    assert store_codes(data, WEBUI_SECRET_KEY="another long and random secret") == ["identity_secret_mismatch"]
    assert store_codes(data, WEBUI_SECRET_KEY="") == []


def test_a_database_that_somebody_holds_is_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("echo_cli._checks.stores._BUSY_S", 0.01)
    with closing(sqlite3.connect(data / "users/u1/chats/c1/session.db", isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        assert store_codes(data) == ["store_locked"]


# --- rows of Open WebUI ---------------------------------------------------------------------------------------------

SOURCE = '"""\ntitle: ECHO\nid: echo_x\nversion: 2.0\n"""\n\nclass Pipe:\n    pass\n'


def function_file(**changes: Any) -> FunctionFile:
    fields = {"id": "echo_x", "kind": "pipe", "title": "ECHO", "description": "", "version": "2.0", "scope": "model"}
    return FunctionFile(**{**fields, "source": SOURCE, **changes})


def row(**changes: Any) -> dict[str, Any]:
    mark = {"version": "2.0", "state": "installed"}
    sound = {"id": "echo_x", "content": SOURCE, "is_active": True, "is_global": False, "meta": {"echo": mark}}
    return {**sound, **changes}


@pytest.mark.parametrize(
    ("file", "present", "code"),
    [
        (function_file(), None, "function_missing"),
        (function_file(), row(meta={}, content="class Pipe: ..."), "function_foreign"),
        (function_file(), row(meta={"echo": {"state": "installing"}}), "function_unfinished"),
        (function_file(), row(content=SOURCE.replace("2.0", "1.0")), "function_outdated"),
        (function_file(), row(is_active=False), "pipe_off"),
        (function_file(kind="filter"), row(is_active=False), "function_off"),
        (function_file(kind="filter", scope="global"), row(), "function_not_global"),
        (function_file(), row(content=f"{SOURCE}\n# echo-bundle source-sha256: {'0' * 64}\n"), "function_outdated"),
    ],
)
def test_a_function_that_is_not_as_it_should_be_is_found(
    file: FunctionFile, present: dict[str, Any] | None, code: str
) -> None:
    (finding,) = judge_function(file, present)
    assert finding.diagnosis.code == code
    assert "echo_x" in rendered(finding)[0]


def test_functions_that_are_as_they_should_be_are_not_complained_about() -> None:
    bundled = f"{SOURCE}\n# echo-bundle source-sha256: {function_file().digest}\n"
    assert codes(judge_function(function_file(), row())) == []
    assert codes(judge_function(function_file(), row(content=bundled, meta={}))) == []
    assert codes(judge_function(function_file(kind="filter", scope="global"), row(is_global=True))) == []
    assert codes(judge_function(function_file(kind="tool"), {**row(), "is_active": None})) == []


def record(**changes: Any) -> dict[str, Any]:
    return {**new_record(action_ids=(), filter_ids=(), tool_ids=()), **changes}


def with_capability(**capabilities: Any) -> dict[str, Any]:
    meta = record()["meta"]
    return record(meta={**meta, "capabilities": {**meta["capabilities"], **capabilities}})


@pytest.mark.parametrize(
    ("present", "code"),
    [
        (None, "model_record_missing"),
        (record(is_active=False), "model_off"),
        (record(access_grants=[]), "model_not_shared"),
        (record(access_grants=[{"principal_id": "u1", "permission": "read"}]), "model_not_shared"),
        (with_capability(builtin_tools=True), "model_capability"),
        (with_capability(file_context=True), "model_capability"),
        (with_capability(usage=False), "model_capability"),
        (record(params={"function_calling": "legacy", "reasoning_tags": False}), "model_parameter"),
        (record(params={"function_calling": "native"}), "model_parameter"),
    ],
)
def test_a_model_record_that_interferes_is_found(present: dict[str, Any] | None, code: str) -> None:
    (finding,) = judge_record(present)
    assert finding.diagnosis.code == code
    rendered(finding)


def test_the_record_that_install_makes_is_in_order() -> None:
    assert codes(judge_record(record())) == []


@pytest.mark.parametrize(
    ("own", "found"),
    [
        ({"id": "tutor", "meta": {"capabilities": {"builtin_tools": False, "file_context": False}}, "params": {}}, []),
        ({"id": "tutor", "meta": {"capabilities": {}}, "params": {}}, ["model_capability", "model_capability"]),
        (
            {
                "id": "tutor",
                "meta": {"capabilities": {"builtin_tools": False, "file_context": False}},
                "params": {"function_calling": "legacy"},
            },
            ["model_parameter"],
        ),
    ],
)
def test_a_model_that_builds_on_echo_is_looked_at_too(own: dict[str, Any], found: list[str]) -> None:
    findings = list(judge_settings(own))
    assert codes(iter(findings)) == found
    assert all("tutor" in rendered(finding)[0] for finding in findings)


@pytest.mark.parametrize(
    ("version", "found"),
    [
        ("0.9.6", ["open_webui_too_old"]),
        ("0.10.0", ["open_webui_untested"]),
        ("0.11.4", ["open_webui_untested"]),
        ("0.12.4", []),
        ("0.13.0", ["open_webui_untested"]),
    ],
)
def test_open_webuis_version_is_judged(version: str, found: list[str]) -> None:
    assert codes(judge_version(version)) == found


# --- the command ----------------------------------------------------------------------------------------------------


class BrokenCheck:
    name = "broken"
    title = Bilingual(en="Broken", fr="Cassé")
    need = "nothing"
    diagnoses = ()

    def __init__(self, error: Exception) -> None:
        self._error = error

    def run(self, here: Surroundings) -> Iterator[Finding]:
        raise self._error


@pytest.mark.parametrize(("error", "code"), [(KeyError("x"), "check_broke"), (ConfigError("x"), "config")])
def test_a_check_that_breaks_does_not_stop_the_others(error: Exception, code: str) -> None:
    broken: Check = BrokenCheck(error)  # type: ignore[assignment]
    outcomes = examine([broken, EnvironmentCheck()], Surroundings(environ=SOUND, environ_is_known=True))
    assert [outcome.verdict for outcome in outcomes] == ["problem", "ok"]
    assert codes(iter(outcomes[0].findings)) == [code]


def test_a_check_without_what_it_needs_is_skipped_and_says_why() -> None:
    outcomes = examine(CHECKS, Surroundings(environ={}))
    skipped = {outcome.check.name for outcome in outcomes if outcome.verdict == "skipped"}
    assert skipped == {"environment", "data_folder", "stores", "open_webui", "functions", "model", "keys", "vectors"}
    facts = facts_of([Outcome(check=CHECKS[2], skipped="data")])
    assert "--data" in facts["checks"][0]["skipped"]
    assert facts["healthy"] is True


def test_what_an_uninstalled_echo_lacks_is_to_be_installed_first() -> None:
    gone = {"function_missing", "model_record_missing", "model_not_offered", "lifecycle_not_running"}
    found = {diagnosis.code: diagnosis.remedy for check in CHECKS for diagnosis in check.diagnoses}
    for code in gone:
        assert found[code].en.startswith("Run `echoctl install`")
        assert found[code].fr.startswith("Lancez `echoctl install`")


def test_all_diagnoses_have_a_code_of_their_own_and_both_languages() -> None:
    found = [diagnosis for check in CHECKS for diagnosis in check.diagnoses]
    assert len({diagnosis.code for diagnosis in found}) == len(found)
    for diagnosis in found:
        for text in (diagnosis.what, diagnosis.remedy):
            assert text.en.strip() and text.fr.strip()


Run = Callable[..., Any]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `echoctl doctor` with arguments and an environment of its own."""
    for name in ("DATA_DIR", "ECHO_DATA_DIR", "WEBUI_SECRET_KEY", "ECHO_SECRET_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str, **environ: str) -> Any:
        from echo_cli import build_app

        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        return CliRunner().invoke(build_app(), ["doctor", *arguments])

    return call


def test_a_problem_gives_exit_code_ten_and_json_names_it(run: Run, data: Path) -> None:
    set_version(data / "identity.db", 99)
    result = run("--url", "http://127.0.0.1:9", "--data", str(data), "--json")
    assert result.exit_code == ExitCode.CHECK_FAILED
    assert '"healthy": false' in result.stdout
    for code in ("store_newer", "owui_unreachable"):
        assert f'"code": "{code}"' in result.stdout


def test_nobody_is_told_about_a_server_that_was_not_asked_for(run: Run, data: Path, free_default_port: None) -> None:
    result = run("--data", str(data), "--json")
    assert "owui_unreachable" not in result.stdout


@pytest.fixture
def free_default_port() -> None:
    from echo_cli._ports import PortBusyError, require_free_port

    try:
        require_free_port("127.0.0.1", 3000, "--port")
    except PortBusyError:
        pytest.skip("something listens on Open WebUI's usual port here")


def test_another_program_on_open_webuis_port_is_named(run: Run, tmp_path: Path) -> None:
    import http.server
    import threading

    with http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            result = run("--url", f"http://127.0.0.1:{server.server_port}", "--json")
        finally:
            server.shutdown()
            thread.join()
    assert '"code": "port_taken"' in result.stdout
    assert str(os.getpid()) in result.stdout


def test_a_broken_package_is_told_before_anything_else_fails(tmp_path: Path) -> None:
    """Where pydantic itself cannot be imported, doctor still says which package to put right."""
    import subprocess

    (tmp_path / "pydantic.py").write_text("raise SystemError('pydantic-core 1 is incompatible')\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    info = tmp_path / "pydantic_core-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pydantic-core\nVersion: 1.0\n")
    result = subprocess.run(
        [sys.executable, "-m", "echo_cli", "doctor"], env=env, capture_output=True, text=True, check=False
    )
    assert result.returncode == ExitCode.CONFIG
    assert "pydantic-core" in result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    assert DISTRIBUTION  # the package that the remedy is about


COVERED = (
    PackagesCheck,
    EnvironmentCheck,
    FolderCheck,
    StoresCheck,
    FunctionsCheck,
    ModelCheck,
    ServerCheck,
    KeysCheck,
    VectorsCheck,  # in test_doctor_vectors.py
)


def test_no_check_is_left_untested() -> None:
    assert {type(check) for check in CHECKS} == set(COVERED)
