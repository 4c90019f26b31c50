"""SQLite stores: one session.db a chat, one identity.db for the instance."""

from echo_state_manager._aside import BroughtBack, bring_back
from echo_state_manager._errors import (
    DamagedFileError,
    ForeignFileError,
    FutureFileError,
    LockedFileError,
    StoreBusyError,
    StoreClosedError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    UnusableFileError,
)
from echo_state_manager._inspect import verify_file
from echo_state_manager._load import get_message_shadow, get_signature_by_id
from echo_state_manager._repair import RepairReport, repair
from echo_state_manager._salvage import FileRepair, repair_file
from echo_state_manager._save import (
    index_suture,
    save_cognitive_data,
    save_message_shadow,
    save_session_setting,
    save_signature_by_id,
)
from echo_state_manager._sealed_files import SecretSeal
from echo_state_manager._transfer import Image, Taken, UnsoundRecordsError, image_of, opened_image, take_over
from echo_state_manager._verify import Break, BreakKind, VerifyReport, verify
from echo_state_manager.memory import MemoryShadowStore
from echo_state_manager.session import SessionStore
from echo_state_manager.stores import SessionStores

__all__ = [
    "Break",
    "BreakKind",
    "BroughtBack",
    "DamagedFileError",
    "FileRepair",
    "ForeignFileError",
    "FutureFileError",
    "Image",
    "LockedFileError",
    "MemoryShadowStore",
    "RepairReport",
    "SecretSeal",
    "SessionStore",
    "SessionStores",
    "StoreBusyError",
    "StoreClosedError",
    "StoreError",
    "StoreFullError",
    "StoreUnavailableError",
    "Taken",
    "UnsoundRecordsError",
    "UnusableFileError",
    "VerifyReport",
    "bring_back",
    "get_message_shadow",
    "get_signature_by_id",
    "image_of",
    "index_suture",
    "opened_image",
    "repair",
    "repair_file",
    "save_cognitive_data",
    "save_message_shadow",
    "save_session_setting",
    "save_signature_by_id",
    "take_over",
    "verify",
    "verify_file",
]
