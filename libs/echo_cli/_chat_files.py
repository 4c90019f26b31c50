"""The files of records that a command works on, and the options that choose among them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from echo_cli._locale import say
from echo_constants import Bilingual, ConfigError
from echo_paths import EchoPaths

UserOption = Annotated[
    str, typer.Option("--user", help=say("Only this user's (id).", "Seulement ceux de cet utilisateur (identifiant)."))
]
ChatOption = Annotated[
    str, typer.Option("--chat", help=say("Only this chat's (id).", "Seulement ceux de cette conversation."))
]


class NoRecordsError(ConfigError):
    """Nothing fits what was asked for."""

    code: ClassVar[str] = "no_records"
    message: ClassVar[Bilingual] = Bilingual(
        en="There are no records of that user or chat in {path}.",
        fr="Il n'y a pas d'enregistrements de cet utilisateur ou de cette conversation dans {path}.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="The id of a chat stands in its address (/c/<id>). Name ECHO's data folder with --data.",
        fr="L'identifiant d'une conversation figure dans son adresse (/c/<id>). Indiquez le dossier de données "
        "d'ECHO avec --data.",
    )


@dataclass(frozen=True, slots=True)
class ChatFile:
    """One session.db and whose it is."""

    user_id: str
    chat_id: str
    path: Path

    def set_aside(self) -> list[Path]:
        """What was put beside it: files that could not be used, and copies from before a repair."""
        beside = sorted(self.path.parent.glob(f"{self.path.name}.*"))
        return [path for path in beside if not path.name.endswith(("-wal", "-shm"))]


def chat_files(root: Path, user_id: str = "", chat_id: str = "") -> list[ChatFile]:
    """All files of records below a data folder, or those of one user or chat.

    Raises:
        NoRecordsError: a user or chat was named and has none, or the folder is not there.
    """
    found = [
        ChatFile(user, chat, path)
        for user, chat, path in EchoPaths(root).session_files()
        if user_id in ("", user) and chat_id in ("", chat)
    ]
    if not found and (user_id or chat_id or not root.is_dir()):
        raise NoRecordsError(path=str(root))
    return found
