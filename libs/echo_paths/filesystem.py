"""Network file systems: SQLite's write-ahead log needs shared memory between all processes, so they are refused."""

import re
from pathlib import Path
from typing import Final

from echo_constants import Bilingual, ConfigError

#: Types as the kernel names them in /proc/mounts.
#: Source: https://www.sqlite.org/wal.html ("WAL does not work over a network filesystem"), `man 5 proc_mounts`.
NETWORK_FILE_SYSTEMS: Final = frozenset(
    {
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "fuse.ceph",
        "fuse.davfs",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "glusterfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "smb2",
        "smb3",
        "smbfs",
    }
)

_MOUNTS: Final = Path("/proc/mounts")


class NetworkFileSystemError(ConfigError):
    """The data folder lies on a network file system."""

    code = "network_file_system"
    message = Bilingual(
        en="ECHO's data folder is on a network file system ({fs_type}), where its databases would be damaged.",
        fr="Le dossier de données d'ECHO est sur un système de fichiers réseau ({fs_type}), "
        "où ses bases de données seraient abîmées.",
    )
    remedy = Bilingual(
        en="Set ECHO_DATA_DIR to a folder on a local disk or a local Docker volume.",
        fr="Donnez à ECHO_DATA_DIR un dossier sur un disque local ou un volume Docker local.",
    )


def network_file_system(path: Path, mounts: Path = _MOUNTS) -> str | None:
    """Type of the network file system that holds a path; reads the mount table, so it blocks.

    Args:
        path: need not exist yet; links on the way are followed.
        mounts: mount table in the format of /proc/mounts.

    Returns:
        the kernel's name of the type, such as `nfs4`; None for a local one and where there is no mount table.
    """
    try:
        table = mounts.read_text(encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:
        return None
    target = path.resolve()
    best_parts, best_type = -1, ""
    for line in table.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        mount_point = Path(_unescape(fields[1]))
        # The later of two mounts on the same point hides the earlier one.
        if target.is_relative_to(mount_point) and len(mount_point.parts) >= best_parts:
            best_parts, best_type = len(mount_point.parts), fields[2]
    return best_type if best_type in NETWORK_FILE_SYSTEMS else None


def require_local_file_system(path: Path, mounts: Path = _MOUNTS) -> None:
    """Refuse a path on a network file system; blocks as `network_file_system`.

    Raises:
        NetworkFileSystemError: with the type in its text.
    """
    fs_type = network_file_system(path, mounts)
    if fs_type is not None:
        raise NetworkFileSystemError(f"{path} is on {fs_type}", fs_type=fs_type)


def _unescape(field: str) -> str:
    """Undo the octal escapes of space, tab, newline and backslash. Source: `man 5 fstab`."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)
