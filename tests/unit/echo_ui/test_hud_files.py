"""The HUD's files: both languages whole, nothing from elsewhere, nothing written as markup."""

import re

import pytest

from echo_ui import static_file

SCRIPTS = (
    "loader.js",
    "hud.js",
    "hud-api.js",
    "hud-bar.js",
    "hud-charts.js",
    "hud-compaction.js",
    "hud-dialog.js",
    "hud-drawer.js",
    "hud-format.js",
    "hud-meter.js",
    "hud-panel.js",
    "hud-place.js",
    "hud-texts.js",
)


def source(name: str) -> str:
    found = static_file(name)
    assert found is not None, name
    return found.content.decode()


def texts(language: str) -> dict[str, str]:
    block = source("hud-texts.js").split(f"const {language} = {{")[1].split("\n};")[0]
    return dict(re.findall(r"^  (\w+):\s*(.*(?:\n(?!  \w+:).*)*)", block, re.MULTILINE))


def test_the_hud_says_everything_in_both_languages() -> None:
    english, french = texts("en"), texts("fr")
    assert list(english) == list(french)
    assert len(english) > 25


def test_every_text_that_the_hud_asks_for_exists() -> None:
    asked: set[str] = set()
    for name in SCRIPTS:
        asked |= set(re.findall(r"\b(?<!-)(?:t|texts)\.(\w+)", source(name)))
    assert asked - set(texts("en")) == set()


@pytest.mark.parametrize("name", [*SCRIPTS, "hud.css", "hud-dialog.css", "charts.css", "embed.css"])
def test_nothing_comes_from_elsewhere(name: str) -> None:
    assert not re.findall(r"https?://(?!www\.w3\.org/)", source(name))


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_text_becomes_markup_or_code(name: str) -> None:
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", source(name))


@pytest.mark.parametrize("name", SCRIPTS)
def test_modules_that_are_imported_are_there(name: str) -> None:
    for module in re.findall(r'from "\./([\w-]+\.js)"', source(name)):
        assert static_file(module) is not None, module
