"""Rendering adds Parts and touches none."""

import json

from hypothesis import given
from hypothesis import strategies as st

from echo_core.overlay import OverlayEntry, Told, overlay_json, parse_overlay, render
from echo_protocol import content_json, join_contents, part_from_wire, user_parts

WORDS = st.text(st.characters(exclude_categories=()), max_size=20)
VALUES = st.dictionaries(st.sampled_from(["CURRENT_DATE", "USER_LOCATION"]), WORDS.filter(bool))
TOLDS = st.builds(
    Told,
    echo=WORDS,
    instructions=WORDS,
    tools=st.none() | st.dictionaries(WORDS, WORDS, max_size=2),
    selection=WORDS,
    values=VALUES,
)
TOLD = "told: "
LISTS = st.lists(WORDS.map(TOLD.__add__), max_size=2).map(tuple)
ENTRIES = st.builds(OverlayEntry, notes=LISTS, directives=LISTS, events=LISTS, told=TOLDS)
OVERLAYS = st.lists(ENTRIES.filter(lambda entry: entry != OverlayEntry()), max_size=3)
OWN = WORDS.filter(lambda word: bool(word) and not word.startswith(TOLD))
MEDIA = st.sampled_from([{"inlineData": {"mimeType": "image/png", "data": "aWNvbg=="}}, {"fileData": {"fileUri": "x"}}])


@given(OVERLAYS)
def test_an_overlay_comes_back_as_it_was_written(entries: list[OverlayEntry]) -> None:
    written = overlay_json(entries)
    assert list(parse_overlay(written)) == entries
    assert overlay_json(parse_overlay(written)) == written


@given(st.lists(OWN | MEDIA, min_size=1, max_size=5), OVERLAYS)
def test_the_messages_own_parts_stay_byte_for_byte_and_in_order(
    said: list[str | dict[str, object]], entries: list[OverlayEntry]
) -> None:
    parts = [p for s in said for p in (user_parts(s) if isinstance(s, str) else [part_from_wire(s)])]
    own = join_contents([content_json("user", parts)])
    told = [xml for e in entries for xml in (*e.notes, *e.directives, *e.events)]
    rendered = render(own, overlay_json(entries))
    assert rendered == render(own, overlay_json(parse_overlay(overlay_json(entries))))
    shown = json.loads(rendered)[0]["parts"]
    assert sorted(part["text"] for part in shown if part.get("text", "").startswith(TOLD)) == sorted(told)
    assert [part for part in shown if not part.get("text", "").startswith(TOLD)] == [dict(part.wire) for part in parts]
    if not told:
        assert rendered == own
