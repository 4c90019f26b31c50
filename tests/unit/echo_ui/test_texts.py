import re

from echo_ui import static_file


def texts(language: str) -> dict[str, str]:
    """Keys and source of one language's block in i18n.js."""
    found = static_file("i18n.js")
    assert found is not None
    source = found.content.decode()
    block = source.split(f"const {language} = {{")[1].split("\n};")[0]
    return dict(re.findall(r"^  (\w+):\s*(.*(?:\n(?!  \w+:).*)*)", block, re.MULTILINE))


def test_the_page_says_everything_in_both_languages() -> None:
    english, french = texts("en"), texts("fr")
    assert list(english) == list(french)
    assert len(english) > 40
    assert [key for key in english if english[key] == french[key]] == []


def test_every_text_that_the_page_asks_for_exists() -> None:
    asked: set[str] = set()
    for name in ("keys.js", "key-card.js"):
        found = static_file(name)
        assert found is not None
        asked |= set(re.findall(r"\b(?:t|texts)\.(\w+)", found.content.decode()))
    assert asked - set(texts("en")) == set()
    for made_up in ("own", "instance", "ownHint", "instanceHint", "forbidden", "offline", "off", "failed"):
        assert made_up in texts("en")


def test_the_page_has_no_inline_script_or_style_and_asks_no_other_server() -> None:
    page = static_file("keys.html")
    assert page is not None
    html = page.content.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|https?://", html)
    assert re.findall(r"<script([^>]*)>", html) == [' type="module" src="static/keys.js"']
