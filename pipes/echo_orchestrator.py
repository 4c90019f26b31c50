"""
title: ECHO
id: echo_orchestrator
description: Google Gemini with exact history, visible tools and thoughts that fold away.
author: The ECHO authors
version: 0.1.0
license: MIT
required_open_webui_version: 0.10.0
"""

import logging
from typing import Any, Literal

from pydantic import BaseModel, Field

try:
    from echo_runtime import PipeCall, respond

    MISSING = ""
except ImportError as error:  # told at call time: a failing import would switch the function off
    MISSING = str(error)

log = logging.getLogger(__name__)

NOT_INSTALLED = (
    "ECHO's libraries are not installed in this Open WebUI. Administrator: install the echo-owui wheel of this "
    "version and restart. / Les bibliothèques d'ECHO ne sont pas installées dans cet Open WebUI. Administrateur : "
    "installez la roue echo-owui de cette version, puis redémarrez."
)


class Pipe:
    class Valves(BaseModel):
        GEMINI_API_KEY: str = Field(
            default="",
            description="Google AI Studio key for everybody without an own one. After saving it is kept encrypted "
            "by ECHO and this field shows `stored`; empty it to delete the key.",
            json_schema_extra={"input": {"type": "password"}},
        )
        GEMINI_BASE_URL: str = Field(
            default="",
            description="Where the Gemini API is. Empty: the environment's GEMINI_BASE_URL, else Google.",
        )
        MODEL_SELECTION: Literal["LITE", "FLASH", "PRO"] = Field(
            default="FLASH", description="The model level for users who chose none."
        )
        MAX_TOOL_ROUNDS: int = Field(
            default=50, ge=0, le=256, description="Tool rounds in one turn before the model is asked to conclude."
        )
        TOOL_TIMEOUT_S: int = Field(
            default=300, ge=1, le=3600, description="Seconds after which one tool call counts as failed."
        )
        SAFETY_THRESHOLD: Literal[
            "default", "OFF", "BLOCK_NONE", "BLOCK_ONLY_HIGH", "BLOCK_MEDIUM_AND_ABOVE", "BLOCK_LOW_AND_ABOVE"
        ] = Field(default="default", description="Gemini's safety threshold for all categories.")
        KEEP_API_HISTORY: bool = Field(
            default=True,
            description="Keep answers to API clients for 7 days, so that their next request restores them exactly.",
        )

    class UserValves(BaseModel):
        MODEL_SELECTION: Literal["default", "LITE", "FLASH", "PRO"] = Field(
            default="default", description="The model level: LITE is quick, PRO thinks hardest."
        )
        SHOW_THOUGHTS: bool = Field(default=True, description="Show the model's thought summaries, folded.")
        REASONING_EFFORT: Literal["default", "minimal", "low", "medium", "high"] = Field(
            default="default", description="How long the model may think before it answers."
        )

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def pipe(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any],
        __metadata__: dict[str, Any] | None = None,
        __tools__: Any = None,
        __task__: str | None = None,
        __event_emitter__: Any = None,
        __event_call__: Any = None,
        __request__: Any = None,
    ) -> Any:
        if MISSING:
            log.error("ECHO's libraries are missing: %s", MISSING)
            return {"error": {"detail": NOT_INSTALLED}}
        return await respond(
            PipeCall(
                body=body,
                user=__user__,
                metadata=__metadata__ or {},
                valves=self.valves,
                tools=__tools__ if isinstance(__tools__, dict) else {},
                task=__task__,
                event_emitter=__event_emitter__,
                event_call=__event_call__,
                request=__request__,
            )
        )
