from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_paths import DataDirUnknownError, EchoPaths, TemporaryChatError, UnsafeIdError

ROOT = Path("/data/echo")
PATHS = EchoPaths(ROOT)


def test_the_layout_is_the_documented_one() -> None:
    assert PATHS.identity_db == ROOT / "identity.db"
    assert PATHS.prompts_db == ROOT / "prompts.db"
    assert PATHS.session_db("u1", "c1") == ROOT / "users/u1/chats/c1/session.db"
    assert PATHS.api_session_db("u1") == ROOT / "users/u1/chats/_api/session.db"
    assert PATHS.files_dir("u1") == ROOT / "users/u1/files"
    assert PATHS.skills_dir("u1") == ROOT / "users/u1/skills"
    assert PATHS.codex_dir("u1") == ROOT / "users/u1/codex"
    assert PATHS.qdrant_dir == ROOT / "qdrant"


@pytest.mark.parametrize(
    "bad", ["", ".", "..", "../x", "a/b", "a\\b", "a\0b", "a" * 129, "_api", ".hidden", "a.", "a b", "é", "a\n", "%3A"]
)
def test_ids_that_cannot_be_a_folder_are_refused(bad: str) -> None:
    with pytest.raises(UnsafeIdError):
        PATHS.session_db("u1", bad)
    with pytest.raises(UnsafeIdError):
        PATHS.files_dir(bad)


@pytest.mark.parametrize("chat_id", ["temporary:abc", "local:abc"])
def test_a_temporary_chat_has_no_file(chat_id: str) -> None:
    with pytest.raises(TemporaryChatError):
        PATHS.session_db("u1", chat_id)


@given(st.text(), st.text())
def test_no_id_leaves_the_data_folder_or_meets_another_one(first: str, second: str) -> None:
    places = []
    for chat_id in (first, second):
        try:
            place = PATHS.session_db("u1", chat_id)
        except (UnsafeIdError, TemporaryChatError):
            continue
        assert place.parent.parent == ROOT / "users/u1/chats"
        assert ".." not in place.parts
        assert place != PATHS.api_session_db("u1")
        places.append(place)
    if len(places) == 2:
        assert (places[0] == places[1]) == (first == second)


def test_the_data_folder_is_echo_data_dir_or_inside_that_of_open_webui() -> None:
    assert EchoPaths.from_environment({"ECHO_DATA_DIR": "/x", "DATA_DIR": "/y"}).root == Path("/x")
    assert EchoPaths.from_environment({"DATA_DIR": "/y"}).root == Path("/y/echo")
    assert EchoPaths.from_environment({"DATA_DIR": "/y"}, Path("/z")).root == Path("/z/echo")
    with pytest.raises(DataDirUnknownError) as refusal:
        EchoPaths.from_environment({"ECHO_DATA_DIR": " "})
    assert "ECHO_DATA_DIR" in refusal.value.user_message("fr")


def test_chats_on_disk_are_listed_with_their_ids(tmp_path: Path) -> None:
    paths = EchoPaths(tmp_path)
    assert list(paths.chats_on_disk()) == []
    for place in (paths.session_db("u2", "channel:7"), paths.session_db("u1", "c1"), paths.api_session_db("u1")):
        place.parent.mkdir(parents=True)
    (tmp_path / "users" / "u1" / "chats" / "stray.txt").touch()
    assert list(paths.chats_on_disk()) == [("u1", "c1"), ("u2", "channel:7")]
