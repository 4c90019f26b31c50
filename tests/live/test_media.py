"""Pictures that the model makes, files that users attach, and what a turn costs, in the real Open WebUI."""

import base64
import json
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest

from attached_files import entry, mp4, pdf, picture
from echo_protocol import SENTINEL
from echo_workers.gemini_sim.core.demo.picture import png
from live import answers
from live.client import Client, Turn
from live.stack import Live

DRAWS = {"image_generation": True}
ARTIST = "models/gemini-3.1-flash-image:"


@pytest.fixture(autouse=True)
def _empty(sim_reset: None) -> None:
    """Each test sees its own requests only."""


def asked(live: Live) -> list[dict[str, Any]]:
    return [json.loads(request["body"]) for request in live.sim.requests("streamGenerateContent")]


def upload(
    client: Client, name: str, data: bytes, content_type: str = "application/octet-stream", *, process: bool = False
) -> dict[str, Any]:
    """What the browser does when a file is dropped into the chat; the entry of the message.

    Args:
        client: whose file.
        name: how the user calls it.
        data: its bytes.
        content_type: as the browser declares it.
        process: let Open WebUI read it too, which its collections need.
    """
    answer = httpx.post(
        f"{client.url}/api/v1/files/",
        params={"process": str(process).lower(), "process_in_background": "false"},
        files={"file": (name, data, content_type)},
        headers={"Authorization": f"Bearer {client.token}"},
        timeout=60,
        trust_env=False,
    )
    assert answer.status_code == 200, answer.text
    return entry(answer.json()["id"], name, content_type)


def told(turn: Turn) -> str:
    return "\n".join(str(status.get("description")) for status in turn.message.get("statusHistory") or [])


@pytest.fixture
def drawn(live: Live, ada: Client) -> Iterator[tuple[Turn, dict[str, Any]]]:
    """A chat in which the model has drawn a picture, and the part that it sent."""
    signature = base64.b64encode(uuid.uuid4().bytes * 80_000).decode()
    part = {"inlineData": {"mimeType": "image/png", "data": png("lighthouse")}, "thoughtSignature": signature}
    live.sim.script({**answers.parts({"text": "Here."}, part), "match": answers.saying("lighthouse")})
    yield ada.turn("Draw a lighthouse", features=DRAWS), part


def test_c10_a_generated_picture_is_kept_as_a_file_and_comes_back_exactly(
    live: Live, ada: Client, drawn: tuple[Turn, dict[str, Any]]
) -> None:
    turn, part = drawn
    [file] = turn.message["files"]
    shown = httpx.get(
        f"{ada.url}{file['url']}", headers={"Authorization": f"Bearer {ada.token}"}, timeout=30, trust_env=False
    )
    assert shown.content == base64.b64decode(part["inlineData"]["data"])
    assert len(json.dumps(ada.chat(turn.chat_id))) < 50_000
    again = ada.turn("Make it blue", chat_id=turn.chat_id, parent=turn.assistant_id, features=DRAWS)
    assert again.error == ""
    first, second = live.sim.requests("streamGenerateContent")
    assert ARTIST in first["path"]
    assert ARTIST in second["path"]
    sent = json.loads(second["body"])
    assert sent["generationConfig"]["responseModalities"] == ["TEXT", "IMAGE"]
    assert sent["contents"][1]["parts"] == [{"text": "Here."}, part]
    assert second["body"].startswith(first["body"][: first["body"].index('"}]}],"generationConfig')])


def test_bytes_and_signature_of_a_picture_are_stored_once(
    live: Live, ada: Client, drawn: tuple[Turn, dict[str, Any]]
) -> None:
    turn, _ = drawn
    ada.turn("Thanks", chat_id=turn.chat_id, parent=turn.assistant_id)
    [path] = live.data.rglob(f"{turn.chat_id}/session.db")
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as db:
        sizes = [size for (size,) in db.execute("SELECT length(data) FROM blobs WHERE length(data) > 500000")]
    assert len(sizes) == 1
    assert "thoughtSignature" not in json.dumps(asked(live)[-1]["contents"])  # the chat's model is of another family


