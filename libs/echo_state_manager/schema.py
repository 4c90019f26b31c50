"""How many schema steps this version knows; a file's `PRAGMA user_version` counts those that it has seen."""

from typing import Final

from echo_state_manager._identity_schema import IDENTITY_MIGRATIONS
from echo_state_manager._migrations import SESSION_MIGRATIONS

IDENTITY_SCHEMA_VERSION: Final = len(IDENTITY_MIGRATIONS)
SESSION_SCHEMA_VERSION: Final = len(SESSION_MIGRATIONS)
