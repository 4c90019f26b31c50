"""Pictures of the model on the page, while they come and after a reload, and the usage beside them."""

import re

from playwright.sync_api import expect

from echo_workers.gemini_sim.core.demo.picture import png
from live import answers
from live.page import ASSISTANT, ChatPage
from live.stack import Live

#: Thumbnails are buttons with the picture in them. Source: the page of Open WebUI 0.12.4.
PICTURES = f"{ASSISTANT} img[src*='/api/v1/files/']"


def test_generated_pictures_are_shown_and_survive_a_reload(live: Live, ada_page: ChatPage) -> None:
    pictures = [{"inlineData": {"mimeType": "image/png", "data": png(name)}} for name in ("a heron", "a lake")]
    script = answers.parts({"text": "A heron and a lake:"}, *pictures, {"text": " Which one?"})
    live.sim.script({**script, "match": answers.saying("heron and a lake")})
    ada_page.new_chat()
    ada_page.ask("Draw a heron and a lake, one picture each")
    shown = ada_page.page.locator(PICTURES)
    expect(shown).to_have_count(2)
    before = [shown.nth(index).get_attribute("src") for index in range(2)]
    assert "A heron and a lake: Which one?" in ada_page.messages()[-1][1]
    ada_page.open_chat(ada_page.chat_id)
    expect(shown).to_have_count(2)
    assert [shown.nth(index).get_attribute("src") for index in range(2)] == before
    for index in range(2):
        expect(shown.nth(index)).to_have_js_property("complete", True)
        assert shown.nth(index).evaluate("image => image.naturalWidth") > 0
    ada_page.page.locator(ASSISTANT).last.get_by_role("button", name="Info").hover()
    usage = ada_page.page.locator("pre").filter(has_text="total_tokens").last
    expect(usage).to_contain_text(re.compile(r"cost: 0\.\d+"))
    expect(usage).to_contain_text(re.compile(r"context_tokens: [1-9]"))
    assert not re.search(r"NaN|undefined|null|\[object", usage.inner_text())
    ada_page.shot("generated-pictures")
    ada_page.assert_clean_console()
