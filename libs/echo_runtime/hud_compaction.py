"""What the HUD says of a chat's compaction, and what a user does about it there."""

from dataclasses import asdict
from typing import Any, Final

from echo_constants import Bilingual
from echo_core.compaction_checkpoint import read_checkpoint
from echo_core.compaction_planning import TARGET_SHARE, TRIGGER_SHARE
from echo_core.compaction_records import CompactionState
from echo_core.ports import ShadowStore
from echo_runtime.compaction_store import artifacts_of, compaction_state
from echo_ui import Mark

_TRIGGER: Final = Bilingual(
    en="ECHO condenses the chat from here on", fr="ECHO condense la conversation à partir d'ici"
)
_TARGET: Final = Bilingual(en="and brings it down to about here", fr="et la ramène à peu près ici")

#: The thresholds of compaction on the gauge.
COMPACTION_MARKS: Final = (Mark(fraction=TARGET_SHARE, label=_TARGET), Mark(fraction=TRIGGER_SHARE, label=_TRIGGER))

_METHODS: Final = {
    "mask": Bilingual(en="old tool output put aside", fr="anciens résultats d'outils mis de côté"),
    "model": Bilingual(en="condensed by a model and verified", fr="condensé par un modèle et vérifié"),
    "extract": Bilingual(en="extracted without a model", fr="extrait sans modèle"),
    "edited": Bilingual(en="in your own words", fr="dans vos propres mots"),
}


def compaction_shown(state: CompactionState) -> dict[str, Any] | None:
    """The compaction of a chat that is in force, as the page's script reads it; None for none."""
    epoch = next((held for held in reversed(state.epochs) if not held.undone), None)
    if epoch is None:
        return None
    return {
        "checkpoint_id": epoch.checkpoint_id,
        "method": asdict(_METHODS[epoch.method]),
        "tokens_before": epoch.tokens_before,
        "tokens_after": epoch.tokens_after,
        "at_s": epoch.created_at_s,
        "times": sum(1 for held in state.epochs if not held.undone),
    }


async def checkpoint_text(store: ShadowStore) -> dict[str, Any] | None:
    """The checkpoint in force with its sections, as `[section, text]` in order; None without one. Raises StateError."""
    state = await compaction_state(store)
    epoch = next((held for held in reversed(state.epochs) if not held.undone and held.checkpoint_id), None)
    held = await artifacts_of(store, epoch)
    if epoch is None or not held:
        return None
    return {"checkpoint_id": epoch.checkpoint_id, "lines": [list(line) for line in read_checkpoint(held[0]).lines()]}
