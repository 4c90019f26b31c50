"""
title: ECHO keep-alive
id: tcp_keepalive_filter
description: Keeps long silent turns alive through proxies that cut idle connections, and says that they go on.
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
        priority: int = Field(default=2, description="Order among all filters. *Ordre parmi tous les filtres.*")
        HEARTBEAT_S: int = Field(
            default=5,
            ge=1,
            le=60,
            title="Heartbeat (s)",
            description="Seconds of silence after which a sign of life is sent; keep it below the idle limit of your "
            "proxy. *Secondes de silence avant un signe de vie ; restez sous la limite d'inactivité de votre proxy.*",
        )
        SHOW_STATUS: bool = Field(
            default=True,
            description="Tell on the page how long a turn has been silent. *Indiquer sur la page depuis combien de "
            "temps la réponse se tait.*",
        )

    class UserValves(BaseModel):
        ENABLED: bool = Field(
            default=True,
            description="Send signs of life during long silences. *Envoyer des signes de vie pendant les longs "
            "silences.*",
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
            log.error("ECHO's libraries are not installed in this Open WebUI (%s): tcp_keepalive_filter rests", MISSING)
        else:
            await enter("tcp_keepalive_filter", self.valves, __user__, __metadata__, __model__)
        return body
