"""
title: Context and cost
title_fr: Contexte et coût
id: context_gauge_action
description: Shows below an answer how full the context is, what the chat cost, and charts of both.
description_fr: Affiche sous une réponse le remplissage du contexte, le coût de la conversation et leurs graphiques.
author: The ECHO authors
version: 0.1.0
license: MIT
required_open_webui_version: 0.10.0
icon_url: data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' stroke='%23000' stroke-width='1.5' stroke-linecap='round'%3E%3Cpath d='M5 20V10M12 20V4M19 20v-7'/%3E%3C/svg%3E
"""  # noqa: E501

import logging
from typing import Any

from pydantic import BaseModel, Field

try:
    from echo_runtime.hud_entry import show_context

    MISSING = ""
except ImportError as error:  # a failing import would switch the function off
    MISSING = str(error)

log = logging.getLogger(__name__)


class Action:
    class Valves(BaseModel):
        priority: int = Field(
            default=90, description="Place among the buttons below an answer. *Place parmi les boutons.*"
        )

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def action(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __request__: Any = None,
        __event_emitter__: Any = None,
    ) -> Any:
        if MISSING:
            log.error("ECHO's libraries are not installed in this Open WebUI (%s): no figures", MISSING)
            return None
        return await show_context(body, __user__ or {}, __request__, __event_emitter__)
