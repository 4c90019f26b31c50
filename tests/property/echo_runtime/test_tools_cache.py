"""Whatever turns begin and end in whatever order: a lookup finds the running turn of that user, chat and answer."""

from contextlib import ExitStack
from types import SimpleNamespace
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from echo_runtime.subagents import SubAgents
from echo_runtime.tools_cache import _TOOLS_CACHE, TurnTools, shared_tools, turn_tools

AGENTS = cast(SubAgents, SimpleNamespace())
USERS, CHATS, ANSWERS = ["ada", "bob", ""], ["one", "two", ""], ["x", "y"]
KEYS = st.tuples(st.sampled_from(USERS), st.sampled_from(CHATS), st.sampled_from(ANSWERS))


@given(st.lists(st.tuples(KEYS, st.booleans()), max_size=30))
def test_only_ones_own_running_turn_is_found(steps: list[tuple[tuple[str, str, str], bool]]) -> None:
    running: dict[tuple[str, str, str], ExitStack] = {}
    for key, begins in steps:
        user, chat, answer = key
        if begins and key not in running:
            turn = TurnTools(
                user_id=user, chat_id=chat, answer_id=answer, tools={}, specs=[], policy="AUTO", agents=AGENTS
            )
            running[key] = ExitStack()
            running[key].enter_context(shared_tools(turn, {}, {}))
        elif not begins and key in running:
            running.pop(key).close()
        for asked in [(u, c, a) for u in USERS for c in CHATS for a in ANSWERS]:
            found, _ = turn_tools(asked[0], {"chat_id": asked[1], "message_id": asked[2]})
            expected = asked if asked in running and asked[0] else None
            assert (found and (found.user_id, found.chat_id, found.answer_id)) == expected
    for stack in running.values():
        stack.close()
    assert _TOOLS_CACHE == {}
