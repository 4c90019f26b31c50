"""SKILL.md: what is written is read back, and foreign text never breaks the reader."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from echo_skills import SkillDocument, SkillError, compose_skill, parse_skill
from echo_skills.errors import SkillFormatError

#: Text that YAML can hold; runs of blanks are one blank in a field.
LINE = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp", "Zs", "Co", "Cn")), min_size=1, max_size=60)
NAME = st.from_regex(r"[a-z0-9]{1,20}(-[a-z0-9]{1,20}){0,2}", fullmatch=True)


@given(
    name=NAME, about=LINE, body=st.text(max_size=400), licence=LINE, metadata=st.dictionaries(LINE, LINE, max_size=3)
)
def test_a_document_is_read_back_as_it_was(
    name: str, about: str, body: str, licence: str, metadata: dict[str, str]
) -> None:
    document = SkillDocument(
        name=name, description=about, body=body.strip("\r\n"), license=licence, metadata=metadata,
        allowed_tools=("Read", "Bash(git:*)"),
    )  # fmt: skip
    try:
        text = compose_skill(document)
    except SkillError:
        return  # what could not be read back is refused, never written
    assert parse_skill(text) == document


@given(st.text(max_size=300), st.text(max_size=100))
def test_foreign_text_is_read_or_refused(front: str, body: str) -> None:
    for text in (front, f"---\n{front}\n---\n{body}"):
        try:
            assert parse_skill(text).name
        except SkillError as error:
            assert error.code in {"skill_format", "skill_name"}


@pytest.mark.parametrize(
    "front",
    ["name: [a]", "name: {a: b}", "- a", "name: a\ndescription: [x]", "name: a\ndescription: x\nmetadata: 3",
     "a: &a [x]\nname: a\ndescription: x\nmetadata: {k: *a}", "name: !!python/object:os.system a\ndescription: x",
     "name: a\ndescription: true", "name: a\ndescription: " + "x" * 1025, "name: " + "a" * 65 + "\ndescription: x"],
)  # fmt: skip
def test_odd_front_matter_is_refused(front: str) -> None:
    with pytest.raises(SkillError):
        parse_skill(f"---\n{front}\n---\nbody")


def test_the_published_example_is_read() -> None:
    text = (
        "---\nname: pdf-processing\ndescription: Works with PDF files. Use for forms.\nlicense: Apache-2.0\n"
        'metadata:\n  author: example-org\n  version: "1.0"\nallowed-tools: Read Bash(jq:*)\nunknown: kept out\n'
        "---\n\n# PDF\n---\nmore"
    )
    document = parse_skill(text)
    assert document.metadata == {"author": "example-org", "version": "1.0"}
    assert document.allowed_tools == ("Read", "Bash(jq:*)")
    assert document.body == "# PDF\n---\nmore"


def test_a_file_without_front_matter_is_refused() -> None:
    for text in ("", "# Title", "---\nname: a\ndescription: b\n", "text\n---\nname: a\ndescription: b\n---\n"):
        with pytest.raises(SkillFormatError):
            parse_skill(text)
