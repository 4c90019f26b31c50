"""The charts of a chat: tokens, cost and cache share over its answers."""

from collections.abc import Sequence
from typing import Final

from echo_constants import Bilingual, Locale
from echo_core.figures import TurnFigures
from echo_core.numbers import money, percent, short
from echo_core.quota import UNKNOWN
from echo_visuals.charts import Chart, Series

#: Bars that a person can still tell apart; longer chats are shown in groups of answers. Source: our choice.
MAX_PLACES: Final = 48

_TOKENS: Final = Bilingual(en="Tokens by answer", fr="Jetons par réponse")
_COST: Final = Bilingual(en="Cost by answer", fr="Coût par réponse")
_CACHE: Final = Bilingual(en="Share from the cache", fr="Part venant du cache")
_FRESH: Final = Bilingual(en="sent anew", fr="envoyés à neuf")
_CACHED: Final = Bilingual(en="from the cache", fr="venant du cache")
_RECEIVED: Final = Bilingual(en="received", fr="reçus")
_SHARE: Final = Bilingual(en="cached", fr="en cache")
_USD: Final = Bilingual(en="cost", fr="coût")
_ONE: Final = Bilingual(en="Answer {first}", fr="Réponse {first}")
_SEVERAL: Final = Bilingual(en="Answers {first}–{last}", fr="Réponses {first}–{last}")

_TOKENS_SAID: Final = Bilingual(
    en="Answers: {answers}. Tokens sent: {sent}, of these from the cache: {cached}. Tokens received: {received}.",
    fr="Réponses : {answers}. Jetons envoyés : {sent}, dont venant du cache : {cached}. Jetons reçus : {received}.",
)
_COST_SAID: Final = Bilingual(
    en="{cost} in all, the dearest bar {most}.", fr="{cost} en tout, la barre la plus chère {most}."
)
_CACHE_SAID: Final = Bilingual(
    en="{share} of all tokens sent came from the cache.", fr="{share} des jetons envoyés venaient du cache."
)


def chat_charts(answers: Sequence[TurnFigures], locale: Locale) -> tuple[Chart, ...]:
    """The charts over a chat's answers, oldest first; none for a chat without answers.

    Args:
        answers: in the order in which they were given.
        locale: the reader's language.
    """
    if not answers:
        return ()
    size = -(-len(answers) // MAX_PLACES)
    groups = [answers[start : start + size] for start in range(0, len(answers), size)]
    labels = tuple(_label(index * size, group, locale) for index, group in enumerate(groups))
    return (_tokens(groups, labels, locale), _cost(groups, labels, locale), _cache(groups, labels, locale))


def _label(before: int, group: Sequence[TurnFigures], locale: Locale) -> str:
    text = _ONE if len(group) == 1 else _SEVERAL
    return text.render(locale, first=before + 1, last=before + len(group))


def _tokens(groups: Sequence[Sequence[TurnFigures]], labels: tuple[str, ...], locale: Locale) -> Chart:
    sent = [sum(answer.input_tokens for answer in group) for group in groups]
    cached = [sum(answer.cached_tokens for answer in group) for group in groups]
    received = [sum(answer.output_tokens for answer in group) for group in groups]
    fresh = [max(0, all_of - held) for all_of, held in zip(sent, cached, strict=True)]
    return Chart(
        title=_TOKENS.render(locale),
        summary=_TOKENS_SAID.render(
            locale,
            answers=sum(len(group) for group in groups),
            sent=short(sum(sent), locale),
            cached=short(sum(cached), locale),
            received=short(sum(received), locale),
        ),
        labels=labels,
        series=(
            Series(name=_CACHED.render(locale), style="cached", values=tuple(map(float, cached))),
            Series(name=_FRESH.render(locale), style="fresh", values=tuple(map(float, fresh))),
            Series(name=_RECEIVED.render(locale), style="received", values=tuple(map(float, received))),
        ),
        kind="bars",
        tell=lambda value: short(int(value or 0), locale),
    )


def _cost(groups: Sequence[Sequence[TurnFigures]], labels: tuple[str, ...], locale: Locale) -> Chart:
    costs = [_known_usd(group) for group in groups]
    known = [cost for cost in costs if cost is not None]
    return Chart(
        title=_COST.render(locale),
        summary=_COST_SAID.render(
            locale,
            cost=money(sum(known) if known else None, locale),
            most=money(max(known) if known else None, locale),
        ),
        labels=labels,
        series=(Series(name=_USD.render(locale), style="cost", values=tuple(costs)),),
        kind="bars",
        tell=lambda value: money(value, locale),
    )


def _known_usd(group: Sequence[TurnFigures]) -> float | None:
    """What is known of a group's cost; None when no price in it is."""
    known = [answer.usd for answer in group if answer.usd is not None]
    return sum(known) if known else None


def _cache(groups: Sequence[Sequence[TurnFigures]], labels: tuple[str, ...], locale: Locale) -> Chart:
    every = [answer for group in groups for answer in group]
    whole = _cached_share(every)
    return Chart(
        title=_CACHE.render(locale),
        summary=_CACHE_SAID.render(locale, share=UNKNOWN if whole is None else percent(whole, locale)),
        labels=labels,
        series=(
            Series(name=_SHARE.render(locale), style="cached", values=tuple(_cached_share(group) for group in groups)),
        ),
        kind="line",
        tell=lambda value: UNKNOWN if value is None else percent(value, locale),
        top=1.0,
    )


def _cached_share(group: Sequence[TurnFigures]) -> float | None:
    sent = sum(answer.input_tokens for answer in group)
    return min(1.0, sum(answer.cached_tokens for answer in group) / sent) if sent else None
