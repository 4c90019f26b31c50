"""Trees as flat maps path -> (mode, blob), and what of a foreign tree is refused."""

from typing import Final

from dulwich.object_store import BaseObjectStore, iter_tree_contents
from dulwich.objects import Blob, Commit, ObjectID, ShaFile

from echo_codex_git.errors import CodexLimitError, UnsafePathError, WorkspaceDamagedError
from echo_codex_git.naming import is_safe_path

Mode = int
Entry = tuple[Mode, ObjectID]
Flat = dict[bytes, Entry]

FILE: Final[Mode] = 0o100644
PROGRAM: Final[Mode] = 0o100755
#: Checked out as a plain file that holds the target, as Git does with `core.symlinks=false`.
LINK: Final[Mode] = 0o120000
#: A submodule: checked out as an empty folder, never fetched.
SUBMODULE: Final[Mode] = 0o160000


def flatten(store: BaseObjectStore, tree: ObjectID | None, max_files: int) -> Flat:
    """All entries of a tree that are not trees.

    Raises:
        UnsafePathError: an entry that must not be written (`.git` in any spelling, `..`, too long), or a name that is
            a file and a folder at once.
        CodexLimitError: too many files.
    """
    flat: Flat = {}
    if tree is None:
        return flat
    for entry in iter_tree_contents(store, tree):
        path, mode, sha = entry.path, entry.mode, entry.sha
        if path is None or mode is None or sha is None or not is_safe_path(path) or path in flat:
            raise UnsafePathError(f"in a tree: {path!r}", path=ascii((path or b"").decode("utf-8", "replace")))
        if len(flat) >= max_files:
            raise CodexLimitError(what="files", limit=max_files)
        flat[path] = (_mode(mode), sha)
    clash = file_and_folder(flat)
    if clash is not None:
        raise UnsafePathError(f"file and folder: {clash!r}", path=ascii(clash.decode("utf-8", "replace")))
    return flat


def _mode(mode: int) -> Mode:
    """The mode as Git writes it today; old repositories have others, such as 100664."""
    if mode in (LINK, SUBMODULE):
        return mode
    return PROGRAM if mode & 0o100 else FILE


def file_and_folder(flat: Flat) -> bytes | None:
    """A path that is a file and also a folder of another one, None when there is none."""
    for path in flat:
        folder = path.rpartition(b"/")[0]
        while folder:
            if folder in flat:
                return folder
            folder = folder.rpartition(b"/")[0]
    return None


def commit_of(store: BaseObjectStore, sha: ObjectID) -> Commit:
    """A commit.

    Raises:
        WorkspaceDamagedError: it is missing or something else.
    """
    found = _object(store, sha)
    if not isinstance(found, Commit):
        raise WorkspaceDamagedError(f"no commit {sha!r}")
    return found


def content(store: BaseObjectStore, sha: ObjectID) -> bytes:
    """A blob's bytes.

    Raises:
        WorkspaceDamagedError: it is missing or something else.
    """
    found = _object(store, sha)
    if not isinstance(found, Blob):
        raise WorkspaceDamagedError(f"no blob {sha!r}")
    return bytes(found.data)


def _object(store: BaseObjectStore, sha: ObjectID) -> ShaFile | None:
    try:
        return store[sha]
    except KeyError:
        return None
