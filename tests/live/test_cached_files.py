"""Explicit caching of a large attachment in the real Open WebUI, behind its valve, and encryption of what is kept."""

import json

import pytest

from live.client import Client, poll
from live.stack import Live
from live.test_media import upload

#: More than what goes inline.
SOUND = b"RIFF\x00\x00\x00\x00WAVE" + b"sound" * 900_000


@pytest.fixture(autouse=True)
def _empty(sim_reset: None) -> None:
    """Each test sees its own requests only."""


def test_a_large_file_is_kept_ready_encrypted_and_goes_with_its_chat(live: Live, ada: Client) -> None:
    file = upload(ada, "talk.wav", SOUND, "audio/wav")
    with live.valves(MODEL_SELECTION="FLASH", CACHE_FILES_MIN=10, ENCRYPT_RECORDS=True):
        turn = ada.turn("What is said?", files=[file])
        for question in ("And then?", "And at the end?"):
            turn = ada.turn(question, chat_id=turn.chat_id, parent=turn.assistant_id)
            assert turn.error == ""
    sent = [json.loads(row["body"]) for row in live.sim.requests("streamGenerateContent")]
    assert ["cachedContent" in body for body in sent] == [False, True, True]
    assert len(live.sim.requests("/cachedContents")) == 1
    usage = turn.message["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] > 4096
    assert usage["chat"]["cost"] > usage["cost"] > 0
    kept = [path for path in live.data.rglob(f"users/{ada.id}/files/??/*") if path.is_file()]
    assert kept and all(path.name.endswith(".sealed") for path in kept)
    assert not [path for path in kept if b"talk.wav" in path.read_bytes() or b"soundsound" in path.read_bytes()]
    ada.delete(f"/api/v1/chats/{turn.chat_id}")
    poll(lambda: not any(path.exists() for path in kept) or None, "the file to go with its chat")
