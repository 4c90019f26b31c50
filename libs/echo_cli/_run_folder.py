"""What `echoctl up` itself keeps in the data folder, below `run/`: secrets, logs, and who is running."""

import fcntl
import json
import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import IO, ClassVar, Final

from pydantic import BaseModel, ValidationError

from echo_cli._process import Child, end_stranger, identity_of
from echo_constants import Bilingual, ConfigError, StateError

#: Bytes of randomness in a generated secret key; Open WebUI itself takes 24. Source: `open_webui/__init__.py`, 0.12.4.
_SECRET_BYTES: Final = 32
#: Bytes of randomness in the generated password: 16 characters that can be typed.
_PASSWORD_BYTES: Final = 12

#: Open WebUI takes every address at localhost (`utils/misc.py`, 0.12.4), and so do browsers.
DEFAULT_ADMIN_EMAIL: Final = "admin@localhost"


class AlreadyRunningError(ConfigError):
    """Another echoctl works on this data folder."""

    code: ClassVar[str] = "already_running"
    message: ClassVar[Bilingual] = Bilingual(
        en="ECHO already runs on the data folder {data}.", fr="ECHO tourne déjà sur le dossier de données {data}."
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Stop it first (Ctrl-C where it runs), or choose another folder with --data.",
        fr="Arrêtez-le d'abord (Ctrl-C là où il tourne), ou choisissez un autre dossier avec --data.",
    )


class RunFolderError(StateError):
    """A file of ours in the data folder cannot be read or written."""

    code: ClassVar[str] = "run_folder"
    audience = "admin"
    message: ClassVar[Bilingual] = Bilingual(en="{path} cannot be used.", fr="{path} est inutilisable.")
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Check the rights of the data folder and its free space, or choose another with --data.",
        fr="Vérifiez les droits du dossier de données et l'espace libre, ou choisissez-en un autre avec --data.",
    )


class Account(BaseModel):
    """The administrator that was made at the first start."""

    email: str
    password: str


class _Running(BaseModel):
    pid: int
    started_at_s: float


class RunFolder:
    """The folder `run/` in a data folder. Entering it takes the lock; leaving gives it back.

    Args:
        data: the data folder; made when missing, and a new one is closed to other accounts of the machine.

    Raises:
        RunFolderError: the folder cannot be made.
    """

    def __init__(self, data: Path) -> None:
        self.data = data
        self._folder = data / "run"
        try:
            if not data.exists() or not any(data.iterdir()):
                # Open WebUI's database lies in it, readable by all; a folder that was in use keeps the rights it has.
                data.mkdir(parents=True, exist_ok=True)
                data.chmod(0o700)
            self.workplace.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunFolderError(str(error), path=str(data)) from error
        self._lock: IO[bytes] | None = None

    @property
    def workplace(self) -> Path:
        """Empty folder that the children work in, two levels below what anybody else writes to.

        Open WebUI's migrations put the folder *above* the working folder first on Python's path (`prepend_sys_path`
        in its alembic.ini, 0.12.4): a stray `png.py` there would be imported instead of the real one.
        """
        return self._folder / "work"

    @property
    def logs(self) -> Path:
        """Folder of the children's logs."""
        return self._folder / "logs"

    def lock(self) -> None:
        """Claim the data folder for this process.

        Raises:
            AlreadyRunningError: another process has it.
            RunFolderError: the lock file cannot be made.
        """
        path = self._folder / "lock"
        try:
            stream = path.open("ab")
        except OSError as error:
            raise RunFolderError(str(error), path=str(path)) from error
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            stream.close()
            raise AlreadyRunningError(data=str(self.data)) from error
        self._lock = stream

    def unlock(self) -> None:
        """Give the data folder back."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def secret_key(self) -> str:
        """WEBUI_SECRET_KEY of this folder: kept for good, because sessions and stored secrets depend on it.

        At the very first start a WEBUI_SECRET_KEY of the environment is taken over.
        """
        path = self._folder / "secret_key"
        if not path.exists():
            _write_private(path, os.environ.get("WEBUI_SECRET_KEY") or secrets.token_urlsafe(_SECRET_BYTES))
        return _read(path).strip()

    def account(self, email: str | None, password: str | None) -> Account:
        """The administrator: what the caller says, else what was used before, else a new password."""
        path = self._folder / "admin.json"
        known = self._known_account(path)
        if known is not None and email in (None, known.email) and password in (None, known.password):
            return known
        chosen = Account(
            email=email or (known.email if known else DEFAULT_ADMIN_EMAIL),
            password=password or secrets.token_urlsafe(_PASSWORD_BYTES),
        )
        if known is None:
            self.keep_account(chosen)
        return chosen

    def keep_account(self, account: Account) -> None:
        """Remember an account that Open WebUI accepted."""
        _write_private(self._folder / "admin.json", account.model_dump_json())

    def note_running(self, children: Sequence[Child]) -> None:
        """Write down who runs, so that the next start can end what a killed echoctl left behind."""
        alive = [(child.pid, identity_of(child.pid)) for child in children]
        running = [{"pid": pid, "started_at_s": started} for pid, started in alive if started is not None]
        (self._folder / "running.json").write_text(json.dumps(running), encoding="utf-8")

    def end_leftovers(self) -> int:
        """End processes that an earlier run left behind; how many there were."""
        path = self._folder / "running.json"
        if not path.exists():
            return 0
        try:
            noted = [_Running.model_validate(item) for item in json.loads(_read(path))]
        except (ValueError, ValidationError):
            noted = []  # cut off while it was written: then nothing was running for long
        ended = sum(end_stranger(item.pid, item.started_at_s) for item in noted)
        path.unlink()
        return ended

    def _known_account(self, path: Path) -> Account | None:
        if not path.exists():
            return None
        try:
            return Account.model_validate_json(_read(path))
        except ValidationError as error:
            raise RunFolderError(f"{error.error_count()} errors", path=str(path)) from error


def private_account(data: Path) -> Account | None:
    """The account in a data folder of `echoctl up`; None unless its file is whole, ours, and closed to others."""
    path = data / "run" / "admin.json"
    try:
        facts = path.lstat()
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
            return None
        return Account.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def private_secret(data: Path) -> str:
    """The secret key in a data folder of `echoctl up`; "" where there is none that we may read."""
    try:
        return (data / "run" / "secret_key").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise RunFolderError(str(error), path=str(path)) from error


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    temporary = path.with_suffix(".new")
    try:
        temporary.unlink(missing_ok=True)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        temporary.replace(path)
    except OSError as error:
        raise RunFolderError(str(error), path=str(path)) from error
