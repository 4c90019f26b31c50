"""Typed events between the engine and the interface, and their one renderer."""
