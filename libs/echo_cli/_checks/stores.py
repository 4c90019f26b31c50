"""ECHO's databases: whole, of a version that we know, readable with our secret. Nothing is written."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from echo_cli._checks.base import Diagnosis, Finding, Need, Surroundings
from echo_constants import Bilingual
from echo_http import SystemClock
from echo_paths import EchoPaths
from echo_state_manager.crypto import SecretKeyMismatchError, SecretKeyMissingError, master_secret
from echo_state_manager.identity import IdentityStore
from echo_state_manager.schema import IDENTITY_SCHEMA_VERSION, SESSION_SCHEMA_VERSION

#: How long to wait for somebody who holds a database exclusively.
_BUSY_S: Final = 5.0

STORE_DAMAGED: Final = Diagnosis(
    code="store_damaged",
    severity="problem",
    what=Bilingual(en="The database {path} is damaged.", fr="La base {path} est abîmée."),
    remedy=Bilingual(
        en="Stop Open WebUI and restore it from a backup (`echoctl restore`). Without one, move the file away: ECHO "
        "rebuilds that chat from Open WebUI's own text.",
        fr="Arrêtez Open WebUI et restaurez-la (`echoctl restore`). Sans sauvegarde, écartez le fichier : ECHO "
        "reconstruit cette conversation à partir du texte d'Open WebUI.",
    ),
)
STORE_NEWER: Final = Diagnosis(
    code="store_newer",
    severity="problem",
    what=Bilingual(
        en="{path} was written by a newer ECHO (schema {found}, this one knows {known}).",
        fr="{path} a été écrit par un ECHO plus récent (schéma {found}, celui-ci connaît {known}).",
    ),
    remedy=Bilingual(
        en="Update ECHO again, or restore a backup from before the update.",
        fr="Remettez ECHO à jour, ou restaurez une sauvegarde d'avant la mise à jour.",
    ),
)
STORE_LOCKED: Final = Diagnosis(
    code="store_locked",
    severity="warning",
    what=Bilingual(
        en="{path} is held by another program and could not be checked.",
        fr="{path} est retenu par un autre programme et n'a pu être vérifié.",
    ),
    remedy=Bilingual(en="Run doctor again in a moment.", fr="Relancez doctor dans un instant."),
)
SECRET_MISMATCH: Final = Diagnosis(
    code="identity_secret_mismatch",
    severity="problem",
    what=SecretKeyMismatchError.message,
    remedy=SecretKeyMismatchError.remedy,
)


class StoresCheck:
    """identity.db and every session.db."""

    name = "stores"
    title = Bilingual(en="Databases", fr="Bases de données")
    need: Need = "data"
    diagnoses = (STORE_DAMAGED, STORE_NEWER, STORE_LOCKED, SECRET_MISMATCH)

    def run(self, here: Surroundings) -> Iterator[Finding]:
        """As `Check`."""
        if here.data_root is None:
            return
        paths = EchoPaths(here.data_root)
        sound = True
        if paths.identity_db.is_file():
            for finding in _judge(paths.identity_db, IDENTITY_SCHEMA_VERSION):
                sound = False
                yield finding
            if sound:
                yield from _judge_secret(here, paths.identity_db)
        for path in sorted(here.data_root.glob("users/*/chats/*/session.db")):
            yield from _judge(path, SESSION_SCHEMA_VERSION)


def _judge(path: Path, known: int) -> Iterator[Finding]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)) as database:
            found = int(database.execute("PRAGMA user_version").fetchone()[0])
            verdict = str(database.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            yield STORE_LOCKED.found(str(error), path=path)
        else:
            yield STORE_DAMAGED.found(str(error), path=path)
        return
    except sqlite3.DatabaseError as error:
        yield STORE_DAMAGED.found(str(error), path=path)
        return
    if verdict != "ok":
        yield STORE_DAMAGED.found(verdict, path=path)
    if found > known:
        yield STORE_NEWER.found(path=path, found=found, known=known)


def _judge_secret(here: Surroundings, path: Path) -> Iterator[Finding]:
    """Whether the secret of the environment is the one that the stored keys were encrypted under."""
    try:
        secret = master_secret(here.environ)
    except SecretKeyMissingError:
        return  # the environment's check says so
    try:
        asyncio.run(IdentityStore(path, secret, SystemClock()).check_secret())
    except SecretKeyMismatchError as error:
        yield SECRET_MISMATCH.found(error.detail)
