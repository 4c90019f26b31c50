"""
title: ECHO codex
title_fr: Codex d'ECHO
id: echo_codex
description: Git workspaces for each user: files, commits, branches, merges, clones. Nothing in them is executed.
description_fr: Espaces git par utilisateur : fichiers, commits, branches, fusions, clones. Rien n'y est exécuté.
author: The ECHO authors
version: 0.1.0
license: MIT
required_open_webui_version: 0.10.0
"""

from typing import Any

from pydantic import BaseModel, Field

NOT_INSTALLED = ""
try:
    from echo_codex_git.toolkit import CodexToolkit
    from echo_runtime.toolkits import codex_of
except ImportError as error:  # a failing import would take the tools away without a word
    NOT_INSTALLED = (
        f"ECHO's libraries are not installed in this Open WebUI ({error}): tell the user to ask the administrator. "
        "Les bibliothèques d'ECHO manquent : demandez à l'administrateur."
    )
    codex_of = None

    class CodexToolkit:
        def __init__(self, codex: Any) -> None:
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


class Tools(CodexToolkit):
    class Valves(BaseModel):
        CLONE_HTTPS: bool = Field(
            default=True,
            title="Clone from https",
            description="Clone repositories from public https addresses. *Cloner des dépôts depuis des adresses https "
            "publiques.*",
        )
        CLONE_PRIVATE_HOSTS: bool = Field(
            default=False,
            title="Clone from private hosts",
            description="Also clone from hosts of the inner network; the model chooses the address. *Cloner aussi "
            "depuis des hôtes du réseau interne ; c'est le modèle qui choisit l'adresse.*",
        )
        CLONE_FOLDERS: str = Field(
            default="",
            title="Clone from folders",
            description="Folders of the server below which repositories may be cloned by path, separated by commas. "
            "*Dossiers du serveur sous lesquels des dépôts peuvent être clonés par chemin, séparés par des virgules.*",
        )

    def __init__(self) -> None:
        self.valves = self.Valves()
        super().__init__(lambda: codex_of(self.valves))
