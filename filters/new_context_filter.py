"""
title: ECHO context
id: new_context_filter
description: Tells the model who it is and what has happened, and prepares what was attached to the question.
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
        priority: int = Field(default=20, description="Order among all filters. *Ordre parmi tous les filtres.*")

    class UserValves(BaseModel):
        ENABLED: bool = Field(
            default=True,
            description="Let ECHO tell the model who it is, which model answers and what has happened since. Off: only "
            "your own words, files and instructions are sent. *Laisser ECHO dire au modèle qui il est, quel modèle "
            "répond et ce qui s'est passé. Désactivé : seuls vos mots, fichiers et instructions sont envoyés.*",
        )

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def inlet(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
        __model__: dict[str, Any] | None = None,
        __event_emitter__: Any = None,
        __request__: Any = None,
    ) -> dict[str, Any]:
        if MISSING:
            log.error("ECHO's libraries are missing in this Open WebUI (%s): new_context_filter rests", MISSING)
        else:
            given = {"body": body, "event_emitter": __event_emitter__, "request": __request__}
            await enter("new_context_filter", self.valves, __user__, __metadata__, __model__, **given)
        return body
