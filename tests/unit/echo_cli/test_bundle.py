"""The bundle: what is in it, and how its functions find their libraries in a Python that has none."""

import ast
import base64
import concurrent.futures
import hashlib
import json
import lzma
import os
import re
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from echo_cli import _bundle_boot as boot
from echo_cli._bundle_build import (
    CARRIER_ID,
    Bundle,
    CarrierMissingError,
    build_bundle,
    bundled_source,
)
from echo_cli._bundle_needs import (
    OpenWebuiAbsentError,
    UnknownModuleError,
    imported_modules,
    pinned_requirements,
)
from echo_cli._bundle_wheel import build_wheel
from echo_cli._checks.functions import BUNDLED, judge_function
from echo_cli._checks.packages import Installed
from echo_cli._functions import FunctionFile, discover_functions, read_frontmatter
from echo_constants import ECHO_VERSION, Bilingual
from echo_runtime.bundle_setup import BundledFunction, StoredFunction, is_own_start, left_to_do


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return build_bundle()


@pytest.fixture(scope="module")
def sources(bundle: Bundle) -> dict[str, str]:
    return {form["id"]: form["content"] for form in json.loads(bundle.text)}


# --- what is in it --------------------------------------------------------------------------------------------------


def test_the_bundle_is_an_array_of_what_open_webuis_importer_takes(bundle: Bundle) -> None:
    forms = json.loads(bundle.text)
    assert forms[0]["id"] == CARRIER_ID, "the first one is created first, and unpacks the libraries"
    assert {form["id"] for form in forms} == {file.id for file in discover_functions() if file.kind != "tool"}
    for form in forms:
        assert form["id"].isidentifier() and form["name"] and form["meta"]["description"]
        assert form["meta"]["i18n"]["fr-FR"]["description"]
        assert form["content"].startswith('"""\n')
        assert read_frontmatter(form["content"])["id"] == form["id"]


def test_only_the_lifecycle_function_carries_the_libraries(bundle: Bundle, sources: dict[str, str]) -> None:
    sizes = {name: len(text) for name, text in sources.items()}
    assert sizes[CARRIER_ID] > 100_000
    assert all(size < 30_000 for name, size in sizes.items() if name != CARRIER_ID)
    assert max(len(line) for line in sources[CARRIER_ID].splitlines()) < 2000, "the panel's editor shows it"


def test_doctor_takes_a_bundled_function_for_current(sources: dict[str, str]) -> None:
    for file in discover_functions():
        if file.kind == "tool":
            continue
        row = {"content": sources[file.id], "is_active": True, "is_global": True, "meta": {}}
        assert list(judge_function(file, row)) == []
        found = BUNDLED.search(sources[file.id])
        assert found is not None and found[1] == file.digest


