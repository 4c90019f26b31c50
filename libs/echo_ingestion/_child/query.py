"""Answers one SELECT over a document's tables, in a database that can reach nothing else."""

import datetime as dt
import decimal
import threading
from collections.abc import Mapping
from typing import Any, Final

from echo_ingestion._child.fail import Refused

#: Source: our choice; a page of rows that a model still reads.
MAX_ROWS: Final = 200
_MAX_CELL_CHARS: Final = 2_000
_SAFE: Final[dict[str, str | int | float | list[str]]] = {
    "access_mode": "READ_ONLY",
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "memory_limit": "1GB",
    "threads": 2,
    "lock_configuration": "true",
}


def answer_query(job: Mapping[str, Any]) -> dict[str, Any]:
    """Columns, types and the first rows; `more` when there were more.

    Raises:
        Refused: it is not one SELECT, or it failed.
    """
    import duckdb

    db = duckdb.connect(str(job["path"]), read_only=True, config=_SAFE)
    # The process is killed at the end of its time; asked to stop a little sooner, it can say why.
    timer = threading.Timer(float(job["limits"]["time_s"]) * 0.8, db.interrupt)
    timer.daemon = True
    timer.start()
    try:
        statements = duckdb.extract_statements(str(job["sql"]))
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise Refused("document_query", why="Only one SELECT is allowed.")
        cursor = db.execute(statements[0])
        found = cursor.fetchmany(MAX_ROWS + 1)
    except duckdb.InterruptException as error:
        raise Refused("document_query", why="The query took too long.") from error
    except duckdb.Error as error:
        raise Refused("document_query", why=str(error)[:800]) from error
    finally:
        timer.cancel()
    return {
        "columns": [column[0] for column in cursor.description],
        "rows": [[_plain(value) for value in row] for row in found[:MAX_ROWS]],
        "more": len(found) > MAX_ROWS,
    }


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    return str(value)[:_MAX_CELL_CHARS]
