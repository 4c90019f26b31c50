"""
title: ECHO
id: echo_orchestrator
description: Google Gemini with exact history, visible tools and thoughts that fold away.
author: The ECHO authors
version: 0.1.0
license: MIT
required_open_webui_version: 0.10.0
"""

import json
import logging
import secrets
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
            title="Gemini API key",
            description="Google AI Studio key for everybody without an own one. After saving it is kept encrypted "
            "by ECHO and this field shows `stored`; empty it to delete the key. *Clé Google AI Studio pour ceux qui "
            "n'ont pas la leur ; ECHO la garde chiffrée et ce champ affiche `stored`. Videz-le pour la supprimer.*",
            json_schema_extra={"input": {"type": "password"}},
        )
        GEMINI_BASE_URL: str = Field(
            default="",
            title="Gemini base URL",
            description="Where the Gemini API is. Empty: the environment's GEMINI_BASE_URL, else Google. *Adresse de "
            "l'API Gemini. Vide : GEMINI_BASE_URL de l'environnement, sinon Google.*",
        )
        MODEL_SELECTION: Literal["AUTO", "AUTO_PRO", "LITE", "FLASH", "PRO"] = Field(
            default="AUTO",
            description="Model level for users who chose none. *Niveau de modèle pour qui n'en a pas choisi.*",
        )
        ECHO_MAX_CONTEXT_SIZE: int = Field(
            default=1_048_576,
            ge=32_768,
            title="Largest context (tokens)",
            description="The most of a model's window that a chat may fill. *Part de la fenêtre du modèle qu'une "
            "discussion peut remplir, en jetons.*",
        )
        MAX_TOOL_ROUNDS: int = Field(
            50, ge=0, le=256, description="Tool rounds before it must conclude. *Tours d'outils avant de conclure.*"
        )
        TOOL_TIMEOUT_S: int = Field(
            default=300, ge=1, le=3600, title="Tool timeout (s)",
            description="Seconds after which one tool call counts as failed. *Secondes après lesquelles un appel "
            "d'outil est considéré comme échoué.*",
        )  # fmt: skip
        CACHE_FILES_MIN: int = Field(
            default=0, ge=0, le=1440, title="Keep large files ready (minutes)",
            description="While a chat goes on about a large file, Google keeps it ready this long (explicit caching, "
            "billed by the hour); 0 = never. *Durée pendant laquelle Google garde prêts les gros fichiers d'une "
            "discussion en cours (facturée à l'heure) ; 0 = jamais.*",
        )  # fmt: skip
        SAFETY_THRESHOLD: Literal[
            "default", "OFF", "BLOCK_NONE", "BLOCK_ONLY_HIGH", "BLOCK_MEDIUM_AND_ABOVE", "BLOCK_LOW_AND_ABOVE"
        ] = Field(
            default="default",
            description="Gemini's safety threshold, all categories. *Seuil de sécurité de Gemini, toutes catégories.*",
        )
        KEEP_API_HISTORY: bool = Field(
            default=True, title="Keep API history",
            description="Keep answers to API clients for 7 days, so that their next request restores them exactly. "
            "*Garder 7 jours les réponses aux clients de l'API, pour que leur demande suivante les retrouve telles "
            "quelles.*",
        )  # fmt: skip
        ENCRYPT_RECORDS: bool = Field(
            default=False, title="Encrypt records",
            description="Encrypt what is written to ECHO's records from now on, under ECHO_SECRET_KEY or "
            "WEBUI_SECRET_KEY; without that secret they cannot be read again. New documents are not searched then. "
            "*Chiffrer ce qui est écrit désormais dans les enregistrements d'ECHO ; sans ECHO_SECRET_KEY ou "
            "WEBUI_SECRET_KEY ils sont illisibles. La recherche ne porte alors pas sur les nouveaux documents.*",
        )  # fmt: skip
        REMINDER_TURNS: int = Field(20, ge=0, description="Turns between reminders (0: none). *Tours entre rappels.*")
        REMINDER_FILL: int = Field(30, ge=0, le=100, description="Context fill (%) for one. *Contexte rempli (%).*")

    class UserValves(BaseModel):
        MODEL_SELECTION: Literal["default", "AUTO", "AUTO_PRO", "LITE", "FLASH", "PRO"] = Field(
            default="default",
            description="Model level: LITE is quick, PRO thinks hardest, AUTO fits it to the task. *Niveau du modèle : "
            "LITE répond vite, PRO réfléchit le plus, AUTO s'adapte à la tâche.*",
        )
        SHOW_THOUGHTS: bool = Field(
            True, description="Show the model's thought summaries, folded. *Montrer le résumé des réflexions, replié.*"
        )
        REASONING_EFFORT: Literal["default", "minimal", "low", "medium", "high"] = Field(
            default="default",
            description="How long the model may think before it answers. *Temps de réflexion permis au modèle.*",
        )
        GOOGLE_MAPS: bool = Field(
            False, description="Web Search brings Google Maps, too. *La recherche Web apporte aussi Google Maps.*"
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
            text = f"{NOT_INSTALLED} ({(reference := secrets.token_hex(4))})"
            log.error("ECHO's libraries are missing: %s (%s)", MISSING, reference)
            if body.get("stream") or (__metadata__ or {}).get("session_id"):
                return {"error": text}
            from starlette.responses import StreamingResponse

            told = {"error": {"message": text, "code": "not_installed", "type": "echo_error"}}
            return StreamingResponse(iter([json.dumps(told)]), status_code=503, media_type="application/json")
        return await respond(
            PipeCall(
                body=body,
                user=__user__,
                metadata=__metadata__ or {},
                valves=self.valves,
                tools=__tools__,
                task=__task__,
                event_emitter=__event_emitter__,
                event_call=__event_call__,
                request=__request__,
            )
        )
