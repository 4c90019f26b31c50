"""Charts of a chat: what is drawn is what was counted, and reads in both languages."""

from xml.etree import ElementTree

import pytest

from echo_core.figures import TurnFigures
from echo_visuals import Chart, Series, chat_charts, draw
from echo_visuals.chat_charts import MAX_PLACES

SVG = "{http://www.w3.org/2000/svg}"


def answer(number: int, *, sent: int = 1_000, cached: int = 400, usd: float | None = 0.01) -> TurnFigures:
    return TurnFigures(
        message_id=f"m{number}",
        at_s=number,
        model_id="m",
        level="FLASH",
        cause="chat",
        input_tokens=sent,
        cached_tokens=cached,
        output_tokens=50,
        usd=usd,
    )


def test_a_chat_has_three_charts_with_their_figures_beside_them() -> None:
    tokens, cost, cache = chat_charts([answer(1), answer(2, sent=3_000, cached=3_000, usd=None)], "en")
    assert tokens.summary == "Answers: 2. Tokens sent: 4k, of these from the cache: 3.4k. Tokens received: 100."
    assert tokens.table() == (("Answer 1", "400", "600", "50"), ("Answer 2", "3k", "0", "50"))
    assert cost.table() == (("Answer 1", "$0.0100"), ("Answer 2", "–"))
    assert cache.table() == (("Answer 1", "40%"), ("Answer 2", "100%"))
    assert cache.summary == "85% of all tokens sent came from the cache."


def test_french_is_french() -> None:
    tokens, cost, cache = chat_charts([answer(1)], "fr")
    assert (tokens.title, cost.title, cache.title) == ("Jetons par réponse", "Coût par réponse", "Part venant du cache")
    assert cost.table() == (("Réponse 1", "0,0100\u00a0$"),)


def test_long_chats_are_shown_in_groups_and_lose_nothing() -> None:
    answers = [answer(number) for number in range(1_000)]
    tokens, cost, _ = chat_charts(answers, "en")
    assert len(tokens.labels) <= MAX_PLACES
    assert tokens.labels[0] == "Answers 1–21"
    assert tokens.labels[-1].endswith("–1000")
    assert sum(value or 0 for series in tokens.series for value in series.values) == 1_000 * 1_050
    assert sum(value or 0 for value in cost.series[0].values) == pytest.approx(10.0)


def test_no_answers_no_charts() -> None:
    assert chat_charts([], "en") == ()


def test_bars_stand_on_each_other_and_fill_the_height_they_should() -> None:
    chart = Chart(
        title="t",
        summary="s",
        labels=("a", "b"),
        series=(Series(name="x", style="x", values=(25.0, None)), Series(name="y", style="y", values=(75.0, 50.0))),
        kind="bars",
        tell=str,
    )
    root = ElementTree.fromstring(draw(chart))
    bars = root.findall(f"{SVG}rect")
    assert [bar.get("class") for bar in bars] == ["x", "y", "y"]
    heights = [float(bar.get("height", 0)) for bar in bars]
    assert heights == pytest.approx([45.0, 135.0, 90.0], abs=0.11)
    assert float(bars[0].get("y", 0)) == pytest.approx(float(bars[1].get("y", 0)) + heights[1], abs=0.11)


def test_a_gap_in_a_line_is_a_gap() -> None:
    series = Series(name="x", style="x", values=(0.1, None, 0.3, 0.4))
    chart = Chart(title="t", summary="s", labels=("1", "2", "3", "4"), series=(series,), kind="line", tell=str, top=1.0)
    root = ElementTree.fromstring(draw(chart))
    [path] = root.findall(f"{SVG}path")
    assert [step[0] for step in path.get("d", "").split() if step[0].isalpha()] == ["M", "M", "L"]
    assert len(root.findall(f"{SVG}circle")) == 3


def test_series_and_labels_must_fit() -> None:
    series = Series(name="x", style="x", values=(1.0,))
    with pytest.raises(ValueError, match="differ in length"):
        draw(Chart(title="t", summary="s", labels=(), series=(series,), kind="bars", tell=str))


def test_whatever_a_name_holds_stays_text() -> None:
    nasty = '"><script>alert(1)</script>&'
    series = Series(name=nasty, style=nasty, values=(1.0,))
    chart = Chart(title=nasty, summary=nasty, labels=(nasty,), series=(series,), kind="bars", tell=str)
    root = ElementTree.fromstring(draw(chart))
    assert root.findall(f".//{SVG}script") == []
    assert root.findtext(f"{SVG}title") == nasty
