"""
title: ECHO version lock
id: echo_version_lock
description: Remembers what an answer looks like after all other plugins, so that only a user's edit counts as one.
author: The ECHO authors
version: 0.1.0
license: MIT
required_open_webui_version: 0.10.0
"""

import logging
from typing import Any

from pydantic import BaseModel, Field

try:
    from echo_runtime.outlet_entry import is_echo, take_version_lock

    MISSING = ""
except ImportError as error:  # a failing import would switch the function off
    MISSING = str(error)

log = logging.getLogger(__name__)


class Filter:
    class Valves(BaseModel):
        priority: int = Field(
            default=1000, description="Order among all filters. Keep it the highest: this filter has to come last."
        )

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def outlet(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
        __model__: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        if MISSING:
            log.error("ECHO's libraries are not installed in this Open WebUI (%s): echo_version_lock rests", MISSING)
        elif is_echo(__model__):
            await take_version_lock(body, __user__ or {}, __metadata__ or {})
        return body
