"""
title: ECHO user context
id: user_native_context_filter
description: Tells the model whom it talks to, when and where, and what Open WebUI remembers of the user.
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
        priority: int = Field(default=10, description="Order among all filters. *Ordre parmi tous les filtres.*")
        TIME_STEP_MIN: int = Field(
            default=10,
            ge=1,
            le=1440,
            title="Time step (min)",
            description="The model is told the time anew when this many minutes have passed. *L'heure est redite au "
            "modèle quand tant de minutes ont passé.*",
        )

    class UserValves(BaseModel):
        ENABLED: bool = Field(
            default=True,
            description="Tell the model about me, the time and the place. *Parler de moi, de l'heure et du lieu au "
            "modèle.*",
        )
        TELL_PERSON: bool = Field(default=True, description="My name. *Mon nom.*")
        TELL_LOCATION: bool = Field(
            default=True,
            description="My location, where Open WebUI knows it. *Ma position, si Open WebUI la connaît.*",
        )
        TELL_MEMORIES: bool = Field(
            default=True,
            description="What Open WebUI remembers of me, while its memory is switched on. *Ce qu'Open WebUI retient "
            "de moi, tant que sa mémoire est active.*",
        )

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def inlet(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
        __model__: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        if MISSING:
            log.error("ECHO's libraries are missing in this Open WebUI (%s): user_native_context_filter rests", MISSING)
        else:
            await enter("user_native_context_filter", self.valves, __user__, __metadata__, __model__)
        return body
