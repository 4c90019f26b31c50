"""`python -m echo_workers.gemini_sim --port S`: the simulator alone."""

import argparse
import asyncio
import sys

from echo_workers.gemini_sim.core.settings import SimSettings
from echo_workers.gemini_sim.server import serve


def read_arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """The command line as values; ends the program by SystemExit when it is wrong."""
    parser = argparse.ArgumentParser(prog="gemini_sim", description="A local stand-in for the Gemini API.")
    parser.add_argument("--host", default="127.0.0.1", help="address to bind (default 127.0.0.1)")
    parser.add_argument("--port", type=int, required=True, help="port to bind, 0 = a free one")
    parser.add_argument("--tls-cert", help="PEM certificate chain; switches TLS on")
    parser.add_argument("--tls-key", help="PEM private key of the certificate")
    parser.add_argument(
        "--chunk-delay-ms", type=int, default=0, help="pause before each chunk of a streamed demo answer (default 0)"
    )
    args = parser.parse_args(argv)
    if args.chunk_delay_ms < 0:
        parser.error("--chunk-delay-ms cannot be negative")
    return args


def main(argv: list[str] | None = None) -> int:
    """Parse the arguments and serve until SIGINT or SIGTERM; prints the base URL once it listens."""
    args = read_arguments(argv)
    settings = SimSettings(chunk_delay_ms=args.chunk_delay_ms)
    scheme = "https" if args.tls_cert else "http"

    def ready(port: int) -> None:
        sys.stdout.write(f"{scheme}://{args.host}:{port}\n")
        sys.stdout.flush()

    tls = {"certfile": args.tls_cert, "keyfile": args.tls_key}
    asyncio.run(serve(args.host, args.port, **tls, on_ready=ready, settings=settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
