"""What a model with a small window gets of a long chat."""

from echo_protocol import content_json, inline_data_part, text_part
from echo_runtime.drawing import recent


def turn(size: int) -> tuple[bytes, bytes]:
    question = b"[" + content_json("user", [text_part("q" * size)]) + b"]"
    return question, b"[" + content_json("model", [text_part("a" * size)]) + b"]"


def test_a_short_chat_is_sent_whole() -> None:
    contents = (*turn(100), *turn(100), turn(10)[0])
    assert recent(contents, 65_536) == contents


def test_a_long_chat_is_cut_before_a_question() -> None:
    contents = (*turn(100_000), *turn(40_000), turn(10)[0])
    assert recent(contents, 65_536) == contents[2:]


def test_the_question_stays_however_long_it_is() -> None:
    contents = (*turn(10), turn(10**6)[0])
    assert recent(contents, 1_000) == contents[-1:]


def test_pictures_and_signatures_do_not_count_by_their_bytes() -> None:
    picture = {"inlineData": inline_data_part("image/png", "A" * 4_000_000).body, "thoughtSignature": "B" * 3_000_000}
    answer = b"[" + content_json("model", [type(text_part(""))(picture)]) + b"]"
    contents = (turn(10)[0], answer, turn(10)[0])
    assert recent(contents, 65_536) == contents
