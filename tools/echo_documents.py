"""
title: ECHO documents
title_fr: Documents d'ECHO
id: echo_documents
description: Reads the documents that the user attached, by page, sheet or section, and asks their tables in SQL.
description_fr: Lit les documents joints, par page, feuille ou section, et interroge leurs tables en SQL.
author: The ECHO authors
version: 0.1.0
license: MIT
required_open_webui_version: 0.10.0
"""

from typing import Any

NOT_INSTALLED = ""
try:
    from echo_runtime.document_tools import DocumentToolkit
    from echo_runtime.toolkits import documents
except ImportError as error:  # a failing import would take the tools away without a word
    NOT_INSTALLED = (
        f"ECHO's libraries are not installed in this Open WebUI ({error}): tell the user to ask the administrator. "
        "Les bibliothèques d'ECHO manquent : demandez à l'administrateur."
    )
    documents = None

    class DocumentToolkit:
        def __init__(self, desk: Any) -> None:
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


class Tools(DocumentToolkit):
    def __init__(self) -> None:
        super().__init__(documents)
