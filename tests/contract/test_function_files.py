"""Function files keep the rules of docs/design.md sections 2 and 3, as Open WebUI's own loader sees them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from echo_constants import ECHO_VERSION
from guards.function_files import PRIORITIES, violations
from guards.project import ENTRY_CLASSES, PIPE, ROOT, function_files

FILES = function_files()
PROBE = ROOT / "tests" / "guards" / "load_probe.py"


def probe(path: Path, folder: str, *options: str) -> dict[str, Any]:
    """What a fresh interpreter reports after loading the file."""
    done = subprocess.run(
        [sys.executable, str(PROBE), str(path), folder, *options],
        env={"PYTHONPATH": str(ROOT / "libs"), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, f"{path.name} does not load:\n{done.stderr}"
    return dict(json.loads(done.stdout.splitlines()[-1]))


def tells(call: dict[str, Any], report: dict[str, Any]) -> bool:
    """True if the person who called learns that ECHO's libraries are missing, or a log line says it."""
    crashed = call["raised"] in {"NameError", "AttributeError", "TypeError", "ImportError", "ModuleNotFoundError"}
    said = " ".join([call["text"], *report["emitted"], *report["logged"]])
    return not crashed and "ECHO" in said and "echo_" in said


def test_the_rules_have_files_to_check_as_soon_as_the_pipe_exists() -> None:
    assert PIPE.exists() == (PIPE in FILES)
    assert all(path.parent.name in ENTRY_CLASSES for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_function_file_breaks_no_rule(path: Path) -> None:
    assert violations(path) == []


def test_priorities_are_distinct_and_one_filter_closes_the_line() -> None:
    stems = {path.stem for path in FILES if path.parent.name == "filters"}
    assert len(set(PRIORITIES.values())) == len(PRIORITIES)
    assert len(stems - set(PRIORITIES)) <= 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_function_file_loads_light_and_as_what_it_is(path: Path) -> None:
    report = probe(path, path.parent.name)
    assert report == {
        **report,
        "kind": path.parent.name.removesuffix("s"),
        "blocked": "",
        "failed": [],
        "heavy": [],
        "tasks": 0,
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_function_file_without_the_libs_loads_and_tells_it_when_called(path: Path) -> None:
    report = probe(path, path.parent.name, "--without-libs")
    assert report["calls"]
    for name, call in report["calls"].items():
        if path.parent.name == "filters":
            # Filters are global: a broken ECHO must not take the server's other models down.
            assert call["unchanged"], f"{name}: {call}"
        else:
            assert tells(call, report), f"{name}: {call}"


GOOD = {
    "pipes": f'''"""
title: Planted
id: planted
description: Planted by a test.
author: ECHO
version: {ECHO_VERSION}
license: MIT
required_open_webui_version: 0.10.0
"""

from collections.abc import AsyncIterator
from typing import Any

from pydantic import BaseModel, Field

try:
    from echo_core.records import Shadow
except ImportError as error:
    Shadow, MISSING = None, str(error)


class Pipe:
    class Valves(BaseModel):
        limit: int = Field(default=3, description="A number.")

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def pipe(self, body: dict[str, Any]) -> AsyncIterator[str]:
        if Shadow is None:
            yield f"ECHO is not installed: {{MISSING}}"
''',
    "filters": f'''"""
title: Planted
id: planted
description: Planted by a test.
author: ECHO
version: {ECHO_VERSION}
license: MIT
required_open_webui_version: 0.10.0
"""

from typing import Any

from pydantic import BaseModel, Field

try:
    from echo_core.records import Shadow
except ImportError:
    Shadow = None


class Filter:
    class Valves(BaseModel):
        priority: int = Field(default=90, description="Lower runs first.")

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def inlet(self, body: dict[str, Any]) -> dict[str, Any]:
        return body
''',
}

#: rule -> (folder, text to replace, replacement). Each replacement breaks that rule and no other.
FAULTS = {
    "first-line": ("pipes", '"""\ntitle', '"""title'),
    "frontmatter": ("pipes", "license: MIT\n", ""),
    "frontmatter id": ("pipes", "id: planted", "id: other"),
    "frontmatter version": ("pipes", f"version: {ECHO_VERSION}", "version: 99.0.0"),
    "frontmatter requirements": ("pipes", "license: MIT\n", "license: MIT\nrequirements: httpx\n"),
    "rewritten import": ("pipes", "from typing import Any", "from configparser import Error\nfrom typing import Any"),
    "rewritten text": ("pipes", "class Pipe:", "# taken from main on purpose\nclass Pipe:"),
    "length": ("pipes", "class Pipe:", "\n" * 130 + "class Pipe:"),
    "imports": ("pipes", "from typing import Any", "from typing import Any\n\nimport yaml"),
    "imports other function": ("pipes", "from typing import Any", "from typing import Any\n\nimport filters.planted"),
    "imports relative": ("pipes", "from typing import Any", "from typing import Any\n\nfrom . import other"),
    "guarded-imports": ("pipes", "try:\n    from echo_core", "from echo_core import ports\n\ntry:\n    from echo_core"),
    "guarded-imports host": ("filters", "try:\n", "from open_webui.models.chats import Chats\n\ntry:\n"),
    "guarded-imports other error": ("filters", "except ImportError:", "except ValueError:"),
    "search-path": ("pipes", "class Pipe:", "import sys\n\nsys.path.append('x')\n\n\nclass Pipe:"),
    "search-path import": ("pipes", "class Pipe:", "from sys import path\n\n\nclass Pipe:"),
    "self-state": ("pipes", "        if Shadow", "        self.body = body\n        if Shadow"),
    "self-state tuple": ("pipes", "        if Shadow", "        _, (self.body, _) = 1, (body, 2)\n        if Shadow"),
    "self-state item": ("pipes", "        if Shadow", "        self.seen['x'] = body\n        if Shadow"),
    "self-state append": ("pipes", "        if Shadow", "        self.seen.append(body)\n        if Shadow"),
    "self-state setattr": ("pipes", "        if Shadow", "        setattr(self, 'body', body)\n        if Shadow"),
    "async-only": ("filters", "async def inlet", "def inlet"),
    "async-only generator": ("filters", "    async def inlet", "    def _p(s):\n        yield\n\n    async def inlet"),
    "priority": ("filters", "default=90", "default=40"),
    "priority missing": ("filters", "priority: int", "rank: int"),
    "entry-class": ("pipes", "class Pipe:", "class Pump:"),
    "entry-class two": ("filters", "from typing import Any", "from typing import Any\nfrom cmd import Cmd as Pipe"),
}  # fmt: skip


@pytest.mark.parametrize("folder", sorted(GOOD))
def test_a_good_file_breaks_no_rule(folder: str, tmp_path: Path) -> None:
    path = tmp_path / "planted.py"
    path.write_text(GOOD[folder], encoding="utf-8")
    assert violations(path, folder) == []


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_planted_fault_trips_its_rule_and_no_other(fault: str, tmp_path: Path) -> None:
    folder, old, new = FAULTS[fault]
    path = tmp_path / "planted.py"
    assert old in GOOD[folder]
    path.write_text(GOOD[folder].replace(old, new, 1), encoding="utf-8")
    assert {violation.rule for violation in violations(path, folder)} == {fault.split()[0]}


def test_a_filter_of_the_design_must_have_its_own_priority(tmp_path: Path) -> None:
    path = tmp_path / "new_context_filter.py"
    text = GOOD["filters"].replace("id: planted", "id: new_context_filter")
    path.write_text(text.replace("default=90", "default=21"), encoding="utf-8")
    assert [violation.rule for violation in violations(path, "filters")] == ["priority"]
    path.write_text(text.replace("default=90", "20"), encoding="utf-8")
    assert violations(path, "filters") == []


#: What the fresh interpreter must notice -> code put at the top level of the good pipe.
LOADING_FAULTS = {
    "heavy": "import httpx",
    "blocked": "import time\ntime.sleep(0)",
    "failed": "try:\n    import echo_nowhere\nexcept ImportError:\n    echo_nowhere = None",
    "tasks": "import asyncio\nTASK = asyncio.get_running_loop().create_task(asyncio.sleep(0))",
}


@pytest.mark.parametrize("fault", sorted(LOADING_FAULTS))
def test_the_probe_notices_what_loading_costs(fault: str, tmp_path: Path) -> None:
    path = tmp_path / "planted.py"
    path.write_text(GOOD["pipes"].replace("class Pipe:", f"{LOADING_FAULTS[fault]}\n\n\nclass Pipe:"), encoding="utf-8")
    assert probe(path, "pipes")[fault]


def test_the_probe_sees_whether_missing_libs_are_told(tmp_path: Path) -> None:
    path = tmp_path / "planted.py"
    path.write_text(GOOD["pipes"], encoding="utf-8")
    report = probe(path, "pipes", "--without-libs")
    assert tells(report["calls"]["pipe"], report)
    path.write_text(GOOD["pipes"].replace("ECHO is not installed: {MISSING}", ""), encoding="utf-8")
    report = probe(path, "pipes", "--without-libs")
    assert not tells(report["calls"]["pipe"], report)


def test_the_probe_sees_whether_a_filter_without_libs_lets_others_pass(tmp_path: Path) -> None:
    path = tmp_path / "planted.py"
    path.write_text(GOOD["filters"], encoding="utf-8")
    assert probe(path, "filters", "--without-libs")["calls"]["inlet"]["unchanged"]
    path.write_text(GOOD["filters"].replace("return body", "return {**body, 'x': Shadow.role}"), encoding="utf-8")
    assert not probe(path, "filters", "--without-libs")["calls"]["inlet"]["unchanged"]
