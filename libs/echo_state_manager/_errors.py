"""What can go wrong with a state file, and what SQLite's own errors mean for a reader."""

import sqlite3
from typing import ClassVar, Final

from echo_constants import Bilingual, StateError


class StoreError(StateError):
    """A state file could not be used."""

    code = "store"
    message = Bilingual(
        en="ECHO could not use its records of this chat.",
        fr="ECHO n'a pas pu utiliser ses enregistrements de cette conversation.",
    )


class StoreBusyError(StoreError):
    """Another process kept the file locked for longer than the busy limit."""

    code = "store_busy"
    retryable = True
    message = Bilingual(
        en="ECHO's records of this chat are in use elsewhere.",
        fr="Les enregistrements de cette conversation sont utilisés ailleurs.",
    )
    remedy = Bilingual(en="Try again in a moment.", fr="Réessayez dans un instant.")


class StoreFullError(StoreError):
    """The disk is full."""

    code = "store_full"
    audience = "admin"
    message = Bilingual(
        en="The disk that holds ECHO's data is full.",
        fr="Le disque qui contient les données d'ECHO est plein.",
    )
    remedy = Bilingual(
        en="Your administrator must free some space in ECHO's data folder.",
        fr="Votre administrateur doit libérer de la place dans le dossier de données d'ECHO.",
    )


class StoreUnavailableError(StoreError):
    """The file cannot be opened, read or written: rights, a missing disk, an input/output error."""

    code = "store_unavailable"
    audience = "admin"
    message = Bilingual(
        en="ECHO cannot read or write its data folder.",
        fr="ECHO ne peut pas lire ou écrire dans son dossier de données.",
    )
    remedy = Bilingual(
        en="Your administrator must check the disk and the rights of ECHO's data folder.",
        fr="Votre administrateur doit vérifier le disque et les droits du dossier de données d'ECHO.",
    )


class StoreClosedError(StoreError):
    """The store was used after it was closed or purged."""

    code = "store_closed"


class UnusableFileError(StoreError):
    """The file as a whole cannot be used; it is set aside untouched and a fresh one takes its place."""

    code = "store_file_unusable"
    #: Goes into the name of the file that is set aside.
    reason: ClassVar[str] = "unusable"
    remedy = Bilingual(
        en="The old file was set aside unchanged; this chat goes on from the text that you see.",
        fr="L'ancien fichier a été mis de côté sans modification ; cette conversation continue à partir du texte "
        "que vous voyez.",
    )


class DamagedFileError(UnusableFileError):
    """SQLite finds the file damaged, or tables of ours are missing."""

    code = "store_file_damaged"
    reason = "damaged"
    message = Bilingual(
        en="ECHO's records of this chat were damaged.",
        fr="Les enregistrements de cette conversation étaient abîmés.",
    )


class ForeignFileError(UnusableFileError):
    """The file is not one of ours."""

    code = "store_file_foreign"
    reason = "foreign"
    message = Bilingual(
        en="Where ECHO keeps its records of this chat there was a file that is not ECHO's.",
        fr="À l'emplacement des enregistrements de cette conversation se trouvait un fichier étranger à ECHO.",
    )


class FutureFileError(UnusableFileError):
    """A newer version of ECHO wrote the file."""

    code = "store_file_future"
    reason = "future"
    message = Bilingual(
        en="ECHO's records of this chat were written by a newer version of ECHO.",
        fr="Les enregistrements de cette conversation ont été écrits par une version plus récente d'ECHO.",
    )
    remedy = Bilingual(
        en="The file was set aside unchanged; install the newer version again to use it.",
        fr="Le fichier a été mis de côté sans modification ; réinstallez la version plus récente pour l'utiliser.",
    )


class LockedFileError(UnusableFileError):
    """What the file says is encrypted under another secret."""

    code = "store_file_locked"
    audience = "admin"
    reason = "locked"
    message = Bilingual(
        en="ECHO's records of this chat are encrypted under another secret.",
        fr="Les enregistrements de cette conversation sont chiffrés avec un autre secret.",
    )
    remedy = Bilingual(
        en="They were set aside unchanged; this chat goes on from the text that you see. Administrator: set "
        "ECHO_SECRET_KEY to the secret used before, restart, and run `echoctl repair` to have them back.",
        fr="Ils ont été mis de côté sans modification ; cette conversation continue à partir du texte que vous voyez. "
        "Administrateur : donnez à ECHO_SECRET_KEY le secret utilisé auparavant, redémarrez, puis lancez "
        "`echoctl repair` pour les retrouver.",
    )


#: Primary result codes and what they mean here. Source: https://www.sqlite.org/rescode.html
_BY_RESULT_CODE: Final[dict[int, type[StoreError]]] = {
    sqlite3.SQLITE_BUSY: StoreBusyError,
    sqlite3.SQLITE_LOCKED: StoreBusyError,
    sqlite3.SQLITE_FULL: StoreFullError,
    sqlite3.SQLITE_CORRUPT: DamagedFileError,
    sqlite3.SQLITE_NOTADB: ForeignFileError,
    sqlite3.SQLITE_CANTOPEN: StoreUnavailableError,
    sqlite3.SQLITE_IOERR: StoreUnavailableError,
    sqlite3.SQLITE_PERM: StoreUnavailableError,
    sqlite3.SQLITE_READONLY: StoreUnavailableError,
}


def store_error(error: sqlite3.Error) -> StoreError:
    """The typed error for one of SQLite's."""
    code = getattr(error, "sqlite_errorcode", 0) or 0
    name = getattr(error, "sqlite_errorname", None) or type(error).__name__
    if "no such table" in str(error) or "no such column" in str(error):
        return DamagedFileError(f"{name}: {error}")
    return _BY_RESULT_CODE.get(code & 0xFF, StoreError)(f"{name}: {error}")
