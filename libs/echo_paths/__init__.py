"""Where ECHO keeps its files, and whether SQLite can live there."""

from echo_paths.filesystem import (
    NETWORK_FILE_SYSTEMS,
    NetworkFileSystemError,
    network_file_system,
    require_local_file_system,
)
from echo_paths.layout import DataDirUnknownError, EchoPaths, TemporaryChatError, UnsafeIdError

__all__ = [
    "NETWORK_FILE_SYSTEMS",
    "DataDirUnknownError",
    "EchoPaths",
    "NetworkFileSystemError",
    "TemporaryChatError",
    "UnsafeIdError",
    "network_file_system",
    "require_local_file_system",
]
