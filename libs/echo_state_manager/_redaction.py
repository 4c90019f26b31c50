"""Taking out of a chat's records what its answers were told of something that is forgotten."""

# ruff: noqa: S608 - the pieces that are put together are constants of this file

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Final

from echo_core.records import Shadow
from echo_state_manager._batch import Batch
from echo_state_manager._database import Transaction
from echo_state_manager._load import from_sql, get_message_shadows, json_ids
from echo_state_manager._save import save_message_shadow, save_session_setting
from echo_state_manager._sql import SELECT_SETTINGS_BEGINNING, opened
from echo_utils import dumps

#: What an overlay tells, by the keys of its entries.
_TOLD: Final = ("notes", "directives", "events")

_NAMING: Final = f"""
    EXISTS (SELECT 1 FROM json_each(?) named WHERE instr(CAST({opened("overlay_json")} AS TEXT), named.value) > 0)"""
_MESSAGES: Final = f"SELECT message_id FROM message_shadows WHERE overlay_json <> '[]' AND {_NAMING}"
_DROP_FORMER: Final = f"DELETE FROM rich_payloads WHERE {_NAMING}"
#: Key in `echo_settings` of what is told beside a question. Source: `echo_aec.drain_key`.
_DRAINED: Final = "drained:"


async def redact(tx: Transaction, marks: Collection[str]) -> int:
    """Remove every artifact that holds one of some marks from overlays; in how many answers there were any.

    The messages keep their parts, signatures and hashes. What a message was formerly goes if it was told such a thing.

    Args:
        tx: a transaction that writes.
        marks: texts that stand in the artifacts that go, and in no other.
    """
    wanted = json_ids(list(marks))
    ids = [str(row[0]) for row in await tx.rows(_MESSAGES, (wanted,))]
    shadows = await get_message_shadows(tx, ids)
    batch = Batch(tx.now_s)
    for shadow in shadows.values():
        save_message_shadow(batch, _without(shadow, marks))
    settings = {}
    for key, value in await tx.rows(SELECT_SETTINGS_BEGINNING, (len(_DRAINED), _DRAINED)):
        if value is not None and any(mark in (text := from_sql(value)) for mark in marks):
            settings[str(key)] = _drained_without(text, marks)
    save_session_setting(batch, settings)
    batch.add(_DROP_FORMER, (wanted,))
    await tx.execute(batch)
    return len(shadows)


def _without(shadow: Shadow, marks: Collection[str]) -> Shadow:
    return replace(shadow, overlay_json=_overlay_without(shadow.overlay_json, marks))


def _drained_without(text: str, marks: Collection[str]) -> str:
    kept = json.loads(text)
    overlays = {
        model: _overlay_without(overlay.encode(), marks).decode() for model, overlay in kept["overlays"].items()
    }
    return json.dumps({**kept, "overlays": overlays})


def _overlay_without(overlay: bytes, marks: Collection[str]) -> bytes:
    entries = [_entry_without(entry, marks) for entry in json.loads(overlay)]
    return dumps([entry for entry in entries if entry])


def _entry_without(entry: dict[str, Any], marks: Collection[str]) -> dict[str, Any]:
    told: dict[str, Sequence[str]] = {
        key: [xml for xml in entry[key] if not any(mark in xml for mark in marks)] for key in _TOLD if key in entry
    }
    emptied = {key for key, artifacts in told.items() if not artifacts}
    return {key: told.get(key, value) for key, value in entry.items() if key not in emptied}
