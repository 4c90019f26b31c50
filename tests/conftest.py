"""Fixtures for all tests: the recordings, and hypothesis profiles."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from echo_utils.text import well_formed

ROOT = Path(__file__).resolve().parent.parent
RECORDINGS = ROOT.parent / "shared" / "recordings"

pytest_plugins = ["fixtures_blocking"]

settings.register_profile("default", max_examples=50, deadline=None, derandomize=True)
settings.register_profile("deep", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of recorded Gemini traffic; absent on most machines, required where CI=true."""
    if not RECORDINGS.is_dir():
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI needs the recordings in {RECORDINGS}")
        pytest.skip("recorded traffic is not on this machine")
    return RECORDINGS


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a report travel from a worker of the parallel run: what a test logged may hold a lone surrogate."""
    report = yield
    report.sections = [(title, well_formed(text)) for title, text in report.sections]
    return report
