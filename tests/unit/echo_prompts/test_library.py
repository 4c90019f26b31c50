"""The shipped prompts: which there are, their words by version, and what an administrator's must be."""

from importlib.resources import files

import pytest

from echo_constants import LOCALES
from echo_prompts import (
    PROMPT_NAMES,
    SHIPPED,
    PromptBook,
    PromptRefusedError,
    UnknownPromptError,
    check_text,
    locales_of,
    prompt_key,
    shipped,
)
from echo_utils import sha256_tagged

#: Version and end of the hash of each text. A text with other words needs a higher version, and a new line here.
SNAPSHOTS = {
    ("pis", "en"): (3, "042989af4b1b"),
    ("pis", "fr"): (3, "624517c04797"),
    ("init", "en"): (1, "1517578a4c44"),
    ("init", "fr"): (1, "25433d1ebf8a"),
    ("reminder", "en"): (1, "bc9003426915"),
    ("reminder", "fr"): (1, "bc1dd1a324f5"),
    ("continue", "en"): (1, "0a25490ba793"),
    ("continue", "fr"): (1, "733f01ec8823"),
    ("nudge_empty", "en"): (1, "f316265ff02a"),
    ("nudge_empty", "fr"): (1, "fed1a1f4cdb3"),
    ("nudge_malformed_call", "en"): (1, "b76c59256126"),
    ("nudge_malformed_call", "fr"): (1, "b008c2e83867"),
    ("nudge_unknown_tool", "en"): (1, "51ecd2543f5a"),
    ("nudge_unknown_tool", "fr"): (1, "9f107a8c1f52"),
    ("note_repeats", "en"): (1, "c87fc2561ea0"),
    ("note_repeats", "fr"): (1, "a0694d37d9d9"),
    ("note_stuck", "en"): (1, "8586bbbdc5ac"),
    ("note_stuck", "fr"): (1, "35bc7e50fb26"),
    ("note_last_round", "en"): (1, "7ad80486fa13"),
    ("note_last_round", "fr"): (1, "327ba76f3bd7"),
    ("judge", "en"): (1, "b8dc6ccd26d1"),
    ("judge", "fr"): (1, "d37384f7f79f"),
    ("writer", "en"): (1, "a78fc1c6cacd"),
    ("writer", "fr"): (1, "d4b3d55f2669"),
    ("subagent", "en"): (1, "29e80015bc50"),
    ("subagent", "fr"): (1, "a7b5ae8c4428"),
    ("subagent_context", "en"): (1, "81dd38494e53"),
    ("subagent_context", "fr"): (1, "1f8181a33a7e"),
    ("level_tool", "en"): (1, "c3bb6d364e66"),
    ("level_plan", "en"): (1, "9d286dac190d"),
    ("checkpoint", "en"): (1, "c99c5aeb1b07"),
    ("checkpoint_review", "en"): (1, "aad0c3c85827"),
    ("memory_reading", "en"): (1, "c94df2f6de20"),
}


def test_the_words_of_each_prompt_are_those_of_its_version() -> None:
    found = {(name, locale): shipped(name, locale) for name in PROMPT_NAMES for locale in locales_of(name)}
    assert {key: (text.version, sha256_tagged(text.text.encode())[-12:]) for key, text in found.items()} == SNAPSHOTS


def test_every_file_is_a_prompt_and_both_languages_have_one_version() -> None:
    there = {path.name for path in files("echo_prompts").joinpath("templates").iterdir()}
    assert there == {f"{name}.{locale}.md" for name, locale in SNAPSHOTS}
    for name in PROMPT_NAMES:
        assert len({shipped(name, locale).version for locale in locales_of(name)}) == 1, name


@pytest.mark.parametrize("key", SNAPSHOTS)
def test_what_is_shipped_would_be_accepted_from_an_administrator(key: tuple[str, str]) -> None:
    known = prompt_key(*key)
    assert check_text(known, shipped(*known).text) == shipped(*known).text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pis", " \n"),
        ("pis", "x" * 32_001),
        ("pis", "You are ##MODEL_ID##."),
        ("reminder", "Think of ##NOTHING##."),
        ("continue", "Go on, ##ECHO_VERSION##."),
        ("writer", "[Somebody]"),
        ("subagent", "Do it."),
        ("checkpoint", "Sum up."),
    ],
)
def test_a_text_that_would_not_work_is_refused(name: str, text: str) -> None:
    with pytest.raises(PromptRefusedError):
        check_text(prompt_key(name, "en"), text)


@pytest.mark.parametrize(("name", "locale"), [("nothing", "en"), ("pis", "de"), ("level_tool", "fr"), ("../pis", "en")])
def test_a_prompt_that_does_not_exist_is_named_so(name: str, locale: str) -> None:
    with pytest.raises(UnknownPromptError):
        prompt_key(name, locale)


def test_an_override_stands_in_place_of_its_own_text_alone() -> None:
    book = PromptBook({("writer", "fr"): "<{name}>"})
    assert book.writer("fr", "Zoé {name}") == "<Zoé {name}>"
    assert book.writer("en", "Zoé") == "[Message from Zoé]"
    assert [book.text("pis", locale) for locale in LOCALES] == [SHIPPED.text("pis", locale) for locale in LOCALES]
    assert book.text("level_tool", "fr") == SHIPPED.text("level_tool", "en")
