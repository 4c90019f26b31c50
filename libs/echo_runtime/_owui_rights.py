"""What Open WebUI allows a user, and how its chat bar is set up.

Facts about Open WebUI named here were read in release 0.12.4; the seam test checks each symbol against the
installed release.
"""

import inspect
from collections.abc import Mapping
from typing import Any


async def may_use_feature(request: Any, user: Mapping[str, Any], feature: str) -> bool:
    """Whether a user may use a switch of the chat bar (`image_generation`, …); the request alone proves nothing.

    The rule is Open WebUI's own: administrators, and whoever has it by group or by default.
    """
    from open_webui.utils.access_control import has_permission

    if user.get("role") == "admin":
        return True
    allowed = has_permission(str(user.get("id")), f"features.{feature}", await _defaults(request))
    return bool(await allowed if inspect.isawaitable(allowed) else allowed)


async def search_engine(request: Any) -> str:
    """The search engine that the administrator configured, "" when web search is off."""
    try:
        from open_webui.models.config import Config
    except ImportError:  # before 0.12 the settings lie on the application
        config = request.app.state.config
        return str(config.WEB_SEARCH_ENGINE or "") if config.ENABLE_WEB_SEARCH else ""
    return str(await Config.get("web.search.engine") or "") if await Config.get("web.search.enable") else ""


async def _defaults(request: Any) -> Any:
    try:
        from open_webui.models.config import Config
    except ImportError:  # before 0.12 the settings lie on the application
        return request.app.state.config.USER_PERMISSIONS
    return await Config.get("user.permissions")
