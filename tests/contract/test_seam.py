"""Everything that ECHO uses of Open WebUI exists in the releases that ECHO supports."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from guards.project import PIPE
from guards.release import Release, downloaded, installed
from guards.seam import missing, seam_files, since_of, uses

REFERENCE = "0.12.4"
OLDER = ("0.10.2", "0.11.4")


@pytest.fixture(scope="module", params=OLDER)
def older(request: pytest.FixtureRequest) -> Iterator[Release]:
    """An older release that ECHO supports as far as it has the hooks."""
    release = downloaded(request.param)
    yield release
    release.close()


def test_the_reference_release_is_the_installed_one() -> None:
    assert installed().name == REFERENCE


def test_the_seam_is_looked_at_as_soon_as_the_pipe_exists() -> None:
    assert not PIPE.exists() or any(uses(path) for path in seam_files())


def test_every_symbol_exists_in_the_installed_release() -> None:
    files = seam_files()
    since = since_of(files)
    assert [
        fault for path in files for use in uses(path) for fault in missing(use, installed(), since, reference=True)
    ] == []


def test_every_registered_symbol_is_used_and_present_in_the_reference() -> None:
    files = seam_files()
    used = {use.name for path in files for use in uses(path)}
    assert set(since_of(files)) <= used


@pytest.mark.deep
def test_every_symbol_exists_in_the_older_releases_or_is_declared(older: Release) -> None:
    files = seam_files()
    since = since_of(files)
    assert [
        fault for path in files for use in uses(path) for fault in missing(use, older, since, reference=False)
    ] == []


def faults(source: str, tmp_path: Path, release: Release | None = None) -> list[str]:
    """What the seam test says about a planted file."""
    path = tmp_path / "planted.py"
    path.write_text(source, encoding="utf-8")
    reference = release is None
    since = since_of((path,))
    return [
        fault.rule for use in uses(path) for fault in missing(use, release or installed(), since, reference=reference)
    ]


PRESENT = (
    "from open_webui.models.chats import Chats",
    "from open_webui.models import chats\nchats.Chats.get_chat_by_id",
    "import open_webui.models.chats as c\nc.Chats.get_chat_by_id",
    "import open_webui.models.chats\nopen_webui.models.chats.Chats.get_chat_by_id",
    "import importlib\nm = importlib.import_module('open_webui.models.chats')\nm.Chats.get_chat_by_id",
    "from open_webui.models.chats import Chats\ngetattr(Chats, 'get_chat_by_id')",
    "from open_webui.models.chats import ChatModel\nChatModel.model_validate",
    "from open_webui.models.chat_messages import ChatMessage\nChatMessage.updated_at\nChatMessage.__table__",
    "from open_webui.main import app\napp.router.routes.insert(0, None)",
    "from open_webui.models.chats import Chats\nasync def f(): await Chats.get_chat_by_id('c')",
    "from open_webui.models.chats import Chats\nasync def f(a): await Chats.get_chat_by_id(*a)",
)

ABSENT = (
    "from open_webui.models.nowhere import Chats",
    "from open_webui.models.chats import Nobody",
    "from open_webui.models.chats import Chats\nChats.get_nothing",
    "from open_webui.models.chats import Chats as C\nasync def f(): await C.get_nothing('c')",
    "import open_webui.models.chats as c\nc.Nobody",
    "import open_webui.models.chats\nopen_webui.models.nowhere.Chats",
    "from open_webui.models.chats import Chats\ngetattr(Chats, 'get_nothing')",
    "from open_webui.models.chats import ChatModel\nChatModel.nothing",
    "try:\n    from open_webui.models.chats import Nobody\nexcept ImportError:\n    Nobody = None",
)

WRONG_CALLS = (
    "from open_webui.models.chats import Chats\nasync def f(): await Chats.get_chat_by_id()",
    "from open_webui.models.chats import Chats\nasync def f(): await Chats.get_chat_by_id('c', nothing=1)",
    "from open_webui.models.chats import Chats\nasync def f(): await Chats.get_chat_by_id(1, 2, 3, 4, 5)",
    "from open_webui.utils.misc import get_message_list\nasync def f(): await get_message_list({}, 'm')",
)


@pytest.mark.parametrize("source", PRESENT)
def test_what_the_release_has_is_accepted(source: str, tmp_path: Path) -> None:
    assert faults(source, tmp_path) == []


@pytest.mark.parametrize("source", ABSENT)
def test_what_the_release_lacks_is_found(source: str, tmp_path: Path) -> None:
    assert set(faults(source, tmp_path)) == {"seam"}


@pytest.mark.parametrize("source", WRONG_CALLS)
def test_a_call_that_the_release_would_refuse_is_found(source: str, tmp_path: Path) -> None:
    assert set(faults(source, tmp_path)) == {"seam-call"}


@pytest.fixture
def old_release(tmp_path: Path) -> Release:
    """A small release that has `Chats` and nothing else."""
    package = tmp_path / "release" / "open_webui"
    (package / "models").mkdir(parents=True)
    (package / "models" / "chats.py").write_text(
        "class ChatTable:\n    async def get(self, id): ...\n\n\nChats = ChatTable()\n", encoding="utf-8"
    )
    return Release("0.10.0", package)


NEWER = "from open_webui.models.chats import Chats\nChats.newer\n"


def test_a_symbol_that_an_old_release_lacks_must_be_declared(old_release: Release, tmp_path: Path) -> None:
    assert faults(NEWER, tmp_path, old_release) == ["seam"]
    declared = 'OPEN_WEBUI_SINCE = {"open_webui.models.chats:Chats.newer": "0.10.1"}\n'
    assert faults(NEWER + declared, tmp_path, old_release) == []
    assert faults(NEWER + declared.replace("0.10.1", "0.10.0"), tmp_path, old_release) == ["seam"]


def test_an_import_that_tolerates_absence_is_allowed_in_old_releases_only(old_release: Release, tmp_path: Path) -> None:
    source = "try:\n    from open_webui.utils.chat_id import nobody\nexcept ImportError:\n    nobody = None\n"
    assert faults(source, tmp_path, old_release) == []
    assert faults(source, tmp_path) == ["seam"]
