"""Reading the function files."""

from pathlib import Path

import pytest

from echo_cli._functions import FUNCTIONS_ROOT, FunctionFileError, discover_functions, read_frontmatter

PIPE = (
    '"""\ntitle: ECHO\nid: echo_orchestrator\nversion: 1.2.3\ndescription: Says.\n{more}"""\n\nclass Pipe:\n    pass\n'
)
ROOT = Path(__file__).resolve().parents[3]


def write(root: Path, folder: str, name: str, source: str) -> None:
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder / name).write_text(source, encoding="utf-8")


def test_the_package_offers_the_files_of_the_top_level_folders() -> None:
    offered = {function.source for function in discover_functions()}
    folders = ("pipes", "filters", "actions", "events", "tools")
    assert offered == {
        path.read_text(encoding="utf-8")
        for folder in folders
        for path in (ROOT / folder).glob("*.py")
        if not path.name.startswith("_")
    }
    assert offered
    assert {entry.name for entry in FUNCTIONS_ROOT.iterdir()} == set(folders)


def test_kind_comes_from_the_folder_and_scope_from_the_kind(tmp_path: Path) -> None:
    write(tmp_path, "pipes", "echo_orchestrator.py", PIPE.format(more=""))
    write(tmp_path, "filters", "keepalive.py", '"""\ntitle: Keep\n"""\nclass Filter:\n    pass\n')
    write(tmp_path, "actions", "compact.py", '"""\ntitle: Compact\necho_scope: global\n"""\nclass Action:\n    pass\n')
    write(tmp_path, "tools", "code.py", '"""\ntitle: Code\n"""\nclass Tools:\n    pass\n')
    write(tmp_path, "tools", "_shared.py", "not a toolkit")
    found = {function.id: (function.kind, function.scope) for function in discover_functions(tmp_path)}
    assert found == {
        "echo_orchestrator": ("pipe", "model"),
        "keepalive": ("filter", "global"),
        "compact": ("action", "global"),
        "code": ("tool", "model"),
    }


def test_title_and_description_have_both_languages(tmp_path: Path) -> None:
    write(tmp_path, "pipes", "a.py", PIPE.format(more="description_fr: Répète.\n"))
    (function,) = discover_functions(tmp_path)
    assert (function.description.en, function.description.fr) == ("Says.", "Répète.")
    assert (function.title.en, function.title.fr) == ("ECHO", "ECHO")
    assert function.version == "1.2.3"


def test_frontmatter_needs_three_quotes_alone_on_line_one() -> None:
    assert read_frontmatter('"""title: x\n"""') == {}
    assert read_frontmatter('"""\nTitle:  x : y \n"""\nlater: z') == {"title": "x : y"}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("class Pipe: ...", "no frontmatter"),
        ('"""\ntitle: x\n"""\nclass Filter: ...', "no class Pipe"),
        ('"""\ntitle: x\nid: not-an-id\n"""\nclass Pipe: ...', "not-an-id"),
        ('"""\ntitle: x\necho_scope: all\n"""\nclass Pipe: ...', "echo_scope"),
    ],
)
def test_an_unusable_file_is_told_with_its_reason(tmp_path: Path, source: str, reason: str) -> None:
    write(tmp_path, "pipes", "bad.py", source)
    with pytest.raises(FunctionFileError) as told:
        discover_functions(tmp_path)
    assert reason in told.value.user_message("en")
    assert "bad.py" in told.value.user_message("fr")


def test_one_id_cannot_be_used_twice(tmp_path: Path) -> None:
    write(tmp_path, "pipes", "a.py", PIPE.format(more=""))
    write(tmp_path, "filters", "echo_orchestrator.py", '"""\ntitle: x\n"""\nclass Filter: ...\n')
    with pytest.raises(FunctionFileError, match=r"\[function_file\]") as told:
        discover_functions(tmp_path)
    assert "used twice" in told.value.user_message("en")