def test_a_broken_picture_and_odd_arguments_of_the_model_do_not_end_the_chat(live: Live, lea: Client) -> None:
    broken = {"inlineData": {"mimeType": "image/png", "data": "!!!"}}
    odd = {"functionCall": {"name": "nothing", "args": ["a", "list"]}, "thoughtSignature": SENTINEL}
    live.sim.script({**answers.parts({"text": "Voici."}, broken), "match": answers.saying("QUESTION")})
    live.sim.script({**answers.parts(odd), "match": answers.saying("SUITE")})
    first = lea.turn("QUESTION une")
    assert "image du modèle" in told(first)
    second = lea.turn("SUITE deux", chat_id=first.chat_id, parent=first.assistant_id)
    assert second.error == ""
    assert lea.turn("trois", chat_id=first.chat_id, parent=second.assistant_id).error == ""
    assert {request["status"] for request in live.sim.requests("streamGenerateContent")} == {200}


def test_c34_an_attached_file_is_sent_at_its_place_by_what_it_is_and_not_anew(live: Live, ada: Client) -> None:
    small = pdf(1)
    files = [
        upload(ada, "notes.bin", "Grüße".encode()),
        upload(ada, "paper.png", small, "application/pdf"),
        upload(ada, "locked.pdf", pdf(password="secret"), "application/pdf"),
        upload(ada, "film.mp4", film := mp4(4_500_000), "video/mp4"),
    ]
    first = ada.turn("Read these", files=files)
    assert first.error == ""
    assert "locked.pdf is protected by a password" in told(first)
    second = ada.turn("And again", chat_id=first.chat_id, parent=first.assistant_id)
    assert second.error == ""
    one, two = asked(live)
    own = [part for part in one["contents"][0]["parts"] if not part.get("text", "").startswith("<artifact ")]
    words, notes, paper, left_out, moving = own
    assert words == {"text": "Read these"}
    assert "Grüße" in notes["text"]
    assert base64.b64decode(paper["inlineData"]["data"]) == small
    assert "locked.pdf" in left_out["text"]
    assert "/files/" in moving["fileData"]["fileUri"]
    assert two["contents"][0] == one["contents"][0]
    assert len(film) > 4_000_000
    uploads = [request for request in live.sim.requests("") if "/upload/" in request["path"]]
    assert sum("upload_id" not in request["path"] for request in uploads) == 1


def test_a_file_of_somebody_else_cannot_be_attached(live: Live, ada: Client, lea: Client) -> None:
    secret = upload(ada, "secret.txt", b"TOPSECRET")
    turn = lea.turn("Lis ceci", files=[secret])
    assert "TOPSECRET" not in json.dumps(asked(live))
    assert "secret.txt" in told(turn)


def test_a_large_picture_is_made_small_before_it_is_sealed(live: Live, ada: Client) -> None:
    large = upload(ada, "photo.png", picture("PNG", (1500, 1200), noisy=True), "image/png")
    turn = ada.turn("What is this?", files=[{**large, "type": "image"}])
    assert turn.error == ""
    [data] = [part["inlineData"] for part in asked(live)[0]["contents"][0]["parts"] if "inlineData" in part]
    assert data["mimeType"] == "image/jpeg"
    assert len(data["data"]) < 1_400_000


def test_the_usage_tells_rounds_costs_and_the_chats_totals(live: Live, ada: Client, toolkit: str) -> None:
    first = ada.turn('Please call forecast {"city": "Lyon"}.', tool_ids=[toolkit])
    usage = first.message["usage"]
    assert len(usage["rounds"]) == 2
    assert usage["input_tokens"] == sum(entry["input_tokens"] for entry in usage["rounds"])
    assert usage["cost"] == pytest.approx(usage["input_cost"] + usage["output_cost"])
    assert usage["cost"] > 0
    second = ada.turn("Thanks", chat_id=first.chat_id, parent=first.assistant_id).message["usage"]
    assert second["chat"]["turns"] == 2
    assert second["chat"]["cost"] == pytest.approx(usage["cost"] + second["cost"])
    assert second["chat"]["context_tokens"] > second["input_tokens"]
    assert "null" not in json.dumps(second)


def test_a_parameter_that_cannot_be_taken_is_told_and_the_answer_comes(live: Live, lea: Client) -> None:
    turn = lea.turn("Bonjour", params={"temperature": 9, "reasoning_effort": "énorme", "stop": list("uvwxyz")})
    assert turn.error == ""
    assert "reasoning_effort" in told(turn)
    assert "séquences d'arrêt" in told(turn)
