"""What a model writes as a checkpoint is looked at; where it does not hold, the plain extract stands."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from echo_core.compaction_checkpoint import Checkpoint
from echo_core.compaction_extract import extract
from echo_core.compaction_transcript import Said
from echo_core.ports import ModelBackend
from echo_protocol import Catalogue, ModelInfo
from echo_runtime.compaction_model import Condensed, Summariser
from sim_fixture import RunningSim
from turn_kit import Json, Kit, pipe

MODEL = Catalogue.load().resolve("MODEL_APOLLO", "ai_studio")
SIZE_BYTES = 8_000
BEFORE = Checkpoint(
    goal="Move the shop", facts=("The old server is srv-77.example.",), user_words=("Never on Friday.",)
)
WORDS = (
    "We must keep the port 8443 open. The database is orders_v2 in /srv/data/orders.db.",
    "The invoice is INV-2041 over 1,250.50 EUR. Please use Python 3.11 and call build_index().",
    "I decided to use SQLite. The ticket is https://tracker.example/T-99. Still open: the backup of 2026-11-30.",
)
MESSAGES = [
    Said(
        number=n, message_id=f"m{n}", role="user" if n % 2 else "model", text=f"{WORDS[n // 2 % 3]} {'So be it. ' * 40}"
    )
    for n in range(1, 7)
]
GOOD: Json = {
    "goal": "Move the shop",
    "constraints": ["The port 8443 stays open.", "Python 3.11 is used."],
    "decisions": ["SQLite is used."],
    "facts": [
        "The old server is srv-77.example.",
        "The invoice is INV-2041 over 1,250.50 EUR.",
        "build_index() is called.",
    ],
    "artefacts": ["orders_v2 in /srv/data/orders.db", "https://tracker.example/T-99"],
    "open_tasks": ["The backup of 2026-11-30."],
    "user_words": ["Never on Friday."],
}
FINE: Json = {"missing": [], "wrong": []}
EXTRACT = extract(MESSAGES, BEFORE, SIZE_BYTES)


@pytest.fixture
async def kit(tmp_path: Path, sim: RunningSim) -> AsyncIterator[Kit]:
    async with pipe(tmp_path, sim) as opened:
        yield opened


def scripted(sim: RunningSim, *answers: Any, finish: str = "STOP") -> None:
    """What the model that sums up says, one call after the other."""
    for said in answers:
        text = said if isinstance(said, str) else json.dumps(said)
        candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": finish, "index": 0}
        body = {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 19}}
        sim.script({"match": {"method": "generateContent"}, "status": 200, "chunks": [{"text": json.dumps(body)}]})


async def condensed(kit: Kit, messages: list[Said] | None = None, model: ModelInfo = MODEL) -> Condensed:
    call = kit.call([])
    backend: ModelBackend = (await kit.orchestrator._backends.for_call(call, kit.orchestrator._settings(call))).client
    return await Summariser(model, "ai_studio").condense(backend, messages or MESSAGES, BEFORE, SIZE_BYTES)


async def test_a_good_summary_stands_after_two_looks(kit: Kit) -> None:
    scripted(kit.sim, GOOD, FINE)
    done = await condensed(kit)
    assert (done.method, done.faults) == ("model", ())
    assert done.checkpoint.constraints == tuple(GOOD["constraints"])
    review = kit.sim.requests()[-1]["body"]
    assert "new_checkpoint" in review
    assert "8443" in review


NOTHING: Json = {"goal": "Move the shop", **{name: [] for name in GOOD if name != "goal"}}
LIES = ["The password is hunter_42.", "The host is db-13.example.", "It costs 99,999 EUR."]
PLACES = ["/etc/other/place.conf", "https://elsewhere.example/x"]
CALL = '<tool_call>{"name": "build_index", "args": {}}</tool_call>'
BAD: dict[str, tuple[Any, str]] = {
    "drops_facts": ({**NOTHING, "facts": ["They talked about a shop."]}, "dropped"),
    "invents": ({**GOOD, "facts": LIES, "artefacts": PLACES}, "invented"),
    "writes_tool_syntax": ({**GOOD, "open_tasks": [CALL]}, "tool_syntax"),
    "returns_more_than_it_got": ({**GOOD, "facts": [*GOOD["facts"], "So be it. " * 2_000]}, "not_smaller"),
    "empty": ({**NOTHING, "goal": ""}, "empty"),
    "no_json": ("Sure! Here is your summary: all is well.", "unreadable"),
}


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_summary_is_refused_and_the_extract_stands(kit: Kit, kind: str) -> None:
    answer, fault = BAD[kind]
    scripted(kit.sim, answer, FINE)
    done = await condensed(kit)
    assert done.method == "extract"
    assert fault in done.faults
    assert done.checkpoint == EXTRACT
    assert "8443" in "\n".join(done.checkpoint.texts())


async def test_c21_a_summary_that_was_cut_off_is_not_used(kit: Kit) -> None:
    """open-webui/open-webui#27604: cut-off reasoning stored as the summary."""
    scripted(kit.sim, json.dumps(GOOD)[:200], finish="MAX_TOKENS")
    done = await condensed(kit)
    assert (done.method, done.faults) == ("extract", ("cut_off",))
    assert done.checkpoint == EXTRACT


