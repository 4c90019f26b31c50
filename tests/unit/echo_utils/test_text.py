"""Thoughts apart from answers, and text that compares equal when it reads equal."""

import pytest

from echo_utils import normalise_visible_text, split_thought_process

DETAILS = (
    '<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds</summary>\n{}\n</details>'
)


@pytest.mark.parametrize(
    ("text", "thoughts", "answer"),
    [
        ("plain", "", "plain"),
        ("", "", ""),
        ("<think>a</think>b", "a", "b"),
        ("<THINK>a</think>\n\nb", "a", "b"),
        ("<thinking>a</thinking>b<reasoning>c</reasoning>d", "a\n\nc", "bd"),
        ("<|begin_of_thought|>a<|end_of_thought|>b", "a", "b"),
        ("◁think▷a◁/think▷b", "a", "b"),
        (DETAILS.format("> a\n> b") + "\nc", "a\nb", "c"),
        ("x " + DETAILS.format("> <details>in</details>\n> b") + " y", "<details>in</details>\nb", "x  y"),
    ],
)
def test_thoughts_are_parted_from_the_answer(text: str, thoughts: str, answer: str) -> None:
    assert split_thought_process(text) == (thoughts, answer)


@pytest.mark.parametrize("kind", ["tool_calls", "code_interpreter"])
def test_blocks_of_tools_belong_to_neither(kind: str) -> None:
    block = f'<details type="{kind}" done="true" id="1" arguments="&quot;x&quot;">\n<summary>Ran</summary>\n</details>'
    assert split_thought_process(f"a\n{block}\nb") == ("", "a\n\nb")


def test_a_details_block_of_the_author_is_answer() -> None:
    text = "<details><summary>More</summary>body</details>"
    assert split_thought_process(text) == ("", text.strip())


@pytest.mark.parametrize(
    "text",
    [
        "Use `<think>` and `</think>`.",
        "```xml\n<think>x</think>\n```\ndone",
        "~~~\n<think>x</think>\n~~~",
        "The tag <think> opens a block.",
    ],
)
def test_a_tag_that_is_talked_about_is_text(text: str) -> None:
    assert split_thought_process(text) == ("", text.strip())


def test_a_stream_that_stopped_while_thinking_has_no_answer() -> None:
    assert split_thought_process("\n<think>half a thou") == ("half a thou", "")
    assert split_thought_process("<think>a</think>\n<think>b") == ("a\n\nb", "")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a\r\nb", "a\nb"),
        ("a  b\t c", "a b c"),
        ("a\n\n\nb\n", "a\nb"),
        ("e\u0301", "\u00e9"),
        ("a\u00a0b", "a b"),
        ("<think>x</think>a", "a"),
    ],
)
def test_texts_that_read_the_same_normalise_the_same(one: str, other: str) -> None:
    assert normalise_visible_text(one) == normalise_visible_text(other)


def test_a_changed_word_shows() -> None:
    assert normalise_visible_text("a b") != normalise_visible_text("a c")
    assert normalise_visible_text("ab") != normalise_visible_text("a b")


@pytest.mark.timeout(20)  # each takes hours when a tag makes the rest be read again
@pytest.mark.parametrize(
    "piece",
    ["<think>", "`<think>", "<details type='reasoning'>", "<details ", "<details type='reasoning'><summary>", "``"],
)
def test_a_hundred_thousand_unclosed_blocks_are_read_once(piece: str) -> None:
    text = "x" + piece * 100_000
    assert split_thought_process(text) == ("", text.strip())
