"""
title: ECHO: condense
title_fr: ECHO : condenser
id: compact_context_action
description: Condenses the conversation so far, shows what stands for it, and takes it back.
description_fr: Condense la conversation jusqu'ici, montre ce qui la remplace et permet d'y revenir.
author: The ECHO authors
version: 0.1.0
license: MIT
required_open_webui_version: 0.10.0
"""

import logging
from typing import Any

try:
    from echo_runtime.compaction_entry import act

    MISSING = ""
except ImportError as error:  # a failing import would switch the function off
    MISSING = str(error)

log = logging.getLogger(__name__)


class Action:
    async def action(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __event_emitter__: Any = None,
        __event_call__: Any = None,
        __request__: Any = None,
    ) -> None:
        if MISSING:
            log.error("ECHO's libraries are missing in this Open WebUI (%s): compact_context_action rests", MISSING)
            return
        await act(body, __user__ or {}, __event_emitter__, __event_call__, __request__)
