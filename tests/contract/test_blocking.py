"""The blocking guard sees our packages and nothing else."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures_blocking import LIBS, BlockingError


def function_in(filename: Path, source: str) -> Callable[[], object]:
    """The function `run` of a source text, compiled as if it came from the given file."""
    namespace: dict[str, Callable[[], object]] = {}
    exec(compile(source, str(filename), "exec"), {"time": time, "Path": Path}, namespace)
    return namespace["run"]


SLEEPS = "def run():\n    return time.sleep(0)\n"
READS = f"def run():\n    return Path({__file__!r}).read_text()\n"


@pytest.mark.parametrize("source", [SLEEPS, READS], ids=["sleep", "read"])
@pytest.mark.parametrize("package", ["echo_core", "echo_workers/gemini_sim"])
async def test_a_blocking_call_in_a_lib_or_worker_raises(no_blocking: object, source: str, package: str) -> None:
    with pytest.raises(BlockingError):
        function_in(LIBS / package / "planted.py", source)()


async def test_a_blocking_call_of_the_test_itself_is_free(no_blocking: object) -> None:
    assert function_in(Path(__file__), READS)()


async def test_a_lib_may_block_in_a_thread(no_blocking: object) -> None:
    assert await asyncio.to_thread(function_in(LIBS / "echo_core" / "planted.py", READS))
