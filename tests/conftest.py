"""Fixtures for all tests: the recordings, and hypothesis profiles."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

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
