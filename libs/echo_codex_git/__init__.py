"""Git workspaces for each user, on Dulwich: nothing is executed, and nothing outside the workspace is touched."""

from echo_codex_git.branching import MergeResult
from echo_codex_git.codex import Codex
from echo_codex_git.engine import CommitInfo, Status, TextPage
from echo_codex_git.errors import CodexError
from echo_codex_git.limits import CodexLimits
from echo_codex_git.remotes import RemotePolicy
from echo_codex_git.repository import Author

__all__ = [
    "Author",
    "Codex",
    "CodexError",
    "CodexLimits",
    "CommitInfo",
    "MergeResult",
    "RemotePolicy",
    "Status",
    "TextPage",
]
