"""echoctl, the command line."""

from echo_cli._app import build_app, main

__all__ = ["build_app", "main"]
