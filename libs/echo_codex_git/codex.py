"""The codex as the rest of ECHO uses it: asynchronous, by user and workspace."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, TypeVar

from echo_codex_git import branching, engine, remotes
from echo_codex_git.branching import MergeResult
from echo_codex_git.engine import CommitInfo, Status, TextPage
from echo_codex_git.limits import CodexLimits
from echo_codex_git.remotes import RemotePolicy
from echo_codex_git.repository import Author, Repository
from echo_codex_git.workspaces import Workspaces
from echo_core.ports import Clock
from echo_paths import EchoPaths

T = TypeVar("T")

#: Work on the disk has threads of its own, so that it never takes those of Open WebUI; clones, which wait for a
#: network, have others. Source: our choice for a machine with 2 cores.
_WORK: Final = ThreadPoolExecutor(max_workers=4, thread_name_prefix="echo-codex")
_CLONES: Final = ThreadPoolExecutor(max_workers=2, thread_name_prefix="echo-clone")


async def in_worker(work: Callable[[], T], *, slow: bool = False) -> T:
    """Run blocking work in the codex's own threads; it runs to its end even when nobody waits any more."""
    return await asyncio.get_running_loop().run_in_executor(_CLONES if slow else _WORK, work)


@dataclass(frozen=True, slots=True)
class Codex:
    """Git workspaces of all users; each method works in one workspace of one user.

    Readers share a workspace, writers have it alone, across threads and processes.

    Args:
        paths: where users' folders are.
        clock: dates commits.
        limits: bounds.
        policy: what may be cloned.
    """

    paths: EchoPaths
    clock: Clock
    limits: CodexLimits = field(default_factory=CodexLimits)
    policy: RemotePolicy = field(default_factory=RemotePolicy)

    async def workspaces(self, user_id: str) -> list[str]:
        """Names of the user's workspaces."""
        return await in_worker(self._of(user_id).names)

    async def create(self, user_id: str, workspace: str) -> None:
        """Make an empty workspace on branch `main`. Raises WorkspaceNameError, WorkspaceExistsError."""

        def work() -> None:
            with self._of(user_id).new(workspace):
                pass

        await in_worker(work)

    async def clone(self, user_id: str, workspace: str, source: str) -> Status:
        """Make a workspace from another repository.

        Args:
            user_id: whose workspace.
            workspace: the new one's name.
            source: an https address, the name of another workspace of this user, or an allowed folder's path.

        Raises:
            RemoteRefusedError, RemoteFailedError, WorkspaceExistsError, CodexLimitError, UnsafePathError
        """
        own = self._of(user_id)

        def work() -> Status:
            with own.new(workspace) as target:
                if "://" in source:
                    remotes.clone_https(target, source, self.policy)
                elif "/" in source:
                    remotes.clone_folder(target, remotes.local_source(source, self.policy), source)
                else:
                    with own.open(source, exclusive=False) as origin:
                        remotes.clone_folder(target, origin.root, source)
                engine.require_space(target)
                return engine.status(target)

        return await in_worker(work, slow=True)

    async def delete(self, user_id: str, workspace: str) -> None:
        """Remove a workspace and its history."""
        await in_worker(lambda: self._of(user_id).delete(workspace))

    async def status(self, user_id: str, workspace: str) -> Status:
        """How the working tree differs from the last commit."""
        return await self._read(user_id, workspace, engine.status)

    async def files(self, user_id: str, workspace: str) -> list[str]:
        """All files that are tracked or not ignored."""
        return await self._read(user_id, workspace, engine.list_files)

    async def read(
        self, user_id: str, workspace: str, path: str, *, offset: int = 0, revision: str | None = None
    ) -> TextPage:
        """A part of a text file, of the working tree or of a revision."""
        return await self._read(user_id, workspace, lambda repo: engine.read_text(repo, path, offset, revision))

    async def diff(
        self, user_id: str, workspace: str, *, old: str | None = None, new: str | None = None, path: str | None = None
    ) -> str:
        """A unified diff; see `engine.diff`."""
        return await self._read(user_id, workspace, lambda repo: engine.diff(repo, old, new, path))

    async def log(
        self, user_id: str, workspace: str, *, revision: str | None = None, count: int = 20, path: str | None = None
    ) -> list[CommitInfo]:
        """The history, newest first."""
        return await self._read(user_id, workspace, lambda repo: engine.log(repo, revision, count, path))

    async def branches(self, user_id: str, workspace: str) -> list[str]:
        """Names of all branches."""
        return await self._read(user_id, workspace, Repository.branches)

    async def write(self, user_id: str, workspace: str, path: str, text: str) -> None:
        """Make or replace a text file."""
        data = text.encode("utf-8", "replace")
        await self._change(user_id, workspace, lambda repo: engine.write_file(repo, path, data))

    async def delete_file(self, user_id: str, workspace: str, path: str) -> None:
        """Remove a file from the working tree."""
        await self._change(user_id, workspace, lambda repo: engine.delete_file(repo, path))

    async def apply_patch(self, user_id: str, workspace: str, patch: str) -> list[str]:
        """Apply a unified diff, all of it or nothing; returns the paths that changed."""
        return await self._change(user_id, workspace, lambda repo: engine.patch(repo, patch))

    async def commit(self, user_id: str, workspace: str, message: str, author: Author) -> CommitInfo:
        """Commit everything that changed."""
        return await self._change(
            user_id, workspace, lambda repo: engine.commit(repo, message, author, int(self.clock.now_s()))
        )

    async def create_branch(self, user_id: str, workspace: str, name: str, *, start: str | None = None) -> None:
        """Make a branch."""
        await self._change(user_id, workspace, lambda repo: branching.create_branch(repo, name, start))

    async def switch(self, user_id: str, workspace: str, name: str) -> None:
        """Check a branch out."""
        await self._change(user_id, workspace, lambda repo: branching.switch(repo, name))

    async def merge(self, user_id: str, workspace: str, name: str, author: Author) -> MergeResult:
        """Merge a branch into the current one."""
        return await self._change(
            user_id, workspace, lambda repo: branching.merge(repo, name, author, int(self.clock.now_s()))
        )

    async def abort_merge(self, user_id: str, workspace: str) -> None:
        """Give a merge up that waits."""
        await self._change(user_id, workspace, branching.abort_merge)

    def _of(self, user_id: str) -> Workspaces:
        return Workspaces(self.paths.codex_dir(user_id), self.limits)

    async def _read(self, user_id: str, workspace: str, step: Callable[[Repository], T]) -> T:
        return await self._step(user_id, workspace, step, exclusive=False)

    async def _change(self, user_id: str, workspace: str, step: Callable[[Repository], T]) -> T:
        return await self._step(user_id, workspace, step, exclusive=True)

    async def _step(self, user_id: str, workspace: str, step: Callable[[Repository], T], *, exclusive: bool) -> T:
        own = self._of(user_id)

        def work() -> T:
            with own.open(workspace, exclusive=exclusive) as repo:
                return step(repo)

        return await in_worker(work)
