"""Logging: one configuration, secrets masked."""
