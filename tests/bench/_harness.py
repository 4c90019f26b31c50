"""What the measurements share: a simulator in a process of its own, medians over alternating rounds, a table, JSON.

Nothing here is absolute: each figure of ours stands beside the bare work on the same bytes in the same run.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]
Round = Callable[[], Awaitable[float]]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure beside the bare one; `budget` is the largest allowed ratio or difference, as `rule` says."""

    what: str
    unit: str
    ours: float
    bare: float | None = None
    rule: str = ""
    within: bool | None = None


@dataclass(slots=True)
class Report:
    """Collects rows, prints them, writes them."""

    title: str
    rows: list[Row] = field(default_factory=list)

    def ratio(self, what: str, unit: str, ours: float, bare: float, *, at_most: float | None = None) -> None:
        rule = "" if at_most is None else f"<= {at_most:g}x bare"
        within = None if at_most is None else ours <= bare * at_most
        self.rows.append(Row(what, unit, ours, bare, rule, within))

    def over(self, what: str, unit: str, ours: float, bare: float, *, at_most: float) -> None:
        self.rows.append(Row(what, unit, ours, bare, f"<= bare + {at_most:g}", ours <= bare + at_most))

    def figure(self, what: str, unit: str, ours: float, *, at_most: float | None = None) -> None:
        rule = "" if at_most is None else f"<= {at_most:g}"
        self.rows.append(Row(what, unit, ours, None, rule, None if at_most is None else ours <= at_most))

    def finish(self, json_file: Path | None) -> int:
        """Print the table, write the JSON; 1 when a rule is broken."""
        print(f"{self.title}\n{'':46} {'ours':>10} {'bare':>10} {'ratio':>6}  unit    rule")
        for row in self.rows:
            bare = "-" if row.bare is None else f"{row.bare:.3f}"
            ratio = f"{row.ours / row.bare:.2f}" if row.bare else "-"
            verdict = {None: "", True: " ok", False: " BROKEN"}[row.within]
            print(f"{row.what:46} {row.ours:10.3f} {bare:>10} {ratio:>6}  {row.unit:7} {row.rule}{verdict}")
        if json_file is not None:
            json_file.write_text(
                json.dumps({"title": self.title, "rows": [asdict(row) for row in self.rows]}, indent=1)
            )
        return int(any(row.within is False for row in self.rows))


def json_option(description: str) -> Path | None:
    """The file of `--json`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    file: Path | None = parser.parse_args().json
    return file


async def alternate(first: Round, second: Round, rounds: int) -> tuple[float, float]:
    """Medians of two measurements that take turns, so that both meet the same state of the machine."""
    figures: tuple[list[float], list[float]] = ([], [])
    await first(), await second()
    for _ in range(rounds):
        figures[0].append(await first())
        figures[1].append(await second())
    return statistics.median(figures[0]), statistics.median(figures[1])


@contextmanager
def simulator() -> Iterator[httpx.Client]:
    """A simulator in its own process; the client speaks to it, `base_url` included."""
    command = [sys.executable, "-m", "echo_workers.gemini_sim", "--port", "0"]
    process = subprocess.Popen(command, cwd=ROOT / "libs", stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with httpx.Client(base_url=url, timeout=60) as client:
            yield client
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def open_webui_tables() -> Iterator[httpx.Client]:
    """Open WebUI's database in a folder of its own, ECHO's records beside it, and a simulator; see `simulator`."""
    with tempfile.TemporaryDirectory() as folder, simulator() as control:
        os.environ |= {
            "DATA_DIR": folder,
            "ECHO_DATA_DIR": f"{folder}/echo",
            "WEBUI_SECRET_KEY": "bench",
            "GEMINI_API_KEY": "bench",
            "GEMINI_BASE_URL": str(control.base_url).rstrip("/"),
            "RAG_EMBEDDING_ENGINE": "openai",
            "OFFLINE_MODE": "true",
            "FROM_INIT_PY": "true",
            "STATIC_DIR": f"{folder}/static",
        }
        import open_webui.config  # noqa: F401 (runs the migrations)

        yield control


def cpu_us() -> float:
    """Processor time of this process, microseconds."""
    return time.process_time() * 1e6
