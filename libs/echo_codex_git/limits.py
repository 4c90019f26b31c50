"""How much one user may keep and one call may move."""

from dataclasses import dataclass
from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB


@dataclass(frozen=True, slots=True, kw_only=True)
class CodexLimits:
    """Bounds of the codex. Source: our choice, so that one user cannot fill a small server.

    Args:
        workspaces: of one user.
        workspace_bytes: of one workspace on the disk, history included.
        files: in one workspace's tree.
        file_bytes: of one file that is written or merged; also of one object that is cloned.
        read_chars: of one read; the rest is read from an offset.
        diff_chars: of one diff.
        log_entries: of one log.
        pack_bytes: what a remote may send in all.
        unpacked_bytes: what that may grow to.
        wait_s: how long an operation waits for another one on the same workspace.
        clone_s: how long a remote may stay silent.
        clone_total_s: how long a clone over the network may take.
    """

    workspaces: int = 50
    workspace_bytes: int = 512 * MIB
    files: int = 20_000
    file_bytes: int = 16 * MIB
    read_chars: int = 60_000
    diff_chars: int = 60_000
    log_entries: int = 100
    pack_bytes: int = 128 * MIB
    unpacked_bytes: int = 1024 * MIB
    wait_s: float = 20.0
    clone_s: float = 30.0
    clone_total_s: float = 300.0
