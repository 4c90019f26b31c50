"""Skills found, read and forged; whose they are; and what is refused."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from codex_kit import FixedClock, Git
from echo_codex_git.errors import CodexError, UnsafePathError
from echo_paths import EchoPaths
from echo_skills import SkillDocument, SkillDraft, SkillEntry, SkillError, SkillLibrary, SkillLimits
from echo_skills.errors import (
    SharedSkillsError,
    SkillExistsError,
    SkillFileMissingError,
    SkillFormatError,
    SkillLimitError,
    SkillMissingError,
    SkillNameError,
)

ADA = {"id": "ada", "name": "Ada", "email": "ada@example.org", "role": "user"}
BOB = {"id": "bob", "name": "Bob", "email": "bob@example.org", "role": "user"}
ROOT = {"id": "root", "name": "Root", "email": "root@example.org", "role": "admin"}


class OneNative:
    """A host with one skill, which only Bob may read."""

    async def entries(self, user: Mapping[str, Any]) -> Sequence[SkillEntry]:
        entry = SkillEntry(name="review", description="Review code.", source="open-webui")
        return [entry] if user["id"] == "bob" else []

    async def files(self, user: Mapping[str, Any], name: str) -> Mapping[str, str] | None:
        return {"SKILL.md": "Native review", "a.md": "A"} if (user["id"], name) == ("bob", "review") else None


@pytest.fixture
def library(tmp_path: Path) -> SkillLibrary:
    return SkillLibrary(EchoPaths(tmp_path / "data"), FixedClock(), OneNative())


def draft(name: str, text: str = "Do it.", *, about: str = "Does it.", **given: Any) -> SkillDraft:
    document = SkillDocument(name=name, description=about, body=text)
    return SkillDraft(document=document, files=given.pop("files", {}), **given)


async def test_a_forged_skill_is_found_and_read(library: SkillLibrary, tmp_path: Path) -> None:
    forged = await library.forge(ADA, draft("make-tea", "# Tea\n", files={"refs/kinds.md": "Green"}))
    assert forged.files == ("make-tea/SKILL.md".removeprefix("make-tea/"), "refs/kinds.md")
    (entry,) = await library.search(ADA, "tea")
    assert entry == SkillEntry(name="make-tea", description="Does it.", source="user")
    page = await library.read(ADA, "make-tea")
    assert page.text.endswith("# Tea\n")
    assert page.files == ("SKILL.md", "refs/kinds.md")
    assert (await library.read(ADA, "make-tea", path="refs/kinds.md")).text == "Green"
    git = Git(tmp_path / "home")
    folder = library.paths.skills_dir("ada")
    assert git(folder, "log", "--format=%H %an %s").strip() == f"{forged.version} Ada Forge make-tea"
    assert git(folder, "status", "--porcelain") == ""
    git.require_whole(folder)


async def test_every_version_is_kept(library: SkillLibrary, tmp_path: Path) -> None:
    await library.forge(ADA, draft("s", "one", files={"a": "1", "b": "2"}))
    with pytest.raises(SkillExistsError):
        await library.forge(ADA, draft("s", "two"))
    second = await library.forge(ADA, draft("s", "two", files={"a": "3"}, removed=["b"], update=True))
    assert second.files == ("SKILL.md", "a")
    assert (await library.forge(ADA, draft("s", "two", files={"a": "3"}, update=True))).version == ""
    assert Git(tmp_path / "home")(library.paths.skills_dir("ada"), "show", "HEAD~1:s/b") == "2"


async def test_searching_finds_by_words_in_any_case_and_accent(library: SkillLibrary) -> None:
    await library.forge(ADA, draft("resume-reunion", about="Résumer une réunion en points d'action."))
    await library.forge(ADA, draft("sql-review", about="Checks queries before they run."))
    assert [entry.name for entry in await library.search(ADA, "REUNIONS")] == ["resume-reunion"]
    assert [entry.name for entry in await library.search(ADA, "query review")] == ["sql-review"]
    assert [entry.name for entry in await library.search(ADA)] == ["resume-reunion", "sql-review"]
    assert await library.search(ADA, "cooking") == []


async def test_listings_hold_no_instructions(library: SkillLibrary) -> None:
    await library.forge(ADA, draft("s", "the secret sauce"))
    assert "sauce" not in repr(await library.search(ADA))


async def test_users_see_their_own_and_the_shared_ones_only(library: SkillLibrary) -> None:
    await library.forge(ADA, draft("s", "of ada"))
    with pytest.raises(SharedSkillsError):
        await library.forge(ADA, draft("s", "for all"), shared=True)
    await library.forge(ROOT, draft("s", "for all"), shared=True)
    assert "of ada" in (await library.read(ADA, "s")).text
    assert "for all" in (await library.read(ADA, "s", source="shared")).text
    assert "for all" in (await library.read(BOB, "s")).text
    assert [entry.source for entry in await library.search(ADA, "s")] == ["user", "shared"]
    for name in ("../ada/skills/s", "../../ada/skills/s", "s/../../../ada/skills/s", "ada", "/", "s\0", "S", ""):
        with pytest.raises(SkillMissingError):
            await library.read(BOB, name, source="user")


async def test_native_skills_follow_the_users_rights(library: SkillLibrary) -> None:
    assert [entry.source for entry in await library.search(BOB, "review")] == ["open-webui"]
    page = await library.read(BOB, "review")
    assert (page.text, page.files) == ("Native review", ("SKILL.md", "a.md"))
    with pytest.raises(SkillFileMissingError):
        await library.read(BOB, "review", path="b.md")
    assert await library.search(ADA, "review") == []
    with pytest.raises(SkillMissingError):
        await library.read(ADA, "review")


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", ".git/config", "a/../../x", "SKILL.md", "skill.md", "a\\b"])
async def test_files_stay_inside_the_skill(library: SkillLibrary, path: str) -> None:
    with pytest.raises(UnsafePathError):
        await library.forge(ADA, draft("s", files={path: "x"}))
    assert await library.search(ADA) == []
    await library.forge(ADA, draft("s"))
    if path.lower() != "skill.md":
        with pytest.raises(UnsafePathError):
            await library.read(ADA, "s", path=path)
        with pytest.raises(UnsafePathError):
            await library.forge(ADA, draft("s", removed=[path], update=True))


async def test_links_in_a_skill_lead_nowhere(library: SkillLibrary, tmp_path: Path) -> None:
    await library.forge(ADA, draft("s"))
    folder = library.paths.skills_dir("ada")
    (tmp_path / "secret").write_text("secret")
    (folder / "s" / "link").symlink_to(tmp_path / "secret")
    (folder / "alias").symlink_to(folder / "s")
    with pytest.raises(CodexError):
        await library.read(ADA, "s", path="link")
    with pytest.raises(CodexError):
        await library.forge(ADA, draft("s", files={"link": "x"}, update=True))
    assert [entry.name for entry in await library.search(ADA)] == ["s"]
    with pytest.raises(SkillMissingError):
        await library.read(ADA, "alias")
    assert (tmp_path / "secret").read_text() == "secret"


async def test_bounds_hold_and_leave_nothing_behind(tmp_path: Path) -> None:
    limits = SkillLimits(skills=2, files=3, file_bytes=500, skill_bytes=900)
    library = SkillLibrary(EchoPaths(tmp_path), FixedClock(), limits=limits)
    for files in ({"a": "x" * 501}, {"a": "x" * 450, "b": "x" * 450}, {"a": "", "b": "", "c": ""}):
        with pytest.raises(SkillLimitError):
            await library.forge(ADA, draft("s", files=files))
    assert await library.search(ADA) == []
    for name in ("one", "two"):
        await library.forge(ADA, draft(name))
    with pytest.raises(SkillLimitError):
        await library.forge(ADA, draft("three"))


async def test_what_was_put_there_by_hand_counts_and_what_is_broken_does_not(library: SkillLibrary) -> None:
    root = library.paths.shared_skills_dir
    for name, text in {
        "good": "---\nname: good\ndescription: By hand.\n---\nBody",
        "broken": "---\nname: broken\n---\n",
        "other-name": "---\nname: another\ndescription: x\n---\n",
    }.items():
        (root / name).mkdir(parents=True)
        (root / name / "SKILL.md").write_text(text)
    (root / "README.md").write_text("not a skill")
    assert [entry.name for entry in await library.search(ADA)] == ["good"]
    (root / "good" / "SKILL.md").write_text("---\nname: good\ndescription: Changed by hand.\n---\nBody")
    assert [entry.description for entry in await library.search(ADA)] == ["Changed by hand."]
    await library.forge(ROOT, draft("forged"), shared=True)
    assert [entry.name for entry in await library.search(ADA)] == ["forged", "good"]


async def test_skills_forged_at_once_are_all_kept(library: SkillLibrary, tmp_path: Path) -> None:
    await asyncio.gather(*(library.forge(ADA, draft(f"s{number}")) for number in range(6)))
    assert len(await library.search(ADA)) == 6
    git = Git(tmp_path / "home")
    assert len(git(library.paths.skills_dir("ada"), "log", "--format=%h").split()) == 6


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a-", "a--b", "é", "a" * 65, "a b", "../x", "a/b", ".git"])
async def test_names_outside_the_format_are_refused(library: SkillLibrary, name: str) -> None:
    with pytest.raises(SkillNameError):
        await library.forge(ADA, draft(name))


@pytest.mark.parametrize("about", ["", " \n", "x" * 1025])
async def test_descriptions_outside_the_format_are_refused(library: SkillLibrary, about: str) -> None:
    with pytest.raises(SkillFormatError):
        await library.forge(ADA, draft("s", about=about))
    assert issubclass(SkillFormatError, SkillError)
