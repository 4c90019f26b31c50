"""
title: ECHO sub-agents
title_fr: Sous-agents d'ECHO
id: echo_subagent
description: Lets the model give tasks to sub-agents, which work with the same tools in a context of their own.
description_fr: Le modèle confie des tâches à des sous-agents, qui ont ses outils et un contexte à part.
author: The ECHO authors
version: 0.1.0
license: MIT
required_open_webui_version: 0.10.0
"""

from typing import Any

from pydantic import BaseModel, Field

NOT_INSTALLED = ""
try:
    from echo_runtime.subagent_tool import SubagentToolkit
except ImportError as error:  # a failing import would take the tools away without a word
    NOT_INSTALLED = (
        f"ECHO's libraries are not installed in this Open WebUI ({error}): tell the user to ask the administrator. "
        "Les bibliothèques d'ECHO manquent : demandez à l'administrateur."
    )

    class SubagentToolkit:
        def __init__(self, valves: Any) -> None:
            pass

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            return self._tell  # tools that were stored while the libraries were there

        async def why_echo_is_missing(self) -> str:
            """Tell why ECHO's tools do not work."""
            return NOT_INSTALLED

        async def _tell(self, **given: Any) -> str:
            return NOT_INSTALLED


class Tools(SubagentToolkit):
    class Valves(BaseModel):
        MAX_DEPTH: int = Field(
            default=1,
            ge=0,
            le=3,
            title="Depth",
            description="How deep sub-agents may have sub-agents; 0 switches them off. *Combien de niveaux de "
            "sous-agents ; 0 les désactive.*",
        )
        MAX_ROUNDS: int = Field(
            default=20,
            ge=1,
            le=100,
            title="Tool rounds",
            description="Tool rounds after which a sub-agent has to conclude. *Tours d'outils après lesquels un "
            "sous-agent doit conclure.*",
        )
        MAX_TOKENS: int = Field(
            default=500_000,
            ge=10_000,
            title="Tokens",
            description="Tokens, sent and received in all its requests, after which a sub-agent has to conclude. "
            "*Jetons, envoyés et reçus, après lesquels un sous-agent doit conclure.*",
        )
        MAX_SECONDS: int = Field(
            default=600,
            ge=10,
            le=3600,
            title="Time (s)",
            description="Seconds after which a sub-agent is ended; at three quarters of them it has to conclude. "
            "*Secondes après lesquelles un sous-agent est arrêté ; aux trois quarts il doit conclure.*",
        )

    class UserValves(BaseModel):
        ENABLED: bool = Field(
            default=True,
            title="Sub-agents",
            description="Let the model use sub-agents. *Laisser le modèle employer des sous-agents.*",
        )

    def __init__(self) -> None:
        self.valves = self.Valves()
        super().__init__(lambda: self.valves)
