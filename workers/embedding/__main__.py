"""`python -m echo_workers.embedding`: embeddings over HTTP, for several Open WebUI processes or a stronger machine."""

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Mapping

from echo_memory import PACKAGED_MODEL, SERVICE_MODEL
from echo_workers.embedding.core.errors import CheckpointUnfit
from echo_workers.embedding.server import create_app, serve
from echo_workers.embedding.services.backends import open_backend

#: Texts are cut after so many tokens: the passages that ECHO makes are far shorter, and time grows with the square.
DEFAULT_MAX_TOKENS = 2048


def read_arguments(argv: list[str] | None, env: Mapping[str, str]) -> argparse.Namespace:
    """The command line as values, with the environment as defaults."""
    parser = argparse.ArgumentParser(prog="embedding", description="Embeddings over an OpenAI-compatible interface.")
    parser.add_argument("--host", default=env.get("HOST", "127.0.0.1"), help="address to bind (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=int(env.get("PORT", "7997")), help="port to bind (default 7997)")
    parser.add_argument(
        "--model",
        default=env.get("EMBEDDING_MODEL_PATH", ""),
        help="a folder with safetensors files or a .gguf file of a Qwen3 embedding model; empty: the packaged model",
    )
    parser.add_argument("--name", default=env.get("EMBEDDING_MODEL", ""), help="what the service calls its model")
    parser.add_argument("--max-tokens", type=int, default=int(env.get("EMBEDDING_MAX_TOKENS", str(DEFAULT_MAX_TOKENS))))
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Load the model and serve until SIGINT or SIGTERM; prints the base URL once it listens."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    args = read_arguments(argv, os.environ)
    try:
        backend = open_backend(args.model, args.max_tokens)
    except CheckpointUnfit as error:
        sys.stderr.write(f"The model cannot be used / Le modèle est inutilisable : {error}\n")
        return 2
    name = args.name or (SERVICE_MODEL if args.model else PACKAGED_MODEL)
    app = create_app(backend, name, os.environ.get("EMBEDDING_API_KEY", ""))

    def ready(port: int) -> None:
        sys.stdout.write(f"http://{args.host}:{port}/v1 {name} {backend.dimension}\n")
        sys.stdout.flush()

    asyncio.run(serve(app, args.host, args.port, on_ready=ready))
    return 0


if __name__ == "__main__":
    sys.exit(main())
