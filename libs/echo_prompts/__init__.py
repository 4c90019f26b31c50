"""Prompt files, versioned, in both languages."""
