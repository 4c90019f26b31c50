"""
title: ECHO search
title_fr: Recherche d'ECHO
id: echo_search
description: Finds passages in the documents of the chat, and in what the user's own chats keep in memory.
description_fr: Trouve des passages dans les documents de la discussion et dans la mémoire de vos discussions.
author: The ECHO authors
version: 0.1.0
license: MIT
required_open_webui_version: 0.10.0
"""

from typing import Any

NOT_INSTALLED = ""
try:
    from echo_runtime.search_tools import SearchToolkit
    from echo_runtime.toolkits import documents, session_memory
except ImportError as error:  # a failing import would take the tools away without a word
    NOT_INSTALLED = (
        f"ECHO's libraries are not installed in this Open WebUI ({error}): tell the user to ask the administrator. "
        "Les bibliothèques d'ECHO manquent : demandez à l'administrateur."
    )
    documents = session_memory = None

    class SearchToolkit:
        def __init__(self, index: Any, desk: Any) -> None:
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


class Tools(SearchToolkit):
    def __init__(self) -> None:
        super().__init__(session_memory, documents)
