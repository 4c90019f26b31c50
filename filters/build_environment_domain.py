"""
title: ECHO environment
id: build_environment_domain
description: Opens what ECHO's filters share during a turn, finds the reader's language, and watches the data folder.
author: The ECHO authors
version: 0.1.0
license: MIT
required_open_webui_version: 0.10.0
"""

import logging
from typing import Any

from pydantic import BaseModel, Field

try:
    from echo_runtime.inlet_entry import enter

    MISSING = ""
except ImportError as error:  # a failing import would switch the function off
    MISSING = str(error)

log = logging.getLogger(__name__)


class Filter:
    class Valves(BaseModel):
        priority: int = Field(default=0, description="Order among all filters. *Ordre parmi tous les filtres.*")

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def inlet(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
        __model__: dict[str, Any] | None = None,
        __request__: Any = None,
    ) -> dict[str, Any]:
        if MISSING:
            log.error("ECHO's libraries are missing in this Open WebUI (%s): build_environment_domain rests", MISSING)
        else:
            await enter("build_environment_domain", self.valves, __user__, __metadata__, __model__, __request__)
        return body
