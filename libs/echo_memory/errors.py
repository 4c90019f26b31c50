"""What can go wrong with vectors and embeddings.

ConfigError    EngineMissing, EmbedderMissing, EmbeddingMismatch, VectorServerRefused, EmbeddingServerRefused
StateError     VectorsInUse, VectorsDamaged, TenantMissing, UnsafeFilter
UpstreamError  VectorServerDown, EmbeddingServerDown
"""

from echo_constants import Bilingual, ConfigError, StateError, UpstreamError


class EngineMissing(ConfigError):
    """The embedded vector engine is not installed."""

    code = "vector_engine_missing"
    message = Bilingual(
        en="The embedded vector engine is not available on this machine.",
        fr="Le moteur vectoriel embarqué n'est pas disponible sur cette machine.",
    )
    remedy = Bilingual(
        en="Run a Qdrant server and set QDRANT_URL.",
        fr="Lancez un serveur Qdrant et renseignez QDRANT_URL.",
    )


class EmbedderMissing(ConfigError):
    """The packaged embedding model is not installed."""

    code = "embedder_missing"
    message = Bilingual(
        en="The packaged embedding model is not available on this machine.",
        fr="Le modèle d'embedding fourni n'est pas disponible sur cette machine.",
    )
    remedy = Bilingual(
        en="Run an embedding service and set EMBEDDING_URL.",
        fr="Lancez un service d'embedding et renseignez EMBEDDING_URL.",
    )


class EmbeddingMismatch(ConfigError):
    """An embedder gave vectors of another shape than its model has."""

    code = "embedding_mismatch"
    message = Bilingual(
        en="The embedding service answered with {found} instead of {wanted}.",
        fr="Le service d'embedding a répondu avec {found} au lieu de {wanted}.",
    )
    remedy = Bilingual(
        en="Check EMBEDDING_MODEL and EMBEDDING_URL.",
        fr="Vérifiez EMBEDDING_MODEL et EMBEDDING_URL.",
    )


class VectorServerRefused(ConfigError):
    """The Qdrant server does not accept who we are or what we ask."""

    code = "vector_server_refused"
    message = Bilingual(
        en="The Qdrant server refused a request (status {status}).",
        fr="Le serveur Qdrant a refusé une requête (statut {status}).",
    )
    remedy = Bilingual(
        en="Check QDRANT_URL and QDRANT_API_KEY, then run `echoctl doctor`.",
        fr="Vérifiez QDRANT_URL et QDRANT_API_KEY, puis lancez `echoctl doctor`.",
    )


class EmbeddingServerRefused(ConfigError):
    """The embedding service does not accept who we are or what we ask."""

    code = "embedding_server_refused"
    message = Bilingual(
        en="The embedding service refused a request (status {status}).",
        fr="Le service d'embedding a refusé une requête (statut {status}).",
    )
    remedy = Bilingual(
        en="Check EMBEDDING_URL, EMBEDDING_MODEL and EMBEDDING_API_KEY.",
        fr="Vérifiez EMBEDDING_URL, EMBEDDING_MODEL et EMBEDDING_API_KEY.",
    )


class VectorsInUse(StateError):
    """Another process has the embedded vectors open; the engine serves one process."""

    code = "vectors_in_use"
    audience = "admin"
    message = Bilingual(
        en="Another process has ECHO's vectors open: the embedded engine serves one process only.",
        fr="Un autre processus utilise les vecteurs d'ECHO : le moteur embarqué ne sert qu'un seul processus.",
    )
    remedy = Bilingual(
        en="With several Open WebUI workers run a Qdrant server and set QDRANT_URL.",
        fr="Avec plusieurs processus Open WebUI, lancez un serveur Qdrant et renseignez QDRANT_URL.",
    )


class VectorsDamaged(StateError):
    """The embedded engine cannot open its files."""

    code = "vectors_damaged"
    audience = "admin"
    message = Bilingual(
        en="ECHO's vectors cannot be opened ({folder}).",
        fr="Les vecteurs d'ECHO ne peuvent pas être ouverts ({folder}).",
    )
    remedy = Bilingual(
        en="Restore this folder from a backup, or move it away; documents are then indexed anew when they are used.",
        fr="Restaurez ce dossier d'une sauvegarde, ou déplacez-le ; les documents sont alors réindexés à l'usage.",
    )


class TenantMissing(StateError):
    """A request for vectors that names no user, or a result that belongs to another one."""

    code = "vector_tenant"


class UnsafeFilter(StateError):
    """A filter or a passage uses a name that could reach beyond the passage's own data."""

    code = "vector_filter"


class VectorServerDown(UpstreamError):
    """The Qdrant server does not answer."""

    code = "vector_server_down"
    message = Bilingual(
        en="The Qdrant server is not answering, so documents and memories cannot be searched right now.",
        fr="Le serveur Qdrant ne répond pas : documents et souvenirs ne peuvent pas être cherchés pour le moment.",
    )
    remedy = Bilingual(
        en="Try again in a moment; administrators see more with `echoctl doctor`.",
        fr="Réessayez dans un instant ; l'administrateur en saura plus avec `echoctl doctor`.",
    )


class EmbeddingServerDown(UpstreamError):
    """The embedding service does not answer."""

    code = "embedding_server_down"
    message = Bilingual(
        en="The embedding service is not answering, so documents cannot be indexed or searched right now.",
        fr="Le service d'embedding ne répond pas : les documents ne peuvent être ni indexés ni cherchés.",
    )
    remedy = VectorServerDown.remedy
