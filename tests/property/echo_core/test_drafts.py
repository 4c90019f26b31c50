"""Whatever a Draft holds, what is sent has the five slots in their order, and its sealed parts come back untouched."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from echo_aec import Artifact
from echo_core.draft import Draft
from echo_core.overlay import OverlayEntry, overlay_json, render
from echo_protocol import content_json, inline_data_part, join_contents, text_part
from echo_protocol.attached import attached_text
from echo_utils import defused

TEXTS = st.text(st.characters(exclude_categories=("Cs",)))


def artifacts(kind: Any) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(TEXTS.map(lambda text: Artifact(id=kind, text=text).xml()), max_size=3).map(tuple)


WORDS = st.lists(TEXTS.filter(bool).map(lambda text: text_part(defused(text))), min_size=1, max_size=3)
FILES = st.lists(
    st.builds(attached_text, TEXTS, TEXTS.map(defused)) | st.just(inline_data_part("image/png", "aWNvbg==")), max_size=3
)


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    return Draft(
        previews=draw(artifacts("AEC_smart_context")),
        directives=draw(artifacts("AEC_reminder")),
        words=tuple(draw(WORDS)),
        events=draw(artifacts("AEC_event")),
        attachments=tuple(draw(FILES)),
    )


def said(part: Any) -> Any:
    return part.get("text", part)


@given(drafts(), artifacts("AEC_temps"))
def test_the_five_slots_stand_in_their_order(draft: Draft, notes: tuple[str, ...]) -> None:
    sealed = join_contents([content_json("user", draft.sealed)])
    entry = OverlayEntry(notes=notes, directives=draft.directives, events=draft.events)
    [shown] = json.loads(render(sealed, overlay_json([entry])))
    wires = [json.loads(content_json("user", [part]))["parts"][0] for part in draft.sealed]
    own = [said(wire) for wire in wires]
    first, last = len(draft.previews), len(draft.previews) + len(draft.words)
    assert [said(part) for part in shown["parts"]] == [
        *draft.previews, *notes, *draft.directives, *own[first:last], *draft.events, *own[last:]
    ]  # fmt: skip
