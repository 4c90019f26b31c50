"""Questions are prepared before the pipe is called; only Open WebUI's table is played."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from attached_files import picture
from echo_aec import Artifact
from echo_core.draft import Contribution, Draft, Question
from echo_core.records import Seal
from echo_paths import EchoPaths
from echo_protocol import InlineDataPart, Notice, TextPart, text_part
from echo_runtime import PipeCall, _owui
from echo_runtime.attachment_notes import GONE
from echo_runtime.attachments import Attachments
from echo_runtime.drafting import Drafter, draft_of
from echo_runtime.stores import ChatStores
from echo_runtime.turn_context import DRAFT_KEY
from echo_state_manager import SessionStores
from scripted import FakeClock
from store_kit import shadow

PREVIEW = Artifact(id="AEC_smart_context", attributes={"name": "book"}, text="An outline.").xml()
BOOK = {"type": "file", "id": "book", "name": "book.pdf"}
NOTE = {"type": "text", "name": "note.txt", "file": {"data": {"content": "Buy milk."}}}


class Library:
    """A source that knows one book."""

    def __init__(self) -> None:
        self.asked: list[Question] = []

    async def contribute(self, question: Question) -> Contribution:
        self.asked.append(question)
        taken = frozenset(at for at, entry in enumerate(question.files) if entry.get("id") == "book")
        return Contribution(
            previews=(PREVIEW,) * len(taken), directives=("d",), events=("e",), taken=taken, notices=(Notice(GONE),)
        )


class Broken:
    """A source that fails."""

    async def contribute(self, question: Question) -> Contribution:
        raise RuntimeError("no index")


@pytest.fixture
async def stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ChatStores]:
    async def owner(chat_id: str) -> str:
        return "u"

    monkeypatch.setattr(_owui, "chat_owner", owner)
    sessions = SessionStores(EchoPaths(tmp_path), FakeClock())
    yield ChatStores(sessions, FakeClock())
    await sessions.close()


def call_with(content: Any, files: list[Any] | None = None, **metadata: Any) -> PipeCall:
    ids = {"chat_id": "c", "message_id": "a", "user_message_id": "q", "user_message": {"files": files or []}}
    body = {"messages": [{"role": "user", "content": content}]}
    return PipeCall(body=body, user={"id": "u"}, metadata=ids | metadata, valves=SimpleNamespace(), tools={})


async def prepared(stores: ChatStores, call: PipeCall, *sources: Any) -> Draft:
    draft = await Drafter(stores, sources=sources).prepare(call)
    assert draft is not None
    call.metadata[DRAFT_KEY] = draft
    return draft


async def merged(stores: ChatStores, call: PipeCall, content: Any, files: list[Any], *sources: Any) -> list[str]:
    attachments = Attachments(call, None)
    parts = await Drafter(stores, sources=sources).parts(call, attachments, "q", content, files)
    return [part.text if isinstance(part, TextPart) else part.kind for part in parts]


async def test_a_draft_has_its_parts_in_order(stores: ChatStores) -> None:
    library = Library()
    draft = await prepared(stores, call_with("Compare.", [NOTE, BOOK]), library)
    texts = [part.text for part in draft.sealed if isinstance(part, TextPart)]
    assert [texts[0], texts[1]] == [PREVIEW, "Compare."]
    assert "Buy milk." in texts[2] and len(texts) == 3
    assert (draft.directives, draft.events, len(draft.notices)) == (("d",), ("e",), 1)
    assert library.asked[0].kept


async def test_what_pictures_are_is_judged_by_their_bytes(stores: ChatStores) -> None:
    import base64

    uri = f"data:text/plain;base64,{base64.b64encode(picture('PNG')).decode()}"
    content = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": uri}}]
    draft = await prepared(stores, call_with(content))
    assert isinstance(draft.words[1], InlineDataPart)
    assert draft.words[1].mime_type == "image/png"


async def test_the_pipe_takes_the_draft_as_it_is(stores: ChatStores) -> None:
    call = call_with("Compare.", [BOOK])
    await prepared(stores, call, Library())
    again = Library()
    assert await merged(stores, call, "Compare.", [BOOK], again) == [PREVIEW, "Compare."]
    assert again.asked == []


async def test_words_that_a_later_filter_changed_are_those_that_count(stores: ChatStores) -> None:
    call = call_with("Compare.", [BOOK])
    await prepared(stores, call, Library())
    changed = await merged(stores, call, "Compare. <artifact id='x'>", [BOOK], Broken())
    assert changed == [PREVIEW, "Compare. &lt;artifact id='x'>"]


async def test_other_attachments_make_another_draft(stores: ChatStores) -> None:
    call = call_with("Compare.", [])
    await prepared(stores, call, Library())
    assert await merged(stores, call, "Compare.", [BOOK], Library()) == [PREVIEW, "Compare."]


async def test_without_a_filter_the_pipe_drafts(stores: ChatStores) -> None:
    call = call_with("Compare.", [BOOK])
    assert await merged(stores, call, "Compare.", [BOOK], Library()) == [PREVIEW, "Compare."]
    made = draft_of(call)
    assert made is not None and made.directives == ("d",)


async def test_a_broken_source_costs_its_own_contribution_only(
    stores: ChatStores, caplog: pytest.LogCaptureFixture
) -> None:
    draft = await prepared(stores, call_with("Compare.", [BOOK]), Broken(), Library())
    assert draft.previews == (PREVIEW,)
    assert draft.words == (text_part("Compare."),)
    assert "Broken added nothing" in caplog.text


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"chat_id": ""}, id="api"),
        pytest.param({"chat_id": "channel:c"}, id="channel"),
        pytest.param({"assistant_message_id": "a"}, id="continue"),
        pytest.param({"regeneration_message_id": "b"}, id="hint"),
    ],
)
async def test_where_nothing_new_is_asked_nothing_is_prepared(stores: ChatStores, metadata: dict[str, Any]) -> None:
    assert await Drafter(stores).prepare(call_with("Hi", **metadata)) is None


async def test_a_question_that_was_sealed_is_not_prepared_again(stores: ChatStores) -> None:
    call = call_with("Hi")
    async with stores.open(call, keep_api=False) as store:
        assert store is not None
        await store.seal(Seal(shadow=shadow("q", "Hi", role="user", chat_id="c")))
    assert await Drafter(stores).prepare(call) is None


async def test_looking_for_a_sealed_question_makes_no_file(stores: ChatStores, tmp_path: Path) -> None:
    await prepared(stores, call_with("Hi"))
    assert not list(tmp_path.rglob("session.db"))


async def test_a_temporary_chat_leaves_nothing_on_the_disk(stores: ChatStores, tmp_path: Path) -> None:
    library = Library()
    await prepared(stores, call_with("Hi", chat_id="temporary:s"), library)
    assert not library.asked[0].kept
    assert not list(tmp_path.rglob("*.db"))
