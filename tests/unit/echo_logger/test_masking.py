import io
import logging
from collections.abc import Iterator

import pytest

from echo_logger import mask_own_records

SECRET = "Bearer not-a-real-token-1234"


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    try:
        mask_own_records()
        mask_own_records()
        yield stream
    finally:
        logging.getLogger().removeHandler(handler)


def test_a_token_in_our_own_records_is_masked(written: io.StringIO) -> None:
    logging.getLogger("echo_runtime.incidents").warning("refused: %s", SECRET)
    assert "refused" in written.getvalue()
    assert "not-a-real-token" not in written.getvalue()


def test_what_others_log_is_left_as_it_is(written: io.StringIO) -> None:
    logging.getLogger("open_webui.main").warning("theirs: %s", SECRET)
    assert SECRET in written.getvalue()


def test_asking_twice_adds_one_filter(written: io.StringIO) -> None:
    assert all(len(handler.filters) <= 1 for handler in logging.getLogger().handlers if handler.filters)
    logging.getLogger("echo_core").warning("plain")
    assert written.getvalue() == "plain\n"


def test_a_token_in_a_traceback_is_masked_and_the_traceback_stays(written: io.StringIO) -> None:
    try:
        raise ValueError(SECRET)
    except ValueError:
        logging.getLogger("echo_runtime.incidents").exception("turn failed")
    text = written.getvalue()
    assert "not-a-real-token" not in text
    assert text.startswith("turn failed\nTraceback")
    assert text.count("ValueError: Bearer ***") == 1


def test_a_lone_surrogate_costs_no_line(written: io.StringIO) -> None:
    try:
        raise ValueError("broken \ud800")
    except ValueError:
        logging.getLogger("echo_runtime.tools").exception("tool %s failed", "\udfff")
    written.getvalue().encode("utf-8")
    assert "tool \ufffd failed" in written.getvalue()
