"""The codex as tools. Each docstring is what the model reads; every public method is a tool."""

from collections.abc import Awaitable, Callable
from typing import Any

from echo_codex_git.answers import answer
from echo_codex_git.codex import Codex
from echo_codex_git.errors import NotConfirmedError
from echo_codex_git.repository import Author

Given = dict[str, Any] | None


class CodexToolkit:
    """Git for the model, in the workspaces of whoever asks.

    Args:
        codex: gives the codex of the running server; called for each use.
    """

    def __init__(self, codex: Callable[[], Codex]) -> None:
        self._codex = codex

    async def codex_workspaces(self, __user__: Given = None, __metadata__: Given = None) -> Any:
        """List the user's git workspaces. Each is a repository of its own that lives across chats."""
        return await answer(self._codex().workspaces(_id(__user__)), __metadata__)

    async def codex_create(
        self, workspace: str, source: str = "", __user__: Given = None, __metadata__: Given = None
    ) -> Any:
        """Make a git workspace, empty or as a clone.

        :param workspace: name: lower-case letters, digits, - and _
        :param source: leave empty for an empty one; else an https:// address or the name of another workspace to clone
        """
        codex, user = self._codex(), _id(__user__)

        async def work() -> Any:
            if source:
                return await codex.clone(user, workspace, source)
            await codex.create(user, workspace)
            return await codex.status(user, workspace)

        return await answer(work(), __metadata__)

    async def codex_delete_workspace(
        self, workspace: str, confirm: str, __user__: Given = None, __metadata__: Given = None
    ) -> Any:
        """Delete a workspace with all its history, for ever. Only when the user asked for exactly that.

        :param workspace: name of the workspace
        :param confirm: the workspace's name once more
        """
        codex, user = self._codex(), _id(__user__)

        async def work() -> Any:
            if confirm != workspace:
                raise NotConfirmedError(name=workspace)
            await codex.delete(user, workspace)
            return {"done": True}

        return await answer(work(), __metadata__)

    async def codex_status(self, workspace: str, __user__: Given = None, __metadata__: Given = None) -> Any:
        """Show branch, last commit and uncommitted changes of a workspace, and whether a merge waits.

        :param workspace: name of the workspace
        """
        return await answer(self._codex().status(_id(__user__), workspace), __metadata__)

    async def codex_files(self, workspace: str, __user__: Given = None, __metadata__: Given = None) -> Any:
        """List the files of a workspace.

        :param workspace: name of the workspace
        """
        return await answer(self._codex().files(_id(__user__), workspace), __metadata__)

    async def codex_read(
        self,
        workspace: str,
        path: str,
        offset: int = 0,
        revision: str = "",
        __user__: Given = None,
        __metadata__: Given = None,
    ) -> Any:
        """Read a text file of a workspace, as it is now or as it was in a commit.

        :param workspace: name of the workspace
        :param path: relative path of the file
        :param offset: first character, to read on in a long file
        :param revision: a commit's hash or a branch; empty for the file as it is now
        """
        work = self._codex().read(_id(__user__), workspace, path, offset=offset, revision=revision or None)
        return await answer(work, __metadata__)

    async def codex_write(
        self, workspace: str, path: str, text: str, __user__: Given = None, __metadata__: Given = None
    ) -> Any:
        """Make or replace a text file in a workspace. It is kept at once, and in the history after codex_commit.

        :param workspace: name of the workspace
        :param path: relative path; folders are made
        :param text: the whole content
        """
        return await answer(_done(self._codex().write(_id(__user__), workspace, path, text)), __metadata__)

    async def codex_delete_file(
        self, workspace: str, path: str, __user__: Given = None, __metadata__: Given = None
    ) -> Any:
        """Delete a file of a workspace; it stays in the history.

        :param workspace: name of the workspace
        :param path: relative path of the file
        """
        return await answer(_done(self._codex().delete_file(_id(__user__), workspace, path)), __metadata__)

    async def codex_patch(self, workspace: str, patch: str, __user__: Given = None, __metadata__: Given = None) -> Any:
        """Change files of a workspace by a unified diff, all of it or nothing. Lines must fit, numbers need not.

        :param workspace: name of the workspace
        :param patch: a diff with --- a/path, +++ b/path and @@ lines
        """
        return await answer(self._codex().apply_patch(_id(__user__), workspace, patch), __metadata__)

    async def codex_diff(
        self,
        workspace: str,
        old: str = "",
        new: str = "",
        path: str = "",
        __user__: Given = None,
        __metadata__: Given = None,
    ) -> Any:
        """Show a unified diff: by default of the last commit and the files as they are now.

        :param workspace: name of the workspace
        :param old: a commit or branch; empty for the last commit
        :param new: a commit or branch; empty for the files as they are now
        :param path: only this file or folder
        """
        work = self._codex().diff(_id(__user__), workspace, old=old or None, new=new or None, path=path or None)
        return await answer(work, __metadata__)

    async def codex_commit(
        self, workspace: str, message: str, __user__: Given = None, __metadata__: Given = None
    ) -> Any:
        """Commit all changes of a workspace; finishes a merge whose conflicts are resolved.

        :param workspace: name of the workspace
        :param message: what changed and why; the first line is the summary
        """
        work = self._codex().commit(_id(__user__), workspace, message, _author(__user__))
        return await answer(work, __metadata__)

    async def codex_log(
        self,
        workspace: str,
        revision: str = "",
        count: int = 20,
        path: str = "",
        __user__: Given = None,
        __metadata__: Given = None,
    ) -> Any:
        """Show the history of a workspace, newest first.

        :param workspace: name of the workspace
        :param revision: a commit or branch to begin at; empty for the current commit
        :param count: how many commits
        :param path: only commits that changed this file
        """
        work = self._codex().log(_id(__user__), workspace, revision=revision or None, count=count, path=path or None)
        return await answer(work, __metadata__)

    async def codex_branch(
        self, workspace: str, name: str = "", start: str = "", __user__: Given = None, __metadata__: Given = None
    ) -> Any:
        """Make a branch and switch to it, or switch to one that exists; without a name list the branches.

        :param workspace: name of the workspace
        :param name: of the branch; empty lists all
        :param start: where a new branch begins: a commit or branch; empty for the current commit
        """
        codex, user = self._codex(), _id(__user__)

        async def work() -> Any:
            branches = await codex.branches(user, workspace)
            if not name:
                return branches
            if name not in branches:
                await codex.create_branch(user, workspace, name, start=start or None)
            await codex.switch(user, workspace, name)
            return await codex.status(user, workspace)

        return await answer(work(), __metadata__)

    async def codex_merge(
        self,
        workspace: str,
        branch: str = "",
        abort: bool = False,
        __user__: Given = None,
        __metadata__: Given = None,
    ) -> Any:
        """Merge a branch into the current one. Conflicts are reported: edit the files, then codex_commit.

        :param workspace: name of the workspace
        :param branch: the branch to merge
        :param abort: true gives up a merge that waits
        """
        codex, user = self._codex(), _id(__user__)
        if abort:
            return await answer(_done(codex.abort_merge(user, workspace)), __metadata__)
        return await answer(codex.merge(user, workspace, branch, _author(__user__)), __metadata__)


def _id(user: Given) -> str:
    return str((user or {}).get("id") or "")


def _author(user: Given) -> Author:
    known = user or {}
    return Author(str(known.get("name") or "user"), str(known.get("email") or "user@localhost"))


async def _done(work: Awaitable[None]) -> dict[str, bool]:
    await work
    return {"done": True}
