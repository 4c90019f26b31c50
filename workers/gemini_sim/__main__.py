"""`python -m echo_workers.gemini_sim --port S`: the simulator alone."""

import argparse
import asyncio
import sys

from echo_workers.gemini_sim.server import serve


def main(argv: list[str] | None = None) -> int:
    """Parse the arguments and serve until SIGINT or SIGTERM; prints the base URL once it listens."""
    parser = argparse.ArgumentParser(prog="gemini_sim", description="A local stand-in for the Gemini API.")
    parser.add_argument("--host", default="127.0.0.1", help="address to bind (default 127.0.0.1)")
    parser.add_argument("--port", type=int, required=True, help="port to bind, 0 = a free one")
    parser.add_argument("--tls-cert", help="PEM certificate chain; switches TLS on")
    parser.add_argument("--tls-key", help="PEM private key of the certificate")
    args = parser.parse_args(argv)
    scheme = "https" if args.tls_cert else "http"

    def ready(port: int) -> None:
        sys.stdout.write(f"{scheme}://{args.host}:{port}\n")
        sys.stdout.flush()

    asyncio.run(serve(args.host, args.port, certfile=args.tls_cert, keyfile=args.tls_key, on_ready=ready))
    return 0


if __name__ == "__main__":
    sys.exit(main())
