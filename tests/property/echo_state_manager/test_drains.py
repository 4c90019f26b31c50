"""On every chain each directive is told exactly once, whatever branches, answers and stores there are."""

import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_aec import Asking, EchoAEC, Transient
from echo_paths import EchoPaths
from echo_state_manager import SessionStores
from store_kit import CHAT, USER, ManualClock

#: A step: what is pushed before it, where it hangs (index of an earlier answer, -1 for the root), and by which store.
STEPS = st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 8), st.booleans(), st.booleans()), min_size=1, max_size=9)


def ids(drained: Sequence[Transient]) -> bytes:
    return json.dumps([transient.id for transient in drained]).encode()


Step = tuple[int, int, bool, bool]


async def walk(steps: list[Step], chat_id: str, folder: Path) -> list[tuple[list[str], list[str]]]:
    """Ask along the steps, through two sets of stores as two processes have them.

    Returns:
        For each answer what it drained, and what it should have.
    """
    seen: list[tuple[list[str], list[str]]] = []
    both = [SessionStores(EchoPaths(folder), ManualClock()) for _ in range(2)]
    if chat_id != CHAT:
        both[1] = both[0]
    answers: list[tuple[list[str], list[str]]] = []  # (messages up to the answer, what was told on the way)
    pushed: list[str] = []
    for number, (count, under, other, again) in enumerate(steps):
        async with both[other].open(USER, chat_id) as store:
            aec = EchoAEC(store)
            for _ in range(count):
                pushed.append(f"d{len(pushed)}")
                await aec.push(
                    Transient(id=pushed[-1], type="aec_directive", name="x", payload="", created_at_s=len(pushed))
                )
            chain, told = answers[under] if 0 <= under < len(answers) else ([], [])
            question, answer = f"u{number}", f"a{number}"
            drained = json.loads(await aec.drain_pending_directives(_asking(question, answer, chain), ids))
            seen.append((drained, [d for d in pushed if d not in told]))
            answers.append(([*chain, question, answer], [*told, *drained]))
            if again:
                sibling = f"b{number}"
                same = json.loads(await aec.drain_pending_directives(_asking(question, sibling, chain), ids))
                seen.append((same, drained))
                answers.append(([*chain, question, sibling], [*told, *drained]))
    for stores in both:
        await stores.close()
    return seen


def _asking(question: str, answer: str, chain: Sequence[str]) -> Asking:
    return Asking(question_id=question, answer_id=answer, model_id="m", chain=(*chain, question))


@pytest.mark.parametrize("chat_id", [CHAT, "temporary:socket"])
@given(steps=STEPS)
def test_each_directive_is_told_once_on_each_chain(steps: list[Step], chat_id: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        seen = asyncio.run(walk(steps, chat_id, Path(folder)))
    assert [drained for drained, _ in seen] == [expected for _, expected in seen]
