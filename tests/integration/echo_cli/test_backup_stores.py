"""A backup of real stores while they are in use: each comes back, and what was copied names nothing that was not."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from codex_kit import ADA, Git, make_codex
from echo_cli._archive_read import restore_backup
from echo_cli._archive_write import write_backup
from echo_codex_git import Codex
from echo_core.passages import SESSION_RAG
from echo_memory import EdgeEngine, PassageStore
from echo_paths import EchoPaths
from echo_runtime.prompt_desk import PromptDesk
from echo_skills import SkillDocument, SkillDraft, SkillLibrary
from echo_state_manager.crypto import MasterSecret
from echo_state_manager.prompts import PromptStore
from echo_state_manager.vault import Vault
from passage_kit import WordEmbedder, passage
from store_kit import ManualClock

USER = {"id": "ada", "name": "Ada", "email": "ada@example.org", "role": "user"}
SECRET = MasterSecret("WEBUI_SECRET_KEY", "the secret of one machine")
LARGE = b"large" * 100_000


class NoNative:
    """A host without skills."""

    async def entries(self, user: object) -> list[object]:
        return []

    async def files(self, user: object, name: str) -> None:
        return None


class Stores:
    """Everything that ECHO keeps beside its records, below one folder."""

    def __init__(self, root: Path) -> None:
        paths = EchoPaths(root)
        self.prompts = PromptDesk(PromptStore(paths.prompts_db, ManualClock()))
        self.vault = Vault(paths, "ada", "chat-1", secret=SECRET, encrypts=True)
        self.codex = make_codex(root)
        self.skills = SkillLibrary(paths, ManualClock(), NoNative())  # type: ignore[arg-type]  # as far as it is asked
        self.engine = EdgeEngine(paths.qdrant_dir)
        self.passages = PassageStore(self.engine, WordEmbedder()).of("ada", SESSION_RAG)

    async def fill(self) -> str:
        """Put something into each; the digest of the vault's file."""
        await self.prompts.put("pis", "fr", "Parlez en vers.", "root")
        kept = await self.vault.put(LARGE, mime_type="text/plain", name="large.txt")
        await self.codex.create("ada", "w")
        await self.codex.write("ada", "w", "a/b.txt", "one\n")
        await self.codex.commit("ada", "w", "first", ADA)
        tea = SkillDocument(name="make-tea", description="Makes tea.", body="Boil water.")
        await self.skills.forge(USER, SkillDraft(document=tea, files={}))
        await self.passages.put([passage("p1", "la serrure de la grange", chat_id="chat-1")])
        return kept.sha256

    async def close(self) -> None:
        await self.prompts.aclose()
        await self.engine.close()


async def backed_up(root: Path, folder: Path) -> Path:
    report = await asyncio.to_thread(write_backup, root, folder / "b.tar.zst", created_at="2026-12-01T00:00:00+00:00")
    await asyncio.to_thread(restore_backup, report.path, folder / "back")
    return folder / "back"


async def test_prompts_files_codex_skills_and_vectors_come_back(tmp_path: Path) -> None:
    used = Stores(tmp_path / "echo")
    digest = await used.fill()
    back = Stores(await backed_up(tmp_path / "echo", tmp_path))
    try:
        assert (await back.prompts.book()).text("pis", "fr") == "Parlez en vers."
        assert b"".join([piece async for piece in back.vault.read(digest)]) == LARGE
        assert (await back.codex.read("ada", "w", "a/b.txt")).text == "one\n"
        assert [made.message.strip() for made in await back.codex.log("ada", "w")] == ["first"]
        assert "Boil water." in (await back.skills.read(USER, "make-tea")).text
        assert [found.passage.text for found in await back.passages.search("serrure grange")] == [
            "la serrure de la grange"
        ]
    finally:
        await used.close()
        await back.close()


def committed(codex: Codex, branch: str) -> None:
    """A commit on a branch, a new one but for main, as a chat that goes on would make it."""

    async def commit() -> None:
        if branch != "main":
            await codex.create_branch("ada", "w", branch)
            await codex.switch("ada", "w", branch)
        await codex.write("ada", "w", "a.txt", f"{branch}\n")
        await codex.commit("ada", "w", branch, ADA)

    asyncio.run(commit())


@pytest.mark.parametrize("moment", ["identity.db", "HEAD", "index", "refs/heads/main"])
def test_a_commit_during_the_backup_leaves_a_whole_repository(tmp_path: Path, moment: str) -> None:
    codex = make_codex(tmp_path / "echo")
    asyncio.run(codex.create("ada", "w"))
    committed(codex, "main")
    with closing(sqlite3.connect(tmp_path / "echo/identity.db")) as database:
        database.execute("CREATE TABLE t (name TEXT)")
    met: list[str] = []

    def meanwhile(entry: str) -> None:
        if not met and entry.endswith(moment):
            met.append(entry)
            committed(codex, "after")

    report = write_backup(tmp_path / "echo", tmp_path / "b.tar.zst", created_at="now", on_entry=meanwhile)
    assert met
    restore_backup(report.path, tmp_path / "back")
    git = Git(tmp_path / "home")
    tree = EchoPaths(tmp_path / "back").codex_dir("ada") / "w"
    git.require_whole(tree)
    assert git(tree, "rev-parse", "--verify", "HEAD")
    assert asyncio.run(make_codex(tmp_path / "back").log("ada", "w"))[-1].message.strip() == "main"


def test_a_file_that_is_attached_during_the_backup_is_there_where_the_records_name_it(tmp_path: Path) -> None:
    root = tmp_path / "echo"
    for name in ("identity.db", "prompts.db"):
        root.mkdir(exist_ok=True)
        with closing(sqlite3.connect(root / name)) as database:
            database.execute("CREATE TABLE t (name TEXT)")

    def attach(entry: str) -> None:
        if entry == "identity.db":
            (root / "users/ada/files").mkdir(parents=True)
            (root / "users/ada/files/new").write_bytes(b"attached")
            with closing(sqlite3.connect(root / "identity.db")) as database, database:
                database.execute("INSERT INTO t VALUES ('new')")

    report = write_backup(root, tmp_path / "b.tar.zst", created_at="now", on_entry=attach)
    restore_backup(report.path, tmp_path / "back")
    with closing(sqlite3.connect(tmp_path / "back/identity.db")) as database:
        assert database.execute("SELECT name FROM t").fetchall() == [("new",)]
    assert (tmp_path / "back/users/ada/files/new").read_bytes() == b"attached"
