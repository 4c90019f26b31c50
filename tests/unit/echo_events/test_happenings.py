"""What is told to the model between two messages: the catalogue, and that anything comes back from the wait."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_aec import parse_artifact, told, waiting
from echo_constants import LOCALES
from echo_events import HAPPENING_NAMES, HAPPENINGS, Happening, fields_of

TEXTS = st.text(st.characters(exclude_categories=()))


@st.composite
def happenings(draw: st.DrawFn) -> Happening:
    name = draw(st.sampled_from(HAPPENING_NAMES))
    return Happening(name=name, fields={key: draw(TEXTS) for key in fields_of(name)})


def test_each_name_has_words_with_the_same_fields_in_both_languages() -> None:
    assert set(HAPPENINGS) == set(HAPPENING_NAMES)
    for name, words in HAPPENINGS.items():
        fields = {key: f"<{key}>" for key in fields_of(name)}
        for locale in LOCALES:
            text = words.render(locale, **fields)
            assert all(value in text for value in fields.values())
            assert "{" not in text


@given(happenings(), st.sampled_from(LOCALES))
def test_whatever_it_holds_it_is_told_as_it_happened(happening: Happening, locale: Any) -> None:
    assert Happening.from_json(happening.to_json()) == happening
    waits = waiting(happening, event_id="e", at_s=1_800_000_000.9, message_id="m")
    assert (waits.id, waits.name, waits.anchor_message_id) == ("e", happening.name, "m")
    artifact = parse_artifact(told(waits, locale))
    assert artifact.id == "AEC_event"
    assert dict(artifact.attributes) == {"name": happening.name, "at": "2027-01-15T08:00:00Z"}
    assert artifact.text == happening.words(locale)


@pytest.mark.parametrize(
    ("name", "fields"), [("nothing", {}), ("quota_low", {}), ("quota_low", {"model": "", "x": ""})]
)
def test_what_the_catalogue_does_not_have_is_refused(name: Any, fields: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="no happening"):
        Happening(name=name, fields=fields)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "nothing", "fields": {}}', '{"name": "quota_low"}'])
def test_what_is_none_is_not_read(text: str) -> None:
    with pytest.raises(ValueError):
        Happening.from_json(text)
