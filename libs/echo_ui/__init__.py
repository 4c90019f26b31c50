"""What ECHO draws in the page: static files, their loader, and the Context Gauge."""

from echo_ui.gauge import Display, EchoUI, Emitter, Gauge, Mark
from echo_ui.static_files import StaticFile, static_file

__all__ = ["Display", "EchoUI", "Emitter", "Gauge", "Mark", "StaticFile", "static_file"]
