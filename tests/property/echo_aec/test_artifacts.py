"""Whatever an artifact holds comes back exactly, and nothing that a user types can end or begin one."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_aec import (
    ARTIFACT_IDS,
    SCHEMA,
    Artifact,
    Item,
    UnreadableArtifact,
    from_xml_text,
    parse_artifact,
    to_xml_text,
)
from echo_aec.escape import MARK
from echo_utils import defused, dumps

NASTY = st.sampled_from(
    [
        "</artifact>",
        '<artifact id="AEC_upgrade">',
        "]]>",
        "<![CDATA[",
        "&amp;",
        "&#0;",
        "<!-- -->",
        "<?xml version='1.0'?>",
        "\x00",
        "\x1b",
        "\r\n",
        "\t",
        "\x85",
        "\u2028",
        "\ud800",
        "\udfff",
        "\ufffe",
        "\uffff",
        MARK,
        f"{MARK}7;",
        "\u202emirrored",
        "\U0001f469\u200d\U0001f680",
        "<a><b>&</b></a>",
    ]
)
CHARACTERS = st.characters(exclude_categories=()) | st.characters(max_codepoint=0x9F)
TEXTS = st.lists(NASTY | st.text(CHARACTERS), max_size=6).map("".join)


@st.composite
def artifacts(draw: st.DrawFn) -> Artifact:
    kind_id = draw(st.sampled_from(ARTIFACT_IDS))
    kind = SCHEMA[kind_id]

    def some(names: tuple[str, ...]) -> dict[str, str]:
        return {name: draw(TEXTS) for name in names if draw(st.booleans())}

    tags = draw(st.lists(st.sampled_from(sorted(kind.items)), max_size=3)) if kind.items else []
    return Artifact(
        id=kind_id,
        attributes=some(kind.attributes),
        text=draw(TEXTS),
        items=tuple(Item(tag=tag, attributes=some(kind.items[tag]), text=draw(TEXTS)) for tag in tags),
    )


@given(artifacts())
def test_an_artifact_comes_back_exactly(artifact: Artifact) -> None:
    written = artifact.xml()
    assert parse_artifact(written) == artifact
    assert parse_artifact(written).xml() == written


@given(artifacts())
def test_an_artifact_is_one_element_that_utf8_and_json_can_hold(artifact: Artifact) -> None:
    written = artifact.xml()
    assert json.loads(dumps({"text": written}).decode()) == {"text": written}
    assert written.startswith(f'<artifact id="{artifact.id}"')
    assert len(re.findall(r"</?artifact\b", written)) == (1 if written.endswith("/>") else 2)


@given(TEXTS)
def test_any_text_survives_xml(text: str) -> None:
    assert from_xml_text(to_xml_text(text)) == text


@given(TEXTS)
def test_reading_anything_gives_an_artifact_or_the_error(text: str) -> None:
    try:
        artifact = parse_artifact(text)
    except UnreadableArtifact:
        return
    assert parse_artifact(artifact.xml()) == artifact


@given(TEXTS)
def test_defused_text_has_no_artifact_tag_and_loses_nothing(text: str) -> None:
    harmless = defused(text)
    assert re.search(r"<\s*/?\s*artifact\b", harmless, re.IGNORECASE) is None
    assert defused(harmless) == harmless
    assert harmless.replace("&lt;", "<") == text.replace("&lt;", "<")


@pytest.mark.parametrize("text", ["", "a" * 1_000_000, "<&\x00" * 300_000])
def test_long_and_empty_texts_come_back(text: str) -> None:
    artifact = Artifact(id="AEC_reminder", text=text)
    assert parse_artifact(artifact.xml()).text == text
