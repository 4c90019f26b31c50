"""Runs one reading job in a process of its own, which is killed when it takes too long or nobody waits any more."""

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any, Final

import anyio
from anyio import to_thread

import echo_ingestion
import echo_protocol
from echo_ingestion.errors import BY_CODE, DocumentError, HeavyDocument, SlowDocument
from echo_ingestion.limits import Limits

log = logging.getLogger(__name__)

#: Told while a job runs: `{"percent": 40}` or `{"rows": 60000}`.
Progress = Callable[[Mapping[str, int]], None]

#: The packages' own front doors would load what only the server needs, ten times the work of a short document.
_PROGRAM: Final = (
    "import json, sys, types\n"
    "given = json.loads(sys.argv[1])\n"
    "sys.path[:] = given['paths']\n"
    "for name, folder in given['packages'].items():\n"
    "    sys.modules[name] = types.ModuleType(name)\n"
    "    sys.modules[name].__path__ = [folder]\n"
    "from echo_ingestion._child.main import main\n"
    "main()\n"
)


async def run_job(job: Mapping[str, Any], limits: Limits, progress: Progress | None = None) -> dict[str, Any]:
    """What the reading process answers.

    Args:
        job: as `_child.main` takes it, without its limits.
        limits: its bounds.
        progress: called on the event loop.

    Raises:
        DocumentError: it refused, was too slow or took too much.
    """
    work = json.dumps({**job, "limits": asdict(limits)}).encode()
    loop = asyncio.get_running_loop()
    tell = None if progress is None else partial(_pass_on, loop, progress)
    process = await to_thread.run_sync(_started)
    try:
        with anyio.fail_after(limits.time_s):
            answer = await to_thread.run_sync(_talk, process, work, tell, abandon_on_cancel=True)
    except TimeoutError as error:
        raise SlowDocument(limit_s=int(limits.time_s)) from error
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(_end, process)
    if "done" in answer:
        done: dict[str, Any] = answer["done"]
        return done
    if answer.get("log"):
        log.warning("a document could not be read: %s", answer["log"])
    if "refused" not in answer:
        raise HeavyDocument(f"the reading process ended by {answer.get('ended')}")
    known = BY_CODE.get(str(answer["refused"]), DocumentError)
    raise known(str(answer["refused"]), **answer.get("fields", {}))


def _pass_on(loop: asyncio.AbstractEventLoop, progress: Progress, said: Mapping[str, int]) -> None:
    loop.call_soon_threadsafe(progress, said)


def _started() -> "subprocess.Popen[bytes]":
    # An empty environment: nothing of the server's secrets is within reach of a document.
    env = {"PATH": os.defpath, "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2", "TZ": "UTC"}
    packages = {module.__name__: os.path.dirname(str(module.__file__)) for module in (echo_ingestion, echo_protocol)}
    given = json.dumps({"paths": [path for path in sys.path if path], "packages": packages})
    return subprocess.Popen(
        [sys.executable, "-I", "-B", "-c", _PROGRAM, given],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=env,
        start_new_session=True,
    )


def _talk(
    process: "subprocess.Popen[bytes]", work: bytes, tell: Callable[[Mapping[str, int]], object] | None
) -> dict[str, Any]:
    """Hand the job over and read until the process ends; in a thread."""
    assert process.stdin and process.stdout  # noqa: S101 - they are pipes
    answer: dict[str, Any] = {}
    with process:  # ends when the process does, killed or not
        try:
            process.stdin.write(work)
            process.stdin.close()
        except BrokenPipeError:
            log.warning("a reading process did not take its job")
        for line in process.stdout:
            said = _read(line)
            if "done" in said or "refused" in said:
                answer = said
            elif said and tell is not None:
                tell(said)
    return answer or {"ended": process.returncode}


def _read(line: bytes) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill it with everything that it started; a process that has ended is not touched."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        process.wait()
