import re

import pytest

from echo_prompts import PROMPT_NAMES
from echo_ui import static_file

#: What the pages share, then what only the page of prompts and that of memories say.
SHARED, OF_PROMPTS, OF_MEMORY = "i18n.js", "prompt-texts.js", "memory-texts.js"


def source(name: str) -> str:
    found = static_file(name)
    assert found is not None, name
    return found.content.decode()


def texts(language: str, *names: str) -> dict[str, str]:
    """Keys and source of one language's blocks."""
    entries: list[tuple[str, str]] = []
    for name in names:
        block = source(name).split(f"const {language} = {{")[1].split("\n};")[0]
        entries += re.findall(r"^  (\w+):\s*(.*(?:\n(?!  \w+:).*)*)", block, re.MULTILINE)
    return dict(entries)


@pytest.mark.parametrize(("name", "at_least"), [(SHARED, 40), (OF_PROMPTS, 20), (OF_MEMORY, 30)])
def test_the_pages_say_everything_in_both_languages(name: str, at_least: int) -> None:
    english, french = texts("en", name), texts("fr", name)
    assert list(english) == list(french)
    assert len(english) > at_least
    assert [key for key in english if english[key] == french[key]] == []


@pytest.mark.parametrize(
    ("scripts", "names"),
    [
        (("keys.js", "key-card.js", "page.js"), (SHARED,)),
        (("prompts.js", "prompt-editor.js", "page.js"), (SHARED, OF_PROMPTS)),
        (("memory.js", "memory-entry.js", "page.js"), (SHARED, OF_MEMORY)),
    ],
    ids=["keys", "prompts", "memory"],
)
def test_every_text_that_a_page_asks_for_exists(scripts: tuple[str, ...], names: tuple[str, ...]) -> None:
    there = set(texts("en", *names))
    for script in scripts:
        asked = set(re.findall(r"\b(?<!-)(?:t|texts)\.(\w+)", source(script)))
        assert asked - there == set(), script
    made_up = {"own", "instance", "ownHint", "instanceHint", "forbidden", "offline", "off", "failed"}
    assert made_up - there == set()


def test_each_prompt_is_explained_in_both_languages() -> None:
    block = source(OF_PROMPTS).split("const PURPOSES = {")[1].split("\n};")[0]
    told = dict(re.findall(r'^  (\w+): \["([^"]+)", "[^"]+"\],$', block, re.MULTILINE))
    assert list(told) == list(PROMPT_NAMES)


@pytest.mark.parametrize("name", ["keys", "prompts", "memory"])
def test_a_page_has_no_inline_script_or_style_and_asks_no_other_server(name: str) -> None:
    html = source(f"{name}.html")
    assert not re.search(r"<style|\sstyle=|\son\w+=|https?://", html)
    assert re.findall(r"<script([^>]*)>", html) == [f' type="module" src="static/{name}.js"']


@pytest.mark.parametrize(
    "name",
    [
        *("page.js", "keys.js", "key-card.js", "prompts.js", "prompt-editor.js", "dom.js"),
        *("memory.js", "memory-entry.js"),
    ],
)
def test_no_text_becomes_markup_or_code(name: str) -> None:
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", source(name))
