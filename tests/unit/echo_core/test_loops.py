import pytest

from echo_core.loops import LoopWatch, Verdict
from echo_core.ports import ToolOutcome, ToolRequest

ON, REPEATS, STUCK = Verdict.GOES_ON, Verdict.REPEATS, Verdict.STUCK


def feed(watch: LoopWatch, *calls: tuple[str, int, str]) -> Verdict:
    requests = [ToolRequest(card_id=f"c{n}", name=name, args={"x": x}) for n, (name, x, _) in enumerate(calls)]
    outcomes = {
        f"c{n}": ToolOutcome(card_id=f"c{n}", response={"output": text}, text=text)
        for n, (_, _, text) in enumerate(calls)
    }
    return watch.add(requests, outcomes)


@pytest.mark.parametrize(
    ("rounds", "verdicts"),
    [
        ("aaaaaa", [ON, ON, REPEATS, REPEATS, STUCK, STUCK]),
        ("abababababab", [ON] * 5 + [REPEATS] * 4 + [STUCK] * 3),
        ("abcabcabc", [ON] * 8 + [REPEATS]),
        ("aabaabcdaa", [ON] * 10),
        ("xyzaaa", [ON] * 5 + [REPEATS]),
        ("aaab", [ON, ON, REPEATS, ON]),
    ],
)
def test_one_call_two_in_turn_and_three_are_noticed(rounds: str, verdicts: list[Verdict]) -> None:
    watch = LoopWatch()
    assert [feed(watch, (name, 1, "same")) for name in rounds] == verdicts


def test_polling_is_no_loop_while_the_result_changes() -> None:
    watch = LoopWatch()
    assert {feed(watch, ("status", 1, f"{n} %")) for n in range(20)} == {ON}


def test_other_arguments_are_other_calls() -> None:
    watch = LoopWatch()
    assert {feed(watch, ("read", n, "empty")) for n in range(20)} == {ON}


def test_a_round_of_several_calls_repeats_only_as_a_whole() -> None:
    watch = LoopWatch()
    assert {feed(watch, ("a", 1, "same"), ("b", n, "same")) for n in range(9)} == {ON}
    assert [feed(watch, ("a", 1, "same"), ("b", 1, "same")) for _ in range(3)][-1] is REPEATS
