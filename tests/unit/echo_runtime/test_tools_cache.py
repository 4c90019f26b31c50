"""The bridge between a turn and its tools: open to the same user and chat while the turn runs, to nobody else."""

from types import SimpleNamespace
from typing import Any, cast

from echo_runtime.subagents import SubAgents
from echo_runtime.tools_cache import _TOOLS_CACHE, SEAT, SPECS_KEY, TOOLS_KEY, Seat, TurnTools, shared_tools, turn_tools

AGENTS = cast(SubAgents, SimpleNamespace())


def turn_of(user: str, chat: str, answer: str = "same", **more: Any) -> TurnTools:
    fields: dict[str, Any] = {"tools": {}, "specs": [], "policy": "AUTO", "agents": AGENTS}
    return TurnTools(user_id=user, chat_id=chat, answer_id=answer, **fields | more)


def found(user: str, chat: str, answer: str = "same") -> str | None:
    turn, _ = turn_tools(user, {"message_id": answer, "chat_id": chat})
    return turn and turn.user_id


def test_two_answers_of_one_id_are_kept_apart_by_user_and_chat() -> None:
    """Copies of a chat keep the ids of its messages."""
    with shared_tools(turn_of("ada", "a"), {}, {}):
        with shared_tools(turn_of("bob", "b"), {}, {}):
            assert (found("ada", "a"), found("bob", "b")) == ("ada", "bob")
            assert {found("ada", "b"), found("bob", "a"), found("", "a"), found("ada", "a", "other")} == {None}
        assert (found("ada", "a"), found("bob", "b")) == ("ada", None)
    assert _TOOLS_CACHE == {}


def test_a_seat_says_which_answer_a_call_belongs_to() -> None:
    with shared_tools(turn_of("ada", ""), {}, {}):
        token = SEAT.set(Seat(answer_id="same", card_id="call_1_0"))
        try:
            turn, seat = turn_tools("ada", {"message_id": "forged"})
            assert turn is not None
            assert seat.card_id == "call_1_0"
        finally:
            SEAT.reset(token)
        assert turn_tools("ada", {"message_id": "forged"})[0] is None


def test_tools_get_our_keys_and_lose_them_again_also_when_the_turn_breaks() -> None:
    pipes, tools = {"chat_id": "a"}, {"chat_id": "a"}
    extra = {"__metadata__": tools}
    entry = {"callable": SimpleNamespace(__extra_params__=extra)}
    turn = turn_of("ada", "a", tools={"look": entry}, specs=[{"type": "function"}])
    try:
        with shared_tools(turn, pipes, {"look": entry, "again": entry, "bare": {}}):
            assert pipes[TOOLS_KEY] == tools[TOOLS_KEY] == {"look": entry}
            assert tools[SPECS_KEY] == [{"type": "function"}]
            raise RuntimeError
    except RuntimeError:
        pass
    assert pipes == tools == {"chat_id": "a"}
    assert _TOOLS_CACHE == {}
