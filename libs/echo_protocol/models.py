"""What is known of one model. Data comes from `catalogue.json`; a live model list refines it."""

import datetime as dt
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Backend: TypeAlias = Literal["ai_studio", "code_assist"]
ThinkingControl: TypeAlias = Literal["level", "budget", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """How the thinking of a model is steered. Source: Gemini API docs, Thinking.

    Args:
        control: `level` → thinkingLevel, `budget` → thinkingBudget, `none` → no thinkingConfig may be sent.
        values: the levels, weakest first.
        default: what the server takes when nothing is sent: a level, or a number of tokens (-1 = the model decides).
        can_disable: a budget of 0 is allowed.
    """

    control: ThinkingControl
    values: tuple[str, ...] = ()
    default: str = ""
    can_disable: bool = False
    min_budget_tokens: int = 0
    max_budget_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens, valid from a prompt size and a date on.

    Args:
        cached_usd: None = not published; cached tokens then cost like others.
        image_output_usd: of tokens that are pictures, None = like other output.
        storage_usd: of tokens in an explicit cache, per hour; None = not published.
    """

    tier: str = "standard"
    from_prompt_tokens: int = 0
    from_date: dt.date | None = None
    input_usd: float
    output_usd: float
    cached_usd: float | None = None
    image_output_usd: float | None = None
    storage_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a model takes and gives.

    Args:
        sampling_params: False when temperature, topP and topK are refused or ignored; they are then left out.
        multimodal_responses: media may go inside a functionResponse.
        json_with_tools: a JSON format and function declarations may be in one request.
        google_tools: wire names of Google's own tools that it can use. Source: Gemini API docs, Tools, by model.
        mixes_tools: those may stand beside function declarations. Source: Gemini API docs, Tool combination.
        continuation: long answers end with CONTINUATION and go on by token.
    """

    tools: bool = True
    input_media: frozenset[str] = frozenset()
    image_output: bool = False
    sampling_params: bool = True
    multimodal_responses: bool = False
    json_with_tools: bool = False
    google_tools: frozenset[str] = frozenset()
    mixes_tools: bool = False
    continuation: bool = False
    explicit_cache: bool = False
    implicit_cache_min_tokens: int = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """One model.

    Args:
        id: how the catalogue names it, without `models/`.
        backends: its id by backend; a backend that is absent does not serve it.
        window_tokens: input limit, or input and output together when `unified_window`.
        signature_scope: models with the same scope read each other's signatures.
        validates_signatures: the server refuses an unsigned call in the current turn.
        known: False for a guess about a model that the catalogue does not list.
    """

    id: str
    name: str
    family: str
    backends: dict[Backend, str]
    window_tokens: int
    output_tokens: int
    thinking: Thinking
    signature_scope: str
    unified_window: bool = False
    validates_signatures: bool = True
    retires_on: dt.date | None = None
    capabilities: Capabilities = field(default_factory=Capabilities)
    prices: tuple[Price, ...] = ()
    known: bool = True

    def backend_id(self, backend: Backend) -> str:
        """The id to send to a backend; the catalogue's own id when the backend is not listed."""
        return self.backends.get(backend, self.id)

    def price(self, prompt_tokens: int, today: dt.date, tier: str = "standard") -> Price | None:
        """The price that holds for a prompt of this size on this day; None when it is not known."""
        valid = [
            price
            for price in self.prices
            if price.tier == tier
            and price.from_prompt_tokens <= prompt_tokens
            and (price.from_date is None or price.from_date <= today)
        ]
        return max(valid, key=lambda p: (p.from_date or dt.date.min, p.from_prompt_tokens), default=None)
