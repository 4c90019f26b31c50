"""The Context Gauge of a chat: put together from its records, and shown when a turn has ended."""

import asyncio
import datetime as dt
import logging
from collections.abc import Callable, Sequence
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from echo_constants import Bilingual, Locale
from echo_core.figures import FIGURES_PREFIX, LATEST_FIGURES_KEY, TurnFigures
from echo_core.ports import Clock, ModelBackend, ShadowStore
from echo_core.quota import ModelQuota, QuotaRefusal, QuotaSource, quota_fields
from echo_core.routing import FILL_RULE
from echo_core.usage import RoundUsage
from echo_protocol import Catalogue
from echo_runtime.call import PipeCall
from echo_runtime.compaction_store import compaction_state
from echo_runtime.display import DRAWER_FILTER_ID
from echo_runtime.hud_compaction import COMPACTION_MARKS, compaction_shown
from echo_runtime.local_quota import LocalQuota, Refused, WatchedBackend
from echo_runtime.metering import context_stats
from echo_runtime.stores import ChatStores
from echo_runtime.turn_context import Display
from echo_ui import EchoUI, Gauge, Mark
from echo_visuals import Chart, chat_charts

log = logging.getLogger(__name__)

_LEVEL_MARK = Bilingual(en="AUTO uses at least {level}", fr="AUTO utilise au moins {level}")

_COUNTED = Bilingual(
    en="Gemini does not say what is left. ECHO counted your requests: {today} today, {minute} in the last minute.",
    fr="Gemini n'indique pas ce qui reste. ECHO a compté vos requêtes : {today} aujourd'hui, {minute} pendant la "
    "dernière minute.",
)
_REFUSED = {
    "minute": Bilingual(
        en=" At {at}, Google refused a request: limit per minute.",
        fr=" À {at}, Google a refusé une requête : limite par minute.",
    ),
    "day": Bilingual(
        en=" At {at}, Google refused a request: limit per day. It returns at {until}.",
        fr=" À {at}, Google a refusé une requête : limite par jour. Retour à {until}.",
    ),
    "tier": Bilingual(
        en=" At {at}, Google refused a request: this model is not in your key's plan.",
        fr=" À {at}, Google a refusé une requête : ce modèle n'est pas dans l'offre de votre clé.",
    ),
    "spend": Bilingual(
        en=" At {at}, Google refused a request: spending limit or credit used up.",
        fr=" À {at}, Google a refusé une requête : plafond de dépenses ou crédit épuisé.",
    ),
}


class Hud:
    """Makes gauges, and lets turns show them. One an event loop.

    Args:
        stores: the records of chats.
        quota: knows what is left.
        counters: counts what turns ask.
        catalogue: names of models.
        clock: time.
    """

    def __init__(
        self,
        stores: ChatStores,
        quota: QuotaSource,
        counters: LocalQuota,
        catalogue: Callable[[], Catalogue],
        clock: Clock,
    ) -> None:
        self.stores = stores
        self.counters = counters
        self.clock = clock
        self._quota = quota
        self._catalogue = catalogue
        self._running: set[asyncio.Task[None]] = set()

    async def gauge(self, store: ShadowStore, chat_id: str, user_id: str, zone_name: str) -> Gauge:
        """The gauge of one chat. Raises StateError.

        Args:
            store: the chat's records.
            chat_id: the chat.
            user_id: whose quota is shown.
            zone_name: the reader's time zone; UTC when it is unknown.
        """
        turn = TurnFigures.from_json(await store.get_setting(LATEST_FIGURES_KEY))
        quota = None if turn is None else await self._quota.model_quota(user_id, turn.model_id)
        now_s, zone = self.clock.now_s(), _zone(zone_name)
        state = await compaction_state(store)
        return Gauge(
            chat_id=chat_id,
            chat=await context_stats(store),
            turn=turn,
            model_name="" if turn is None else self._catalogue().model(turn.model_id).name,
            marks=_marks(turn),
            compaction=compaction_shown(state),
            pins=state.pins,
            quota=quota_fields(quota, now_s, zone),
            quota_note=_note(quota, zone),
            exhausted=quota is not None and quota.exhausted(now_s),
        )

    async def charts(self, store: ShadowStore, locale: Locale) -> tuple[Chart, ...]:
        """The charts of one chat, over all its answers on all its branches. Raises StateError."""
        kept = await store.settings_beginning(FIGURES_PREFIX)
        figures = [figure for text in kept.values() if (figure := TurnFigures.from_json(text)) is not None]
        return chat_charts(sorted(figures, key=lambda figure: figure.at_s), locale)

    def turn(self, call: PipeCall, inner: ModelBackend) -> "HudTurn":
        """One turn's share of the HUD; ask Gemini through its `backend`."""
        return HudTurn(self, call, WatchedBackend(inner, self.clock))

    def later(self, task: "asyncio.Task[None]") -> None:
        """Hold on to work that goes on after its turn."""
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def aclose(self) -> None:
        """Wait for what turns left to do."""
        if self._running:
            await asyncio.wait(self._running)


