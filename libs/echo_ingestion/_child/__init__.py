"""Runs in a process of its own, with bounds: nothing here may be imported by the server."""
