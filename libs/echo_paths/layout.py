"""The data folder: which file belongs to which user and chat.

$ECHO_DATA_DIR
├── identity.db
├── prompts.db                             an administrator's own prompts, once there are any
├── users/{uid}/chats/{cid}/session.db     {uid} = owner of the chat; {cid} = "_api" for callers without a chat,
│                                          "_imported" for records whose chat is yet to be seen
├── users/{uid}/memory.db                  what is remembered of the user from one chat to the next
├── users/{uid}/files/                     vault
├── users/{uid}/skills/
├── users/{uid}/codex/
├── skills/                                for all users
└── qdrant/                                embedded vectors
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from echo_constants import Bilingual, ConfigError, StateError

#: Environment variable that moves the data folder. Source: docs/design.md section 4.
DATA_DIR_VARIABLE: Final = "ECHO_DATA_DIR"

#: Longest id accepted. Open WebUI's ids are UUIDs, the longest with its prefix is `channel:` + 36 characters; file
#: systems allow 255 bytes a name, of which an escaped colon takes three.
MAX_ID_CHARS: Final = 128

#: Chat ids whose conversation never reaches the disk: the current prefix and the legacy one that is still accepted.
#: Source: Open WebUI 0.12.4, utils/chat_id.py.
TEMPORARY_PREFIXES: Final = ("temporary:", "local:")

API_CHAT_FOLDER: Final = "_api"
IMPORTED_FOLDER: Final = "_imported"

_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")


class UnsafeIdError(StateError):
    """A user or chat id cannot be a folder name: traversal, separator, NUL, reserved or too long."""

    code = "unsafe_id"
    message = Bilingual(
        en="This chat or user has an identifier that ECHO cannot store under.",
        fr="Cette conversation ou cet utilisateur a un identifiant sous lequel ECHO ne peut rien enregistrer.",
    )


class TemporaryChatError(StateError):
    """A temporary chat has no file; the caller must use the memory store."""

    code = "temporary_chat_has_no_file"
    message = Bilingual(
        en="A temporary chat is never written to disk.",
        fr="Une conversation temporaire n'est jamais écrite sur le disque.",
    )


class DataDirUnknownError(ConfigError):
    """Neither ECHO_DATA_DIR nor Open WebUI's data folder is known."""

    code = "data_dir_unknown"
    message = Bilingual(
        en="ECHO does not know where to keep its data.",
        fr="ECHO ne sait pas où conserver ses données.",
    )
    remedy = Bilingual(
        en="Set ECHO_DATA_DIR to a folder on a local disk.",
        fr="Donnez à ECHO_DATA_DIR un dossier situé sur un disque local.",
    )


def _folder_name(identifier: str) -> str:
    if identifier.startswith(TEMPORARY_PREFIXES):
        raise TemporaryChatError
    if len(identifier) > MAX_ID_CHARS or not _SAFE_ID.fullmatch(identifier) or identifier.endswith("."):
        raise UnsafeIdError(f"id of {len(identifier)} characters: {identifier[:MAX_ID_CHARS]!r}")
    # Colons (`channel:<uuid>`) are not allowed in file names on Windows volumes; `%` cannot occur in an accepted id.
    return identifier.replace(":", "%3A")


def _identifier(folder_name: str) -> str:
    return folder_name.replace("%3A", ":")


