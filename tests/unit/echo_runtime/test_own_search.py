"""What ECHO's own search makes of results: sources for the page."""

import json

import pytest

from echo_runtime.own_tools import search_sources


def test_each_result_with_an_address_is_a_source() -> None:
    rows = [{"title": "A", "link": "https://a.example", "snippet": "words"}, {"title": "no address"}, "odd"]
    [source] = search_sources(json.dumps(rows))
    assert source["source"] == {"id": "https://a.example", "name": "https://a.example", "url": "https://a.example"}
    assert source["document"] == ["words"]
    assert source["metadata"] == [{"source": "https://a.example", "name": "A"}]


@pytest.mark.parametrize("text", ["", "no JSON", '{"error": "down"}', "[]", "3"])
def test_what_is_no_list_of_results_has_no_sources(text: str) -> None:
    assert search_sources(text) == ()
