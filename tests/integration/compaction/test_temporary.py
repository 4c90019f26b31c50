"""A temporary chat is compacted like any other, and nothing of it reaches the disk."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from echo_core.heads import MODEL_MARK, USER_MARK
from long_chat import SIZE_TOKENS, LongChat, contents_of, long_chat
from sim_fixture import RunningSim
from turn_kit import Json

CHAT = "temporary:tab"
WORDS = "lorem ipsum " * 330


@pytest.fixture
async def chat(tmp_path: Path, sim: RunningSim, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LongChat]:
    async with long_chat(tmp_path, sim, monkeypatch) as opened:
        yield opened


async def test_it_is_compacted_in_memory_and_its_beginning_stays_the_same(chat: LongChat, tmp_path: Path) -> None:
    messages: list[Json] = []

    async def body() -> Json:
        return {"messages": list(messages)}

    for n in range(16):
        question, answer, words = f"u{n}", f"a{n}", f"Note {n}, the code is CODE-{n}. {WORDS}"
        chat.host.put(question, "", USER_MARK, words)
        messages.append({"role": "user", "id": question, "content": words})
        call = chat.call(question, answer_id=answer, metadata={"chat_id": CHAT})
        request = SimpleNamespace(json=body, headers={}, state=SimpleNamespace())
        told = await chat.kit.orchestrator.respond(replace(call, request=request))
        assert isinstance(told, dict)
        chat.host.put(answer, question, MODEL_MARK, "")
        messages.append({"role": "assistant", "id": answer, "content": told["choices"][0]["message"]["content"]})
    rows = chat.turns()
    assert max(row["prompt_tokens"] for row in rows) < SIZE_TOKENS * 0.45
    assert "AEC_context_checkpoint" in rows[-1]["body"]
    breaks = [n for n in range(1, len(rows)) if not contents_of(rows[n]).startswith(contents_of(rows[n - 1]))]
    assert len(breaks) == 1
    assert "CODE-0" in rows[-1]["body"], "the checkpoint keeps exact names"
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and b"CODE-0" in path.read_bytes()]
    assert kept == []
