"""The gauge and the charts as one page without outside help, for where ECHO's script is not in Open WebUI's page."""

from collections.abc import Sequence
from html import escape
from typing import Any, Final

from echo_constants import Bilingual, Locale
from echo_core.numbers import grouped, money, percent
from echo_core.quota import UNKNOWN
from echo_ui import Gauge, static_file
from echo_visuals import Chart, draw

_TITLE: Final = Bilingual(en="Context and cost", fr="Contexte et coût")
_EMPTY: Final = Bilingual(en="Nothing has been sent yet.", fr="Rien n'a encore été envoyé.")
_FILL: Final = Bilingual(
    en="Context {share} full: {fill} of {window} tokens.", fr="Contexte rempli à {share} : {fill} jetons sur {window}."
)
_FIGURES: Final = Bilingual(en="The figures", fr="Les chiffres")
_EXHAUSTED: Final = Bilingual(en="Quota used up.", fr="Quota épuisé.")
_ROWS: Final = {
    "sent": Bilingual(en="Sent (tokens)", fr="Envoyés (jetons)"),
    "cached": Bilingual(en="of it from the cache", fr="dont venant du cache"),
    "received": Bilingual(en="Received, thoughts included", fr="Reçus, réflexions comprises"),
    "cost": Bilingual(en="Cost", fr="Coût"),
}
_COLUMNS: Final = (
    Bilingual(en="Last answer", fr="Dernière réponse"),
    Bilingual(en="In all", fr="En tout"),
)
_ANSWERS: Final = Bilingual(en="Answers", fr="Réponses")

#: The frame is of its own origin; Open WebUI sets its height when it is told. A browser may lay it out after it has
#: loaded, since Open WebUI skips what is out of sight, so what counts is each change of its size.
#: Source: Open WebUI 0.12.4, embeds and `content-visibility` of messages.
_HEIGHT: Final = (
    "<script>new ResizeObserver(([{target}])=>{const height=Math.ceil(target.getBoundingClientRect().height);"
    "if(height)parent.postMessage({type:'iframe:height',height},'*')}).observe(document.documentElement)</script>"
)


def embed_page(gauge: Gauge, charts: Sequence[Chart], locale: Locale) -> str:
    """An HTML document. Blocks: it reads packaged style sheets at first use.

    Args:
        gauge: of the chat.
        charts: over its answers.
        locale: the reader's language.
    """
    styles = "".join(found.content.decode() for name in ("embed.css", "charts.css") if (found := static_file(name)))
    body = _gauge(gauge, locale) + "".join(_chart(chart, locale) for chart in charts)
    title = escape(_TITLE.render(locale))
    return (
        f'<!doctype html><html lang="{locale}"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{styles}</style></head><body><main><h1>{title}</h1>{body}</main>{_HEIGHT}</body></html>"
    )


def chart_payload(chart: Chart, locale: Locale) -> dict[str, Any]:
    """A chart as the page's script reads it."""
    return {
        "title": chart.title,
        "summary": chart.summary,
        "svg": draw(chart),
        "legend": [{"name": series.name, "style": series.style} for series in chart.series],
        "head": [_ANSWERS.render(locale), *(series.name for series in chart.series)],
        "rows": chart.table(),
    }


def _gauge(gauge: Gauge, locale: Locale) -> str:
    turn = gauge.turn
    if turn is None:
        return f"<p>{escape(_EMPTY.render(locale))}</p>"
    fill = _FILL.render(
        locale,
        share=percent(gauge.fraction, locale),
        fill=grouped(gauge.chat.fill_tokens, locale),
        window=grouped(turn.window_tokens, locale),
    )
    why = gauge.why
    told = [f"{gauge.model_name or turn.model_id} ({turn.level}).", "" if why is None else why.render(locale)]
    if gauge.exhausted:
        told.append(_EXHAUSTED.render(locale))
    note = "" if gauge.quota_note is None else f"<p>{escape(gauge.quota_note.render(locale))}</p>"
    return (
        f'<div class="meter" aria-hidden="true"><div style="width:{gauge.fraction * 100:.1f}%"></div></div>'
        f"<p><strong>{escape(fill)}</strong></p>{_usage(gauge, locale)}<p>{escape(' '.join(told).strip())}</p>{note}"
    )


def _usage(gauge: Gauge, locale: Locale) -> str:
    turn, chat = gauge.turn, gauge.chat
    if turn is None:
        return ""
    rows = (
        ("sent", grouped(turn.input_tokens, locale), grouped(chat.total_prompt_tokens, locale)),
        (
            "cached",
            _share(turn.cached_tokens, turn.input_tokens, locale),
            _share(chat.total_cached_tokens, chat.total_prompt_tokens, locale),
        ),
        ("received", grouped(turn.output_tokens, locale), grouped(chat.total_output_tokens, locale)),
        ("cost", money(turn.usd, locale), money(chat.total_usd, locale)),
    )
    return _table(
        ("", *(column.render(locale) for column in _COLUMNS)),
        [(_ROWS[name].render(locale), *values) for name, *values in rows],
    )


def _share(part: int, whole: int, locale: Locale) -> str:
    return f"{grouped(part, locale)} ({percent(part / whole, locale)})" if whole else UNKNOWN


def _chart(chart: Chart, locale: Locale) -> str:
    legend = "".join(
        f'<li><span class="key {escape(series.style)}"></span>{escape(series.name)}</li>' for series in chart.series
    )
    head = (_ANSWERS.render(locale), *(series.name for series in chart.series))
    return (
        f'<section><h2>{escape(chart.title)}</h2><p>{escape(chart.summary)}</p>{draw(chart)}<ul class="legend">{legend}'
        f"</ul><details><summary>{escape(_FIGURES.render(locale))}</summary>{_table(head, chart.table())}</details>"
        "</section>"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    heads = "".join(f'<th scope="col">{escape(text)}</th>' if text else "<td></td>" for text in head)
    lines = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"
