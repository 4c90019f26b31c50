"""The Context Gauge: what it shows, and how it reaches the page or stands as one line where no script runs."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, TypedDict, Unpack

from echo_constants import Bilingual, Locale
from echo_core.figures import Cause, TurnFigures
from echo_core.numbers import grouped, money, percent, short
from echo_core.quota import UNKNOWN
from echo_core.usage import ContextStats

Emitter = Callable[[dict[str, Any]], Awaitable[Any]]

#: Where a user sees the gauge: drawn by the page's script, as one line under each answer, or nowhere.
Display = Literal["page", "line", "off"]

#: The page's script listens for this event; its detail is a `Gauge.payload`.
PAGE_EVENT: Final = "echo:gauge"

_WHY: Final[Mapping[Cause, Bilingual]] = {
    "pinned": Bilingual(en="{level} is chosen in the settings.", fr="{level} est choisi dans les réglages."),
    "auto_pro": Bilingual(en="AUTO_PRO starts at PRO.", fr="AUTO_PRO commence à PRO."),
    "chat": Bilingual(en="AUTO: this chat works at {level}.", fr="AUTO : cette conversation travaille en {level}."),
    "fill": Bilingual(
        en="AUTO: the context is full enough to need {level}.",
        fr="AUTO : le contexte est assez rempli pour exiger {level}.",
    ),
    "model": Bilingual(
        en="The model asked for {level} in this answer.", fr="Le modèle a demandé {level} pendant cette réponse."
    ),
    "cascade": Bilingual(
        en="A higher level was not available ({detail}).",
        fr="Un niveau supérieur n'était pas disponible ({detail}).",
    ),
    "drawing": Bilingual(en="This answer draws an image.", fr="Cette réponse dessine une image."),
}

_LINE: Final = Bilingual(
    en="Context {share} ({fill} of {window} tokens) · cache {cached} · answer {turn_cost} · chat {chat_cost} · {model}",
    fr="Contexte {share} ({fill} sur {window} jetons) · cache {cached} · réponse {turn_cost} · conversation "
    "{chat_cost} · {model}",
)
_LINE_QUOTA: Final = Bilingual(
    en=" · quota 5 h {short} (reset {short_reset}), week {weekly} (reset {weekly_reset})",
    fr=" · quota 5 h {short} (retour {short_reset}), semaine {weekly} (retour {weekly_reset})",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A threshold on the gauge.

    Args:
        fraction: of the window, 0 to 1.
        label: what happens there.
    """

    fraction: float
    label: Bilingual


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """What the Context Gauge shows of one chat.

    Args:
        chat: its totals.
        turn: its last answer, None before the first one.
        model_name: of the model in use, for people.
        marks: thresholds, ascending.
        compaction: where and when the context was last compacted, as the compaction engine tells it; None = never.
        pins: ids of the messages that stay word for word whatever is compacted.
        quota: see `QuotaFields`.
        quota_note: who counted and what Google last refused; "" when there is nothing to say.
        exhausted: the next request would be refused.
    """

    chat_id: str
    chat: ContextStats = field(default_factory=ContextStats)
    turn: TurnFigures | None = None
    model_name: str = ""
    marks: tuple[Mark, ...] = ()
    compaction: Mapping[str, Any] | None = None
    pins: tuple[str, ...] = ()
    quota: Mapping[str, Any] = field(default_factory=dict)
    quota_note: Bilingual | None = None
    exhausted: bool = False

    @property
    def fraction(self) -> float:
        """How full the context is, 0 to 1; 1 when it is over the brim."""
        window = self.turn.window_tokens if self.turn is not None else 0
        return min(1.0, self.chat.fill_tokens / window) if window else 0.0

    @property
    def why(self) -> Bilingual | None:
        """Why this model answered."""
        if self.turn is None:
            return None
        fields = {"level": self.turn.level, "detail": self.turn.detail}
        text = _WHY[self.turn.cause]
        return Bilingual(en=text.render("en", **fields), fr=text.render("fr", **fields))

    def payload(self) -> dict[str, Any]:
        """As the page's script reads it: JSON values, texts as `{"en", "fr"}`."""
        chat = self.chat
        return {
            "chat_id": self.chat_id,
            "fraction": self.fraction,
            "fill_tokens": chat.fill_tokens,
            "window_tokens": self.turn.window_tokens if self.turn is not None else 0,
            "marks": [{"fraction": mark.fraction, "label": asdict(mark.label)} for mark in self.marks],
            "compaction": self.compaction,
            "pins": list(self.pins),
            "turn": None if self.turn is None else asdict(self.turn),
            "chat": {
                "turns": chat.turns,
                "input_tokens": chat.total_prompt_tokens,
                "cached_tokens": chat.total_cached_tokens,
                "output_tokens": chat.total_output_tokens,
                "usd": chat.total_usd,
                "unpriced_turns": chat.unpriced_turns,
            },
            "model": self.model_name,
            "why": None if (why := self.why) is None else asdict(why),
            "quota": dict(self.quota),
            "quota_note": None if self.quota_note is None else asdict(self.quota_note),
            "exhausted": self.exhausted,
        }

    def line(self, locale: Locale) -> str:
        """The gauge as one line of text; what is not known is left out or `–`."""
        turn = self.turn
        if turn is None:
            return ""
        cached = turn.cached_tokens / turn.input_tokens if turn.input_tokens else 0.0
        told = _LINE.render(
            locale,
            share=percent(self.fraction, locale),
            fill=short(self.chat.fill_tokens, locale),
            window=short(turn.window_tokens, locale),
            cached=percent(cached, locale),
            turn_cost=money(turn.usd, locale),
            chat_cost=money(self.chat.total_usd, locale),
            model=self.model_name or turn.model_id,
        )
        windows = (self.quota.get("quota_5h_fraction"), self.quota.get("quota_weekly_fraction"))
        if all(window is None for window in windows):
            return told
        left = [UNKNOWN if window is None else percent(window, locale) for window in windows]
        return told + _LINE_QUOTA.render(
            locale,
            short=left[0],
            short_reset=self.quota.get("quota_5h_reset", UNKNOWN),
            weekly=left[1],
            weekly_reset=self.quota.get("quota_weekly_reset", UNKNOWN),
        )

    def spoken(self, locale: Locale) -> str:
        """The fill in full numbers, for a screen reader."""
        window = self.turn.window_tokens if self.turn is not None else 0
        return f"{percent(self.fraction, locale)}, {grouped(self.chat.fill_tokens, locale)} / {grouped(window, locale)}"


