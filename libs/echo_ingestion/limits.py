"""What reading one document may cost."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one reading process.

    Args:
        time_s: wall time, then it is killed.
        memory_bytes: address space; the interpreter and its libraries take about 600 MB of it.
        file_bytes: largest file that is opened.
        unpacked_bytes: what the members of a packed file may have together.
        ratio: how many times its size a packed file may become once it is over 100 MB.
        members: of a packed file.
        text_chars: of a document's text; the rest is left out with a note.
    """

    time_s: float = 180.0
    memory_bytes: int = 3_000_000_000
    file_bytes: int = 500_000_000
    unpacked_bytes: int = 2_000_000_000
    ratio: int = 150
    members: int = 10_000
    text_chars: int = 120_000_000


#: Source: our choice; 100 MB of CSV and a 1,000-page PDF stay far below.
DEFAULT_LIMITS: Final = Limits()
#: A question to a table. Source: our choice.
QUERY_LIMITS: Final = Limits(time_s=30.0, memory_bytes=2_500_000_000)
