"""A strict local stand-in for the Gemini API: tests, benchmarks and the demo without a key run against it."""

from echo_workers.gemini_sim.core.settings import SimSettings
from echo_workers.gemini_sim.server import create_app, serve

__all__ = ["SimSettings", "create_app", "serve"]
