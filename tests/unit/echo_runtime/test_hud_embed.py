"""The gauge and charts as a page of their own."""

from html.parser import HTMLParser

from echo_constants import Bilingual
from echo_core.usage import ContextStats
from echo_runtime.hud_embed import chart_payload, embed_page
from echo_ui import Gauge
from echo_visuals import chat_charts
from figures_kit import turn_figures

TURN = turn_figures(input_tokens=1_000, cached_tokens=750)
CHAT = ContextStats(prompt_tokens=120_000, turns=1, total_prompt_tokens=1_000, total_cached_tokens=750, total_usd=0.5)


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def test_the_page_says_what_the_hud_says() -> None:
    gauge = Gauge(chat_id="c", chat=CHAT, turn=TURN, model_name="Gemini Flash", exhausted=True)
    reader = read(embed_page(gauge, chat_charts([TURN], "en"), "en"))
    assert "Context 12% full: 120,000 of 1,000,000 tokens." in reader.text
    assert "750 (75%)" in reader.text
    assert "Gemini Flash (FLASH). FLASH is chosen in the settings. Quota used up." in reader.text
    assert reader.tags.count("svg") == 3
    assert reader.tags.count("table") == 4


def test_the_page_speaks_french_and_asks_no_server() -> None:
    page = embed_page(Gauge(chat_id="c", chat=CHAT, turn=TURN), chat_charts([TURN], "fr"), "fr")
    assert '<html lang="fr">' in page
    assert "Contexte rempli à 12\u00a0%" in page
    assert "src=" not in page and "@import" not in page
    assert page.count("http") == page.count("http://www.w3.org/2000/svg")


def test_a_chat_without_answers_says_so() -> None:
    assert "Nothing has been sent yet." in embed_page(Gauge(chat_id="c"), (), "en")


def test_names_and_notes_stay_text() -> None:
    nasty = "<img src=x onerror=alert(1)>"
    gauge = Gauge(chat_id=nasty, chat=CHAT, turn=TURN, model_name=nasty, quota_note=Bilingual(en=nasty, fr=nasty))
    assert "img" not in read(embed_page(gauge, (), "en")).tags


def test_a_chart_reaches_the_script_with_drawing_legend_and_table() -> None:
    payload = chart_payload(chat_charts([TURN], "en")[0], "en")
    assert payload["head"] == ["Answers", "from the cache", "sent anew", "received"]
    assert payload["rows"] == (("Answer 1", "750", "250", "0"),)
    assert [entry["style"] for entry in payload["legend"]] == ["cached", "fresh", "received"]
    assert payload["svg"].startswith("<svg ")
