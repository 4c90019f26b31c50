"""Which names are taken: workspaces, branches, and paths inside a workspace.

Paths of the model are held to more than those of a cloned tree: what a foreign repository has must only be harmless,
what we write should also work on Windows and macOS.
"""

import re
import unicodedata
from typing import Final

from dulwich.index import validate_path_element_hfs, validate_path_element_ntfs
from dulwich.refs import Ref, check_ref_format

from echo_codex_git.errors import BranchNameError, UnsafePathError, WorkspaceNameError

MAX_PATH_BYTES: Final = 1024
#: Source: NAME_MAX of Linux file systems.
MAX_ELEMENT_BYTES: Final = 255
MAX_DEPTH: Final = 32

_WORKSPACE = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")
#: 8.3 short names of `.git` on NTFS; Git itself refuses only the first.
_SHORT_NAME = re.compile(rb"git~[0-9]+[. ]*", re.IGNORECASE)


def workspace_name(name: str) -> str:
    """The name, when a workspace can have it.

    Raises:
        WorkspaceNameError: anything but lower-case letters, digits, `-` and `_`; so names never differ in case only.
    """
    if not _WORKSPACE.fullmatch(name):
        raise WorkspaceNameError(repr(name[:100]))
    return name


def branch_ref(name: str) -> bytes:
    """The full ref of a branch.

    Raises:
        BranchNameError: Git would not take the name, or it could be read as something else.
    """
    ref = b"refs/heads/" + name.encode("utf-8", "replace")
    if not _BRANCH.fullmatch(name) or name.upper() == "HEAD" or not check_ref_format(Ref(ref)):
        raise BranchNameError(repr(name[:120]))
    if any(part.startswith((".", "-")) or part.endswith(".") for part in name.split("/")):
        raise BranchNameError(repr(name[:120]))
    return ref


def file_path(text: str) -> bytes:
    """A path that the model named, as Git has it.

    Raises:
        UnsafePathError: absolute, `..`, a backslash, a colon, control characters, trailing dots or spaces, `.git` in
            any spelling, too long or too deep.
    """
    try:
        path = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UnsafePathError(repr(text[:200]), path=ascii(text[:200])) from error
    unprintable = any(unicodedata.category(char) in {"Cc", "Cf", "Cs"} for char in text)
    elements = path.split(b"/")
    bad = any(not is_safe_element(part) or part.endswith((b".", b" ")) or b":" in part for part in elements)
    if bad or unprintable or len(path) > MAX_PATH_BYTES or len(elements) > MAX_DEPTH:
        raise UnsafePathError(repr(text[:200]), path=ascii(text[:200]))
    return path


def is_safe_path(path: bytes) -> bool:
    """Whether a path of a foreign tree can be written below a workspace."""
    parts = path.split(b"/")
    return len(path) <= MAX_PATH_BYTES and len(parts) <= MAX_DEPTH and all(map(is_safe_element, parts))


def is_safe_element(name: bytes) -> bool:
    """Whether one name is an ordinary one: not empty, `.`, `..`, with a separator, or a spelling of `.git`.

    Source: the checks of Git for NTFS and HFS+ (CVE-2014-9390, CVE-2019-1352), as Dulwich has them.
    """
    if not name or len(name) > MAX_ELEMENT_BYTES or b"\\" in name or b"\0" in name or b"/" in name:
        return False
    return validate_path_element_ntfs(name) and validate_path_element_hfs(name) and not _SHORT_NAME.fullmatch(name)


def path_text(path: bytes) -> str:
    """A path for people: UTF-8, other bytes escaped."""
    return path.decode("utf-8", "backslashreplace")
