"""The pictures of the README, taken from a real page. `make pictures` writes them to docs/images.

Elsewhere they go to `.cache/screenshots`, and the test only sees that everything is shown.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import expect

from echo_cli._model_record import ECHO_MODEL_ID, EVERYBODY_READS, icon_data_uri
from echo_workers.gemini_sim.core import faults
from live import answers
from live.page import ASSISTANT, SCREENSHOTS, ChatPage
from live.stack import Live

pytestmark = pytest.mark.deep

#: A folder for the finished pictures.
TARGET = os.environ.get("ECHO_PICTURES")
MAX_BYTES = 200_000
#: Between two pieces, so that the model seems to have thought for some seconds.
PAUSE_MS = 1100 if TARGET else 50

PROTOCOLS = """For token streams the protocol decides how many answers share a connection:

| | HTTP/1.1 | HTTP/2 | HTTP/3 |
|---|---|---|---|
| Streams per connection | 1 | many | many |
| Stop one answer | close the connection | `RST_STREAM` | `STOP_SENDING` |
| A lost packet delays | its answer | **all** answers | its answer |

"""
EXAMPLE = """Stopping early costs nothing with HTTP/2: leaving the block resets this one stream.

```python
async with client.stream("POST", url, json=body) as answer:
    async for line in answer.aiter_lines():
        if line.startswith("data: "):
            show(json.loads(line[6:]))
```
"""
WEATHER = '''
class Tools:
    async def forecast(self, city: str) -> dict:
        """
        Tell tomorrow's weather.

        :param city: the city's name
        """
        sky = {"Lyon": ("rain", 14), "Annecy": ("clear", 19)}[city]
        return {"city": city, "sky": sky[0], "high_celsius": sky[1]}
'''


@pytest.fixture(autouse=True)
def _as_with_google(live: Live) -> Iterator[None]:
    """The simulator under another name, so that the page looks as it does with a key."""
    with live.valves(GEMINI_BASE_URL=live.sim.url.replace("127.0.0.1", "localhost")):
        yield


@pytest.fixture
def page(ada_page: ChatPage) -> Iterator[ChatPage]:
    """Ada's tab in the size of the pictures."""
    before = ada_page.page.viewport_size
    assert before is not None
    ada_page.page.set_viewport_size({"width": 1280, "height": 800})
    yield ada_page
    ada_page.page.set_viewport_size(before)


@pytest.fixture
def with_tools(live: Live) -> Iterator[str]:
    """ECHO with a weather tool."""
    tools = {"id": "weather", "name": "Weather", "content": WEATHER, "meta": {"description": ""}}
    live.admin.post("/api/v1/tools/create", {**tools, "access_grants": [EVERYBODY_READS]})
    model = {
        "id": "echo-weather",
        "base_model_id": ECHO_MODEL_ID,
        "name": "ECHO",
        "meta": {
            "toolIds": ["weather"],
            "profile_image_url": icon_data_uri(),
            "capabilities": {"builtin_tools": False},
        },
        "params": {},
        "access_grants": [EVERYBODY_READS],
        "is_active": True,
    }
    live.admin.post("/api/v1/models/create", model)
    live.admin.get("/api/models", refresh="true")
    yield "echo-weather"
    live.admin.post("/api/v1/models/model/delete", {"id": "echo-weather"})
    live.admin.delete("/api/v1/tools/id/weather/delete")


def tasks(title: str) -> faults.Entry:
    """One answer for title, tags and follow-ups."""
    text = json.dumps({"title": title, "tags": ["Technology"], "follow_ups": []})
    body = json.dumps(faults.response(text, finish="STOP"))
    return {"match": {"method": "generateContent"}, "chunks": [{"text": body}], "times": -1}


def take(page: ChatPage, name: str) -> None:
    """Take the picture, with few colours: the page has no more."""
    page.page.mouse.move(5, 400)
    expect(page.page.get_by_role("tooltip")).to_have_count(0)
    shot = page.shot(name)
    with Image.open(shot) as image:
        assert image.size == (1280, 800)
        small = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    path = (Path(TARGET) if TARGET else SCREENSHOTS) / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    small.save(path, optimize=True)
    assert path.stat().st_size < MAX_BYTES
    page.assert_clean_console()


def test_a_chat_with_a_table_and_code(live: Live, page: ChatPage) -> None:
    live.sim.script(
        tasks("⚡ Streaming over HTTP"),
        {
            **answers.parts(
                answers.thought("**Comparing protocols**\n\nWhat matters here is multiplexing "),
                answers.thought("and how one stream is stopped."),
                {"text": PROTOCOLS},
                {"text": EXAMPLE},
                delay_ms=PAUSE_MS,
            ),
            "match": answers.saying("stream tokens"),
        },
    )
    page.new_chat()
    page.ask("Which HTTP version should I use to stream tokens to many users? Show me how to stop early in Python.")
    answer = page.page.locator(ASSISTANT).last
    expect(answer.get_by_role("table")).to_be_visible()
    expect(answer.get_by_role("cell", name="RST_STREAM")).to_be_visible()
    expect(answer).to_contain_text("async for line in answer.aiter_lines():")
    expect(answer).to_contain_text("Thought for")
    expect(page.page.get_by_role("heading", name="⚡ Streaming over HTTP")).to_be_visible()
    take(page, "chat")


def test_an_open_thought_and_a_tool_card(live: Live, page: ChatPage, with_tools: str) -> None:
    asked = answers.parts(
        answers.thought("**Comparing two cities**\n\nThe answer depends on tomorrow's sky, "),
        answers.thought("so I ask for both forecasts at once."),
        answers.call("forecast", city="Lyon"),
        answers.call("forecast", city="Annecy"),
        delay_ms=PAUSE_MS,
    )
    answered = answers.parts(
        {
            "text": "Go to **Annecy**: clear sky and 19 °C, while Lyon gets rain at 14 °C. "
            "Start early, the lake road fills up."
        }
    )
    live.sim.script(
        tasks("🚲 Sunday ride"), *({**entry, "match": answers.saying("ride")} for entry in (asked, answered))
    )
    page.new_chat(with_tools)
    page.ask("Lyon or Annecy for a bike ride tomorrow?")
    answer = page.page.locator(ASSISTANT).last
    answer.get_by_text("Explored").click()
    answer.get_by_role("button", name="Thought for").click()
    answer.get_by_text("View Result from forecast").last.click()
    expect(answer.get_by_text("so I ask for both forecasts at once.")).to_be_visible()
    expect(answer).to_contain_text('"high_celsius": 19')
    expect(answer).to_contain_text("Go to Annecy")
    take(page, "thoughts")
