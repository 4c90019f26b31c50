"""Separate processes that stand beside Open WebUI; each folder is one service."""
