"""What a person sees of documents in the page: how far a reading is, what came of it, where an answer comes from."""

import hashlib
import io
import re
from decimal import Decimal

import pytest
from PIL import Image
from playwright.sync_api import expect

from document_files import csv_file, heavy_pdf
from echo_ingestion.records import ID_CHARS
from live.page import ASSISTANT, WAIT_MS, ChatPage
from live.stack import Live

pytestmark = pytest.mark.deep

CENTS = [(n * 7919) % 1_000_003 for n in range(100_000)]
SALES = csv_file([("City", "Amount"), *((f"c{c % 7}", f"{c // 100}.{c % 100:02}") for c in CENTS)])


def document_id(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:ID_CHARS]


def attach(page: ChatPage, name: str, data: bytes, mime_type: str) -> None:
    """Drop a file into the message and wait until Open WebUI has it."""
    page.page.locator("input[type=file]").first.set_input_files({"name": name, "mimeType": mime_type, "buffer": data})
    expect(page.page.get_by_text(name).last).to_be_visible()


def test_a_sheet_of_100_000_rows_is_read_in_sight_and_summed_in_the_question_that_it_comes_with(
    ada_page: ChatPage,
) -> None:
    ada_page.new_chat()
    attach(ada_page, "sales.csv", SALES, "text/csv")
    ada_page.send(
        f'Please call query_table {{"id": "{document_id(SALES)}", "sql": "SELECT count(*), sum(Amount) FROM sales"}}'
    )
    answer = ada_page.page.locator(ASSISTANT).last
    # The page holds the question back until Open WebUI has the file.
    expect(answer.get_by_text(re.compile(r"Reading sales\.csv…")).first).to_be_visible(timeout=3 * WAIT_MS)
    ada_page.shot("document-progress")
    ada_page.wait_done()
    total = f"{Decimal(sum(CENTS)) / 100:.2f}"
    expect(answer).to_contain_text(total)
    ada_page.shot("document-summed")
    ada_page.assert_clean_console()


def test_a_citation_opens_the_document_at_its_page(ada_page: ChatPage, live: Live) -> None:
    data = heavy_pdf("Orchards count many apple trees.", "The barn shelters a red tractor.")
    ada_page.new_chat()
    attach(ada_page, "farm.pdf", data, "application/pdf")
    ada_page.ask("What is this about?")
    search = 'Please call search_documents {"query": "red tractor in the barn", "limit": 1}'
    while "still_being_indexed" in ada_page.ask(search):
        pass  # a search waits for what is indexed, on a busy machine more than once
    answer = ada_page.page.locator(ASSISTANT).last
    ada_page.shot("document-sources")
    answer.get_by_text("1 Source").click()
    answer.get_by_text("farm.pdf · page 2").first.click()
    link = ada_page.page.get_by_role("dialog").locator("a[href*='/api/v1/files/']").first
    expect(link).to_have_attribute("href", re.compile(r"/files/[0-9a-f-]{36}/content#page=2$"))
    ada_page.shot("document-citation")
    ada_page.page.keyboard.press("Escape")
    ada_page.assert_clean_console()


def test_an_image_is_asked_about_and_a_broken_file_is_told(ada_page: ChatPage) -> None:
    out = io.BytesIO()
    Image.new("RGB", (320, 200), "tomato").save(out, "PNG")
    ada_page.new_chat()
    attach(ada_page, "broken.xlsx", b"PK\x03\x04 nothing", "application/vnd.ms-excel")
    ada_page.ask("What does it hold?")
    expect(ada_page.page.locator(ASSISTANT).last).to_contain_text("broken.xlsx is damaged")
    ada_page.shot("document-broken")
    ada_page.page.locator("input[type=file]").first.set_input_files(
        {"name": "red.png", "mimeType": "image/png", "buffer": out.getvalue()}
    )
    expect(ada_page.page.locator("button[type=button] img[src*='/api/v1/files/']").first).to_be_visible()
    ada_page.ask("Which colour is this picture?")
    ada_page.shot("document-picture")
