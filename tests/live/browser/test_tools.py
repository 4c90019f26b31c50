"""A workspace model built on ECHO in the page: its prompt, tool cards, images, usage, temporary chats."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from echo_cli._model_record import ECHO_MODEL_ID, EVERYBODY_READS
from echo_workers.gemini_sim.core.demo.picture import png
from live import answers
from live.client import Client
from live.page import ASSISTANT, ChatPage
from live.stack import Live

TUTOR = "live-tutor"
PROMPT = "You are a patient tutor named Minerva."


@pytest.fixture(scope="module")
def tutor(live: Live, toolkit: str) -> Iterator[str]:
    """A model as an administrator makes it in the workspace: nothing set but name, base, prompt and a toolkit."""
    live.admin.post(
        "/api/v1/models/create",
        {
            "id": TUTOR,
            "base_model_id": ECHO_MODEL_ID,
            "name": "My tutor",
            "meta": {"toolIds": [toolkit]},
            "params": {"system": PROMPT},
            "access_grants": [EVERYBODY_READS],
            "is_active": True,
        },
    )
    live.admin.get("/api/models", refresh="true")
    yield TUTOR
    live.admin.post("/api/v1/models/model/delete", {"id": TUTOR})


@pytest.fixture(scope="module")
def page(ada_page: ChatPage, tutor: str) -> ChatPage:
    """Ada's tab on an empty chat with the tutor."""
    ada_page.new_chat(tutor)
    return ada_page


def bodies(live: Live) -> list[dict[str, Any]]:
    return [json.loads(request["body"]) for request in live.sim.requests("streamGenerateContent")]


def test_parallel_tool_calls_get_cards_and_one_may_fail(live: Live, page: ChatPage) -> None:
    page.send('Please call forecast {"city": "Lyon"} and call weigh {"what": "gold"}.')
    page.wait_done()
    asked, answered = bodies(live)
    assert PROMPT in asked["systemInstruction"]["parts"][0]["text"]
    calls, results = answered["contents"][-2:]
    assert [part["functionCall"]["name"] for part in calls["parts"] if "functionCall" in part] == ["forecast", "weigh"]
    assert "thoughtSignature" in calls["parts"][0]
    responses = [part["functionResponse"]["response"] for part in results["parts"]]
    assert json.loads(responses[0]["output"])["sky"] == "clear"
    assert "the scale is broken, gold was not weighed" in responses[1]["error"]
    assert_cards(page)
    page.open_chat(page.chat_id)
    assert_cards(page)
    page.assert_clean_console()


def assert_cards(page: ChatPage) -> None:
    """Thoughts and both cards fold away in one line; they open to show input and output."""
    answer = page.page.locator(ASSISTANT).last
    answer.get_by_text("Explored forecast, weigh").click()
    for name, given, got in [
        ("forecast", "Lyon", '"sky": "clear"'),
        ("weigh", "gold", '"error": "ValueError: the scale'),
    ]:
        answer.get_by_text(f"View Result from {name}").click()
        expect(answer).to_contain_text(re.compile(f"{given}.*{got}", re.DOTALL))
    shown = answer.inner_text()
    marks = ["Explored", "Thought for", "View Result from forecast", "View Result from weigh", "forecast answered:"]
    places = [shown.index(mark) for mark in marks]
    assert places == sorted(places)
    assert page.shot("tool-cards").stat().st_size > 0


@pytest.mark.deep
def test_cards_of_parallel_calls_run_side_by_side_and_each_ends_on_its_own(
    live: Live, page: ChatPage, toolkit: str, tmp_path: Path
) -> None:
    signs = [tmp_path / name for name in ("red", "green", "blue")]
    page.new_chat(f"{ECHO_MODEL_ID}&tools={toolkit}")
    calls = [f"call hold {json.dumps({'sign': str(sign)})}" for sign in signs]
    page.send(f"Please {' and '.join(calls)}.")
    answer = page.page.locator(ASSISTANT).last
    answer.get_by_text(re.compile("Exploring")).click()
    expect(answer.get_by_text("Executing hold...")).to_have_count(3)
    signs[1].touch()
    expect(answer.get_by_text("View Result from hold")).to_have_count(1)
    expect(answer.get_by_text("Executing hold...")).to_have_count(2)
    page.shot("tool-cards-running")
    signs[0].touch()
    signs[2].touch()
    page.wait_done()
    results = [part["functionResponse"]["response"] for part in bodies(live)[-1]["contents"][-1]["parts"]]
    assert [result["output"] for result in results] == [f"{sign.name} was seen" for sign in signs], "in their order"


def test_thoughts_text_and_tools_stand_in_the_order_they_came(live: Live, page: ChatPage) -> None:
    script = [
        answers.parts(answers.thought("Which city?"), {"text": "I look it up."}, answers.call("weigh", what="silver")),
        answers.parts(answers.thought("It failed."), {"text": "No luck."}),
    ]
    live.sim.script(*({**entry, "match": answers.saying("silver, please")} for entry in script))
    page.next_chat()
    page.send("Weigh silver, please")
    page.wait_done()
    expected = "Thought for less than a second I look it up. Explored weigh No luck."
    assert " ".join(page.messages()[-1][1].split()).endswith(expected)
    page.open_chat(page.chat_id)
    assert " ".join(page.messages()[-1][1].split()).endswith(expected)
    answer = page.page.locator(ASSISTANT).last
    answer.get_by_text("Explored weigh").click()
    answer.get_by_role("button", name="Thought for").last.click()
    expect(answer.get_by_text("It failed.")).to_be_visible()


def test_the_info_button_tells_the_usage(page: ChatPage) -> None:
    page.page.locator(ASSISTANT).last.get_by_role("button", name="Info").hover()
    expect(page.page.locator("pre").get_by_text("total_tokens: 30")).to_be_visible()


def test_an_uploaded_image_reaches_gemini_and_stays_in_the_history(live: Live, page: ChatPage) -> None:
    picture = base64.b64decode(png("a heron"))
    page.next_chat()
    page.page.locator("input[type=file]").first.set_input_files(
        {"name": "heron.png", "mimeType": "image/png", "buffer": picture}
    )
    expect(
        page.page.locator(
            "button[type=button] img[src*='/api/v1/files/'], img[alt='heron.png'], img[src^='data:image']"
        ).first
    ).to_be_visible()
    page.ask("What is in this picture?")
    page.ask("And its colour?")
    for body in bodies(live):
        parts = body["contents"][0]["parts"]
        images = [part["inlineData"] for part in parts if "inlineData" in part]
        assert [(image["mimeType"], base64.b64decode(image["data"])) for image in images] == [("image/png", picture)]
    page.assert_clean_console()


def test_a_temporary_chat_remembers_while_it_lasts_and_leaves_nothing(live: Live, page: ChatPage, ada: Client) -> None:
    before = {chat["id"] for chat in ada.get("/api/v1/chats/")}
    page.new_chat(temporary=True)
    page.ask("The code word is heron.")
    page.ask("Which word?")
    first, second = bodies(live)
    question, answer = second["contents"][:2]
    assert question == first["contents"][0]
    assert any("thoughtSignature" in part for part in answer["parts"])
    assert live.sim.requests("streamGenerateContent")[-1]["status"] == 200
    assert {chat["id"] for chat in ada.get("/api/v1/chats/")} == before
    assert not list((live.data / "echo").rglob("temporary*"))
    page.assert_clean_console()
