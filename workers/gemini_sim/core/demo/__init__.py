"""The deterministic small "model" that answers when no script does."""
