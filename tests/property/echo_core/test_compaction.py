"""What is sent of a chat after a compaction is valid, small enough, the same each time, and can be undone."""

import json

from hypothesis import given
from hypothesis import strategies as st

from compaction_histories import answers, chain_of, chats, questions
from echo_core import EchoCompactionEngine, strip_checkpoint_tag
from echo_core.compaction_checkpoint import Checkpoint
from echo_core.compaction_counting import estimated
from echo_core.compaction_masking import bare_piece
from echo_core.compaction_planning import Budget
from echo_core.compaction_records import Chain, CompactionState, Epoch
from echo_core.compaction_replay import Rendered, Replayed
from echo_protocol import check_turn_shape, parse_contents

CHECKPOINT = Checkpoint(goal="to be done", facts=("a <fact>", "another"))
sizes = st.integers(200, 40_000)


def compacted(chain: Chain, size_tokens: int, pins: tuple[str, ...] = ()) -> tuple[Epoch, list[str]] | None:
    engine = EchoCompactionEngine(Budget(size_tokens=size_tokens))
    plan = engine.plan(chain, None, frame_tokens=0, ratio=1.0)
    if plan is None:
        return None
    epoch = engine.epoch(plan, chain, None, CompactionState(pins=pins), "e1")
    return epoch, engine.artifacts(CHECKPOINT, epoch, chain) if epoch.pivot_id else []


def sent(replayed: Replayed) -> bytes:
    pieces = [*replayed.contents, *([replayed.question[1:-1]] if replayed.question else [])]
    return b"[" + b",".join(pieces) + b"]"


@given(chats, sizes)
def test_what_is_sent_keeps_the_shape_of_turns(chain: Chain, size: int) -> None:
    made = compacted(chain, size)
    if made is not None:
        data = sent(EchoCompactionEngine.replay(chain, *made))
        assert check_turn_shape(parse_contents(data)) == []


@given(chats, sizes)
def test_the_tail_is_sent_byte_for_byte(chain: Chain, size: int) -> None:
    made = compacted(chain, size)
    if made is None:
        return
    epoch, artifacts = made
    data = sent(EchoCompactionEngine.replay(chain, epoch, artifacts))
    start = max(chain.place(epoch.pivot_id), chain.masked_until(epoch)) + 1
    tail = b",".join(filter(None, chain.pieces[start:-1]))
    assert tail in data
    pivot = bare_piece(chain.pieces[chain.place(epoch.pivot_id)])[1] if epoch.pivot_id else b""
    assert pivot[len(b'{"role":"user","parts":[') :] in data


@given(chats, sizes)
def test_the_target_is_met_or_only_the_last_turn_is_left(chain: Chain, size: int) -> None:
    budget = Budget(size_tokens=size)
    if estimated(chain.pieces) < budget.trigger_tokens:
        return
    made = compacted(chain, size)
    if made is None:
        assert len([i for i in chain.ids if i.startswith("u")]) == 1
        return
    epoch, artifacts = made
    weight = EchoCompactionEngine.estimate(chain, EchoCompactionEngine.replay(chain, epoch, artifacts))
    checkpoint = estimated(a.encode() for a in artifacts)
    last_only = epoch.pivot_id == chain.ids[-1]
    assert last_only or weight - checkpoint <= budget.target_tokens


@given(chats, sizes, st.lists(st.tuples(questions(), answers()), min_size=1, max_size=3))
def test_later_requests_begin_with_the_earlier_ones(chain: Chain, size: int, later: list[object]) -> None:
    made = compacted(chain, size)
    if made is None:
        return
    turns = [(json.loads(s.contents_json), None) for s in chain.shadows]
    pairs = [(turns[n][0], turns[n + 1][0]) for n in range(0, len(turns) - 1, 2)]
    kept = Rendered()
    before = sent(EchoCompactionEngine.replay(chain, *made, kept))
    history = pairs
    question = turns[-1][0]
    for next_question, answer in later:  # type: ignore[misc]
        history = [*history, (question, answer)]
        grown = chain_of([*history, (next_question, None)])
        now = sent(EchoCompactionEngine.replay(grown, *made, kept))
        assert now == sent(EchoCompactionEngine.replay(grown, *made)), "what is kept changes no byte"
        assert now.startswith(before[:-1])
        before, question = now, next_question


