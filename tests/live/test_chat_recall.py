"""Long chats in the real Open WebUI, with the packaged model: indexed behind the answers, recalled across languages."""

import json

import pytest

from echo_aec import parse_artifact
from live.client import Client, poll
from live.records import session_rows
from live.stack import Live
from live.test_media import upload

SIZE_TOKENS = 32_768
TOLD = "My grandmother hides the key of her house under the third flowerpot."
#: What is attached fills the context, but is not what was said.
LINE = "The report goes on about rainfall and harvests in every valley.\n"


def waiting(live: Live, chat_id: str) -> int:
    """Messages of a chat that are not in the session memory."""
    [(count,)] = session_rows(live, chat_id, "SELECT count(*) FROM message_shadows WHERE is_embedded = 0")
    return int(count)


@pytest.mark.deep
def test_what_was_said_long_before_comes_back_when_it_is_asked_for_in_another_language(live: Live, ada: Client) -> None:
    live.sim.reset()
    indexed = live.valves("conversation_rag_filter", INDEX_CHATS=True)
    with indexed, live.valves(ECHO_MAX_CONTEXT_SIZE=SIZE_TOKENS):
        turn = ada.turn(TOLD)
        for lines in (480, 160):
            files = [upload(ada, f"report{lines}.txt", (LINE * lines).encode(), "text/plain")]
            turn = ada.turn("Keep this.", chat_id=turn.chat_id, parent=turn.assistant_id, files=files)
        poll(lambda: waiting(live, turn.chat_id) == 0 or None, "the chat is indexed")
        live.sim.reset()
        turn = ada.turn("Où ma grand-mère cache-t-elle sa clé ?", chat_id=turn.chat_id, parent=turn.assistant_id)
    assert turn.error == ""
    [request] = live.sim.requests("streamGenerateContent")
    parts = json.loads(request["body"])["contents"][-1]["parts"]
    recalled = [part["text"] for part in parts if part.get("text", "").startswith('<artifact id="AEC_recall"')]
    [told] = map(parse_artifact, recalled)
    assert TOLD in [item.text for item in told.items]
