"""The wheel that a bundle carries: ECHO's libraries without the command line and the workers.

Packed from the packages as they lie on the disk, so it works from a checkout and from an installed package, and gives
the same bytes for the same files.
"""

import base64
import hashlib
import io
import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from echo_cli._checks.packages import DISTRIBUTION
from echo_constants import ECHO_VERSION

LIBS: Final = Path(__file__).resolve().parents[1]

#: What a server without a command line does not run.
LEFT_OUT: Final = frozenset({"echo_cli", "echo_workers"})

#: The earliest moment that a zip file can hold: the same content gives the same bytes. Source: APPNOTE.TXT 4.4.6.
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_DIST_INFO: Final = f"{DISTRIBUTION.replace('-', '_')}-{ECHO_VERSION}.dist-info"
#: Source: https://packaging.python.org/en/latest/specifications/binary-distribution-format/
_WHEEL: Final = "Wheel-Version: 1.0\nGenerator: echoctl bundle\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A wheel in memory.

    Args:
        sha256: of `content`, hex.
        record_sha256: of the RECORD file inside, hex.
    """

    content: bytes
    sha256: str
    record_sha256: str
    packages: tuple[str, ...]


def bundled_packages(libs: Path = LIBS) -> tuple[str, ...]:
    """Import names of the packages that go into the wheel."""
    return tuple(
        sorted(
            path.name
            for path in libs.iterdir()
            if re.fullmatch(r"echo_[a-z_]+", path.name)
            and path.name not in LEFT_OUT
            and (path / "__init__.py").is_file()
        )
    )


def build_wheel(libs: Path = LIBS) -> Wheel:
    """Pack the packages below a folder.

    Args:
        libs: folder with the packages; default where this one lies.
    """
    packages = bundled_packages(libs)
    files = [(path.relative_to(libs).as_posix(), path.read_bytes()) for path in _files(libs, packages)]
    metadata = f"Metadata-Version: 2.1\nName: {DISTRIBUTION}\nVersion: {ECHO_VERSION}\n"
    files += [(f"{_DIST_INFO}/METADATA", metadata.encode()), (f"{_DIST_INFO}/WHEEL", _WHEEL.encode())]
    record = "".join(f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in files)
    files.append((f"{_DIST_INFO}/RECORD", f"{record}{_DIST_INFO}/RECORD,,\n".encode()))
    packed = io.BytesIO()
    # Stored, not deflated: the whole is compressed afterwards, which saves a fifth more.
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files:
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    content = packed.getvalue()
    return Wheel(
        content=content,
        sha256=hashlib.sha256(content).hexdigest(),
        record_sha256=hashlib.sha256(files[-1][1]).hexdigest(),
        packages=packages,
    )


def _files(libs: Path, packages: Iterable[str]) -> list[Path]:
    found = (path for package in packages for path in sorted((libs / package).rglob("*")))
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts]


def _digest(content: bytes) -> str:
    """As RECORD has it: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