@given(chats, sizes)
def test_undoing_brings_back_the_former_bytes(chain: Chain, size: int) -> None:
    before = sent(EchoCompactionEngine.replay(chain, None, []))
    made = compacted(chain, size)
    state = CompactionState()
    if made is not None:
        state = state.with_epoch(made[0])
        assert state.in_force(chain) == made[0]
        state = CompactionState.from_json(state.with_epoch(Epoch(**{**_fields(made[0]), "undone": True})).to_json())
        assert state.taken_back(chain)
    assert state.in_force(chain) is None
    assert sent(EchoCompactionEngine.replay(chain, state.in_force(chain), [])) == before
    whole = b",".join(filter(None, chain.pieces))
    assert chain.waiting or before == b"[" + whole + b"]"


@given(chats, sizes, st.data())
def test_pinned_messages_stay_word_for_word(chain: Chain, size: int, data: st.DataObject) -> None:
    pins = tuple(data.draw(st.lists(st.sampled_from(list(chain.ids)), unique=True, max_size=3)))
    made = compacted(chain, size, pins)
    if made is None:
        return
    wire = json.loads(sent(EchoCompactionEngine.replay(chain, *made)))
    read = "\n".join(part.get("text", "") for content in wire for part in content["parts"])
    for pin in pins:
        shadow = chain.shadows[chain.place(pin)]
        said = [p["text"] for c in json.loads(shadow.contents_json) for p in c["parts"] if "text" in p]
        assert all(text.strip() in read for text in said)


@given(chats, sizes, st.integers(-100, 60_000))
def test_pins_give_way_oldest_first_and_no_more_of_them_than_needed(chain: Chain, size: int, excess: int) -> None:
    made = compacted(chain, size, tuple(chain.ids))
    if made is None or not made[0].pivot_id:
        return
    epoch, artifacts = made
    lighter, fewer = EchoCompactionEngine.let_go(epoch, artifacts, excess, 1.0)
    gone = len(epoch.pinned) - len(lighter.pinned)
    assert lighter.pinned == epoch.pinned[gone:]
    assert fewer == [artifacts[0], *artifacts[1 + gone :]]
    saved = estimated(quote.encode() for quote in artifacts[1 : 1 + gone])
    last_gone = estimated([artifacts[gone].encode()]) if gone else 0
    assert saved >= excess or not lighter.pinned
    assert saved - last_gone < max(excess, 1)
    assert ("pins" in lighter.unmet) == bool(gone)


@given(chats, sizes)
def test_an_epoch_acts_only_on_chains_with_its_history(chain: Chain, size: int) -> None:
    made = compacted(chain, size)
    if made is None:
        return
    epoch = made[0]
    state = CompactionState().with_epoch(epoch)
    edited = [(json.loads(s.contents_json), None) for s in chain.shadows]
    pairs = [(edited[n][0], edited[n + 1][0]) for n in range(0, len(edited) - 1, 2)]
    if not pairs:
        return
    pairs[0] = ([{"role": "user", "parts": [{"text": "quite another beginning"}]}], pairs[0][1])
    other = chain_of([*pairs, (edited[-1][0], None)])
    assert state.in_force(chain) == epoch
    assert state.in_force(other) is None


@given(chats, sizes)
def test_the_checkpoint_can_be_taken_off_again(chain: Chain, size: int) -> None:
    made = compacted(chain, size)
    if made is None or not made[0].pivot_id:
        return
    data = sent(EchoCompactionEngine.replay(chain, *made))
    assert "AEC_context_checkpoint" in data.decode()
    bare = strip_checkpoint_tag(data)
    assert "AEC_context_checkpoint" not in bare.decode()
    assert strip_checkpoint_tag(bare) is bare


def _fields(epoch: Epoch) -> dict[str, object]:
    return {name: getattr(epoch, name) for name in Epoch.__slots__}
