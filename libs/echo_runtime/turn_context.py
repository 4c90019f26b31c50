"""The one object that ECHO's filters, the pipe and the outlet share during one request.

It rides in Open WebUI's request metadata under one key of ours: a new key reaches all of them, while a change to an
existing key is reverted on the way to the pipe (research: Open WebUI 0.12.4, `utils/chat.py`). With several models
side by side each has its own copy of the metadata, so each has its own context.
"""

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal

from echo_constants import Locale
from echo_prompts import SHIPPED, PromptBook

METADATA_KEY: Final = "_echo"

#: Where the Draft of the current message rides beside it. Source: docs/design.md section 1.
DRAFT_KEY: Final = "_echo_user_parts_draft"

#: The filter and stage by which ECHO tells the model about itself and prepares questions.
OWN_CONTEXT: Final = "new_context_filter"

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

#: What became of a stage: it did its work, somebody switched it off, or it broke and was told in the log.
StageState = Literal["done", "off", "failed"]


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """How a turn shows that it lives while it has nothing to say.

    Args:
        interval_s: silence after which something is sent.
        shows_status: whether the page tells how long the silence has lasted.
    """

    interval_s: float
    shows_status: bool = True


@dataclass(frozen=True, slots=True)
class Anchors:
    """What the model is told about the person it talks to; nothing of it in a chat with several writers.

    Args:
        person: values by name (`USER_NAME`, `USER_LANGUAGE`, `MEMORIES`).
        times: likewise (`NOW`).
        places: likewise (`CURRENT_TIMEZONE`, `USER_LOCATION`).
    """

    person: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    times: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    places: Mapping[str, str] = field(default_factory=lambda: _NOTHING)


#: What is read for memory after a turn: what a model finds, orders word for word without any model, or nothing.
MemoryReading = Literal["model", "local", "off"]


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """What a turn may do with its user's memory.

    Args:
        on: whether memories are recalled and kept at all.
        reading: what is read for memory after it.
        indexes: whether what is said is indexed for search by meaning.
    """

    on: bool = True
    reading: MemoryReading = "model"
    indexes: bool = True


#: Where the user sees the Context Gauge: in the page, as a line under each answer, or nowhere.
Display = Literal["page", "line", "off"]


@dataclass(slots=True)
class TurnContext:
    """Filled stage by stage; read by the pipe.

    Args:
        stages: what became of each stage that was reached, by the name of its filter.
        locale: the reader's language, None until it is known.
        notices: what the user is told before the answer, in the user's language.
        heartbeat: None = the turn may be silent.
        anchors: the person, time and place of the turn.
        display: where the Context Gauge is shown.
        memory: what may be done with the user's memory.
        asked: what the user wrote last, as the request has it.
        prompts: the words in which ECHO speaks to the model.
        waits: whether a line of status says at present what the turn waits for.
        waits_begun: how many such lines there were.
    """

    stages: dict[str, StageState] = field(default_factory=dict)
    locale: Locale | None = None
    notices: list[str] = field(default_factory=list)
    heartbeat: Heartbeat | None = None
    anchors: Anchors = field(default_factory=Anchors)
    display: Display = "page"
    memory: MemoryUse = field(default_factory=MemoryUse)
    asked: str = ""
    prompts: PromptBook = SHIPPED
    waits: bool = False
    waits_begun: int = 0

    @property
    def tells_own(self) -> bool:
        """Whether ECHO tells the model anything of its own: False when somebody switched that off."""
        return self.stages.get(OWN_CONTEXT) != "off"


def shared_context(metadata: MutableMapping[str, Any]) -> TurnContext:
    """The context of a request; made by whoever comes first."""
    found = metadata.get(METADATA_KEY)
    if not isinstance(found, TurnContext):
        found = metadata[METADATA_KEY] = TurnContext()
    return found
