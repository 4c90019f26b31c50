"""What was said is found again by other forms of its words, in both languages, and nothing else is."""

from collections.abc import Sequence

import pytest

from compaction_histories import chain_of
from echo_core.ports import Passage
from echo_core.records import Seal
from echo_runtime.history_recall import StemRecall
from echo_runtime.history_tool import read_history_entry
from echo_runtime.own_tools import OutputError
from echo_state_manager import MemoryShadowStore

SAID = (
    ("We are deploying the servers in Lyon on Friday.", "Noted."),
    ("Les factures de l'été dernier sont dans le dossier bleu.", "Bien."),
    ("Tell me a joke about cats.", "A cat walks into a bar. " + "Nothing happens. " * 200),
)


async def kept() -> tuple[MemoryShadowStore, Sequence[str]]:
    turns = [
        ([{"role": "user", "parts": [{"text": asked}]}], [{"role": "model", "parts": [{"text": told}]}])
        for asked, told in SAID
    ]
    chain = chain_of(turns)  # type: ignore[arg-type]
    store = MemoryShadowStore()
    await store.seal_many([Seal(shadow=shadow) for shadow in chain.shadows])
    return store, chain.ids


async def recalled(text: str, limit: int = 5) -> Sequence[Passage]:
    store, chain = await kept()
    return await StemRecall(store, chain).recall(user_id="ada", chat_id="c", text=text, limit=limit)


@pytest.mark.parametrize(
    ("asked", "message_id"),
    [("when was the server deployed?", "u0"), ("où est la facture bleue ?", "u1"), ("the joking cat", "u2")],
)
async def test_other_forms_of_the_words_find_the_message(asked: str, message_id: str) -> None:
    found = await recalled(asked)
    assert found[0].message_id == message_id
    assert found[0].score == 1.0
    assert all(0 < passage.score <= 1 and len(passage.text) <= 800 for passage in found)


async def test_what_was_never_said_and_empty_words_find_nothing() -> None:
    assert await recalled("quantum chromodynamics") == []
    assert await recalled("what is it with the") == []
    assert len(await recalled("nothing happens", limit=2)) == 2


async def test_read_history_shows_where_it_was_said() -> None:
    store, chain = await kept()
    read = read_history_entry(store, chain, StemRecall(store, chain), owner=("ada", "c"))["callable"]
    assert await read(text="deployed server") == f"[message 1, in other words]\n{SAID[0][0]}"
    with pytest.raises(OutputError):
        await read(text="quantum chromodynamics")
