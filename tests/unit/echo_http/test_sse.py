import pytest

from echo_http import RawBody, SseDecoder, SseTooLarge


def decode(*pieces: bytes) -> list[object]:
    decoder = SseDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.finish()


def test_geminis_framing_gives_one_event_a_chunk() -> None:
    assert decode(b'data: {"a": 1}\r\n\r\ndata: {"b": 2}\r\n\r\n') == [b'{"a": 1}', b'{"b": 2}']


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c"])
def test_separators_inside_an_answer_do_not_split_it(separator: str) -> None:
    text = f'{{"text": "a{separator}b"}}'.encode()
    assert decode(b"data: " + text + b"\r\n\r\n") == [text]


@pytest.mark.parametrize("ending", [b"\n", b"\r", b"\r\n"])
def test_all_three_line_ends_are_understood(ending: bytes) -> None:
    assert decode(b"data: a" + ending + ending + b"data: b" + ending + ending) == [b"a", b"b"]


def test_a_cr_lf_cut_in_two_is_one_line_end() -> None:
    assert decode(b"data: a\r", b"\n", b"data: b\r", b"\n\r", b"\n") == [b"a\nb"]


def test_data_lines_of_one_event_are_joined_and_other_fields_ignored() -> None:
    assert decode(b": hello\nevent: x\nid: 7\ndata: a\ndata:b\nretry: 3\n\n") == [b"a\nb"]


def test_a_byte_order_mark_is_no_content() -> None:
    assert decode(b"\xef\xbb\xbfdata: a\n\n") == [b"a"]


def test_a_last_event_without_blank_line_is_given_at_the_end() -> None:
    assert decode(b"data: a\r\n\r\ndata: b") == [b"a", b"b"]


def test_a_plain_json_error_after_events_comes_out_as_a_body() -> None:
    error = b'{\n  "error": {\n    "code": 503\n  }\n}'
    assert decode(b"data: a\r\n\r\n" + error + b"\n") == [b"a", RawBody(error)]


def test_a_json_array_instead_of_events_comes_out_as_a_body() -> None:
    assert decode(b'[{"a": 1}\r\n,\r\n{"b": 2}\r\n]') == [RawBody(b'[{"a": 1}\n,\n{"b": 2}\n]')]


def test_an_event_without_end_is_refused_at_the_limit() -> None:
    decoder = SseDecoder(max_event_bytes=1_000)
    with pytest.raises(SseTooLarge):
        for _ in range(20):
            decoder.feed(b"x" * 100)
    with pytest.raises(SseTooLarge):
        for _ in range(30):
            decoder.feed(b"data: " + b"x" * 100 + b"\n")
    with pytest.raises(SseTooLarge):
        SseDecoder(max_event_bytes=1_000).feed(b'{"a":\n' * 1_000)
