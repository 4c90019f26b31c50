"""Prompt files, versioned, in both languages."""

from echo_prompts.library import PIS_VERSION, pis, resolve_placeholders

__all__ = ["PIS_VERSION", "pis", "resolve_placeholders"]