def page_code(payload: Mapping[str, Any]) -> str:
    """JavaScript that hands a payload to the page's script; it is data only, whatever the texts hold."""
    detail = json.dumps(payload, ensure_ascii=True)
    return f'window.dispatchEvent(new CustomEvent("{PAGE_EVENT}", {{detail: {detail}}})); return true;'


class QuotaFields(TypedDict, total=False):
    """What is known of a quota; what is left out is not known, and never taken for full.

    Attributes:
        quota_model: the backend's model id that the quota is of.
        quota_5h_fraction: what is left of the five-hour limit, 0 to 1.
        quota_5h_reset: `HH:MM (X min)`.
        quota_5h_disabled: the limit does not apply.
        quota_weekly_fraction: what is left of the weekly limit, 0 to 1.
        quota_weekly_reset: `HH:MM (X min)`.
        quota_rpd_rem: requests left today.
        quota_rpd_lim: of how many.
        quota_rpm_rem: requests left in this minute.
        quota_rpm_lim: of how many.
    """

    quota_model: str
    quota_5h_fraction: float | None
    quota_5h_reset: str
    quota_5h_disabled: bool
    quota_weekly_fraction: float | None
    quota_weekly_reset: str
    quota_rpd_rem: int | str
    quota_rpd_lim: int | str
    quota_rpm_rem: int | str
    quota_rpm_lim: int | str


_NOTHING_KNOWN: Final[QuotaFields] = {
    "quota_model": "",
    "quota_5h_fraction": None,
    "quota_5h_reset": UNKNOWN,
    "quota_5h_disabled": False,
    "quota_weekly_fraction": None,
    "quota_weekly_reset": UNKNOWN,
    "quota_rpd_rem": UNKNOWN,
    "quota_rpd_lim": UNKNOWN,
    "quota_rpm_rem": UNKNOWN,
    "quota_rpm_lim": UNKNOWN,
}


class EchoUI:
    """What ECHO draws in Open WebUI's page."""

    @staticmethod
    async def deploy_context_gauge(
        events: Emitter,
        gauge: Gauge,
        *,
        display: Display = "page",
        locale: Locale = "en",
        **quota: Unpack[QuotaFields],
    ) -> None:
        """Show the Context Gauge of a turn that has ended.

        Args:
            events: Open WebUI's event emitter of the turn.
            gauge: fill, tokens, cost and model.
            display: how; "off" does nothing.
            locale: of the line.
            quota: `quota_model`, `quota_5h_fraction`, …; see `QuotaFields`.
        """
        told = {**_NOTHING_KNOWN, **quota}
        if display == "page":
            await events({"type": "execute", "data": {"code": page_code({**gauge.payload(), "quota": told})}})
        elif display == "line" and (line := gauge.line(locale)):
            await events({"type": "status", "data": {"description": line, "done": True}})
