"""What ECHO draws in the page: static files and their loader."""

from echo_ui.static_files import StaticFile, static_file

__all__ = ["StaticFile", "static_file"]
