"""HTTP endpoints of the simulator; each maps a path to a service."""
