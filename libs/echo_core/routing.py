"""Which model level answers: where a turn starts, and how it moves inside the turn. Values and judgements only.

Two things move a turn that is not pinned: the model itself, by the tool `new_cognitive_level`, and a level that has no
capacity or quota (the technical cascade). Source: docs/design.md section 6.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from echo_constants import Bilingual, EchoError, Locale
from echo_utils import dumps

Level = Literal["LITE", "FLASH", "PRO"]
Mode = Literal["AUTO", "AUTO_PRO", "LITE", "FLASH", "PRO"]

#: Weakest first.
LEVELS: Final[tuple[Level, ...]] = ("LITE", "FLASH", "PRO")

MODES: Final[tuple[Mode, ...]] = ("AUTO", "AUTO_PRO", "LITE", "FLASH", "PRO")

#: Fill of the context from which on a level is the least. Source: docs/design.md section 6.
_FLASH_FROM: Final = 0.20
_PRO_FROM: Final = 0.35

#: The fill rule for people to see: from which share of the window on which level is the least.
FILL_RULE: Final[tuple[tuple[float, Level], ...]] = ((_FLASH_FROM, "FLASH"), (_PRO_FROM, "PRO"))

#: Voluntary changes in one turn; a model that goes on asking is told to work where it is. Source: our choice, twice up
#: and down again.
MAX_MOVES: Final = 4

MOVED: Final = Bilingual(en="Model level: {origin} → {target}", fr="Niveau de modèle : {origin} → {target}")
FELL: Final = Bilingual(
    en="Model level: {origin} → {target} for this answer. {why}",
    fr="Niveau de modèle : {origin} → {target} pour cette réponse. {why}",
)


def level_of(name: object) -> Level | None:
    """The level of that name in any case, None when there is none."""
    return next((level for level in LEVELS if level == str(name).strip().upper()), None)


def mode_of(name: str) -> Mode:
    """The mode of that name; AUTO for one that this version does not know."""
    return next((mode for mode in MODES if mode == name), "AUTO")


def higher(first: Level, second: Level) -> Level:
    """The stronger of two levels."""
    return max(first, second, key=LEVELS.index)


def least_level(fill: float) -> Level:
    """The weakest level that a context this full may start on.

    Args:
        fill: share of the usable window that the chat takes, 0 to 1.
    """
    if fill > _PRO_FROM:
        return "PRO"
    return "FLASH" if fill > _FLASH_FROM else "LITE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How a request is put to the model of one level.

    Args:
        model_id: the backend's id.
        window_tokens: what fits in.
        scope: models of one signature scope read each other's signatures.
        signs: the model refuses unsigned calls in the current turn.
        note: the overlay entry that names the model, b"" where the model is not told.
    """

    level: Level
    model_id: str
    generation_config: Mapping[str, Any] = field(default_factory=dict)
    window_tokens: int = 1_048_576
    scope: str = ""
    signs: bool = True
    note: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteChange:
    """One change of level inside a turn.

    Args:
        hop: how many Contents the answer had when it happened.
        cause: the model asked, or a level failed.
        rescoped: the new model does not read the signatures of the old one.
        why: the error's code for a cascade, the id of the Transfer Plan for a voluntary change, "" without one.
        message: for the user: what failed.
        note: as of `Route`, for the new model.
    """

    origin: Level
    target: Level
    model_id: str
    hop: int
    cause: Literal["cognitive", "cascade"]
    why: str = ""
    rescoped: bool = False
    message: Bilingual | None = None
    fields: Mapping[str, object] = field(default_factory=dict)
    note: bytes = b""

    def overlay(self) -> bytes:
        """As the answer's overlay records it."""
        entry = dumps(self._entry())
        return b"[" + entry + b"," + self.note[1:] if len(self.note) > len(b"[]") else b"[" + entry + b"]"

    def _entry(self) -> dict[str, Any]:
        return {
            "kind": "route",
            "cause": self.cause,
            "from": self.origin,
            "to": self.target,
            "model_id": self.model_id,
            "hop": self.hop,
            "why": self.why,
        }

    def notice(self, locale: Locale) -> str:
        """What the user is told."""
        if self.message is None:
            return MOVED.render(locale, origin=self.origin, target=self.target)
        why = self.message.render(locale, **self.fields)
        return FELL.render(locale, origin=self.origin, target=self.target, why=why)


class Ladder:
    """The levels of one turn and where it stands on them.

    Args:
        routes: one or more, the current one first; one alone means that the turn is pinned.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        first, *others = routes
        self._routes = {route.level: route for route in (first, *others)}
        self.current = first
        self.changes: list[RouteChange] = []
        self._failed: set[Level] = set()
        self._moves = 0

    @property
    def pinned(self) -> bool:
        """Whether the turn stays on its level whatever happens."""
        return len(self._routes) == 1

    def route(self, level: Level | None) -> Route:
        """The route of a level, the current one when it is not on the ladder."""
        return self.current if level is None else self._routes.get(level, self.current)

    def below(self) -> Route | None:
        """The next weaker level with another model that has not failed in this turn."""
        weaker = LEVELS[: LEVELS.index(self.current.level)]
        routes = (self._routes.get(level) for level in reversed(weaker) if level not in self._failed)
        return next((route for route in routes if route and route.model_id != self.current.model_id), None)

    def fall(self, error: EchoError, hop: int) -> bool:
        """Go down because the current level failed; False when there is nowhere to go."""
        target = self.below()
        if target is None:
            return False
        self._failed.add(self.current.level)
        self._go(target, hop, "cascade", error.code, error.message, error.fields)
        return True

    def refuses(self, target: Level | None) -> str:
        """Why a voluntary change is not made, in words for the model; "" when it is."""
        if self.pinned:
            return "The user has chosen this model. Go on at the current level."
        if target is None or target not in self._routes:
            return f"target must be one of {', '.join(level for level in LEVELS if level in self._routes)}."
        if target == self.current.level:
            return f"You are on {target} already. Go on."
        if target in self._failed:
            return f"{target} is not available right now. Go on at the current level."
        if self._moves >= MAX_MOVES:
            return "The level was changed too often in this turn. Go on at the current level."
        return ""

    def move(self, target: Level, hop: int, plan_id: str) -> None:
        """Make a voluntary change that `refuses` did not refuse."""
        self._moves += 1
        self._go(self._routes[target], hop, "cognitive", plan_id)

    def _go(
        self,
        target: Route,
        hop: int,
        cause: Literal["cognitive", "cascade"],
        why: str,
        message: Bilingual | None = None,
        fields: Mapping[str, object] | None = None,
    ) -> None:
        change = RouteChange(
            origin=self.current.level,
            target=target.level,
            model_id=target.model_id,
            hop=hop,
            cause=cause,
            why=why,
            rescoped=target.scope != self.current.scope,
            message=message,
            fields=fields or {},
            note=target.note,
        )
        self.changes.append(change)
        self.current = target
