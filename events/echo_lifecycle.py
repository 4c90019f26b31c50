"""
title: ECHO lifecycle
id: echo_lifecycle
description: Adds ECHO's pages, keeps API keys encrypted, and removes what belongs to deleted chats.
author: The ECHO authors
version: 0.1.0
license: MIT
required_open_webui_version: 0.10.0
"""

import logging
from typing import Any

try:
    from echo_runtime.lifecycle_entry import on_event

    MISSING = ""
except ImportError as error:  # a failing import would switch the function off
    MISSING = str(error)

log = logging.getLogger(__name__)


class Event:
    async def event(self, event: dict[str, Any], __event_name__: str, __id__: str, __app__: Any) -> None:
        if not MISSING:
            await on_event(__app__, __event_name__, event, __id__)
        elif __event_name__ in {"system.startup.started", "function.enable_started"}:
            log.error(
                "ECHO's libraries are not installed in this Open WebUI (%s): install the echo-owui wheel", MISSING
            )
