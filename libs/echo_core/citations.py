"""Gemini's grounding and citations as Open WebUI's sources."""

from collections.abc import Mapping
from typing import Any

from echo_protocol import CitationsReceived


def sources_of(received: CitationsReceived) -> tuple[Mapping[str, Any], ...]:
    """One source a web page, in the order in which the answer names them; without an address it cannot be one."""
    pages: dict[str, str] = {}
    for chunk in received.grounding.get("groundingChunks") or ():
        place = chunk.get("web") or chunk.get("maps") or chunk.get("retrievedContext") or {}
        _add(pages, place.get("uri"), place.get("title"))
    for citation in received.citations:
        _add(pages, citation.get("uri"), citation.get("title"))
    for fetched in received.url_context:
        _add(pages, fetched.get("retrievedUrl"), None)
    return tuple(
        {
            "source": {"name": title, "url": url, "id": url},
            "document": [title],
            "metadata": [{"source": url, "name": title}],
        }
        for url, title in pages.items()
    )


def _add(pages: dict[str, str], url: Any, title: Any) -> None:
    if isinstance(url, str) and url:
        pages.setdefault(url, str(title or url))
