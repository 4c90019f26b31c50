"""`read_history` finds what was said, by place, by words, and through whatever recalls it in other words."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from compaction_histories import chain_of
from echo_core.ports import Passage
from echo_core.records import Seal
from echo_runtime.history_tool import read_history_entry
from echo_runtime.own_tools import OutputError
from echo_state_manager import MemoryShadowStore

TURNS = [
    ([{"role": "user", "parts": [{"text": f"Question {n}"}]}], [{"role": "model", "parts": [{"text": f"Answer {n}"}]}])
    for n in range(1, 6)
]


class Recall:
    """Remembers one passage of this chat and one of another."""

    async def recall(self, *, user_id: str, chat_id: str, text: str, limit: int) -> Sequence[Passage]:
        assert (user_id, chat_id) == ("ada", "c")
        passages = (("In other words", "u2"), ("Elsewhere", "z9"))
        return [Passage(text=t, chat_id=chat_id, message_id=m, score=1.0) for t, m in passages][:limit]


async def reader(**more: Any) -> Callable[..., Any]:
    chain = chain_of(TURNS)  # type: ignore[arg-type]
    store = MemoryShadowStore()
    await store.seal_many([Seal(shadow=shadow) for shadow in chain.shadows])
    function: Callable[..., Any] = read_history_entry(store, chain.ids, **more)["callable"]
    return function


@pytest.mark.parametrize(
    ("position", "said"),
    [
        ("1", ["Question 1"]),
        ("3-4", ["Question 2", "Answer 2"]),
        ("9-", ["Question 5", "Answer 5"]),
        ("-1", ["Answer 5"]),
        ("9-99", ["Question 5", "Answer 5"]),
    ],
)
async def test_messages_are_read_by_their_numbers(position: str, said: list[str]) -> None:
    text = await (await reader())(position=position)
    assert [line for line in text.split("\n") if line and not line.startswith("[")] == said


async def test_words_are_found_in_any_case_newest_first() -> None:
    text = await (await reader())(text="QUESTION")
    assert [line for line in text.split("\n") if line.startswith("Question")] == [
        f"Question {n}" for n in (5, 4, 3, 2, 1)
    ]
    assert await (await reader())(text="question", position="1-2") == "[message 1, user]\nQuestion 1"


async def test_what_was_said_in_other_words_is_recalled_from_this_chain_only() -> None:
    text = await (await reader(recall=Recall(), owner=("ada", "c")))(text="no such words")
    assert text == "[message 5, in other words]\nIn other words"


@pytest.mark.parametrize(
    "asked", [{"position": "0"}, {"position": "11"}, {"position": "4-3"}, {"position": "x"}, {"text": "nowhere"}]
)
async def test_what_cannot_be_read_is_told(asked: dict[str, str]) -> None:
    with pytest.raises(OutputError):
        await (await reader())(**asked)