class HudTurn:
    """What one turn shows and counts.

    Args:
        hud: shared by all turns.
        call: whose turn it is.
        backend: asks Gemini and remembers refusals.
    """

    def __init__(self, hud: Hud, call: PipeCall, backend: WatchedBackend) -> None:
        self._hud = hud
        self._call = call
        self.backend = backend

    @property
    def _display(self) -> Display:
        shared = self._call.shared
        return "off" if shared.stages.get(DRAWER_FILTER_ID) == "off" else shared.display

    async def line(self, store: ShadowStore | None) -> str:
        """The gauge as a line for a reader who wants it so; "" for everybody else."""
        call = self._call
        if store is None or call.is_api or self._display != "line" or not call.speaks_responses:
            return ""
        try:
            gauge = await self._hud.gauge(store, call.chat_id, call.user_id, call.zone_name)
        except Exception:  # a line that cannot be shown must not end the turn
            log.exception("no gauge for chat %s", call.chat_id)
            return ""
        return gauge.line(call.locale)

    def over(self, rounds: Sequence[RoundUsage]) -> None:
        """The turn has ended, whatever its end is: count it and show the gauge, beside everything else."""
        asked = [entry.model_id for entry in rounds if entry.usage.total_tokens]
        self._hud.later(asyncio.create_task(self._finish(asked, tuple(self.backend.refused))))

    async def _finish(self, asked: Sequence[str], refused: Sequence[Refused]) -> None:
        call = self._call
        try:
            await self._hud.counters.note(call.user_id, asked, refused)
            if call.event_emitter is None or call.is_api or not call.speaks_responses or self._display != "page":
                return
            async with self._hud.stores.open(call, keep_api=False) as store:
                if store is None:
                    return
                gauge = await self._hud.gauge(store, call.chat_id, call.user_id, call.zone_name)
            await EchoUI.deploy_context_gauge(call.event_emitter, gauge, locale=call.locale, **gauge.quota)
        except Exception:  # the answer is there already; without the gauge it is still an answer
            log.exception("the gauge of chat %s could not be shown", call.chat_id)


def _zone(name: str) -> dt.tzinfo:
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return dt.UTC


def _marks(turn: TurnFigures | None) -> tuple[Mark, ...]:
    """The thresholds that hold for the chat: compaction's, and AUTO's fill rule where the model is chosen by it."""
    if turn is None:
        return ()
    by_fill = turn.cause in ("chat", "fill", "model", "cascade")
    levels = [Mark(fraction=share, label=_both(_LEVEL_MARK, level=level)) for share, level in FILL_RULE if by_fill]
    return tuple(sorted((*COMPACTION_MARKS, *levels), key=lambda mark: mark.fraction))


def _note(quota: ModelQuota | None, zone: dt.tzinfo) -> Bilingual | None:
    if quota is None or quota.told_by == "server":
        return None
    counted = _both(_COUNTED, today=quota.used_today or 0, minute=quota.used_minute or 0)
    if quota.refusal is None:
        return counted
    refused = {locale: _refused_text(quota.refusal, zone, locale) for locale in ("en", "fr")}
    return Bilingual(en=counted.en + refused["en"], fr=counted.fr + refused["fr"])


def _refused_text(refusal: QuotaRefusal, zone: dt.tzinfo, locale: Locale) -> str:
    at = f"{dt.datetime.fromtimestamp(refusal.at_s, zone):%H:%M}"
    until = f"{dt.datetime.fromtimestamp(refusal.until_s or refusal.at_s, zone):%H:%M}"
    return _REFUSED[refusal.by].render(locale, at=at, until=until)


def _both(text: Bilingual, **fields: object) -> Bilingual:
    return Bilingual(en=text.render("en", **fields), fr=text.render("fr", **fields))
