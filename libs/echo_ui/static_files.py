"""The page files that ship with the package."""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

_MEDIA_TYPES: Final = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticFile:
    """One file as it is served; `etag` is quoted, as HTTP wants it."""

    content: bytes
    media_type: str
    etag: str


def static_file(name: str) -> StaticFile | None:
    """A file of the package's `static` folder by its bare name, None when there is none. Blocks: it reads a file."""
    return _load().get(name)


@cache
def _load() -> dict[str, StaticFile]:
    files: dict[str, StaticFile] = {}
    for entry in resources.files("echo_ui").joinpath("static").iterdir():
        media_type = _MEDIA_TYPES.get(entry.name[entry.name.rfind(".") :])
        if media_type is not None:
            content = entry.read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
            files[entry.name] = StaticFile(content=content, media_type=media_type, etag=etag)
    return files