@dataclass(frozen=True, slots=True)
class EchoPaths:
    """All paths below one data folder; building one touches no disk.

    Args:
        root: the data folder.
    """

    root: Path

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], owui_data_dir: Path | None = None) -> Self:
        """`$ECHO_DATA_DIR`, or `echo` inside Open WebUI's data folder.

        Args:
            environ: the process environment; `DATA_DIR` counts as Open WebUI's folder when `owui_data_dir` is None.
            owui_data_dir: Open WebUI's own idea of its data folder, when the caller could ask it.

        Raises:
            DataDirUnknownError: none of the three is set.
        """
        own = environ.get(DATA_DIR_VARIABLE, "").strip()
        if own:
            return cls(Path(own).expanduser())
        data_dir = environ.get("DATA_DIR", "").strip()
        if owui_data_dir is None and not data_dir:
            raise DataDirUnknownError
        return cls((owui_data_dir or Path(data_dir).expanduser()) / "echo")

    @property
    def identity_db(self) -> Path:
        """Accounts, quota cache, jobs and the chat index of the whole instance."""
        return self.root / "identity.db"

    @property
    def prompts_db(self) -> Path:
        """The administrator's own prompts, all versions."""
        return self.root / "prompts.db"

    @property
    def qdrant_dir(self) -> Path:
        """The embedded vector engine's folder."""
        return self.root / "qdrant"

    def session_db(self, user_id: str, chat_id: str) -> Path:
        """The records of one chat.

        Args:
            user_id: the chat's owner, not the caller.
            chat_id: Open WebUI's chat id.

        Raises:
            UnsafeIdError: an id cannot be a folder name.
            TemporaryChatError: the chat is temporary.
        """
        return self.chat_dir(user_id, chat_id) / "session.db"

    def chat_dir(self, user_id: str, chat_id: str) -> Path:
        """The folder of one chat. Raises as `session_db`."""
        return self._chats_dir(user_id) / _folder_name(chat_id)

    def user_dir(self, user_id: str) -> Path:
        """Everything of one user. Raises UnsafeIdError."""
        return self.root / "users" / _folder_name(user_id)

    def api_session_db(self, user_id: str) -> Path:
        """The records of API callers without a chat. Raises UnsafeIdError."""
        return self._chats_dir(user_id) / API_CHAT_FOLDER / "session.db"

    def imported_session_db(self, user_id: str) -> Path:
        """Records that were imported for a user and belong to no chat of this machine yet. Raises UnsafeIdError."""
        return self._chats_dir(user_id) / IMPORTED_FOLDER / "session.db"

    def memory_db(self, user_id: str) -> Path:
        """What is remembered of the user. Raises UnsafeIdError."""
        return self.user_dir(user_id) / "memory.db"

    def files_dir(self, user_id: str) -> Path:
        """The user's vault. Raises UnsafeIdError."""
        return self.user_dir(user_id) / "files"

    def skills_dir(self, user_id: str) -> Path:
        """The user's skills. Raises UnsafeIdError."""
        return self.user_dir(user_id) / "skills"

    @property
    def shared_skills_dir(self) -> Path:
        """Skills for all users, written by administrators."""
        return self.root / "skills"

    def codex_dir(self, user_id: str) -> Path:
        """The user's git codex. Raises UnsafeIdError."""
        return self.user_dir(user_id) / "codex"

    def users_on_disk(self) -> Iterator[str]:
        """User id of every user folder, as `chats_on_disk`; blocks on the disk."""
        users = self.root / "users"
        for user_dir in sorted(users.iterdir()) if users.is_dir() else ():
            user_id = _identifier(user_dir.name)
            if _SAFE_ID.fullmatch(user_id) and user_dir.is_dir():
                yield user_id

    def chats_on_disk(self) -> Iterator[tuple[str, str]]:
        """(user id, chat id) of every chat folder, for reconciling with Open WebUI's table; blocks on the disk.

        The API callers' folder and names that ECHO would not have made are left out.
        """
        users = self.root / "users"
        for user_dir in sorted(users.iterdir()) if users.is_dir() else ():
            chats = user_dir / "chats"
            for chat_dir in sorted(chats.iterdir()) if chats.is_dir() else ():
                user_id, chat_id = _identifier(user_dir.name), _identifier(chat_dir.name)
                if _SAFE_ID.fullmatch(user_id) and _SAFE_ID.fullmatch(chat_id) and chat_dir.is_dir():
                    yield user_id, chat_id

    def unindexed_mark(self, user_id: str, chat_id: str) -> Path:
        """Is there while something that was said in a chat waits for the session memory. Raises as `session_db`."""
        return self.chat_dir(user_id, chat_id) / "unindexed"

    def unindexed_chats(self) -> Iterator[tuple[str, str]]:
        """(user id, chat id) of every chat with that mark; blocks on the disk."""
        for user_id, chat_id in self.chats_on_disk():
            if self.unindexed_mark(user_id, chat_id).is_file():
                yield user_id, chat_id

    def chats_of_files(self) -> Iterator[tuple[str, str]]:
        """(user id, chat id) of every chat that names a file of a vault, as often as it does; blocks on the disk."""
        for marker in sorted(self.root.glob("users/*/files/??/*.chats/*")):
            user_id, chat_id = _identifier(marker.parents[3].name), _identifier(marker.name)
            if _SAFE_ID.fullmatch(user_id) and _SAFE_ID.fullmatch(chat_id):
                yield user_id, chat_id

    def session_files(self) -> Iterator[tuple[str, str, Path]]:
        """(user id, chat id, session.db) of every file of records; blocks on the disk.

        Those that belong to no chat are among them, under their folder's name instead of a chat id.
        """
        for path in sorted(self.root.glob("users/*/chats/*/session.db")):
            yield _identifier(path.parents[2].name), _identifier(path.parent.name), path

    def _chats_dir(self, user_id: str) -> Path:
        return self.user_dir(user_id) / "chats"
