"""Vectors and embeddings: servers that answer, and one process for the embedded engine."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx

from echo_cli._checks.base import Diagnosis, Finding, Need, Surroundings
from echo_constants import Bilingual
from echo_memory import SERVICE_MODEL, find_model
from echo_runtime.retrieval import EMBEDDING_API_KEY, EMBEDDING_MODEL, EMBEDDING_URL, QDRANT_API_KEY, QDRANT_URL

_TIMEOUT_S: Final = 10.0

SEVERAL_PROCESSES: Final = Diagnosis(
    code="vectors_several_processes",
    severity="problem",
    what=Bilingual(
        en="Open WebUI runs with {workers} workers, but the embedded vector engine serves one process: documents and "
        "memories fail in the others.",
        fr="Open WebUI tourne avec {workers} processus, mais le moteur vectoriel embarqué n'en sert qu'un : documents "
        "et souvenirs échouent dans les autres.",
    ),
    remedy=Bilingual(
        en="Run a Qdrant server and set QDRANT_URL, or UVICORN_WORKERS=1.",
        fr="Lancez un serveur Qdrant et renseignez QDRANT_URL, ou UVICORN_WORKERS=1.",
    ),
)
QDRANT_DOWN: Final = Diagnosis(
    code="qdrant_unreachable",
    severity="problem",
    what=Bilingual(
        en="The Qdrant server {url} does not answer, seen from here.",
        fr="Le serveur Qdrant {url} ne répond pas, vu d'ici.",
    ),
    remedy=Bilingual(
        en="Start it or correct QDRANT_URL; empty, ECHO uses its embedded engine.",
        fr="Démarrez-le ou corrigez QDRANT_URL ; vide, ECHO utilise son moteur embarqué.",
    ),
)
QDRANT_REFUSES: Final = Diagnosis(
    code="qdrant_refuses",
    severity="problem",
    what=Bilingual(
        en="The Qdrant server {url} refuses ECHO (status {status}).",
        fr="Le serveur Qdrant {url} refuse ECHO (statut {status}).",
    ),
    remedy=Bilingual(en="Check QDRANT_API_KEY.", fr="Vérifiez QDRANT_API_KEY."),
)
EMBEDDING_DOWN: Final = Diagnosis(
    code="embedding_unreachable",
    severity="problem",
    what=Bilingual(
        en="The embedding service {url} does not answer, seen from here.",
        fr="Le service d'embedding {url} ne répond pas, vu d'ici.",
    ),
    remedy=Bilingual(
        en="Start it or correct EMBEDDING_URL; empty, ECHO uses its packaged model.",
        fr="Démarrez-le ou corrigez EMBEDDING_URL ; vide, ECHO utilise son modèle fourni.",
    ),
)
EMBEDDING_REFUSES: Final = Diagnosis(
    code="embedding_refuses",
    severity="problem",
    what=Bilingual(
        en="The embedding service {url} refuses a text for the model {model} (status {status}).",
        fr="Le service d'embedding {url} refuse un texte pour le modèle {model} (statut {status}).",
    ),
    remedy=Bilingual(
        en="Check EMBEDDING_MODEL and EMBEDDING_API_KEY.", fr="Vérifiez EMBEDDING_MODEL et EMBEDDING_API_KEY."
    ),
)
EMBEDDING_OTHER: Final = Diagnosis(
    code="embedding_other_model",
    severity="problem",
    what=Bilingual(
        en="The embedding service gives {found} dimensions; {model} has {wanted}.",
        fr="Le service d'embedding donne {found} dimensions ; {model} en a {wanted}.",
    ),
    remedy=Bilingual(
        en="Let EMBEDDING_MODEL name the model that the service has loaded.",
        fr="Donnez à EMBEDDING_MODEL le nom du modèle que le service a chargé.",
    ),
)


class VectorsCheck:
    """Asks the servers that the environment names; without them, looks at the number of processes."""

    name = "vectors"
    title = Bilingual(en="Vectors and embeddings", fr="Vecteurs et embeddings")
    need: Need = "environment"
    diagnoses = (SEVERAL_PROCESSES, QDRANT_DOWN, QDRANT_REFUSES, EMBEDDING_DOWN, EMBEDDING_REFUSES, EMBEDDING_OTHER)

    def run(self, here: Surroundings) -> Iterator[Finding]:
        """As `Check`."""
        workers = here.environ.get("UVICORN_WORKERS", "1")
        url = here.environ.get(QDRANT_URL, "").strip().rstrip("/")
        if url:
            yield from _qdrant(url, here.environ.get(QDRANT_API_KEY, "").strip())
        elif workers.isdigit() and int(workers) > 1:
            yield SEVERAL_PROCESSES.found(workers=workers)
        service = here.environ.get(EMBEDDING_URL, "").strip().rstrip("/")
        if service:
            yield from _embedding(service, here.environ)


def _qdrant(url: str, api_key: str) -> Iterator[Finding]:
    try:
        answer = httpx.get(f"{url}/collections", headers={"api-key": api_key} if api_key else {}, timeout=_TIMEOUT_S)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        yield QDRANT_DOWN.found(str(error), url=url)
        return
    if answer.is_error:
        yield QDRANT_REFUSES.found(url=url, status=answer.status_code)


def _embedding(url: str, environ: Mapping[str, str]) -> Iterator[Finding]:
    name = environ.get(EMBEDDING_MODEL, "").strip() or SERVICE_MODEL
    api_key = environ.get(EMBEDDING_API_KEY, "").strip()
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    body = {"model": name, "input": ["ECHO"], "encoding_format": "float"}
    try:
        answer = httpx.post(f"{url}/embeddings", json=body, headers=headers, timeout=_TIMEOUT_S)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        yield EMBEDDING_DOWN.found(str(error), url=url)
        return
    if answer.is_error:
        yield EMBEDDING_REFUSES.found(url=url, model=name, status=answer.status_code)
        return
    known = find_model(name)
    found = _dimension(answer)
    if known is not None and found != known.dimension:
        yield EMBEDDING_OTHER.found(found=found, model=known.name, wanted=known.dimension)


def _dimension(answer: httpx.Response) -> int:
    try:
        entry: Any = answer.json()["data"][0]["embedding"]
        return len(entry)
    except (ValueError, KeyError, IndexError, TypeError):
        return 0
