"""
title: ECHO recall
id: conversation_rag_filter
description: Keeps what is said in a memory of its own, and brings back what bears on a question once a chat is long.
description_fr: Garde ce qui est dit en mémoire, et le ramène dans une longue discussion quand la question y touche.
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
        priority: int = Field(default=30, description="Order among all filters. *Ordre parmi tous les filtres.*")
        INDEX_CHATS: bool = Field(
            default=True,
            description="Index what is said for search by meaning, in the background on this machine; off, earlier "
            "passages are found by their words alone. *Indexer ce qui est dit pour la recherche par le sens, sur cette "
            "machine ; sinon, les passages ne sont retrouvés que par leurs mots.*",
        )
        MEMORY_ALLOWED: bool = Field(
            default=True,
            description="Users may have ECHO remember things from one conversation to the next. *Les utilisateurs "
            "peuvent faire retenir des choses d'une conversation à l'autre.*",
        )
        MEMORY_READING: Literal["model", "local", "off"] = Field(
            default="model",
            description="What is read for memory after a turn: `model` lets MODEL_DISTILLATION look for lasting facts "
            "in the user's words, one request for several turns; `local` takes only what the user asks to have "
            "remembered, word for word, on this machine; `off` nothing but what the tool `remember` is told. *Ce qui "
            "est lu pour la mémoire après une réponse : par un modèle, seulement les demandes explicites (rien ne sort "
            "de la machine), ou rien.*",
        )

    class UserValves(BaseModel):
        ENABLED: bool = Field(
            default=True,
            description="Let what is said be searched by meaning, and bring back what bears on my question once a "
            "conversation is long. *Permettre d'y chercher par le sens, et ramener ce qui touche à ma question quand "
            "la conversation est longue.*",
        )
        MEMORY: bool = Field(
            default=True,
            description="Remember what I say of myself and my work, and use it in later conversations. *Retenir ce que "
            "je dis de moi et de mon travail, et s'en servir plus tard.*",
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
            log.error("ECHO's libraries are missing in this Open WebUI (%s): conversation_rag_filter rests", MISSING)
        else:
            await enter("conversation_rag_filter", self.valves, __user__, __metadata__, __model__)
        return body
