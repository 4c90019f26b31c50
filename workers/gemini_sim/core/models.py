"""The models that the simulated server offers, as data.

Source: windows, thinking controls, cache minimums and aliases as Google documents them for late November 2026; which
older models are closed to new users is third-party. `signature_scope` groups models that accept each other's
signatures: the chat models of Gemini 3 and 4 share one.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import Any, Final

from echo_workers.gemini_sim.core.errors import model_not_found, model_retired

_CHAT_METHODS: Final = "generateContent countTokens createCachedContent batchGenerateContent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerModel:
    """One model as the server knows it.

    Args:
        generation: 2.0, 2.5, 3.0, 3.5, 3.7 or 4.0; rules switch on it.
        cache_min_tokens: smallest prompt that implicit caching serves.
        explicit_min_tokens: smallest explicit cache; None = the same.
        thinking: which control it takes: `none`, `budget` (tokens) or `level`.
        budget_off: a budget of 0 turns thinking off.
        default_thinks: thinks when the request does not say.
        signature_scope: models of one scope accept each other's signatures; None = it signs nothing.
        unified_window: input and output share `input_tokens`.
        maps: takes the tool `googleMaps`. Source: Grounding with Google Maps, supported models, documented.
    """

    id: str
    family: str
    title: str
    generation: float
    cache_min_tokens: int
    explicit_min_tokens: int | None = None
    methods: str = _CHAT_METHODS
    thinking: str = "none"
    levels: tuple[str, ...] = ()
    default_level: str = "HIGH"
    budget_min: int = 0
    budget_max: int = 0
    budget_off: bool = False
    default_thinks: bool = True
    signature_scope: str | None = None
    explicit_cache: bool = True
    unified_window: bool = False
    maps: bool = False
    image: bool = False
    retired: bool = False
    input_tokens: int = 1_048_576
    output_tokens: int = 65_536

    @property
    def checks_signatures(self) -> bool:
        """Gemini 3 and later refuse a current turn without signatures. Source: thought signature rules, documented."""
        return self.generation >= 3 and self.signature_scope is not None

    @property
    def signature_complaint(self) -> str:
        """How it calls a signature that it does not accept. Source: third-party reports by model."""
        return "Invalid" if self.generation >= 3.7 else "Corrupted"

    @property
    def issues_call_ids(self) -> bool:
        """Gemini 3 and later always give `functionCall.id`. Source: documented."""
        return self.generation >= 3

    @property
    def matches_call_ids(self) -> bool:
        """3.5 and later refuse a `functionResponse.id` that answers no call. Source: third-party."""
        return self.generation >= 3.5

    def resource(self) -> dict[str, Any]:
        """The `Model` object of the models endpoint. Source: recorded shape."""
        out: dict[str, Any] = {
            "name": f"models/{self.id}",
            "version": self.id.removeprefix("gemini-"),
            "displayName": self.title,
            "description": f"{self.title}, answered by a local simulator.",
            "inputTokenLimit": self.input_tokens,
            "outputTokenLimit": self.output_tokens,
            "supportedGenerationMethods": self.methods.split(),
        }
        if "generateContent" in self.methods:
            out |= {"temperature": 1, "topP": 0.95, "topK": 64, "maxTemperature": 2}
        if self.thinking != "none":
            out["thinking"] = True
        return out


def _load() -> tuple[Mapping[str, ServerModel], Mapping[str, str]]:
    data = json.loads(files(__package__).joinpath("models.json").read_text(encoding="utf-8"))
    known = {field.name for field in fields(ServerModel)}
    models: dict[str, ServerModel] = {}
    for row in data["models"]:
        merged = {**data["families"][row["family"]], **row}
        merged["levels"] = tuple(merged.get("levels", ()))
        models[row["id"]] = ServerModel(**{name: value for name, value in merged.items() if name in known})
    return models, data["aliases"]


#: Read once at import, so that no request waits for a file.
_MODELS, _ALIASES = _load()


def all_models(*, with_retired: bool) -> list[ServerModel]:
    """Every model that ListModels shows, in a fixed order."""
    return [model for model in _MODELS.values() if with_retired or not model.retired]


def find_model(name: str, version: str, method: str, *, with_retired: bool) -> ServerModel:
    """The model of a path, `models/` prefix optional; `method` is the RPC name that Google's 404 text mentions.

    Raises:
        GoogleRefusal: 404, unknown, retired or without that method. The aliases exist on v1beta only (documented).
    """
    bare = name.removeprefix("models/")
    if version == "v1beta":
        bare = _ALIASES.get(bare, bare)
    model = _MODELS.get(bare)
    if model is None:
        raise model_not_found(bare, version, method)
    if model.retired and not with_retired:
        raise model_retired(bare)
    if method != "getModel" and method not in model.methods.split():
        raise model_not_found(bare, version, method)
    return model
