"""
title: ECHO skills
title_fr: Compétences d'ECHO
id: echo_skills
description: Finds, reads and writes skills (SKILL.md folders): the user's own, those for everybody, and Open WebUI's.
description_fr: Trouve, lit et écrit des compétences (SKILL.md) : de l'utilisateur, de tous et d'Open WebUI.
author: The ECHO authors
version: 0.1.0
license: MIT
required_open_webui_version: 0.10.0
"""

from typing import Any

NOT_INSTALLED = ""
try:
    from echo_runtime.toolkits import skills
    from echo_skills.toolkit import SkillToolkit
except ImportError as error:  # a failing import would take the tools away without a word
    NOT_INSTALLED = (
        f"ECHO's libraries are not installed in this Open WebUI ({error}): tell the user to ask the administrator. "
        "Les bibliothèques d'ECHO manquent : demandez à l'administrateur."
    )
    skills = None

    class SkillToolkit:
        def __init__(self, library: Any) -> None:
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


class Tools(SkillToolkit):
    def __init__(self) -> None:
        super().__init__(skills)
