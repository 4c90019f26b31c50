"""ListModels with paging."""

import base64
import binascii
from typing import Any, Final

from echo_workers.gemini_sim.core.errors import invalid
from echo_workers.gemini_sim.core.models import all_models
from echo_workers.gemini_sim.services.state import SimState

#: Source: ListModels, documented (50 by default, at most 1,000).
_PAGE_DEFAULT: Final = 50
_PAGE_MAX: Final = 1_000


def page_bounds(size: str | None, token: str | None) -> tuple[int, int]:
    """(start, size) of a page.

    Raises:
        GoogleRefusal: 400 for a size that is no number or a token that is not ours.
    """
    try:
        count = int(size) if size else _PAGE_DEFAULT
        start = int(base64.urlsafe_b64decode(token)) if token else 0
    except (ValueError, binascii.Error) as error:
        raise invalid("Request contains an invalid argument.") from error
    if count < 0 or start < 0:
        raise invalid("Request contains an invalid argument.")
    return start, min(count or _PAGE_DEFAULT, _PAGE_MAX)


def page_of(rows: list[dict[str, Any]], name: str, size: str | None, token: str | None) -> dict[str, Any]:
    """One page of a list: `{name: rows, nextPageToken?}`; an empty list leaves the field out (proto3 JSON)."""
    start, count = page_bounds(size, token)
    out: dict[str, Any] = {}
    if rows[start : start + count]:
        out[name] = rows[start : start + count]
    if start + count < len(rows):
        out["nextPageToken"] = base64.urlsafe_b64encode(str(start + count).encode()).decode()
    return out


def list_models(state: SimState, size: str | None, token: str | None) -> dict[str, Any]:
    """The models endpoint."""
    models = all_models(with_retired=state.settings.serve_retired_models)
    return page_of([model.resource() for model in models], "models", size, token)