def test_every_function_that_answers_users_names_its_message(sources: dict[str, str]) -> None:
    """The bootstrap puts its own reason there; without that name users would be told to install a wheel."""
    assert "NOT_INSTALLED" in {
        target.id
        for node in ast.parse(sources["echo_orchestrator"]).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def test_the_wheel_is_the_same_each_time_and_holds_what_a_server_needs(bundle: Bundle) -> None:
    again = build_wheel()
    assert again.content == bundle.wheel.content
    with zipfile.ZipFile(BytesIO(again.content)) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert {"echo_runtime", "echo_constants", "echo_state_manager"} <= tops
    assert not {"echo_cli", "echo_workers"} & tops
    assert "echo_runtime/assets/echo.png" in names
    assert not [name for name in names if "__pycache__" in name]
    assert hashlib.sha256(again.content).hexdigest() == again.sha256


def test_without_a_lifecycle_function_there_is_no_bundle() -> None:
    with pytest.raises(CarrierMissingError):
        build_bundle([file for file in discover_functions() if file.id != CARRIER_ID])


def test_the_lifecycle_function_carries_the_toolkits(bundle: Bundle, sources: dict[str, str]) -> None:
    match = re.search(r'^ECHO_BUNDLE_TOOLS = """\n(.*?)\n"""$', sources[CARRIER_ID], re.DOTALL | re.MULTILINE)
    assert match is not None
    forms = json.loads(lzma.decompress(base64.b64decode(match[1])))
    wanted = tuple(file.id for file in discover_functions() if file.kind == "tool")
    assert bundle.tool_ids == tuple(form["id"] for form in forms) == wanted
    assert not set(wanted) & set(bundle.function_ids), "the importer would refuse them"
    for form in forms:
        assert "echo_boot(" in form["content"]
        assert "ECHO_BOOT_WHEEL" not in form["content"]


def test_a_package_for_toolkits_is_no_need_of_the_rest(bundle: Bundle, sources: dict[str, str]) -> None:
    assert any(pin.startswith("dulwich==") for pin in bundle.requirements)
    for source in sources.values():
        assert "dulwich" not in read_frontmatter(source).get("requirements", "")
        assert "dulwich" not in source


def function_file(source: str, **changes: Any) -> FunctionFile:
    title = Bilingual(en="T", fr="T")
    fields = {"id": "echo_x", "kind": "pipe", "title": title, "description": title, "version": "1", "scope": "model"}
    return FunctionFile(**{**fields, "source": source, **changes})


def test_a_future_import_stays_in_front_and_requirements_go_into_the_frontmatter(bundle: Bundle) -> None:
    source = '"""\ntitle: T\nid: echo_lifecycle\n"""\n\nfrom __future__ import annotations\n\nclass Event: ...\n'
    file = function_file(source, id=CARRIER_ID, kind="event")
    text = bundled_source(file, bundle.wheel, {"anyjson": "anyjson==1.2", "left_pad": "left-pad==3"}, [])
    assert read_frontmatter(text)["requirements"] == "anyjson==1.2, left-pad==3"
    body = ast.parse(text).body
    assert isinstance(body[0], ast.Expr)
    assert isinstance(body[1], ast.ImportFrom) and body[1].module == "__future__"


def test_text_that_open_webui_would_rewrite_is_refused(bundle: Bundle) -> None:
    source = '"""\ntitle: T\n"""\n# taken from main by hand\nclass Pipe: ...\n'
    with pytest.raises(ValueError, match="rewrite"):
        bundled_source(function_file(source), bundle.wheel, {}, [])


# --- which packages it asks for -------------------------------------------------------------------------------------


def installed_at(site: Path, **distributions: str) -> Installed:
    for name, requires in distributions.items():
        info = site / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        lines = "".join(f"Requires-Dist: {item}\n" for item in requires.split())
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\n{lines}")
    return Installed([str(site)])


def test_only_what_open_webui_does_not_bring_is_pinned(tmp_path: Path) -> None:
    installed = installed_at(tmp_path, open_webui="alpha", alpha="beta", beta="", gamma="")
    providers = {"alpha": ["alpha"], "beta_module": ["Beta"], "gamma": ["gamma"]}
    needed = pinned_requirements(
        ["alpha", "beta_module", "gamma", "open_webui"], installed=installed, providers=providers
    )
    assert needed == {"gamma": "gamma==1.0"}


def test_a_pin_never_holds_a_comma(bundle: Bundle) -> None:
    assert not [pin for pin in bundle.requirements if "," in pin or "==" not in pin]


def test_what_cannot_be_known_is_an_error(tmp_path: Path) -> None:
    installed = installed_at(tmp_path, open_webui="")
    with pytest.raises(UnknownModuleError):
        pinned_requirements(["nobody_has_this"], installed=installed, providers={})
    with pytest.raises(OpenWebuiAbsentError):
        pinned_requirements([], installed=installed_at(tmp_path / "empty"))


def test_imports_are_found_anywhere_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(
        "import os, alpha.x\nfrom . import y\nfrom echo_core import z\n\ndef f():\n    from beta.q import r\n"
    )
    assert imported_modules([path]) == {"alpha", "beta"}


# --- the bootstrap, in a Python without ECHO ------------------------------------------------------------------------

#: Runs one or more function texts as Open WebUI does, then reports as JSON. `open_webui` is reduced to what they use.
RUNNER = """
import json, sys, types
from pathlib import Path
host = types.ModuleType("open_webui")
host.env = types.ModuleType("open_webui.env")
host.env.DATA_DIR = sys.argv[1]
sys.modules.update({"open_webui": host, "open_webui.env": host.env})
exec(sys.argv[2])
report = []
for path in sys.argv[3:]:
    module = types.ModuleType(Path(path).stem)
    sys.modules[module.__name__] = module
    exec(Path(path).read_text(encoding="utf-8"), module.__dict__)
    report.append({
        "problem": module.ECHO_BOOT_PROBLEM,
        "missing": getattr(module, "MISSING", getattr(module, "PROBLEM", None)),
        "told": getattr(module, "NOT_INSTALLED", None),
        "loaded": getattr(sys.modules.get("echo_constants"), "__file__", None),
    })
print(json.dumps(report))
"""


@pytest.fixture
def files(sources: dict[str, str], tmp_path: Path) -> dict[str, Path]:
    folder = tmp_path / "functions"
    folder.mkdir()
    for name, text in sources.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.py" for name in sources}


def run(data: Path, *functions: Path, before: str = "") -> list[dict[str, Any]]:
    """Execute function texts in a fresh Python that has third-party packages but not ECHO."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "ECHO_DATA_DIR")}
    command = [sys.executable, "-c", RUNNER, str(data), before, *map(str, functions)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd=data)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def place_of(bundle: Bundle, data: Path) -> Path:
    return boot.echo_boot_place(data, ECHO_VERSION, bundle.wheel.sha256)


def test_the_carrier_unpacks_and_the_others_find_it(bundle: Bundle, files: dict[str, Path], tmp_path: Path) -> None:
    carrier, pipe = run(tmp_path, files[CARRIER_ID], files["echo_orchestrator"])
    assert (carrier["problem"], carrier["missing"], pipe["problem"], pipe["missing"]) == ("", "", "", "")
    place = place_of(bundle, tmp_path)
    assert pipe["loaded"] == str(place / "echo_constants" / "__init__.py")
    assert [path.name for path in place.parent.iterdir()] == [place.name], "nothing is left beside it"
    (alone,) = run(tmp_path, files["echo_orchestrator"])
    assert (alone["problem"], alone["missing"]) == ("", "")


def test_a_function_that_comes_first_says_what_to_do_in_both_languages(files: dict[str, Path], tmp_path: Path) -> None:
    (pipe,) = run(tmp_path, files["echo_orchestrator"])
    for text in (pipe["problem"], pipe["missing"], pipe["told"]):
        assert "import the bundle's function echo_lifecycle" in text
        assert "importez la fonction echo_lifecycle" in text


def test_a_function_that_came_first_recovers_when_the_libraries_come(files: dict[str, Path], tmp_path: Path) -> None:
    first, _, again = run(tmp_path, files["echo_orchestrator"], files[CARRIER_ID], files["echo_orchestrator"])
    assert first["problem"] and not again["problem"]
    assert again["missing"] == ""


def test_an_import_at_call_time_recovers_without_a_reload(
    bundle: Bundle, files: dict[str, Path], tmp_path: Path
) -> None:
    """Functions that import lazily need no second execution: the finder looks again at each import."""
    place = place_of(bundle, tmp_path)
    sys_path, meta_path = list(sys.path), list(sys.meta_path)
    code = (
        f"exec(Path({str(files['echo_orchestrator'])!r}).read_text(), dict(__name__='pipe'))\n"
        "try:\n    import echo_constants\n    raise SystemExit('was importable')\n"
        "except ModuleNotFoundError as error:\n    assert 'echo_lifecycle' in str(error)\n"
        f"import zipfile, io, pathlib; pathlib.Path({str(place)!r}).mkdir(parents=True)\n"
        f"zipfile.ZipFile({str(tmp_path / 'w.whl')!r}).extractall({str(place)!r})\n"
        "import echo_constants\n"
    )
    (tmp_path / "w.whl").write_bytes(bundle.wheel.content)
    assert run(tmp_path, before=code) == []
    assert (sys.path, sys.meta_path) == (sys_path, meta_path)


@pytest.mark.parametrize("harm", ["change", "remove", "empty"])
def test_damaged_libraries_are_not_used_and_the_carrier_replaces_them(
    bundle: Bundle, files: dict[str, Path], tmp_path: Path, harm: str
) -> None:
    run(tmp_path, files[CARRIER_ID])
    victim = place_of(bundle, tmp_path) / "echo_constants" / "limits.py"
    if harm == "change":
        victim.write_text(victim.read_text().replace("1", "2"))
    elif harm == "remove":
        victim.unlink()
    else:
        victim.write_bytes(b"")
    (pipe,) = run(tmp_path, files["echo_orchestrator"])
    assert "are damaged" in pipe["problem"] and "abîmées" in pipe["missing"]
    carrier, pipe = run(tmp_path, files[CARRIER_ID], files["echo_orchestrator"])
    assert (carrier["problem"], pipe["problem"], pipe["missing"]) == ("", "", "")


def test_a_wheel_text_that_was_changed_is_not_unpacked(bundle: Bundle, files: dict[str, Path], tmp_path: Path) -> None:
    text = files[CARRIER_ID].read_text()
    files[CARRIER_ID].write_text(text.replace(f"wheel_sha256='{bundle.wheel.sha256}'", f"wheel_sha256='{'0' * 64}'"))
    (carrier,) = run(tmp_path, files[CARRIER_ID])
    assert "not the one that was built" in carrier["problem"]
    assert not list((tmp_path / "echo").rglob("*.py"))


def test_a_folder_that_cannot_be_written_is_told(files: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "echo").write_text("a file where the folder should be")
    (carrier,) = run(tmp_path, files[CARRIER_ID])
    assert "cannot be unpacked" in carrier["problem"] and "impossible de déplier" in carrier["problem"]


def test_another_version_that_already_runs_asks_for_a_restart(files: dict[str, Path], tmp_path: Path) -> None:
    old = "import types; m = types.ModuleType('echo_constants'); m.__file__ = '/x/echo_constants/__init__.py'\n"
    (carrier,) = run(tmp_path, files[CARRIER_ID], before=f"{old}m.ECHO_VERSION = '0.0.9'; sys.modules[m.__name__] = m")
    assert "still runs ECHO 0.0.9" in carrier["problem"] and "redémarrez" in carrier["problem"]
    before = f"{old}m.ECHO_VERSION = '{ECHO_VERSION}'; sys.modules[m.__name__] = m"
    assert run(tmp_path, files[CARRIER_ID], before=before)[0]["problem"] == ""


def test_a_package_that_pip_was_not_allowed_to_bring_is_told(bundle: Bundle, tmp_path: Path) -> None:
    source = '"""\ntitle: T\n"""\nclass Event:\n    async def event(self, event): ...\n'
    file = function_file(source, id=CARRIER_ID, kind="event")
    path = tmp_path / "carrier.py"
    path.write_text(bundled_source(file, bundle.wheel, {"nobody_has_this": "nobody-has-this==1"}, []))
    (carrier,) = run(tmp_path, path)
    assert "needs nobody_has_this" in carrier["problem"]
    assert f"echo_owui-{ECHO_VERSION}-py3-none-any.whl" in carrier["problem"]
    assert f"echo-open-webui:{ECHO_VERSION}" in carrier["problem"]


def test_several_processes_unpack_at_once(bundle: Bundle, files: dict[str, Path], tmp_path: Path) -> None:
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(lambda _: run(tmp_path, files[CARRIER_ID])[0], range(4)))
    assert [report["problem"] for report in reports] == [""] * 4
    place = place_of(bundle, tmp_path)
    assert [path.name for path in place.parent.iterdir()] == [place.name]
    assert boot.echo_boot_is_whole(place, bundle.wheel.record_sha256)


def test_a_kill_while_unpacking_leaves_nothing_that_looks_whole(
    bundle: Bundle, files: dict[str, Path], tmp_path: Path
) -> None:
    kill = (
        "import zipfile, os, signal\n"
        "def extractall(self, target):\n"
        "    self.extract(self.namelist()[0], target)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "zipfile.ZipFile.extractall = extractall\n"
    )
    with pytest.raises(AssertionError):
        run(tmp_path, files[CARRIER_ID], before=kill)
    assert not place_of(bundle, tmp_path).exists()
    assert run(tmp_path, files[CARRIER_ID])[0]["problem"] == ""


# --- what is left to do ---------------------------------------------------------------------------------------------

LIFECYCLE = BundledFunction(id="echo_lifecycle", kind="event", scope="model")
PIPE = BundledFunction(id="echo_orchestrator", kind="pipe", scope="model")
FILTER = BundledFunction.of({"id": "echo_filter", "kind": "filter", "scope": "global"})


def stored(**states: str) -> dict[str, StoredFunction]:
    return {name: StoredFunction(is_active="a" in text, is_global="g" in text) for name, text in states.items()}


@pytest.mark.parametrize(
    ("present", "steps"),
    [
        (stored(echo_lifecycle="a", echo_orchestrator="a", echo_filter="ag"), []),
        (stored(echo_lifecycle="a", echo_orchestrator="", echo_filter="ag"), ["switch on echo_orchestrator"]),
        (
            stored(echo_lifecycle="a", echo_orchestrator="a", echo_filter=""),
            ["switch on echo_filter", "make global (… menu): echo_filter"],
        ),
        (stored(echo_lifecycle="a"), ["import echo_orchestrator, echo_filter (the whole bundle)"]),
    ],
)
def test_what_is_left_to_do_is_told_in_order(present: dict[str, StoredFunction], steps: list[str]) -> None:
    text = left_to_do([LIFECYCLE, PIPE, FILTER], present)
    assert text.en == (f"Left to do: {'; '.join(steps)}." if steps else "ECHO is set up. API keys: /echo/hud/keys")
    assert text.fr.startswith("Reste à faire" if steps else "ECHO est en place")


@pytest.mark.parametrize(
    ("name", "subject", "starts"),
    [
        ("system.startup.started", None, True),
        ("function.enable_started", {"id": "echo_lifecycle"}, True),
        ("function.enable_started", {"id": "other"}, False),
        ("function.enabled", {"id": "echo_lifecycle"}, False),
        ("function.enable_started", None, False),
    ],
)
def test_the_set_up_runs_at_its_own_start_only(name: str, subject: Any, starts: bool) -> None:
    assert is_own_start(name, {"subject": subject}, "echo_lifecycle") is starts
