"""The Context Gauge as data, as a line, and on its way into the page."""

import json
import re
from typing import Any

import pytest

from echo_constants import Locale
from echo_core.numbers import money, percent, short
from echo_core.usage import ContextStats
from echo_ui import EchoUI, Gauge
from figures_kit import turn_figures

TURN = turn_figures()
CHAT = ContextStats(prompt_tokens=119_000, answer_tokens=1_000, turns=3, total_usd=1.5)
GAUGE = Gauge(chat_id="c1", chat=CHAT, turn=TURN, model_name="Gemini Flash")


class Events(list[dict[str, Any]]):
    async def __call__(self, event: dict[str, Any]) -> None:
        self.append(event)


def test_the_line_says_fill_cache_cost_and_model_in_both_languages() -> None:
    assert GAUGE.line("en") == (
        "Context 12% (120k of 1M tokens) · cache 75% · answer $0.0123 · chat $1.50 · Gemini Flash"
    )
    assert GAUGE.line("fr") == (
        "Contexte 12\u00a0% (120\u00a0k sur 1\u00a0M jetons) · cache 75\u00a0% · réponse 0,0123\u00a0$"
        " · conversation 1,50\u00a0$ · Gemini Flash"
    )
    assert Gauge(chat_id="c1").line("en") == ""


def test_the_line_tells_quota_where_it_is_known() -> None:
    quota = {"quota_5h_fraction": 0.0, "quota_5h_reset": "20:08 (292 min)", "quota_weekly_fraction": None}
    line = Gauge(chat_id="c1", chat=CHAT, turn=TURN, quota=quota).line("en")
    assert line.endswith("quota 5 h 0% (reset 20:08 (292 min)), week – (reset –)")


async def test_the_page_gets_the_quota_under_its_names() -> None:
    events = Events()
    await EchoUI.deploy_context_gauge(
        events, GAUGE, quota_model="m", quota_5h_fraction=0.5, quota_5h_reset="10:00 (3 min)", quota_rpd_rem=7
    )
    [event] = events
    assert event["type"] == "execute"
    match = re.search(r"detail: (\{.*\})\}\)\);", event["data"]["code"])
    assert match is not None
    detail = json.loads(match[1])
    assert detail["fraction"] == 0.12
    assert detail["quota"] == {
        "quota_model": "m",
        "quota_5h_fraction": 0.5,
        "quota_5h_reset": "10:00 (3 min)",
        "quota_5h_disabled": False,
        "quota_weekly_fraction": None,
        "quota_weekly_reset": "–",
        "quota_rpd_rem": 7,
        "quota_rpd_lim": "–",
        "quota_rpm_rem": "–",
        "quota_rpm_lim": "–",
    }


async def test_texts_reach_the_page_as_data_only() -> None:
    events = Events()
    nasty = 'x"}})); alert(1); //</script>\u2028\n'
    await EchoUI.deploy_context_gauge(events, Gauge(chat_id=nasty, chat=CHAT, turn=TURN, model_name=nasty))
    code = events[0]["data"]["code"]
    assert code.isascii() and "\n" not in code
    start = code.index("{detail: ") + len("{detail: ")
    detail, end = json.JSONDecoder().raw_decode(code, start)
    assert detail["chat_id"] == nasty
    assert code[end:] == "})); return true;"


async def test_the_line_form_is_a_status_and_off_is_silence() -> None:
    events = Events()
    await EchoUI.deploy_context_gauge(events, GAUGE, display="line", locale="fr")
    await EchoUI.deploy_context_gauge(events, GAUGE, display="off")
    assert events == [{"type": "status", "data": {"description": GAUGE.line("fr"), "done": True}}]


def test_a_context_over_the_brim_is_full_and_none_is_empty() -> None:
    over = Gauge(chat_id="c", chat=ContextStats(prompt_tokens=2_000_000), turn=TURN)
    assert over.fraction == 1.0
    assert Gauge(chat_id="c", chat=CHAT).fraction == 0.0


@pytest.mark.parametrize(
    ("number", "english"), [(0, "0"), (999, "999"), (1_000, "1k"), (12_345, "12.3k"), (1_048_576, "1.05M")]
)
def test_tokens_are_short(number: int, english: str) -> None:
    assert short(number, "en") == english


@pytest.mark.parametrize(
    ("usd", "locale", "text"),
    [
        (None, "en", "–"),
        (0.0, "en", "$0.00"),
        (0.00000001, "en", "< $0.0001"),
        (0.00000001, "fr", "< 0,0001\u00a0$"),
        (12.345, "fr", "12,35\u00a0$"),
    ],
)
def test_money_is_never_a_false_zero(usd: float | None, locale: Locale, text: str) -> None:
    assert money(usd, locale) == text


def test_a_share_that_is_not_nothing_is_not_shown_as_nothing() -> None:
    assert [percent(share, "en") for share in (0, 0.0001, 0.012, 0.1, 1)] == ["0%", "0.1%", "1.2%", "10%", "100%"]
