"""Documents in a real Open WebUI: read for the question they come with, asked in SQL, and nobody else's."""

import json
import re
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from document_files import csv_file, docx_file, pdf_file
from live.client import Client, Turn, poll
from live.moves import Conversation
from live.stack import Live
from live.test_media import asked, told, upload
from live.test_own_tools import result_of, use

OWN = ["echo_documents"]


@pytest.fixture(autouse=True)
def _empty(sim_reset: None) -> None:
    """Each test sees its own requests only."""


def talk_of(live: Live, client: Client) -> Conversation:
    return Conversation(client, live.sim, tool_ids=OWN)


def said(request: dict[str, Any]) -> str:
    return "\n".join(part.get("text", "") for content in request["contents"] for part in content["parts"])


def document_id(request: dict[str, Any]) -> str:
    found = re.search(r'document="([0-9a-f]{16})"', said(request))
    assert found
    return found[1]


def sources_of(turn: Turn) -> list[str]:
    return [source["source"]["name"] for source in turn.message.get("sources") or []]


def test_c35_a_question_sent_with_its_documents_has_their_content(live: Live, ada: Client) -> None:
    files = [
        upload(ada, "report.docx", docx_file(("Results", "The yield was 42 tons."))),
        upload(ada, "paper.pdf", pdf_file("Page one", "Page two")),
        upload(ada, "broken.xlsx", b"PK\x03\x04 nothing"),
    ]
    turn = ada.turn("What was the yield?", files=files)
    assert turn.error == ""
    [request] = asked(live)
    assert "The yield was 42 tons." in said(request)
    assert "broken.xlsx is damaged" in told(turn)


def test_a_long_table_is_summed_right_and_only_for_its_owner(live: Live, ada: Client, lea: Client) -> None:
    cents = [(i * 7919) % 1_000_003 for i in range(20_000)]
    rows = [("City", "Amount"), *((f"c{c % 7}", f"{c // 100}.{c % 100:02}") for c in cents)]
    talk = talk_of(live, ada)
    first = talk.ask("Sum it", files=[upload(ada, "sales.csv", csv_file(rows))])
    assert first.error == ""
    document = document_id(asked(live)[0])
    found = use(talk, "query_table", id=document, sql="SELECT count(*), sum(Amount) FROM sales")
    assert found["rows"] == [[20_000, f"{Decimal(sum(cents)) / 100:.2f}"]]
    turn = talk.ask(f'Please call read_document {{"id": "{document}", "range": "sheet sales rows 2-3"}}')
    assert len(result_of(turn)["rows"]) == 2
    assert sources_of(turn) == ["sales.csv · sheet sales rows 2-3"]
    others = talk_of(live, lea)
    for crafted in (document, f"../../{ada.id}/files/{document}", "*", document[:3] + "*" * 13):
        assert use(others, "read_document", id=crafted)["error"]["code"] == "document_missing"
        assert use(others, "query_table", id=crafted, sql="SELECT 1")["error"]["code"] == "document_missing"


def test_c34_a_preview_is_sent_at_its_place_and_the_same_each_time(live: Live, ada: Client) -> None:
    rows = [("n", "m"), *((i, i) for i in range(9_000))]
    talk = talk_of(live, ada)
    talk.ask("Read it", files=[upload(ada, "n.csv", csv_file(rows))])
    for _ in range(4):
        talk.ask("And again")
    requests = live.sim.requests("GenerateContent")
    assert len(requests) == 5  # no query is generated, nothing is asked beside the questions
    one, *others = [json.loads(request["body"])["contents"] for request in requests]
    assert all(contents[0] == one[0] for contents in others)
    assert sum(part.get("text", "").startswith('<artifact id="AEC_smart_context"') for part in one[0]["parts"]) == 1


def test_documents_can_be_read_where_nobody_selected_their_tools(live: Live, ada: Client) -> None:
    rows = [("n", "m"), *((i, i) for i in range(9_000))]
    talk = Conversation(ada, live.sim)
    talk.ask("Nothing attached")
    talk.ask("Sum it", files=[upload(ada, "n.csv", csv_file(rows))])
    [_, second] = asked(live)
    assert use(talk, "query_table", id=document_id(second), sql="SELECT sum(m) FROM n")["rows"] == [[40_495_500]]
    talk.ask("And again")
    requests = asked(live)
    assert [sorted(names_of(request)) for request in requests[1:]] == [names_of(second)] * (len(requests) - 1)
    assert all(
        later["contents"][: len(earlier["contents"])] == earlier["contents"] for earlier, later in pairwise(requests)
    )


def test_what_was_read_goes_with_its_file_and_with_its_chat(live: Live, ada: Client) -> None:
    talk = talk_of(live, ada)
    data = csv_file([("n", "m"), *((i, -i) for i in range(9_000))])
    entry = upload(ada, "gone.csv", data)
    talk.ask("Read it", files=[entry])
    document = document_id(asked(live)[0])
    assert use(talk, "query_table", id=document, sql="SELECT min(m) FROM gone")["rows"] == [[-8_999]]
    ada.delete(f"/api/v1/files/{entry['id']}")
    poll(lambda: None if kept(live, document) else True, "the file to go")
    assert use(talk, "query_table", id=document, sql="SELECT 1")["error"]["code"] == "document_missing"
    talk.ask("Read it again", files=[upload(ada, "gone.csv", data)])
    assert kept(live, document)
    ada.delete(f"/api/v1/chats/{talk.chat_id}")
    poll(lambda: None if kept(live, document) else True, "the chat's files to go")


def kept(live: Live, document: str) -> list[Path]:
    """What lies on the disk of a document and its file."""
    return list((live.data / "echo" / "users").glob(f"*/files/{document[:2]}/{document}*"))


def names_of(request: dict[str, Any]) -> list[str]:
    """What is declared."""
    return sorted(one["name"] for tool in request.get("tools", []) for one in tool.get("functionDeclarations", []))
