"""Gemini's wire as values: parts, streams, catalogue, translation, hashing."""
