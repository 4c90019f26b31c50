"""Where a user wants to see the Context Gauge: the administrator's choice, then the user's own. Light to import."""

from collections.abc import Mapping
from typing import Any, Final, get_args

from echo_runtime.turn_context import Display

#: Id of the filter whose valves say it.
DRAWER_FILTER_ID: Final = "app_drawer_filter"


def display_of(valves: Mapping[str, Any], user_valves: Any) -> Display:
    """The user's choice where there is one, else the administrator's, else the page.

    Args:
        valves: the filter's Valves by name.
        user_valves: its UserValves, as an object or by name; None when the user has none.
    """
    held = user_valves if isinstance(user_valves, Mapping) else {"HUD": getattr(user_valves, "HUD", None)}
    for choice in (held.get("HUD"), valves.get("DEFAULT_HUD")):
        for display in get_args(Display):
            if choice == display:
                return display  # type: ignore[no-any-return]
    return "page"
