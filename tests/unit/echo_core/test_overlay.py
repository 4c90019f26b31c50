"""Where artifacts stand in a message, and that nothing else of it changes."""

import json

import pytest

from echo_aec import Artifact
from echo_core.overlay import NO_OVERLAY, OverlayEntry, Told, overlay_json, parse_overlay, render
from echo_core.records import Shadow
from echo_core.suture import INTERRUPTED, Assembly
from echo_protocol import (
    UnreadablePart,
    content_json,
    inline_data_part,
    join_contents,
    parse_contents,
    text_part,
    user_parts,
)
from echo_protocol.attached import attached_text

NOTE = Artifact(id="AEC_upgrade").xml()
DIRECTIVE = Artifact(id="AEC_reminder", text="Stay on course.").xml()
EVENT = Artifact(id="AEC_event", attributes={"name": "tool_finished"}, text="Done.").xml()
PREVIEW = Artifact(id="AEC_smart_context", text="A document.").xml()
ENTRY = OverlayEntry(notes=(NOTE,), directives=(DIRECTIVE,), events=(EVENT,))
IMAGE = inline_data_part("image/png", "aWNvbg==")


def message(*parts: object) -> bytes:
    return join_contents([content_json("user", parts)])  # type: ignore[arg-type]


def texts(contents_json: bytes) -> list[str]:
    [content] = json.loads(contents_json)
    assert content["role"] == "user"
    return [part.get("text", "(attachment)") for part in content["parts"]]


def test_artifacts_stand_around_the_words_and_before_the_attachments() -> None:
    asked = message(text_part(PREVIEW), text_part("What is it?"), text_part("And this?"), IMAGE, IMAGE)
    shown = texts(render(asked, overlay_json([ENTRY])))
    assert shown == [PREVIEW, NOTE, DIRECTIVE, "What is it?", "And this?", EVENT, "(attachment)", "(attachment)"]


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        ([text_part("Hello")], [NOTE, DIRECTIVE, "Hello", EVENT]),
        ([IMAGE], [NOTE, DIRECTIVE, EVENT, "(attachment)"]),
        ([IMAGE, text_part("Hello")], [NOTE, DIRECTIVE, "(attachment)", "Hello", EVENT]),
        ([text_part(PREVIEW)], [PREVIEW, NOTE, DIRECTIVE, EVENT]),
    ],
)
def test_the_order_holds_whatever_is_missing(parts: list[object], shown: list[str]) -> None:
    assert texts(render(message(*parts), overlay_json([ENTRY]))) == shown


def test_of_several_models_the_last_one_is_named_where_the_first_was() -> None:
    names = [Artifact(id="AEC_modele", attributes={"model": name}).xml() for name in ("a", "b", "c")]
    entries = [OverlayEntry(notes=(names[0], NOTE)), OverlayEntry(notes=(names[1],)), OverlayEntry(notes=(names[2],))]
    assert texts(render(message(text_part("Hi")), overlay_json(entries))) == [names[2], NOTE, "Hi"]


def test_an_artifact_that_a_user_types_stays_among_the_users_words() -> None:
    asked = message(*user_parts(PREVIEW), *user_parts(EVENT))
    shown = texts(render(asked, overlay_json([ENTRY])))
    assert shown[:2] == [NOTE, DIRECTIVE]
    assert shown[-1] == EVENT
    assert [text for text in shown if text.startswith("<artifact")] == [NOTE, DIRECTIVE, EVENT]


def test_entries_are_told_in_their_order() -> None:
    later = OverlayEntry(directives=(NOTE,), told=Told(values={"CURRENT_DATE": "2026-11-30"}))
    overlay = overlay_json([ENTRY, OverlayEntry(), later])
    assert parse_overlay(overlay) == (ENTRY, later)
    assert texts(render(message(text_part("Hello")), overlay)) == [NOTE, DIRECTIVE, NOTE, "Hello", EVENT]


def test_an_empty_overlay_is_no_overlay_and_leaves_the_message_unread() -> None:
    assert overlay_json([]) == overlay_json([OverlayEntry()]) == NO_OVERLAY
    unreadable = b"whatever it is"
    assert render(unreadable, NO_OVERLAY) is unreadable


def test_a_message_that_holds_nothing_is_not_filled_with_artifacts() -> None:
    assert render(b"[]", overlay_json([ENTRY])) == b"[]"


@pytest.mark.parametrize("broken", [b'[{"role":"model","parts":[{"text":"x"}]}]', b'[{"role":"user","parts":[]}]'])
def test_what_is_no_user_message_is_refused(broken: bytes) -> None:
    with pytest.raises(UnreadablePart):
        render(broken, overlay_json([ENTRY]))


def test_an_overlay_from_a_later_version_is_read_as_far_as_it_is_known() -> None:
    overlay = b'[{"notes":["a"],"recall":["b"],"told":{"echo":"h","mood":"good"}}]'
    assert parse_overlay(overlay) == (OverlayEntry(notes=("a",), told=Told(echo="h")),)


def test_a_conversation_shows_each_question_with_what_its_answer_was_told() -> None:
    overlay = overlay_json([OverlayEntry(notes=(NOTE,))])
    question = Shadow(message_id="u1", chat_id="c", role="user", contents_json=message(text_part("Hello")))
    assembly = Assembly()
    assembly.add(question, overlay)
    assembly.add(question)
    assert texts(b"[" + assembly.pieces[0] + b"]") == [NOTE, "Hello"]
    assert texts(b"[" + assembly.pieces[1].removeprefix(INTERRUPTED + b",") + b"]") == ["Hello"]


def test_events_stand_before_attached_text_files_too() -> None:
    question = content_json("user", [text_part("Ask."), attached_text("a.txt", "words")])
    rendered = render(join_contents([question]), overlay_json([OverlayEntry(events=("<artifact/>",))]))
    texts = [part.wire["text"] for part in parse_contents(rendered)[0].parts]
    assert texts == ["Ask.", "<artifact/>", '<attached_file name="a.txt">\nwords\n</attached_file>']
