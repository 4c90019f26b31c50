"""
title: ECHO compaction
id: context_compaction_filter
description: Keeps long conversations within the model's context, without losing the thread.
description_fr: Garde les longues conversations dans le contexte du modèle, sans perdre le fil.
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
        priority: int = Field(default=15, description="Order among all filters. *Ordre parmi tous les filtres.*")

    class UserValves(BaseModel):
        ENABLED: bool = Field(
            default=True,
            description="Condense my long conversations by themselves; off, only when nothing more would fit. "
            "*Condenser d'elles-mêmes mes longues conversations ; sinon, seulement quand plus rien n'entrerait.*",
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
            log.error("ECHO's libraries are missing in this Open WebUI (%s): context_compaction_filter rests", MISSING)
        else:
            await enter("context_compaction_filter", self.valves, __user__, __metadata__, __model__)
        return body
