"""
title: ECHO memory
title_fr: Mémoire d'ECHO
id: echo_memory
description: Remembers what the user says of himself and his work, finds it again in later chats, and forgets it.
description_fr: Retient ce que vous dites de vous et de votre travail, le retrouve plus tard, et l'oublie.
author: The ECHO authors
version: 0.1.0
license: MIT
required_open_webui_version: 0.10.0
"""

from typing import Any

NOT_INSTALLED = ""
try:
    from echo_runtime.memory_tools import MemoryToolkit
    from echo_runtime.toolkits import memories, memory_ground
except ImportError as error:  # a failing import would take the tools away without a word
    NOT_INSTALLED = (
        f"ECHO's libraries are not installed in this Open WebUI ({error}): tell the user to ask the administrator. "
        "Les bibliothèques d'ECHO manquent : demandez à l'administrateur."
    )
    memories = memory_ground = None

    class MemoryToolkit:
        def __init__(self, desk: Any, ground: Any) -> None:
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


class Tools(MemoryToolkit):
    def __init__(self) -> None:
        super().__init__(memories, memory_ground)
