import itertools

import pytest

from echo_core import IllegalTransition
from echo_core.routing import Ladder, Route
from echo_core.turn import Answered, Ask, Begin, Finish, RunTools, ToolsAnswered, TurnInput, TurnMachine, TurnState
from echo_protocol import StreamResult, function_call_part, text_part

TEXT = StreamResult(parts=(text_part("x"),), outcome="complete", finish_reason="STOP")
CALLS = StreamResult(parts=(function_call_part("a", {}),), outcome="tool_calls", finish_reason="STOP")


def machine_of(max_rounds: int) -> TurnMachine:
    return TurnMachine(max_rounds, Ladder([Route(level="FLASH", model_id="m")]))


INPUTS: list[TurnInput] = [Begin(), Answered(TEXT), Answered(CALLS), ToolsAnswered()]


def test_a_turn_with_one_tool_round() -> None:
    machine = machine_of(5)
    assert machine.feed(Begin()) == Ask()
    assert isinstance(machine.feed(Answered(CALLS)), RunTools)
    assert machine.feed(ToolsAnswered()) == Ask()
    assert machine.feed(Answered(TEXT)) == Finish("stop")
    assert machine.state is TurnState.DONE


@pytest.mark.parametrize("order", list(itertools.product(range(4), repeat=4)))
def test_any_order_of_inputs_is_a_legal_step_or_a_named_fault(order: tuple[int, ...]) -> None:
    machine = machine_of(2)
    for index in order:
        try:
            machine.feed(INPUTS[index])
        except IllegalTransition:
            assert machine.state is TurnState.FAILED
            return
    assert machine.state in TurnState


def test_without_rounds_left_the_model_is_asked_without_tools() -> None:
    machine = machine_of(1)
    machine.feed(Begin())
    machine.feed(Answered(CALLS))
    assert machine.feed(ToolsAnswered()) == Ask(with_tools=False)


def test_a_stuck_turn_is_asked_for_words_and_a_handed_over_one_ends() -> None:
    for end, step in (("conclude", Ask(with_tools=False)), ("handed_over", Finish("tool_calls"))):
        machine = machine_of(9)
        machine.feed(Begin())
        machine.feed(Answered(CALLS))
        assert machine.feed(ToolsAnswered(end)) == step  # type: ignore[arg-type]


def test_the_last_round_is_known_before_it_runs() -> None:
    machine = machine_of(2)
    machine.feed(Begin())
    rounds = []
    for _ in range(2):
        rounds.append(machine.feed(Answered(CALLS)))
        machine.feed(ToolsAnswered())
    assert [step.last for step in rounds if isinstance(step, RunTools)] == [False, True]
