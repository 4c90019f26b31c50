"""An administrator's own prompts: tried, put in place, taken back, every version kept, seen by other processes."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from echo_constants import ECHO_VERSION
from echo_prompts import SHIPPED, PromptRefusedError, UnknownPromptError
from echo_runtime.prompt_desk import NoSuchVersionError, PromptDesk
from echo_state_manager.prompts import PromptStore
from scripted import FakeClock


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[PromptDesk]:
    made = PromptDesk(PromptStore(tmp_path / "echo" / "prompts.db", FakeClock()))
    yield made
    await made.aclose()


async def test_without_own_prompts_there_is_no_file_and_the_shipped_ones_hold(desk: PromptDesk, tmp_path: Path) -> None:
    assert await desk.book() is SHIPPED
    assert {state.version for state in await desk.states()} == {0}
    assert list(tmp_path.iterdir()) == []


async def test_a_text_holds_from_then_on_and_is_taken_back_to_any_version(desk: PromptDesk) -> None:
    await desk.put("pis", "en", "One.\r\n", "Ada")
    assert (await desk.put("pis", "en", "Two.", "Bob")).version == 2
    book = await desk.book()
    assert (book.text("pis", "en"), book.text("pis", "fr")) == ("Two.", SHIPPED.text("pis", "fr"))
    assert (await desk.roll_back("pis", "en", 1, "Ada")).text == "One."
    assert (await desk.book()).text("pis", "en") == "One."
    shipped = await desk.roll_back("pis", "en", 0, "Ada")
    assert (shipped.version, shipped.text) == (0, SHIPPED.text("pis", "en"))
    assert await desk.book() is SHIPPED
    versions = await desk.history("pis", "en")
    assert [(v.version, v.text, v.author) for v in versions] == [
        (1, "One.", "Ada"),
        (2, "Two.", "Bob"),
        (3, "One.", "Ada"),
        (4, None, "Ada"),
    ]


async def test_what_would_not_work_changes_nothing(desk: PromptDesk) -> None:
    await desk.put("init", "fr", "Bonjour.", "Ada")
    with pytest.raises(PromptRefusedError):
        await desk.put("init", "fr", " ", "Ada")
    with pytest.raises(NoSuchVersionError):
        await desk.roll_back("init", "fr", 2, "Ada")
    with pytest.raises(UnknownPromptError):
        await desk.put("init", "de", "Hallo.", "Ada")
    assert [version.text for version in await desk.history("init", "fr")] == ["Bonjour."]


async def test_a_preview_shows_the_filled_text_and_the_difference_and_changes_nothing(desk: PromptDesk) -> None:
    found = await desk.preview("init", "en", "You are ##MODEL_ID##, ECHO ##ECHO_VERSION##.")
    assert found.text == f"You are gemini-…, ECHO {ECHO_VERSION}."
    assert "+You are ##MODEL_ID##, ECHO ##ECHO_VERSION##." in found.diff
    assert (await desk.preview("init", "en", SHIPPED.text("init", "en"))).diff == ""
    assert await desk.book() is SHIPPED


async def test_writers_at_once_each_get_a_version_and_others_see_it(desk: PromptDesk, tmp_path: Path) -> None:
    other = PromptDesk(PromptStore(tmp_path / "echo" / "prompts.db", FakeClock()))
    await asyncio.gather(*((desk, other)[n % 2].put("pis", "en", f"Text {n}.", "x") for n in range(10)))
    assert [version.version for version in await desk.history("pis", "en")] == list(range(1, 11))
    assert (await desk.book()).text("pis", "en") == (await other.book()).text("pis", "en")
    await other.aclose()


async def test_a_damaged_file_leaves_the_shipped_texts(desk: PromptDesk, tmp_path: Path) -> None:
    (tmp_path / "echo").mkdir()
    (tmp_path / "echo" / "prompts.db").write_bytes(b"no database" * 100)
    assert await desk.book() is SHIPPED


async def test_a_text_made_from_older_shipped_words_is_called_so(tmp_path: Path) -> None:
    store = PromptStore(tmp_path / "prompts.db", FakeClock())
    await store.put("pis", "en", "Mine.", based_on=1, author="x")
    await store.put("gone", "en", "Of another release.", based_on=1, author="x")
    desk = PromptDesk(store)
    assert (await desk.state("pis", "en")).outdated
    assert [state.outdated for state in await desk.states()].count(True) == 1
    assert list((await desk.book()).overrides) == [("pis", "en")]
    await desk.aclose()
