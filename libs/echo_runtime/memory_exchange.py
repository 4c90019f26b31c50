"""A user's memories as a file that he takes along, and what becomes of such a file that comes back."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from echo_constants import LOCALES, Locale
from echo_core.memories import AXIOM, MAX_MEMORY_CHARS, TRIVIAL, Fact, Memory, MemoryKind, Provenance
from echo_memory.keeping import Proposal
from echo_runtime.memory_desk import MemoryDesk
from echo_runtime.memory_errors import MemoryRefusedError

EXPORT_FORMAT: Final = "echo-memories"
EXPORT_VERSION: Final = 1

#: Memories of one request; the page sends a file in such parts, so that each is answered soon. Source: our choice.
MAX_IMPORTED_AT_ONCE: Final = 50

_MAX_ID_CHARS: Final = 200


class _Form(BaseModel):
    model_config = ConfigDict(extra="ignore")


class SourceForm(_Form):
    """Where a memory was said, as a file tells it."""

    chat_id: str = Field(default="", max_length=_MAX_ID_CHARS)
    message_id: str = Field(default="", max_length=_MAX_ID_CHARS)
    at_s: int = Field(default=0, ge=0)


class MemoryForm(_Form):
    """A memory as a file tells it; ids and times of a former place mean nothing here."""

    # Twice as long as a memory may be: one that is only a little too long is told as such.
    text: str = Field(max_length=2 * MAX_MEMORY_CHARS)
    kind: MemoryKind = "fact"
    topic: str = Field(default="", max_length=MAX_MEMORY_CHARS)
    value: str = Field(default="", max_length=MAX_MEMORY_CHARS)
    exclusive: bool = False
    importance: int = Field(default=TRIVIAL, ge=TRIVIAL, le=AXIOM)
    pinned: bool = False
    source: SourceForm = Field(default_factory=SourceForm)
    superseded_by: str = ""

    def proposal(self) -> Proposal:
        """What it asks to be remembered."""
        return Proposal(
            fact=Fact(text=self.text.strip(), **self.model_dump(include={"kind", "topic", "value", "exclusive"})),
            origin="import",
            importance=self.importance,
            source=Provenance(**self.source.model_dump()),
            pinned=self.pinned,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A memory of a file that was not taken.

    Args:
        message: why, by language.
    """

    text: str
    message: dict[Locale, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of a file, or of a part of it.

    Args:
        new: memories that were made.
        same: those that were known already.
        replaces: those that took the place of what held.
        history: those that no longer held where the file was made, and are not taken.
        refused: those that may not be remembered.
    """

    new: int = 0
    same: int = 0
    replaces: int = 0
    history: int = 0
    refused: tuple[Refused, ...] = ()


def shown(memory: Memory) -> dict[str, Any]:
    """A memory as pages and files tell it; times in epoch seconds."""
    told = asdict(memory)
    fact = told.pop("fact")
    return {**fact, **told, "expires_at_s": memory.expires_at_s}


async def exported(desk: MemoryDesk, user_id: str) -> dict[str, Any]:
    """All that is remembered of a user, with what it took the place of."""
    memories = [shown(memory) for memory in await desk.everything(user_id)]
    return {"format": EXPORT_FORMAT, "version": EXPORT_VERSION, "memories": memories}


async def import_memories(desk: MemoryDesk, user_id: str, forms: Sequence[MemoryForm]) -> Imported:
    """Remember what a file holds, as if the user told it anew: one memory a fact, and nothing that is refused.

    Raises:
        MemoryBusyError: others kept changing the memory; what came before is kept, and a second import finds it known.
        StoreError: the file cannot be used.
    """
    counts = {"new": 0, "same": 0, "replaces": 0}
    refused: list[Refused] = []
    current = [form for form in forms if not form.superseded_by]
    for form in current:
        try:
            counts[(await desk.keep(user_id, form.proposal())).outcome] += 1
        except MemoryRefusedError as error:
            message = {locale: error.user_message(locale) for locale in LOCALES}
            refused.append(Refused(text=form.text, message=message))
    return Imported(**counts, history=len(forms) - len(current), refused=tuple(refused))
