"""
title: ECHO HUD
id: app_drawer_filter
description: Shows how full the context is, what it costs and what quota is left, with ECHO's quick actions.
description_fr: Montre le remplissage du contexte, son coût et le quota restant, avec les actions rapides d'ECHO.
author: The ECHO authors
version: 0.1.0
license: MIT
required_open_webui_version: 0.10.0
"""

import logging
from typing import Any, Literal

from pydantic import BaseModel, Field

try:
    from echo_runtime.inlet_entry import enter

    MISSING = ""
except ImportError as error:  # a failing import would switch the function off
    MISSING = str(error)

log = logging.getLogger(__name__)


class Filter:
    class Valves(BaseModel):
        priority: int = Field(default=40, description="Order among all filters. *Ordre parmi tous les filtres.*")
        DEFAULT_HUD: Literal["page", "line", "off"] = Field(
            default="page",
            title="HUD",
            description="For users who chose nothing. `page`: gauge and quick actions below the message box; `line`: "
            "one line above each answer, without any script in the page. *Pour qui n'a rien choisi. `page` : jauge et "
            "actions sous la zone de message ; `line` : une ligne au-dessus de chaque réponse, sans script.*",
        )

    class UserValves(BaseModel):
        HUD: Literal["default", "page", "line", "off"] = Field(
            default="default",
            description="Context, cost and quota: `page` below the message box, `line` above each answer. *Contexte, "
            "coût et quota : `page` sous la zone de message, `line` au-dessus de chaque réponse.*",
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
            log.error("ECHO's libraries are not installed in this Open WebUI (%s): app_drawer_filter rests", MISSING)
        else:
            await enter("app_drawer_filter", self.valves, __user__, __metadata__, __model__)
        return body