async def test_a_single_slip_is_mended_sentence_by_sentence(kit: Kit) -> None:
    slip = {**GOOD, "facts": [*GOOD["facts"], "The host is db-13.example."], "artefacts": ["orders_v2"]}
    scripted(kit.sim, slip, FINE)
    done = await condensed(kit)
    said = "\n".join(done.checkpoint.texts())
    assert done.method == "model"
    assert set(done.faults) == {"invented", "dropped"}
    assert "db-13.example" not in said
    assert "https://tracker.example/T-99" in said


async def test_the_second_look_adds_what_is_true_and_takes_out_what_is_wrong(kit: Kit) -> None:
    review = {
        "missing": ["The old server is srv-77.example and the port is 8443.", "The key is K-1234."],
        "wrong": ["SQLite is used."],
    }
    scripted(kit.sim, GOOD, review)
    said = (await condensed(kit)).checkpoint
    assert "The old server is srv-77.example and the port is 8443." in said.facts
    assert not any("K-1234" in text for text in said.texts())
    assert said.decisions == ()


async def test_without_an_answering_model_the_extract_stands(kit: Kit) -> None:
    kit.sim.script({"match": {"method": "generateContent"}, "status": 400, "chunks": [{"text": "{}"}]})
    done = await condensed(kit)
    assert done.method == "extract"
    assert done.checkpoint == EXTRACT


def test_the_extract_keeps_the_former_checkpoint_and_the_users_words() -> None:
    said = "\n".join(EXTRACT.texts())
    for needle in ("srv-77.example", "Never on Friday", "8443", "orders.db", "INV-2041", "T-99", "SQLite"):
        assert needle in said
    assert EXTRACT.size_bytes <= SIZE_BYTES
    assert extract(MESSAGES, BEFORE, SIZE_BYTES) == EXTRACT


async def test_c29_a_stretch_above_the_window_is_condensed_in_pieces(kit: Kit) -> None:
    """google-gemini/gemini-cli#7784: compress fails exactly when needed."""
    long = [
        Said(number=n, message_id=f"m{n}", role="user", text=f"Fact {n}: item_{n} " + "so be it. " * 300)
        for n in range(1, 61)
    ]
    done = await condensed(kit, long, replace(MODEL, window_tokens=50_000))
    calls = [r for r in kit.sim.requests() if r["path"].endswith(":generateContent")]
    assert len(calls) >= 4, "one for each piece"
    assert all(r["status"] == 200 and r["prompt_tokens"] < 50_000 for r in calls)
    assert done.checkpoint.size_bytes <= SIZE_BYTES
    assert "item_60" in "\n".join(done.checkpoint.texts())
