"""Tables of identity.db, as numbered steps that only go forward, and what is wrong with a file that is not ours."""

from typing import Final

from echo_constants import Bilingual, StateError
from echo_state_manager._migrations import Migration

IDENTITY_MIGRATIONS: Final = (
    Migration(
        "m001_identity",
        (
            "CREATE TABLE vault_meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
            """CREATE TABLE secrets (
                owner_id TEXT NOT NULL, name TEXT NOT NULL, sealed BLOB NOT NULL, updated_at INTEGER NOT NULL,
                PRIMARY KEY (owner_id, name)) WITHOUT ROWID""",
            """CREATE TABLE user_settings (
                user_id TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, updated_at INTEGER NOT NULL,
                PRIMARY KEY (user_id, key)) WITHOUT ROWID""",
            """CREATE TABLE chat_index (
                chat_id TEXT PRIMARY KEY, owner_id TEXT NOT NULL, parent_chat_id TEXT, purged_at INTEGER)
                WITHOUT ROWID""",
            "CREATE INDEX idx_chat_index_owner ON chat_index (owner_id)",
        ),
    ),
)


class IdentityTooNewError(StateError):
    """identity.db was written by a newer ECHO."""

    code = "identity_too_new"
    audience = "admin"
    message = Bilingual(
        en="identity.db was written by a newer version of ECHO. Nothing was changed.",
        fr="identity.db a été écrit par une version plus récente d'ECHO. Rien n'a été modifié.",
    )
    remedy = Bilingual(
        en="Install that version again, or restore the backup of ECHO's data folder.",
        fr="Réinstallez cette version, ou restaurez la sauvegarde du dossier de données d'ECHO.",
    )


class IdentityUnusableError(StateError):
    """identity.db is damaged, or another program's file lies in its place."""

    code = "identity_unusable"
    audience = "admin"
    message = Bilingual(
        en="identity.db, where ECHO keeps API keys, is damaged or not ECHO's. Nothing was changed.",
        fr="identity.db, où ECHO conserve les clés API, est abîmé ou n'est pas à ECHO. Rien n'a été modifié.",
    )
    remedy = Bilingual(
        en="Restore it from the backup of ECHO's data folder, or move it away, restart and enter the keys again.",
        fr="Restaurez-le depuis la sauvegarde du dossier de données d'ECHO, ou écartez-le, redémarrez et saisissez "
        "les clés de nouveau.",
    )
