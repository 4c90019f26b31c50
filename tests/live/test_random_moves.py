"""Random sequences of all moves over one chat and its copies; the invariants hold after each step."""

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

import live.walk_asides  # noqa: F401 (adds its moves)
from live.client import Client
from live.records import verified
from live.stack import Live
from live.walk import Walk
from live.walk_moves import MOVES, TOOLS

#: Six walks of 60 steps. Source: docs/design.md asks for 300 in all.
LONG_STEPS = 60
LONG_SEEDS = (1, 2, 3, 4, 5, 6)


@pytest.fixture(scope="module")
def bob(live: Live) -> Client:
    """The other account."""
    return live.new_user("Bob")


@pytest.fixture(scope="module", autouse=True)
def open_house(live: Live) -> Iterator[None]:
    """Plain users may share and import chats and use channels."""
    permissions = live.admin.get("/api/v1/users/default/permissions")
    wider = json.loads(json.dumps(permissions))
    wider["chat"] |= {"share": True, "import": True}
    wider["features"] |= {"channels": True}
    wider.setdefault("access_grants", {})["allow_users"] = True
    config = live.admin.get("/api/v1/auths/admin/config")
    live.admin.post("/api/v1/users/default/permissions", wider)
    live.admin.post("/api/v1/auths/admin/config", config | {"ENABLE_CHANNELS": True})
    yield
    live.admin.post("/api/v1/auths/admin/config", config)
    live.admin.post("/api/v1/users/default/permissions", permissions)


@pytest.fixture(scope="module")
def tools(live: Live) -> Iterator[str]:
    """The toolkit of all walks."""
    form = {"id": "walk_tools", "name": "Walk", "content": TOOLS, "meta": {"description": "For walks."}}
    grant = {"principal_type": "user", "principal_id": "*", "permission": "read"}
    live.admin.post("/api/v1/tools/create", form | {"access_grants": [grant]})
    yield "walk_tools"
    live.admin.delete("/api/v1/tools/id/walk_tools/delete")


def walk(live: Live, bob: Client, tools: str, seed: int, steps: int) -> Walk:
    """Every move at least once and random ones up to `steps`, in random order; a seed repeats its walk."""
    chance = random.Random(seed)
    live.sim.reset()
    walked = Walk(live, live.new_user(f"Walker {seed}"), bob, tools, chance)
    wanted = [*MOVES, *(chance.choice([*MOVES]) for _ in range(steps - len(MOVES)))]
    chance.shuffle(wanted)
    with walked.tabs:
        for index, name in enumerate(wanted):
            _step(walked, name, f"seed {seed}, step {index}: {name}")
        for name in MOVES:  # what was not possible at its turn
            if name == "restore" and not walked.counts[name]:
                _step(walked, "edit answer", f"seed {seed}: edit answer")
            for _ in range(10):
                if not walked.counts[name]:
                    _step(walked, name, f"seed {seed}: {name}")
    sys.stdout.write(f"\nseed {seed}: {walked.counts.total()} steps, {walked.requests} requests in its chats\n")
    return walked


def _step(walked: Walk, name: str, where: str) -> None:
    """Do one move, if it is possible now, and ask a question after one that asked none."""
    try:
        turns = MOVES[name](walked)
        if turns is None:
            return
        for turn in turns or [walked.talk.ask(after=walked.last_end())]:
            walked.check(turn)
    except AssertionError as error:
        raise AssertionError(where) from error
    walked.counts[name] += 1
    walked.live.sim.reset()  # the journal of a long walk would take longer to read than the walk itself


def assert_sound(live: Live, walked: Walk) -> None:
    assert set(walked.counts) == set(MOVES)
    assert len(set(walked.models.values())) == len(walked.models) > 1, "the model did change"
    report = verified(live, walked.client.id, str(walked.talk.chat_id))
    assert report.is_sound, report


@pytest.mark.deep
@pytest.mark.timeout(600)
def test_a_short_random_walk_keeps_every_invariant(live: Live, bob: Client, tools: str) -> None:
    assert_sound(live, walk(live, bob, tools, seed=0, steps=len(MOVES)))


@pytest.mark.deep
@pytest.mark.timeout(1500)
def test_long_random_walks_keep_every_invariant(live: Live, bob: Client, tools: str) -> None:
    counts: Counter[str] = Counter()
    for seed in LONG_SEEDS:
        walked = walk(live, bob, tools, seed=seed, steps=LONG_STEPS)
        assert_sound(live, walked)
        counts += walked.counts
    sys.stdout.write("\n".join(f"{count:4} {name}" for name, count in sorted(counts.items())) + "\n")
    assert counts.total() >= 300
