"""The models that ECHO knows, and what its abstract names stand for. It warns, it never refuses."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any, Final

from pydantic import TypeAdapter

from echo_constants import Bilingual
from echo_protocol.errors import UnknownModelName
from echo_protocol.models import Backend, Capabilities, ModelInfo, Thinking

#: The abstract names. Source: docs/design.md section 1.
MODEL_NAMES: Final = (
    "MODEL_LITE",
    "MODEL_FLASH",
    "MODEL_PRO",
    "MODEL_DISTILLATION",
    "MODEL_APOLLO",
    "MODEL_ZEPHYR",
)

#: Google retires previews with about a month's notice and publishes new models every two to three months.
_STALE_AFTER: Final = dt.timedelta(days=120)
_RETIRES_SOON: Final = dt.timedelta(days=30)

#: What every Gemini text model since 1.5 takes at least; a guess for models that nobody told us about.
_GUESSED_WINDOW_TOKENS: Final = 131_072
_GUESSED_OUTPUT_TOKENS: Final = 8_192


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """The shape of `catalogue.json`."""

    as_of: dt.date
    names: dict[Backend, dict[str, list[str]]]
    models: list[ModelInfo]
    prices_source: str = ""


@cache
def _file_adapter() -> TypeAdapter[_File]:
    """Built at first use: it takes longer than importing the rest of this lib."""
    return TypeAdapter(_File)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Models by id, and the candidates behind each abstract name, best first."""

    models: Mapping[str, ModelInfo]
    names: Mapping[Backend, Mapping[str, list[str]]]
    as_of: dt.date
    live: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def load(cls) -> "Catalogue":
        """The catalogue that is shipped with this lib."""
        text = resources.files("echo_protocol").joinpath("catalogue.json").read_text(encoding="utf-8")
        return cls.from_json(text)

    @classmethod
    def from_json(cls, text: str) -> "Catalogue":
        """Read a catalogue.

        Raises:
            pydantic.ValidationError: the text does not have the shape of `catalogue.json`.
        """
        file = _file_adapter().validate_json(text)
        return cls({model.id: model for model in file.models}, file.names, file.as_of)

    def model(self, model_id: str) -> ModelInfo:
        """A model by catalogue id or backend id; a careful guess for one that is not listed."""
        bare = model_id.removeprefix("models/")
        if bare in self.models:
            return self.models[bare]
        by_backend = (model for model in self.models.values() if bare in model.backends.values())
        return next(by_backend, None) or _guess(bare)

    def resolve(self, name: str, backend: Backend) -> ModelInfo:
        """The model behind an abstract name (`MODEL_FLASH` or `FLASH`) on a backend; a model id is taken as it is.

        With a live list, the first candidate that is on it; without one, or when none is, the first candidate.

        Raises:
            UnknownModelName: an abstract name without candidates for this backend.
        """
        abstract = name if name in MODEL_NAMES else f"MODEL_{name}"
        if abstract not in MODEL_NAMES:
            return self.model(name)
        candidates = [self.model(model_id) for model_id in self.names.get(backend, {}).get(abstract, ())]
        if not candidates:
            raise UnknownModelName(name=name, backend=backend)
        return next((m for m in candidates if m.backend_id(backend) in self.live), candidates[0])

    def drawing(self, backend: Backend) -> ModelInfo | None:
        """The model that makes images on a backend, the first one that is live; None where there is none."""
        able = [m for m in self.models.values() if m.capabilities.image_output and backend in m.backends]
        return next((m for m in able if m.backend_id(backend) in self.live), able[0] if able else None)

    def refine(self, live_list: Iterable[Mapping[str, Any]]) -> "Catalogue":
        """Take limits from a backend's live model list and learn models that are new.

        Args:
            live_list: entries of `models.list` (`name`, `inputTokenLimit`, `outputTokenLimit`, `thinking`) or of
                `fetchAvailableModels` with the id put in as `name` (`maxTokens`, `maxOutputTokens`).
        """
        models = dict(self.models)
        seen: set[str] = set()
        for entry in live_list:
            live_id = str(entry.get("name") or entry.get("id") or "").removeprefix("models/")
            if not live_id:
                continue
            seen.add(live_id)
            model = _refined(self.model(live_id), entry)
            models[model.id] = model
        return replace(self, models=models, live=frozenset(seen))

    def is_stale(self, today: dt.date) -> bool:
        """True when the catalogue is old, or when a model behind a name is retired or soon will be."""
        return bool(self.warnings(today))

    def warnings(self, today: dt.date) -> list[Bilingual]:
        """What an administrator should know about the catalogue."""
        found: list[Bilingual] = []
        if today - self.as_of > _STALE_AFTER:
            found.append(
                Bilingual(
                    en=f"The model catalogue is of {self.as_of}; newer models may exist.",
                    fr=f"Le catalogue de modèles date du {self.as_of} ; des modèles plus récents existent peut-être.",
                )
            )
        for backend, names in self.names.items():
            for name in names:
                model = self.resolve(name, backend)
                if model.retires_on is not None and model.retires_on - today <= _RETIRES_SOON:
                    found.append(
                        Bilingual(
                            en=f"{model.id} ({name}, {backend}) is retired on {model.retires_on}.",
                            fr=f"{model.id} ({name}, {backend}) est retiré le {model.retires_on}.",
                        )
                    )
        return found


def _refined(model: ModelInfo, entry: Mapping[str, Any]) -> ModelInfo:
    window = entry.get("inputTokenLimit") or entry.get("maxTokens")
    output = entry.get("outputTokenLimit") or entry.get("maxOutputTokens")
    thinking = model.thinking
    if not model.known and entry.get("thinking", entry.get("supportsThinking")) is False:
        thinking = Thinking(control="none")
    return replace(
        model,
        window_tokens=int(window) if window else model.window_tokens,
        output_tokens=int(output) if output else model.output_tokens,
        name=model.name if model.known else str(entry.get("displayName") or model.name),
        thinking=thinking,
    )


def _guess(model_id: str) -> ModelInfo:
    """Assume little about an unknown model: a small window, no thinking setting unless its name tells the family."""
    generation = model_id.removeprefix("gemini-").split("-")[0].split(".")[0]
    signs = model_id.startswith("gemini-") and (not generation.isdigit() or int(generation) >= 3)
    if signs and generation.isdigit():
        thinking = Thinking(control="level", values=("LOW", "HIGH"), default="HIGH")
    elif model_id.startswith("gemini-2.5-"):
        thinking = Thinking(control="budget", min_budget_tokens=512, max_budget_tokens=24_576, default="-1")
    else:
        thinking = Thinking(control="none")
    return ModelInfo(
        id=model_id,
        name=model_id,
        family=model_id,
        backends={},
        window_tokens=_GUESSED_WINDOW_TOKENS,
        output_tokens=_GUESSED_OUTPUT_TOKENS,
        thinking=thinking,
        signature_scope="gemini" if signs else model_id,
        validates_signatures=signs,
        capabilities=Capabilities(
            sampling_params=not signs,
            input_media=frozenset({"image", "audio", "video", "pdf"} if signs else {"image"}),
        ),
        known=False,
    )
