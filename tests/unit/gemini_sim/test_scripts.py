import pytest
from pydantic import ValidationError

from echo_workers.gemini_sim.services.scripts import Script


def fits(match: dict[str, object]) -> bool:
    script = Script.model_validate({"match": match})
    return script.fits("POST", "streamGenerateContent", "gemini-3.8-flash", "hello")


@pytest.mark.parametrize(
    "match",
    [
        {},
        {"method": "streamGenerateContent"},
        {"method": "POST"},
        {"model": "gemini-3.8-flash"},
        {"model": "models/gemini-3.8-flash"},
        {"body_regex": "h.llo"},
        {"method": None, "model": None, "body_regex": None},
    ],
)
def test_a_match_may_name_the_rpc_or_the_verb_and_the_model_with_its_folder(match: dict[str, object]) -> None:
    assert fits(match)


@pytest.mark.parametrize("match", [{"method": "GET"}, {"model": "gemini-4-argon"}, {"body_regex": "^bye"}])
def test_another_request_does_not_match(match: dict[str, object]) -> None:
    assert not fits(match)


def test_null_means_absent_everywhere() -> None:
    chunk = {"text": "x", "b64": None, "delay_ms": None}
    nulls = {"match": None, "status": None, "headers": None, "chunks": [chunk], "end": None, "times": None}
    script = Script.model_validate(nulls)
    assert (script.status, script.end, script.times, script.chunks[0].delay_ms) == (200, "close", 1, 0)


@pytest.mark.parametrize("headers", [{"x": "a\r\nb"}, {"x": "\u2028"}, {"bad name": "x"}])
def test_headers_that_cannot_be_sent_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        Script.model_validate({"headers": headers})
