"""Nothing secret, personal or dishonest is in the repository."""

import sys
from pathlib import Path

import pytest

from guards import hygiene
from guards.project import ROOT, project_files, python_files

#: This file and its rules hold the shapes that they look for, as patterns that do not match themselves.
KEY = "AI" + "za" + "x" * 35


def test_no_file_holds_a_secret_a_personal_path_or_a_package_index() -> None:
    assert ROOT / "pyproject.toml" in project_files()
    assert [fault for path in project_files() for fault in hygiene.text_faults(path)] == []


def test_no_handler_swallows_everything() -> None:
    assert [fault for path in python_files() for fault in hygiene.handler_faults(path)] == []


def test_every_test_can_fail_runs_and_does_not_sleep() -> None:
    tests = [path for path in python_files("tests") if path.name.startswith("test_")]
    assert Path(__file__) in tests
    assert [fault for path in tests for fault in hygiene.dishonesty(path)] == []


PLANTED_TEXT = {
    "api-key": f"key = '{KEY}'",
    "access-token": "token: ya" + "29." + "a" * 30,
    "client-secret": "GOC" + "SPX-" + "b" * 28,
    "private-key": "-----BEGIN RSA PRIV" + "ATE KEY-----",
    "personal-path": "see /ho" + "me/ada/notes.txt",
    "index": "--index" + "-url https://mirror.example/simple",
    "this-machine": f"{sys.prefix}/lib",
}


@pytest.mark.parametrize("rule", sorted(PLANTED_TEXT))
def test_planted_text_is_found(rule: str, tmp_path: Path) -> None:
    path = tmp_path / "planted.md"
    path.write_text(f"first\n{PLANTED_TEXT[rule]}\n", encoding="utf-8")
    assert rule in {fault.rule for fault in hygiene.text_faults(path)}
    assert all(fault.where.endswith(":2") and KEY not in fault.what for fault in hygiene.text_faults(path))


@pytest.mark.parametrize(
    "text", ["https://example.org/home/ada", "$HOME/echo", "${DATA}/work/x", "/homepage", "AIza-short", "~/work/echo"]
)
def test_harmless_text_is_not_found(text: str, tmp_path: Path) -> None:
    path = tmp_path / "planted.md"
    path.write_text(text, encoding="utf-8")
    assert hygiene.text_faults(path) == []


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ("try:\n    f()\nexcept Exception:\n    pass", 1),
        ("try:\n    f()\nexcept:\n    ...", 1),
        ("try:\n    f()\nexcept (ValueError, BaseException):\n    pass", 1),
        ("for x in y:\n    try:\n        f()\n    except Exception:\n        continue", 1),
        ("import contextlib\nwith contextlib.suppress(Exception):\n    f()", 1),
        ("try:\n    f()\nexcept KeyError:\n    pass", 0),
        ("try:\n    f()\nexcept Exception:\n    log.exception('f failed')", 0),
    ],
)
def test_a_swallowed_exception_is_found(source: str, faults: int, tmp_path: Path) -> None:
    path = tmp_path / "planted.py"
    path.write_text(source, encoding="utf-8")
    assert len(hygiene.handler_faults(path)) == faults


@pytest.mark.parametrize(
    ("source", "rules"),
    [
        ("def test_a():\n    f()", ["asserts-nothing"]),
        ("def test_a():\n    assert True", ["asserts-nothing"]),
        ("class TestA:\n    async def test_a(self):\n        await f()", ["asserts-nothing"]),
        ("def test_a():\n    with pytest.raises(ValueError):\n        f()", []),
        ("def test_a():\n    assert_equal(f(), 1)", []),
        ("@pytest.fixture\ndef test_client():\n    return f()", []),
        ("@pytest.mark.skip\ndef test_a():\n    assert f()", ["skipped-for-ever"]),
        ("@pytest.mark.xfail(reason='x')\ndef test_a():\n    assert f()", ["skipped-for-ever"]),
        ("@pytest.mark.skipif(True, reason='x')\ndef test_a():\n    assert f()", ["skipped-for-ever"]),
        ("@pytest.mark.skipif(f(), reason='x')\ndef test_a():\n    assert f()", []),
        ("def test_a():\n    pytest.skip('x')\n    assert f()", ["skipped-for-ever"]),
        ("def test_a():\n    if g():\n        pytest.skip('x')\n    assert f()", []),
        ("def test_a():\n    time.sleep(1)\n    assert f()", ["sleeps"]),
        ("def test_a():\n    sleep(1)\n    assert f()", ["sleeps"]),
        ("def test_a(page):\n    page.wait_for_timeout(1)\n    assert f()", ["sleeps"]),
        ("async def test_a():\n    await asyncio.sleep(0)\n    assert f()", []),
    ],
)
def test_a_dishonest_test_is_found(source: str, rules: list[str], tmp_path: Path) -> None:
    path = tmp_path / "test_planted.py"
    path.write_text(source, encoding="utf-8")
    assert [fault.rule for fault in hygiene.dishonesty(path)] == rules
