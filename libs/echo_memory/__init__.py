"""Vectors and embeddings: what was said and read, found again by meaning and by words."""

from echo_memory.catalogue import PACKAGED_MODEL, SERVICE_MODEL, find_model, known_models
from echo_memory.edge_engine import EdgeEngine
from echo_memory.errors import (
    EmbedderMissing,
    EmbeddingMismatch,
    EmbeddingServerDown,
    EmbeddingServerRefused,
    EngineMissing,
    TenantMissing,
    UnsafeFilter,
    VectorsDamaged,
    VectorServerDown,
    VectorServerRefused,
    VectorsInUse,
)
from echo_memory.packaged_embedder import PackagedEmbedder
from echo_memory.server_engine import ServerEngine
from echo_memory.service_embedder import ServiceEmbedder
from echo_memory.store import PassageStore

__all__ = [
    "PACKAGED_MODEL",
    "SERVICE_MODEL",
    "EdgeEngine",
    "EmbedderMissing",
    "EmbeddingMismatch",
    "EmbeddingServerDown",
    "EmbeddingServerRefused",
    "EngineMissing",
    "PackagedEmbedder",
    "PassageStore",
    "ServerEngine",
    "ServiceEmbedder",
    "TenantMissing",
    "UnsafeFilter",
    "VectorServerDown",
    "VectorServerRefused",
    "VectorsDamaged",
    "VectorsInUse",
    "find_model",
    "known_models",
]
