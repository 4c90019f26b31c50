"""A process that upgrades a session.db and stops for ever before one statement of the last step; tests kill it there.

python migration_victim.py FILE STATEMENT
"""

import sqlite3
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "libs")]

from echo_state_manager._migrations import SESSION_MIGRATIONS, Migration, migrate  # noqa: E402


def interrupted(steps: Sequence[Migration], statement: int) -> tuple[Migration, ...]:
    """The steps, with a stop before one statement of the last one."""
    last = steps[-1].statements
    return (*steps[:-1], replace(steps[-1], statements=(*last[:statement], "SELECT stop()", *last[statement:])))


def stop() -> None:
    print("here", flush=True)
    sys.stdin.read()


def main() -> None:
    connection = sqlite3.connect(sys.argv[1], isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    # What was changed so far is on the disk, not in memory only, when the process is killed.
    connection.execute("PRAGMA cache_size = 1")
    connection.create_function("stop", 0, stop)
    migrate(connection, interrupted(SESSION_MIGRATIONS, int(sys.argv[2])), 7)


if __name__ == "__main__":
    main()
