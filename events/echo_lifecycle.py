"""
title: ECHO lifecycle
id: echo_lifecycle
version: 0.1.0
author: ECHO
required_open_webui_version: 0.10.0
description: Adds ECHO's pages, keeps API keys encrypted, and removes what belongs to deleted chats.
license: MIT
"""

import logging
from typing import Any

logger = logging.getLogger("echo.lifecycle")

try:
    from echo_runtime.lifecycle import lifecycle_of

    PROBLEM = ""
except ImportError as error:
    # Raising here would make Open WebUI switch the function off in its database.
    lifecycle_of = None
    PROBLEM = str(error)


class Event:
    async def event(self, event: dict[str, Any], __event_name__: str, __id__: str, __app__: Any) -> None:
        if lifecycle_of is None:
            if __event_name__ in {"system.startup.started", "function.enable_started"}:
                logger.error("ECHO's libraries are not installed for Open WebUI: %s. Run `echoctl install`.", PROBLEM)
            return
        await lifecycle_of(__app__).handle(__event_name__, event, __id__)
