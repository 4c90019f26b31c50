"""What an answer rests on, as sources of the page."""

from echo_core.citations import sources_of
from echo_protocol import CitationsReceived

PLACE = {"uri": "https://maps.google.com/?cid=7", "title": "Le Petit Four", "placeId": "places/abc", "text": "Bakery"}


def test_places_and_pages_are_sources_in_the_order_of_the_answer() -> None:
    chunks = [{"maps": PLACE}, {"web": {"uri": "https://b.example", "title": "B"}}, {"maps": PLACE}]
    place, page = sources_of(CitationsReceived({"groundingChunks": chunks}, (), ()))
    assert place["source"] == {"name": "Le Petit Four", "url": PLACE["uri"], "id": PLACE["uri"]}
    assert place["metadata"] == [{"source": PLACE["uri"], "name": "Le Petit Four"}]
    assert page["source"]["url"] == "https://b.example"


def test_a_place_without_an_address_is_no_source() -> None:
    assert not sources_of(CitationsReceived({"groundingChunks": [{"maps": {"title": "Nowhere"}}, {}]}, (), ()))
