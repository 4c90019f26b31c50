"""What a backup archive looks like, and the errors around it. Pure: no disk.

A backup is a tar stream, compressed with Zstandard or gzip: the entries of the data folder under `data/`, then
`manifest.json` as the very last member. An archive without its manifest is cut off, and is refused as such.
"""

from pathlib import PurePosixPath
from typing import ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from echo_constants import Bilingual, ConfigError, StateError

#: Raised when the layout of the archive changes; a reader refuses anything higher than its own.
FORMAT: Final = 1
DATA_PREFIX: Final = "data/"
MANIFEST_NAME: Final = "manifest.json"

#: First bytes of a file.
#: Source: RFC 8878 section 3.1.1; RFC 1952 section 2.3.1; https://www.sqlite.org/fileformat.html section 1.3.
ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
GZIP_MAGIC: Final = b"\x1f\x8b"
SQLITE_MAGIC: Final = b"SQLite format 3\x00"

#: Files that SQLite keeps beside a database; the copy of the database already holds what they say.
SQLITE_SIDECARS: Final = ("-wal", "-shm", "-journal")

Kind = Literal["file", "sqlite", "directory", "symlink"]


class Entry(BaseModel):
    """One entry of the data folder.

    Args:
        path: relative POSIX path below the data folder.
        mode: permission bits.
        sha256: hex digest of the content; "" for directories and links.
        target: what a symbolic link points to, relative and inside the data folder; else "".
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    path: str
    kind: Kind
    mode: int = Field(ge=0, le=0o777)
    size_bytes: int = Field(default=0, ge=0)
    sha256: str = ""
    target: str = ""


class Manifest(BaseModel):
    """What an archive says about itself."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    format: int
    echo_version: str
    created_at: str
    entries: list[Entry]


class ArchiveDamagedError(StateError):
    """The archive is not what was written: cut off, changed, or not a backup at all."""

    code: ClassVar[str] = "backup_damaged"
    message: ClassVar[Bilingual] = Bilingual(
        en="The backup {archive} is damaged or is not a backup of ECHO. Nothing was restored.",
        fr="La sauvegarde {archive} est abîmée ou n'est pas une sauvegarde d'ECHO. Rien n'a été restauré.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Copy it again from where it was made, or take an older one.",
        fr="Recopiez-la depuis son lieu d'origine, ou prenez-en une plus ancienne.",
    )


class UnsafeArchiveError(StateError):
    """A member would be written outside of the target, or is no plain file, folder or inner link."""

    code: ClassVar[str] = "backup_unsafe"
    message: ClassVar[Bilingual] = Bilingual(
        en="The archive {archive} holds the entry {member}, which could write outside the data folder. Nothing was "
        "restored.",
        fr="L'archive {archive} contient l'entrée {member}, qui pourrait écrire hors du dossier de données. Rien n'a "
        "été restauré.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="`echoctl backup` never makes such an archive; do not use it.",
        fr="`echoctl backup` ne produit jamais une telle archive ; ne l'utilisez pas.",
    )


class NewerBackupError(StateError):
    """A newer ECHO made the archive."""

    code: ClassVar[str] = "backup_newer"
    message: ClassVar[Bilingual] = Bilingual(
        en="The backup was made by ECHO {theirs}, which is newer than this one ({ours}).",
        fr="La sauvegarde vient d'ECHO {theirs}, plus récent que celui-ci ({ours}).",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Update ECHO to {theirs} or later, then restore.",
        fr="Mettez ECHO à jour vers {theirs} ou plus récent, puis restaurez.",
    )


class OutputExistsError(ConfigError):
    """A backup never overwrites a file."""

    code: ClassVar[str] = "backup_exists"
    message: ClassVar[Bilingual] = Bilingual(en="{path} exists already.", fr="{path} existe déjà.")
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Choose another name; a backup never overwrites an older one.",
        fr="Choisissez un autre nom ; une sauvegarde n'en écrase jamais une autre.",
    )


class OutputNameError(ConfigError):
    """The name does not say how to compress."""

    code: ClassVar[str] = "backup_name"
    message: ClassVar[Bilingual] = Bilingual(
        en="{path} does not end in .tar.zst or .tar.gz.",
        fr="{path} ne se termine pas par .tar.zst ou .tar.gz.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Give a name such as echo.tar.zst.", fr="Donnez un nom comme echo.tar.zst."
    )


def version_key(version: str) -> tuple[int, ...]:
    """The numbers of a version `X.Y.Z`, for comparing; anything that is no number counts as 0."""
    return tuple(int(part) if part.isdigit() else 0 for part in version.split("."))


def safe_member_path(name: str) -> PurePosixPath | None:
    """A member name as a path that stays inside the folder it is put into, or None when it would not."""
    if not name or "\x00" in name or "\\" in name or name.startswith("/"):
        return None
    parts = name.rstrip("/").split("/")
    return None if any(part in ("", ".", "..") for part in parts) else PurePosixPath(*parts)


def safe_link_target(link: PurePosixPath, target: str) -> bool:
    """Whether a symbolic link at `link` (relative to the data folder) stays inside it."""
    if not target or target.startswith("/") or "\x00" in target or "\\" in target:
        return False
    depth = len(link.parts) - 1
    for part in target.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0:
            return False
    return True
